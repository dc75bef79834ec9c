"""Networks as JSON that people can read and write; docs/formats.md has the schema."""

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plefka.errors import InvalidFile, nearest
from plefka.files import given_lists, json_layout, stored, stored_machines, unit_lists
from plefka.files.stored import Bias, GivenActivation, Weights
from plefka.files.strict_json import Place, finite_numbers, parse
from plefka.networks.activations import Activation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.blocks import Blocks
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.checks import check_names
from plefka.networks.network import Network

Names = tuple[str, ...] | None


def dumps(network: BeliefNetwork | BoltzmannMachine) -> bytes:
    """The text of a network: a line for each edge, for each row of a matrix, or for each unit."""
    fields = {"format": json_layout.quoted(stored.FORMAT), "version": str(stored.version_of(network))}
    if isinstance(network, BoltzmannMachine):
        fields |= {
            stored_machines.MACHINE_KEY: stored_machines.text(network),
            **_sizes_and_names(network),
            "bias": bias_text(network),
        }
        fields["weights"] = json_layout.fields(_WRITERS[stored.kind_of(network)](network))
        return (json_layout.fields(fields) + "\n").encode()
    if network.conditionals is not None:
        fields |= {**_states_text(network), "units": unit_lists.text(network), **given_lists.text(network)}
        return (json_layout.fields(fields) + "\n").encode()
    fields["activation"] = _activation_text(network.activation)
    fields |= _sizes_and_names(network)
    fields |= _states_text(network)
    fields["bias"] = bias_text(network)
    fields["weights"] = json_layout.fields(_WRITERS[stored.kind_of(network)](network))
    fields |= given_lists.text(network)
    return (json_layout.fields(fields) + "\n").encode()


def _sizes_and_names(network: Network) -> dict[str, str]:
    fields = {} if network.stack is None else {"stack": str(network.stack)}
    if network.given_names is not None:
        fields["names"] = json_layout.wrapped(map(json_layout.quoted, network.given_names))
    return fields


def loads(content: bytes, activation: GivenActivation = None) -> BeliefNetwork | BoltzmannMachine:
    """The network that a text describes; `activation` is for one that the text only names."""
    file = Place(parse(content))
    if isinstance(file.value, dict):
        stored.check_header(file.value.get("format"), file.value.get("version"))
        if stored_machines.MACHINE_KEY in file.value:
            return _machine(file)
        if "units" in file.value:
            fields = file.fields(("format", "version", "units"), ("states", given_lists.TABLES_KEY))
            states = _states(fields["states"], len(fields["units"].items(of="units"))) if "states" in fields else None
            return _with_tables(unit_lists.from_text(fields["units"], activation, states), fields)
    fields = file.fields(
        ("format", "version", "activation", "bias", "weights"), ("stack", "names", "states", given_lists.TABLES_KEY)
    )
    stack = fields["stack"].whole(1) if "stack" in fields else None
    names = _names(fields["names"]) if "names" in fields else None
    chosen = stored.activation_in_text(fields["activation"], activation)
    bias = _bias(fields["bias"], names, () if stack is None else (stack,))
    weights, layers = _weights(fields["weights"], bias, names)
    states = _states(fields["states"], bias.shape[-1]) if "states" in fields else None
    return _with_tables(BeliefNetwork(weights, bias, chosen, names, layers=layers, states=states), fields)


def _machine(file: Place) -> BoltzmannMachine:
    fields = file.fields(("format", "version", stored_machines.MACHINE_KEY, "bias", "weights"), ("stack", "names"))
    stack = fields["stack"].whole(1) if "stack" in fields else None
    names = _names(fields["names"]) if "names" in fields else None
    lead = () if stack is None else (stack,)
    bias = _bias(fields["bias"], names, lead)
    return stored_machines.machine_from(
        *_weights(fields["weights"], bias, names),
        bias,
        names,
        **stored_machines.numbers(fields[stored_machines.MACHINE_KEY], lead),
    )


def _with_tables(network: BeliefNetwork, fields: dict[str, Place]) -> BeliefNetwork:
    return (
        given_lists.from_text(fields[given_lists.TABLES_KEY], network) if given_lists.TABLES_KEY in fields else network
    )


def _states_text(network: BeliefNetwork) -> dict[str, str]:
    if network.given_states is None:
        return {}
    return {
        "states": json_layout.lines(f"[{', '.join(map(json_layout.quoted, pair))}]" for pair in network.given_states)
    }


def _activation_text(activation: Activation) -> str:
    name = json_layout.quoted(activation.name)
    return name if stored.is_builtin(activation) else f'{{"custom": {name}}}'


def bias_text(network: Network) -> str:
    h = np.asarray(network.bias, float)
    if h.ndim == 2:
        return json_layout.rows(h)
    texts = map(json_layout.numbers, h.tolist())
    if network.given_names is None:
        return json_layout.wrapped(texts)
    return json_layout.fields(dict(zip(network.given_names, texts, strict=True)))


def _edges_text(network: Network) -> dict[str, str]:
    storage: Any = network.storage
    label = list(map(json_layout.quoted, network.names)) if network.given_names else network.names
    weights = map(json_layout.numbers, np.asarray(storage.values, float).T.tolist())
    ends = zip(storage.parent.unit.tolist(), storage.child.unit.tolist(), weights, strict=True)
    return {
        "edges": json_layout.lines(f"[{label[parent]}, {label[child]}, {weight}]" for parent, child, weight in ends)
    }


def _matrix_text(network: Any) -> dict[str, str]:
    return {"matrix": json_layout.rows(np.asarray(network.weights, float))}


