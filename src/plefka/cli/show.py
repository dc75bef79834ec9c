"""`plefka show`: what a network consists of; `plefka convert`: from one file format to another."""

import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

import plefka as pf
from plefka.cli import options, output
from plefka.cli import source as sources
from plefka.cli.targets import check_new, check_target, claimed, files_of_network

if TYPE_CHECKING:
    from plefka.files.recognition import Form

Source = Annotated[Path, typer.Argument(metavar="A", help="A network file: .json, .npz, .bif, .xmlbif, .uai, ...")]
Target = Annotated[Path, typer.Argument(metavar="B", help="The file to write. Its suffix selects the format.")]
Approximate = Annotated[
    float | None,
    typer.Option(
        metavar="ERROR",
        help="Replace tables by noisy-or or sigmoid units if no probability changes by more than this, e.g. 0.02.",
    ),
]


class Fact(NamedTuple):
    """What `show` says of a network: a key and its value in JSON; a name and its text in the table, unless empty."""

    key: str
    value: Any
    name: str = ""
    text: str = ""


def show(net: options.Network, json: options.Json = False) -> None:
    """Describe a network: its units, edges and weights."""
    network = sources.read_network(net)
    if isinstance(network, pf.MarkovNetwork):
        factors = [{"units": list(units), "table": table.ravel().tolist()} for units, table in network.factors]
        found = {"network": net, "kind": "Markov network", "names": list(network.names), "factors": factors}
        text = f"{network}\n\n{network.describe(output.PRINTED_ROWS)}"
        output.print_json(found | network.identity) if json else print(text)
        return
    is_machine = not network.is_normalised
    facts = _machine_facts(cast(Any, network)) if is_machine else _facts(network)
    if json:
        more = _couplings(cast(Any, network)) if is_machine else _edges(network)
        found = _spelled({fact.key: fact.value for fact in facts})
        output.print_json({"network": net, **network.identity, **found, "names": list(network.names), **more})
        return
    rows = [(fact.name, fact.text) for fact in facts]
    rows += [("version", network.version or ""), ("fingerprint", network.fingerprint)]
    output.print_table(("network", facts[0].value), [(name, text) for name, text in rows if text])
    print()
    shown = min(network.size, output.PRINTED_ROWS)
    if network.stack is not None:
        print("units: " + ", ".join(network.names[:shown]))
    else:
        output.print_table(*network.in_words(shown))
    output.print_more(network.size, shown)


def _spelled(content: dict[str, Any]) -> dict[str, Any]:
    """Infinite weights as in a JSON file: a word, since JSON has no such number."""
    return {
        key: _spelled(value) if isinstance(value, dict) else "inf" if value == math.inf else value
        for key, value in content.items()
    }


def _counted(key: str, count: int | None, name: str) -> Fact:
    return Fact(key, count, name, f"{count:,}" if count is not None else "")


def _range(values: Any) -> dict[str, float] | None:
    return {"least": float(values.min()), "most": float(values.max())} if values.size else None


def _range_text(limits: dict[str, float] | None) -> str:
    return f"{limits['least']:.4g} to {limits['most']:.4g}" if limits else ""


def _degree(key: str, counts: Any, name: str) -> Fact:
    least, mean, most = int(counts.min()), float(counts.mean()), int(counts.max())
    return Fact(key, {"least": least, "mean": mean, "most": most}, name, f"{least} to {most}, {mean:.3g} on average")


# ---- belief networks -------------------------------------------------------------------------------------------------


