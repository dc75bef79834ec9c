"""`plefka ask`: which hidden unit to look at next."""

from dataclasses import asdict
from typing import Annotated

import typer

from plefka.cli import completion, options, output


def ask(
    net: options.Network,
    evidence: options.Evidence = None,
    candidate: options.Candidates = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            metavar="UNIT,...",
            help="The units to learn about. By default these are all hidden causes.",
            autocompletion=completion.units,
        ),
    ] = None,
    method: options.Method = None,
    top: Annotated[int, typer.Option(min=1, help="The number of candidates to show.")] = 10,
    json: options.Json = False,
) -> None:
    """Rank hidden units by how much information about the targets observing them is expected to give."""
    import plefka as pf
    from plefka.cli.source import read_question

    network, observed = read_question(net, evidence, "ask")
    candidates, targets = options.names_in(candidate, network.names), options.names_in(target, network.names)
    found = pf.ask(network, observed, candidates, targets, method, top=top)
    if json:
        output.print_json({"network": net, "evidence": output.as_json(observed), **asdict(found)})
    else:
        print(f"{output.state_text(observed)}\n\n{found}")
