"""`plefka show` of a Boltzmann machine."""

from typing import TYPE_CHECKING, Any

from plefka.cli import output

if TYPE_CHECKING:
    from plefka.networks.boltzmann import BoltzmannMachine


def facts(machine: "BoltzmannMachine") -> dict[str, Any]:
    """What it consists of, in plain numbers."""
    import numpy as np

    child, parent, weight = machine.storage.edge_list()
    degree = np.bincount(np.concatenate([child, parent]), minlength=machine.size)
    couplings = weight[weight != 0]
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
        "weights": {"least": float(couplings.min()), "most": float(couplings.max())} if couplings.size else None,
        "bias": {"least": float(np.min(machine.bias)), "most": float(np.max(machine.bias))},
    }


def couplings(machine: "BoltzmannMachine") -> list[dict[str, Any]]:
    """Of a single machine, both units and the weight of each."""
    if machine.stack is not None:
        return []
    names, ends = machine.names, machine.storage.edge_list()
    return [
        {"units": [names[parent], names[child]], "weight": float(weight[0])}
        for child, parent, weight in zip(*ends, strict=True)
    ]


def show(machine: "BoltzmannMachine", net: str, *, json: bool) -> None:
    """Its facts and its first units, or all of it as JSON."""
    found = facts(machine)
    if json:
        output.print_json({"network": net, **found, "names": list(machine.names), "couplings": couplings(machine)})
        return
    output.print_table(("network", found["kind"]), _rows(found))
    print()
    shown = min(machine.size, output.PRINTED_ROWS)
    if machine.stack is None:
        output.print_table(("unit", "bias", "coupled to"), machine.rows_in_words(shown))
    else:
        print("units: " + ", ".join(machine.names[:shown]))
    output.print_more(machine.size, shown)


def _rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    off, on = found["values"]
    degree, weights, bias = found["degree"], found["weights"], found["bias"]
    rows = [
        ("machines in the stack", f"{found['stack']:,}" if found["stack"] is not None else ""),
        ("visible x hidden units", " x ".join(map(str, found["restricted"] or ()))),
        ("units", f"{found['num_units']:,}, of {off} and {on}"),
        ("temperature", f"{found['temperature']:g}"),
        ("couplings", f"{found['num_couplings']:,}"),
        ("couplings of a unit", f"{degree['least']} to {degree['most']}, {degree['mean']:.3g} on average"),
        ("weights", f"{weights['least']:.4g} to {weights['most']:.4g}" if weights else ""),
        ("biases", f"{bias['least']:.4g} to {bias['most']:.4g}"),
    ]
    return [(name, value) for name, value in rows if value]
