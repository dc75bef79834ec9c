"""`plefka show`: what a network consists of; `plefka convert`: from one file format to another."""

import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

import plefka as pf
from plefka.cli import options, output
from plefka.cli import source as sources
from plefka.cli.targets import check_new, check_target, claimed

if TYPE_CHECKING:
    from plefka.files.recognition import Form

Source = Annotated[Path, typer.Argument(metavar="A", help="A network file: .json, .npz, .bif, .xmlbif, .uai, ...")]
Target = Annotated[Path, typer.Argument(metavar="B", help="The file to write. Its suffix selects the format.")]
Approximate = Annotated[
    float | None,
    typer.Option(
        "--approximate",
        metavar="ERROR",
        help="Replace tables by noisy-or or sigmoid units if no probability changes by more than this, e.g. 0.02.",
    ),
]
Facts = dict[str, Any]


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
        output.print_json({"network": net, **network.identity, **_spelled(facts), "names": list(network.names), **more})
        return
    rows = _machine_rows(facts) if is_machine else _fact_rows(facts)
    rows += [("version", network.version or ""), ("fingerprint", network.fingerprint)]
    output.print_table(("network", facts["kind"]), [(name, value) for name, value in rows if value])
    print()
    shown = min(network.size, output.PRINTED_ROWS)
    if network.stack is not None:
        print("units: " + ", ".join(network.names[:shown]))
    else:
        output.print_table(*network.in_words(shown))
    output.print_more(network.size, shown)


def _spelled(content: Facts) -> Facts:
    """Infinite weights as in a JSON file: a word, since JSON has no such number."""
    return {
        key: _spelled(value) if isinstance(value, dict) else "inf" if value == math.inf else value
        for key, value in content.items()
    }


def _range(values: Any) -> dict[str, float] | None:
    return {"least": float(values.min()), "most": float(values.max())} if values.size else None


def _range_text(limits: dict[str, float] | None) -> str:
    return f"{limits['least']:.4g} to {limits['most']:.4g}" if limits else ""


def _degree(counts: Any) -> dict[str, float]:
    return {"least": int(counts.min()), "mean": float(counts.mean()), "most": int(counts.max())}


def _degree_text(degree: dict[str, float]) -> str:
    return f"{degree['least']} to {degree['most']}, {degree['mean']:.3g} on average"


# ---- belief networks -------------------------------------------------------------------------------------------------


def _facts(network: "pf.BeliefNetwork") -> Facts:
    import numpy as np

    graph = network.storage.to_sparse() if network.stack is None else network.storage.union()
    parents, children = np.diff(graph.indptr), np.diff(graph.tocsc().indptr)
    mixed = network.conditionals is not None  # weights and biases of tables are not numbers of the model
    values = np.zeros(0) if mixed else np.concatenate([np.zeros(0), *network.storage.leaves()])
    return {
        "kind": "belief network",
        "activation": network.activation.name,
        "stack": network.stack,
        "layers": list(network.layers) if network.layers else None,
        "num_units": network.size,
        "num_edges": int(graph.nnz),
        "num_roots": int(np.sum(parents == 0)),
        "num_leaves": int(np.sum(children == 0)),
        "in_degree": _degree(parents),
        "num_implications": len(network.implies),
        "weights": _range(values[values != 0]),
        "bias": None if mixed else _range(np.asarray(network.bias).ravel()),
    }


def _edges(network: "pf.BeliefNetwork") -> Facts:
    edges = [] if network.stack is not None else network.edges()
    return {
        "states": [list(pair) for pair in network.given_states or ()] or None,
        "edges": [_spelled(edge._asdict()) for edge in edges],
        "implies": [list(pair) for pair in network.implies],
    }


def _fact_rows(facts: Facts) -> list[tuple[str, str]]:
    names, ranges = ("weights", "biases"), [facts["weights"], facts["bias"]]
    if facts["activation"] == "noisy_or" and (facts["weights"] or {"least": 0})["least"] >= 0:
        names = ("strengths", "priors and leaks")
        ranges = [limits and {end: -math.expm1(-z) for end, z in limits.items()} for limits in ranges]
    return [
        ("activation", facts["activation"]),
        ("networks in the stack", f"{facts['stack']:,}" if facts["stack"] is not None else ""),
        ("layers", " x ".join(map(str, facts["layers"] or ()))),
        ("units", f"{facts['num_units']:,}"),
        ("without parents", f"{facts['num_roots']:,}"),
        ("without children", f"{facts['num_leaves']:,}"),
        ("edges", f"{facts['num_edges']:,}"),
        ("parents of a unit", _degree_text(facts["in_degree"])),
        ("pairs of which one implies the other", f"{facts['num_implications']:,}" if facts["num_implications"] else ""),
        *zip(names, map(_range_text, ranges), strict=True),
    ]


# ---- machines --------------------------------------------------------------------------------------------------------


def _machine_facts(machine: "pf.BoltzmannMachine") -> Facts:
    import numpy as np

    child, parent, weight = machine.storage.edge_list()
    return {
        "kind": "Boltzmann machine",
        "stack": machine.stack,
        "restricted": list(machine.layers) if machine.layers else None,
        "values": list(machine.values),
        "temperature": machine.temperature,
        "constant": np.asarray(machine.constant).tolist(),
        "num_units": machine.size,
        "num_couplings": len(child),
        "degree": _degree(np.bincount(np.concatenate([child, parent]), minlength=machine.size)),
        "weights": _range(weight[weight != 0]),
        "bias": _range(np.asarray(machine.bias)),
    }


def _couplings(machine: "pf.BoltzmannMachine") -> Facts:
    """Both units and the weight of each coupling, of a single machine."""
    names, ends = machine.names, [] if machine.stack is not None else zip(*machine.storage.edge_list(), strict=True)
    couplings = [{"units": [names[parent], names[child]], "weight": float(weight[0])} for child, parent, weight in ends]
    return {"couplings": couplings}


def _machine_rows(facts: Facts) -> list[tuple[str, str]]:
    off, on = facts["values"]
    return [
        ("machines in the stack", f"{facts['stack']:,}" if facts["stack"] is not None else ""),
        ("visible x hidden units", " x ".join(map(str, facts["restricted"] or ()))),
        ("units", f"{facts['num_units']:,}, of {off} and {on}"),
        ("temperature", f"{facts['temperature']:g}"),
        ("couplings", f"{facts['num_couplings']:,}"),
        ("couplings of a unit", _degree_text(facts["degree"])),
        ("weights", _range_text(facts["weights"])),
        ("biases", _range_text(facts["bias"])),
    ]


# ---- another format --------------------------------------------------------------------------------------------------


def convert(
    source: Source,
    target: Target,
    approximate: Approximate = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Convert a network file to another format."""
    from plefka.files import stored_in

    check_target(target)
    files = stored_in(target)
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