def _layers_text(network: Network) -> dict[str, str]:
    blocks = json_layout.lines(json_layout.rows(np.asarray(W, float)) for W in network.storage.original())
    return {"layers": str(list(network.layers or ())), "blocks": blocks}


_WRITERS: dict[str, Callable[[Any], dict[str, str]]] = {
    "edges": _edges_text,
    "matrix": _matrix_text,
    "layers": _layers_text,
}


def _names(place: Place) -> tuple[str, ...]:
    words = place.items(of="names")
    if not words:
        raise place.refuse("the names of all units", " Leave it out if they have none.")
    if not {*map(type, words)} <= {str}:
        words = [place.at(k).word() for k in range(len(words))]
    check_names(words, len(words))
    return tuple(words)


def _states(place: Place, size: int) -> list[list[str]]:
    pairs = place.items(size, "pairs [off, on], one for each unit")
    for k in range(size):
        pair = place.at(k)
        for state in range(len(pair.items(2, "words, what off and on are called"))):
            pair.at(state).word()
    return pairs


def _bias(place: Place, names: Names, stack: tuple[int, ...]) -> Bias:
    if isinstance(place.value, dict):
        return _bias_by_name(place, names, stack)
    if stack:
        place.items(stack[0], "rows, one for each network of the stack")
    first = place.at(0) if stack else place
    size = len(names) if names is not None else len(first.items(of="numbers"))
    if size == 0:
        raise first.refuse("numbers, one for each unit", " A network has at least one.")
    return place.numbers((*stack, size))


def _bias_by_name(place: Place, names: Names, stack: tuple[int, ...]) -> Float[np.ndarray, " unit"]:
    if names is None or stack:
        where = "in a stack" if stack else "where units have no names"
        raise place.refuse(f"a list {where}")
    place.check_keys(names)
    values = finite_numbers([place.value[name] for name in names])
    return values if values is not None else np.array([place.at(name).number() for name in names])


def _weights(place: Place, bias: Bias, names: Names) -> Weights:
    found = stored.kinds_in(place.value) if isinstance(place.value, dict) else []
    if len(found) != 1:
        raise place.refuse(f"an object with one of the keys {stored.KINDS_IN_WORDS}")
    return _READERS[found[0]](place, bias, names)


def _read_matrix(place: Place, bias: Bias, names: Names) -> Weights:
    W = place.fields(("matrix",))["matrix"].numbers((*bias.shape, bias.shape[-1]))
    return Blocks.dense(W), None


def _read_layers(place: Place, bias: Bias, names: Names) -> Weights:
    fields = place.fields(("layers", "blocks"))
    size = bias.shape[-1]
    layers = tuple(fields["layers"].at(k).whole() for k in range(len(fields["layers"].items(of="sizes"))))
    if sum(layers) != size:
        raise fields["layers"].refuse(f"sizes that add up to the {size} units")
    fields["blocks"].items(len(layers) - 1, "blocks, one for each layer but the first")
    blocks = [fields["blocks"].at(k).numbers(shape) for k, shape in enumerate(stored.block_shapes(layers, bias.shape))]
    return Blocks.layered(blocks, layers), layers


def _read_edges(place: Place, bias: Bias, names: Names) -> Weights:
    place = place.fields(("edges",))["edges"]
    *stack, size = bias.shape
    edges = place.items(of="edges")
    if not ({*map(type, edges)} <= {list} and {*map(len, edges)} <= {3}):
        for k in range(len(edges)):
            place.at(k).items(3, "entries: parent, child, weight")
    flat = list(chain.from_iterable(edges))
    parents, children, weights = flat[0::3], flat[1::3], flat[2::3]
    from_units, to_units = _units(parents, 0, place, size, names), _units(children, 1, place, size, names)
    return stored.sorted_edges(
        _edge_weights(weights, place, tuple(stack)), from_units, to_units, size, place.path
    ), None


def _units(column: list, which: int, place: Place, size: int, names: Names) -> Int[np.ndarray, " edge"]:
    """The units at one end of all edges: all at once, and one by one only to find what is wrong."""
    position = {unit: at for at, unit in enumerate(names or range(size))}
    if {*map(type, column)} <= {str if names else int}:
        units = list(map(position.get, column))
        if None not in units:
            return np.array(units, np.int32)
    wrong = next(
        k for k, unit in enumerate(column) if type(unit) is not (str if names else int) or unit not in position
    )
    raise _refuse_end(place.at(wrong).at(which), size, names)


def _refuse_end(end: Place, size: int, names: Names) -> InvalidFile:
    if names is None:
        return end.refuse(
            f"the index of a unit, from 0 to {size - 1}", " Units without names are identified by their index."
        )
    hint = nearest(end.value, names) if isinstance(end.value, str) else ""
    return end.refuse("the name of a unit", hint or " Add it to names, or remove the edge.")


def _edge_weights(weights: list, place: Place, stack: tuple[int, ...]) -> Float[np.ndarray, "*stack edge"]:
    if stack:
        rows = [place.at(k).at(2).numbers(stack) for k in range(len(weights))]
        return np.ascontiguousarray(np.array(rows, float).reshape(-1, *stack).T)
    values = finite_numbers(weights)
    if values is not None:
        return values
    return np.array([place.at(k).at(2).number() for k in range(len(weights))], float)


_READERS: dict[str, Callable[[Place, Bias, Names], Weights]] = {
    "edges": _read_edges,
    "matrix": _read_matrix,
    "layers": _read_layers,
}
