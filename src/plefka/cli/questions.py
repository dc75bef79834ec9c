"""Commands for questions about one case: `plefka explain`, `ask`, `most-probable`, `sensitivity` and others."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

import plefka as pf
from plefka.cli import options, output, source
from plefka.cli.targets import claimed, encode_csv
from plefka.runtime import whole_files

Count = Annotated[int, typer.Option("--count", "-n", min=1, help="The number of states to draw.")]
Costs = Annotated[
    list[str] | None,
    typer.Option(
        metavar="UNIT=COST,...",
        help="What observing a unit costs, 1 unless given; or a CSV or Excel file with columns finding and cost.",
    ),
]
WAYS = ("auto", "enumeration", "elimination", "branch-and-bound")  # of `most_probable`, without loading it


def explain(
    net: options.Network,
    unit: Annotated[str, options.of_unit(help="The hidden unit to explain.")],
    evidence: options.Evidence = None,
    method: options.Method = None,
    candidate: options.Candidates = None,
    top: Annotated[int, typer.Option(min=1, help="The number of further observations to show.")] = 5,
    json: options.Json = False,
) -> None:
    """Show how much each observation changed the log-odds of a unit, and which further ones would change them most."""
    network, observed = source.read_question(net, evidence, "explain")
    found = pf.explain(network, observed, unit, method, candidates=options.names_in(candidate, network.names), top=top)
    log_odds = {"log_odds": found.log_odds, "prior_log_odds": found.prior_log_odds}
    output.print_answer({"network": net, **network.identity}, observed, found, asdict(found) | log_odds, json)


def ask(
    net: options.Network,
    evidence: options.Evidence = None,
    candidate: options.Candidates = None,
    target: Annotated[
        list[str] | None,
        options.of_units("--target", "-t", help="The units to learn about. By default these are all hidden causes."),
    ] = None,
    method: options.Method = None,
    top: Annotated[int, typer.Option(min=1, help="The number of candidates to show.")] = 10,
    costs: Costs = None,
    together: Annotated[int, typer.Option(min=1, max=5, help="Also find so many units to observe together.")] = 1,
    stop_below: Annotated[float | None, typer.Option(help="Stop when no unit gives so many nats per cost.")] = None,
    certain_above: Annotated[float | None, typer.Option(help="Stop when a target has this probability.")] = None,
    do: options.Do = None,
    exclusive: options.Exclusive = None,
    or_none: options.OrNone = False,
    json: options.Json = False,
) -> None:
    """Rank hidden units by how much information about the targets observing them is expected to give."""
    network, observed = source.read_question(net, evidence, "ask")
    candidates, targets = options.names_in(candidate, network.names), options.names_in(target, network.names)
    conditions = source.read_conditions(network, do, exclusive, or_none)
    found = pf.ask(
        network, observed, candidates, targets, method, top=top, costs=source.read_costs(network, costs),
        together=together, stop_below=stop_below, certain_above=certain_above, **conditions,
    )  # fmt: skip
    output.print_answer({"network": net, **network.identity}, observed, found, conditions | asdict(found), json)


def sensitivity(
    net: options.Network,
    target: Annotated[str, options.of_unit(help="The hidden unit in question.")],
    evidence: options.Evidence = None,
    factor: Annotated[float, typer.Option(help="The factor, above 1, by which odds are divided and multiplied.")] = 2.0,
    top: Annotated[int, typer.Option(min=1, help="The number of rows to show.")] = 10,
    json: options.Json = False,
) -> None:
    """Show which priors, leaks, links, table entries, biases and weights P(unit | evidence) depends on most."""
    network, observed = source.read_question(net, evidence, "sensitivity")
    found = pf.sensitivity(network, observed, target, factor=factor)
    output.print_answer({"network": net, **network.identity}, observed, found.describe(top), found.to_dict(top), json)


def counterfactuals(net: options.Network, evidence: options.Evidence = None, json: options.Json = False) -> None:
    """Rank causes by how many findings would be off without them, and how many they would switch on alone."""
    network, observed = source.read_question(net, evidence, "counterfactuals")
    found = pf.counterfactuals(network, observed)
    output.print_answer({"network": net, **network.identity}, observed, found, asdict(found), json)


def report(
    net: options.Network,
    out: Annotated[Path, options.of_out(metavar="FILE", help="The page of HTML to write.")],
    evidence: options.Evidence = None,
    method: options.Method = None,
    case: Annotated[str | None, typer.Option(help="The name of the case, for the heading.")] = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="The number of causes to rank.")] = 8,
    costs: Costs = None,
    force: options.Force = False,
) -> None:
    """Write a page about one case, which needs nothing else and prints on two pages."""
    with claimed(out, [Path(net)], force=force):
        network, observed = source.read_question(net, evidence, "report")
        title = f"{case or 'Report of a case'} ({Path(net.removeprefix('example:')).name})"
        asked: Any = {"title": title, "count": count, "costs": source.read_costs(network, costs)}
        with output.quiet_solver():
            whole_files.write(out, pf.report(network, observed, method, **asked).encode())
    print(f"The report is in {out}.")


def most_probable(
    net: options.Network,
    evidence: options.Evidence = None,
    units: Annotated[
        list[str] | None,
        options.of_units(
            "--units",
            "-u",
            help="The units whose states are chosen: causes, all (default), or a list of names. Others are summed out.",
        ),
    ] = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="The number of states.")] = 3,
    method: Annotated[str, typer.Option("--method", "-m", help=f"One of {', '.join(WAYS)}.")] = "auto",
    do: options.Do = None,
    json: options.Json = False,
) -> None:
    """Show the most probable states of hidden units together, and whether it is proven that none is more probable."""
    network, observed = source.read_question(net, evidence, "most-probable")
    conditions = source.read_conditions(network, do)
    with output.quiet_solver():
        found = pf.most_probable(network, observed, source.read_units(network, units), count, method, **conditions)
    output.print_answer({"network": net, **network.identity}, observed, found, conditions | found.to_dict(), json)


def sample(
    net: options.Network,
    count: Count,
    seed: options.Seed,
    evidence: options.Evidence = None,
    json: options.Json = False,
) -> None:
    """Draw states from the network, given the evidence, and print them as CSV."""
    network = source.read_network(net)
    observed = source.read_evidence(network, evidence)
    states = network.sample(seed, count, observed)
    if json:
        about = {"network": net, **network.identity, "evidence": observed, "seed": seed, "names": list(network.names)}
        output.print_json({**about, "states": states.tolist()})
    else:
        print(encode_csv(network.names, states).decode(), end="")