def _facts(network: "pf.BeliefNetwork") -> list[Fact]:
    import numpy as np

    graph = network.storage.to_sparse() if network.stack is None else network.storage.union()
    parents, children = np.diff(graph.indptr), np.diff(graph.tocsc().indptr)
    mixed = network.conditionals is not None  # weights and biases of tables are not numbers of the model
    values = np.zeros(0) if mixed else np.concatenate([np.zeros(0), *network.storage.leaves()])
    weights, bias = _range(values[values != 0]), None if mixed else _range(np.asarray(network.bias).ravel())
    names, shown, kind = ("weights", "biases"), [weights, bias], network.activation.name
    if kind == "noisy_or" and (weights or {"least": 0})["least"] >= 0:
        names = ("strengths", "priors and leaks")
        shown = [limits and {end: -math.expm1(-z) for end, z in limits.items()} for limits in shown]
    layers, implied = list(network.layers or ()), len(network.implies)
    return [
        Fact("kind", "belief network"),
        Fact("activation", kind, "activation", kind),
        _counted("stack", network.stack, "networks in the stack"),
        Fact("layers", layers or None, "layers", " x ".join(map(str, layers))),
        _counted("num_units", network.size, "units"),
        _counted("num_roots", int(np.sum(parents == 0)), "without parents"),
        _counted("num_leaves", int(np.sum(children == 0)), "without children"),
        _counted("num_edges", int(graph.nnz), "edges"),
        _degree("in_degree", parents, "parents of a unit"),
        Fact("num_implications", implied, "pairs of which one implies the other", f"{implied:,}" if implied else ""),
        Fact("weights", weights, names[0], _range_text(shown[0])),
        Fact("bias", bias, names[1], _range_text(shown[1])),
    ]


def _edges(network: "pf.BeliefNetwork") -> dict[str, Any]:
    edges = [] if network.stack is not None else network.edges()
    return {
        "states": [list(pair) for pair in network.given_states or ()] or None,
        "edges": [_spelled(edge._asdict()) for edge in edges],
        "implies": [list(pair) for pair in network.implies],
    }


# ---- machines --------------------------------------------------------------------------------------------------------


def _machine_facts(machine: "pf.BoltzmannMachine") -> list[Fact]:
    import numpy as np

    child, parent, weight = machine.storage.edge_list()
    degree = np.bincount(np.concatenate([child, parent]), minlength=machine.size)
    weights, bias, (off, on) = _range(weight[weight != 0]), _range(np.asarray(machine.bias)), machine.values
    layers = list(machine.layers or ())
    return [
        Fact("kind", "Boltzmann machine"),
        _counted("stack", machine.stack, "machines in the stack"),
        Fact("restricted", layers or None, "visible x hidden units", " x ".join(map(str, layers))),
        Fact("num_units", machine.size, "units", f"{machine.size:,}, of {off} and {on}"),
        Fact("values", [off, on]),
        Fact("temperature", machine.temperature, "temperature", f"{machine.temperature:g}"),
        Fact("constant", np.asarray(machine.constant).tolist()),
        _counted("num_couplings", len(child), "couplings"),
        _degree("degree", degree, "couplings of a unit"),
        Fact("weights", weights, "weights", _range_text(weights)),
        Fact("bias", bias, "biases", _range_text(bias)),
    ]


def _couplings(machine: "pf.BoltzmannMachine") -> dict[str, Any]:
    """Both units and the weight of each coupling, of a single machine."""
    names, ends = machine.names, [] if machine.stack is not None else zip(*machine.storage.edge_list(), strict=True)
    couplings = [{"units": [names[parent], names[child]], "weight": float(weight[0])} for child, parent, weight in ends]
    return {"couplings": couplings}


# ---- another format --------------------------------------------------------------------------------------------------


def convert(
    source: Source,
    target: Target,
    approximate: Approximate = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Convert a network file to another format."""
    check_target(target)
    files = files_of_network(target)
    for file in files:
        check_new(file, [source], force=force)
    with claimed(files[0], [source], force=force):
        forms = pf.convert(source, target, approximate)
    if json:
        units = [
            {"name": form.unit.name, "kind": form.kind, "num_parents": len(form.parents), "error": form.error}
            for form in forms
        ]
        output.print_json({"source": str(source), "target": str(target), "units": units})
        return
    print(f"saved to {target}")
    _print_forms(forms)


def _print_forms(forms: "list[Form]") -> None:
    """How many units are of each kind, and what an approximation costs."""
    from plefka.files.linear_fits import TOLERANCE

    if forms:
        print()
        counts = Counter(form.kind for form in forms)
        output.print_table(("recognised as", "units"), [(kind, f"{count:,}") for kind, count in counts.most_common()])
    costs = sorted((form for form in forms if form.error > TOLERANCE), key=lambda form: -form.error)
    if costs:
        print()
        rows = [(form.unit.name, form.kind, f"{form.error:.2g}") for form in costs[: output.PRINTED_ROWS]]
        output.print_table(("unit", "approximated by", "largest error"), rows)
        output.print_more(len(costs), len(rows))
