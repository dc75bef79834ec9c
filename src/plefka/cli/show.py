"""`plefka show`: what a network consists of."""

import math
from typing import TYPE_CHECKING, Any, cast

from plefka.cli import options, output

if TYPE_CHECKING:
    import scipy.sparse as sp

    from plefka.networks.belief import BeliefNetwork
    from plefka.networks.boltzmann import BoltzmannMachine
    from plefka.networks.units import Unit


def show(net: options.Network, json: options.Json = False) -> None:
    """Describe a network: its units, edges and weights."""
    from plefka.cli.source import read_network

    network = read_network(net)
    if not network.is_normalised:
        _show_machine(cast(Any, network), net, json=json)
        return
    facts = _facts(network)
    if json:
        about = {"names": list(network.names), "states": [list(pair) for pair in network.given_states or ()] or None}
        output.print_json({"network": net, **_spelled(facts), **about, "edges": _edges(network)})
    else:
        _print(network, facts)


def _facts(network: "BeliefNetwork") -> dict[str, Any]:
    import numpy as np

    graph = _matrix(network) if network.stack is None else network.storage.union()
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
        "in_degree": {"least": int(parents.min()), "mean": float(parents.mean()), "most": int(parents.max())},
        "weights": _range(values[values != 0]),
        "bias": None if mixed else _range(np.asarray(network.bias).ravel()),
    }


def _range(values: Any) -> dict[str, float] | None:
    return {"least": float(values.min()), "most": float(values.max())} if values.size else None


def _matrix(network: "BeliefNetwork") -> "sp.csr_array":
    """weights[child, parent] of a single network, without the zeros of its blocks."""
    import scipy.sparse as sp

    weights = sp.csr_array(network.storage.to_sparse())
    weights.eliminate_zeros()
    return weights


def _edges(network: "BeliefNetwork") -> list[dict[str, Any]]:
    if network.stack is not None:
        return []
    if network.conditionals is not None:
        return [edge for name, unit in zip(network.names, network.units, strict=True) for edge in _edges_to(name, unit)]
    edges, names = _matrix(network).tocoo(), network.names
    return [
        _spelled({"parent": names[parent], "child": names[child], "weight": float(weight)})
        for child, parent, weight in zip(*edges.coords, edges.data, strict=True)
    ]


def _edges_to(name: str, unit: "Unit") -> list[dict[str, Any]]:
    """The edges to a unit of a network with tables, which have no weights."""
    weights = unit.weights or [None] * len(unit.parents)
    ends = zip(map(str, unit.parents), weights, strict=True)
    return [_spelled({"parent": parent, "child": name, "weight": weight}) for parent, weight in ends]


def _spelled(content: dict[str, Any]) -> dict[str, Any]:
    """Infinite weights as in a JSON file: a word, since JSON has no such number."""
    return {
        key: _spelled(value) if isinstance(value, dict) else "inf" if value == math.inf else value
        for key, value in content.items()
    }


def _print(network: "BeliefNetwork", facts: dict[str, Any]) -> None:
    output.print_table(("network", facts["kind"]), _fact_rows(facts))
    print()
    shown = min(network.size, output.PRINTED_ROWS)
    if network.stack is None:
        _print_units(network, shown)
    else:
        print("units: " + ", ".join(network.names[:shown]))
    output.print_more(network.size, shown)


def _fact_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    degree = facts["in_degree"]
    rows = [
        ("activation", facts["activation"]),
        ("networks in the stack", f"{facts['stack']:,}" if facts["stack"] is not None else ""),
        ("layers", " x ".join(map(str, facts["layers"] or ()))),
        ("units", f"{facts['num_units']:,}"),
        ("without parents", f"{facts['num_roots']:,}"),
        ("without children", f"{facts['num_leaves']:,}"),
        ("edges", f"{facts['num_edges']:,}"),
        ("parents of a unit", f"{degree['least']} to {degree['most']}, {degree['mean']:.3g} on average"),
        ("weights", _range_text(facts["weights"])),
        ("biases", _range_text(facts["bias"])),
    ]
    return [(name, value) for name, value in rows if value]


def _range_text(limits: dict[str, float] | None) -> str:
    return f"{limits['least']:.4g} to {limits['most']:.4g}" if limits else ""


def _print_units(network: "BeliefNetwork", shown: int) -> None:
    from plefka.errors import listed

    if network.conditionals is not None:
        print(network.describe(most=shown))
        return
    weights, names = _matrix(network), network.names
    rows = []
    for unit in range(shown):
        parents = weights.indices[weights.indptr[unit] : weights.indptr[unit + 1]]
        states = [f"{network.states[unit][1]} (not {network.states[unit][0]})"] if network.given_states else []
        rows.append((names[unit], *states, f"{network.bias[unit]:.4g}", listed(names[parent] for parent in parents)))
    output.print_table(("unit", *(["on is"] if network.given_states else []), "bias", "parents"), rows)


# ---- machines --------------------------------------------------------------------------------------------------------


def _machine_facts(machine: "BoltzmannMachine") -> dict[str, Any]:
    """What a machine consists of, in plain numbers."""
    import numpy as np

    child, parent, weight = machine.storage.edge_list()
    degree = np.bincount(np.concatenate([child, parent]), minlength=machine.size)
    return {
        "kind": "Boltzmann machine",
        "stack": machine.stack,
        "restricted": list(machine.layers) if machine.layers else None,
        "values": list(machine.values),
        "temperature": machine.temperature,
        "constant": np.asarray(machine.constant).tolist(),
        "num_units": machine.size,
        "num_couplings": len(child),
        "degree": {"least": int(degree.min()), "mean": float(degree.mean()), "most": int(degree.max())},
        "weights": _range(weight[weight != 0]),
        "bias": _range(np.asarray(machine.bias)),
    }


def _couplings(machine: "BoltzmannMachine") -> list[dict[str, Any]]:
    """Both units and the weight of each coupling, of a single machine."""
    if machine.stack is not None:
        return []
    names, ends = machine.names, machine.storage.edge_list()
    return [
        {"units": [names[parent], names[child]], "weight": float(weight[0])}
        for child, parent, weight in zip(*ends, strict=True)
    ]


def _show_machine(machine: "BoltzmannMachine", net: str, *, json: bool) -> None:
    """The facts of a machine and its first units, or all of it as JSON."""
    facts = _machine_facts(machine)
    if json:
        output.print_json({"network": net, **facts, "names": list(machine.names), "couplings": _couplings(machine)})
        return
    output.print_table(("network", facts["kind"]), _machine_rows(facts))
    print()
    shown = min(machine.size, output.PRINTED_ROWS)
    if machine.stack is None:
        output.print_table(("unit", "bias", "coupled to"), machine.rows_in_words(shown))
    else:
        print("units: " + ", ".join(machine.names[:shown]))
    output.print_more(machine.size, shown)


def _machine_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    off, on = facts["values"]
    degree = facts["degree"]
    rows = [
        ("machines in the stack", f"{facts['stack']:,}" if facts["stack"] is not None else ""),
        ("visible x hidden units", " x ".join(map(str, facts["restricted"] or ()))),
        ("units", f"{facts['num_units']:,}, of {off} and {on}"),
        ("temperature", f"{facts['temperature']:g}"),
        ("couplings", f"{facts['num_couplings']:,}"),
        ("couplings of a unit", f"{degree['least']} to {degree['most']}, {degree['mean']:.3g} on average"),
        ("weights", _range_text(facts["weights"])),
        ("biases", _range_text(facts["bias"])),
    ]
    return [(name, value) for name, value in rows if value]
