"""Networks as JSON that people can read and write; docs/formats.md has the schema."""

from itertools import chain
from typing import Any

import numpy as np
from jaxtyping import Int

from plefka.errors import nearest
from plefka.files import native_schema as schema
from plefka.files.conditional_tables import MOST_READ_PARENTS
from plefka.files.native_schema import MACHINE_KEY, VERSION_KEY, Bias, Family, GivenActivation, Weights
from plefka.networks.activations import Activation, Table, as_activation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.blocks import Blocks
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.checks import check_names
from plefka.networks.network import Network
from plefka.networks.units import Unit
from plefka.runtime.strict_json import (
    Place,
    finite_numbers,
    lines_text,
    numbers_text,
    object_text,
    parse,
    quoted,
    rows_text,
    wrapped_text,
)

TABLES_KEY, IMPLIES_KEY = "tables", "implies"
Names = tuple[str, ...] | None


def dumps(network: BeliefNetwork | BoltzmannMachine) -> bytes:
    """The text of a network: a line for each edge, for each row of a matrix, or for each unit."""
    fields = {"format": quoted(schema.FORMAT), "version": str(schema.version_of(network))}
    if network.version is not None:
        fields[VERSION_KEY] = quoted(network.version)
    if network.conditionals is None:
        if isinstance(network, BoltzmannMachine):
            of_machine = {
                "values": str(list(network.values)),
                "temperature": numbers_text(float(network.temperature)),
                "constant": numbers_text(np.asarray(network.constant, float).tolist()),
            }
            fields[MACHINE_KEY] = object_text(of_machine)
        else:
            fields["activation"] = _activation_text(network.activation)
        if network.stack is not None:
            fields["stack"] = str(network.stack)
        if network.given_names is not None:
            fields["names"] = wrapped_text(map(quoted, network.given_names))
    if network.given_states is not None:
        fields["states"] = lines_text(f"[{', '.join(map(quoted, pair))}]" for pair in network.given_states)
    if isinstance(network, BeliefNetwork) and network.conditionals is not None:
        fields["units"] = lines_text(map(_unit_text, network.units))
    else:
        fields |= {"bias": _bias_text(network), "weights": object_text(_weights_text(network))}
    if network.given_tables is not None:
        label = _labels(network)
        families = zip(network.given_tables.parents, network.given_tables.on, strict=True)
        fields[TABLES_KEY] = lines_text(
            f'{{"parents": [{", ".join(label[unit] for unit in some)}], "on": {numbers_text(np.ravel(on).tolist())}}}'
            for some, on in families
        )
    if network.hierarchy is not None:
        label = _labels(network)
        pairs = network.hierarchy.pairs.tolist()
        fields[IMPLIES_KEY] = lines_text(f"[{label[unit]}, {label[general]}]" for unit, general in pairs)
    return (object_text(fields) + "\n").encode()


def loads(content: bytes, activation: GivenActivation = None) -> BeliefNetwork | BoltzmannMachine:
    """The network that a text describes; `activation` is for one that the text only names."""
    file, version = Place(parse(content)), None
    if isinstance(file.value, dict):
        schema.check_header(file.value.get("format"), file.value.get("version"))
        version = file.value.pop(VERSION_KEY, None)
        if MACHINE_KEY in file.value:
            return _machine(file).with_version(version)
        if "units" in file.value:
            return _network_of_units(file, activation).with_version(version)
    fields = file.fields(
        ("format", "version", "activation", "bias", "weights"),
        ("stack", "names", "states", TABLES_KEY, IMPLIES_KEY, "records"),
    )
    stack, names = _stack_and_names(fields)
    chosen = _activation(fields["activation"], activation)
    bias = _bias(fields["bias"], names, stack)
    weights, layers = _weights(fields["weights"], bias, names)
    states = _states(fields["states"], bias.shape[-1]) if "states" in fields else None
    network = BeliefNetwork(weights, bias, chosen, names, layers=layers, states=states)
    return _with_tables(network, fields).with_version(version)


def _machine(file: Place) -> BoltzmannMachine:
    fields = file.fields(("format", "version", MACHINE_KEY, "bias", "weights"), ("stack", "names"))
    stack, names = _stack_and_names(fields)
    bias = _bias(fields["bias"], names, stack)
    weights = _weights(fields["weights"], bias, names)
    of_all = fields[MACHINE_KEY].fields(("values", "temperature"), ("constant",))
    values, constant = tuple(of_all["values"].items(2, "numbers, those for off and on")), 0.0
    if "constant" in of_all:
        constant = of_all["constant"].numbers(stack) if stack else of_all["constant"].number()
    temperature = of_all["temperature"].number()
    return schema.machine_from(weights, bias, names, values=values, temperature=temperature, constant=constant)


def _stack_and_names(fields: dict[str, Place]) -> tuple[tuple[int, ...], Names]:
    """The leading axis of a stack, and the names of the units, if there are any."""
    stack = (fields["stack"].whole(1),) if "stack" in fields else ()
    if "names" not in fields:
        return stack, None
    place = fields["names"]
    words = place.items(of="names")
    if not words:
        raise place.refuse("the names of all units", " Leave it out if they have none.")
    if not {*map(type, words)} <= {str}:
        words = [place.at(k).word() for k in range(len(words))]
    check_names(words, len(words))
    return stack, tuple(words)


def _states(place: Place, size: int) -> list[list[str]]:
    pairs = place.each(size, "pairs [off, on], one for each unit")
    return [[state.word() for state in pair.each(2, "words, what off and on are called")] for pair in pairs]


def _activation_text(activation: Activation) -> str:
    name = quoted(activation.name)
    return name if schema.is_builtin(activation) else f'{{"custom": {name}}}'


def _activation(place: Place, given: GivenActivation) -> Activation:
    if isinstance(place.value, str):
        return schema.builtin_activation(place.value, given if place.path == "activation" else None)
    if not isinstance(place.value, dict):
        raise place.refuse('a name, or {"custom": name}')
    return schema.custom_activation(place.fields(("custom",))["custom"].word(), given)


def _labels(network: Network) -> list[str]:
    """How other units refer to a unit: by its name, or by its index."""
    return list(map(quoted, network.names)) if network.given_names else list(network.names)


# ---- biases and weights ----------------------------------------------------------------------------------------------


def _bias_text(network: Network) -> str:
    h = np.asarray(network.bias, float)
    if h.ndim == 2:
        return rows_text(h)
    texts = map(numbers_text, h.tolist())
    if network.given_names is None:
        return wrapped_text(texts)
    return object_text(dict(zip(network.given_names, texts, strict=True)))


def _bias(place: Place, names: Names, stack: tuple[int, ...]) -> Bias:
    if isinstance(place.value, dict):
        if names is None or stack:
            where = "in a stack" if stack else "where units have no names"
            raise place.refuse(f"a list {where}")
        place.check_keys(names)
        values = finite_numbers([place.value[name] for name in names])
        return values if values is not None else np.array([place.at(name).number() for name in names])
    if stack:
        place.items(stack[0], "rows, one for each network of the stack")
    first = place.at(0) if stack else place
    size = len(names) if names is not None else len(first.items(of="numbers"))
    if size == 0:
        raise first.refuse("numbers, one for each unit", " A network has at least one.")
    return place.numbers((*stack, size))


def _weights_text(network: Any) -> dict[str, str]:
    storage, kind = network.storage, schema.kind_of(network)
    if kind == "matrix":
        return {"matrix": rows_text(np.asarray(network.weights, float))}
    if kind == "layers":
        blocks = lines_text(rows_text(np.asarray(W, float)) for W in storage.original())
        return {"layers": str(list(network.layers or ())), "blocks": blocks}
    label = _labels(network)
    weights = map(numbers_text, np.asarray(storage.values, float).T.tolist())
    ends = zip(storage.parent.unit.tolist(), storage.child.unit.tolist(), weights, strict=True)
    return {"edges": lines_text(f"[{label[parent]}, {label[child]}, {weight}]" for parent, child, weight in ends)}


def _weights(place: Place, bias: Bias, names: Names) -> Weights:
    found = [kind for kind in schema.WEIGHT_KINDS if isinstance(place.value, dict) and kind in place.value]
    if len(found) != 1:
        raise place.refuse(f"an object with one of the keys {schema.KINDS_IN_WORDS}")
    return _READERS[found[0]](place, bias, names)


def _read_matrix(place: Place, bias: Bias, names: Names) -> Weights:
    W = place.fields(("matrix",))["matrix"].numbers((*bias.shape, bias.shape[-1]))
    return Blocks.dense(W), None


def _read_layers(place: Place, bias: Bias, names: Names) -> Weights:
    fields = place.fields(("layers", "blocks"))
    size = bias.shape[-1]
    layers = tuple(layer.whole() for layer in fields["layers"].each(of="sizes"))
    if sum(layers) != size:
        raise fields["layers"].refuse(f"sizes that add up to the {size} units")
    blocks = fields["blocks"].each(len(layers) - 1, "blocks, one for each layer but the first")
    shapes = schema.block_shapes(layers, bias.shape)
    weights = [block.numbers(shape) for block, shape in zip(blocks, shapes, strict=True)]
    return Blocks.layered(weights, layers), layers


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
    values = None if stack else finite_numbers(weights)
    if values is None:
        at = [place.at(k).at(2) for k in range(len(weights))]
        rows = np.array([each.numbers(tuple(stack)) if stack else each.number() for each in at], float)
        values = np.ascontiguousarray(rows.reshape(-1, *stack).T)
    return schema.sorted_edges(values, from_units, to_units, size, place.path), None


def _units(column: list, which: int, place: Place, size: int, names: Names) -> Int[np.ndarray, " edge"]:
    """The units at one end of all edges: all at once, and one by one only to find what is wrong."""
    kind, position = str if names else int, {unit: at for at, unit in enumerate(names or range(size))}
    if {*map(type, column)} <= {kind}:
        units = list(map(position.get, column))
        if None not in units:
            return np.array(units, np.int32)
    wrong = next(k for k, unit in enumerate(column) if type(unit) is not kind or unit not in position)
    end = place.at(wrong).at(which)
    if names is None:
        raise end.refuse(
            f"the index of a unit, from 0 to {size - 1}", " Units without names are identified by their index."
        )
    hint = nearest(end.value, names) if isinstance(end.value, str) else ""
    raise end.refuse("the name of a unit", hint or " Add it to names, or remove the edge.")


_READERS = {"edges": _read_edges, "matrix": _read_matrix, "layers": _read_layers}


# ---- units one by one, and the tables that a network was read from ---------------------------------------------------


def _unit_text(unit: Unit) -> str:
    parents = [quoted(parent) if isinstance(parent, str) else str(parent) for parent in unit.parents]
    fields = {} if unit.name is None else {"name": quoted(unit.name)}
    fields["parents"] = f"[{', '.join(parents)}]"
    if isinstance(unit.kind, Table):
        fields["table"] = numbers_text(unit.kind.probabilities.ravel().tolist())
    else:
        fields["kind"] = _activation_text(as_activation(unit.kind))
        fields |= {"bias": numbers_text(unit.bias), "weights": numbers_text(list(unit.weights))}
    return f"{{{', '.join(f'{quoted(key)}: {value}' for key, value in fields.items())}}}"


def _network_of_units(file: Place, given: GivenActivation) -> BeliefNetwork:
    fields = file.fields(("format", "version", "units"), ("states", TABLES_KEY, IMPLIES_KEY, "records"))
    places = fields["units"].each(of="units")
    states = _states(fields["states"], len(places)) if "states" in fields else None
    units = [_unit(place, given) for place in places]
    schema.check_given(given, [unit.kind for unit in units])
    return _with_tables(BeliefNetwork.of_units(units, states=states), fields)


def _unit(place: Place, given: GivenActivation) -> Unit:
    is_table = isinstance(place.value, dict) and "table" in place.value
    fields = place.fields(("parents", "table") if is_table else ("parents", "kind", "bias", "weights"), ("name",))
    name = fields["name"].word() if "name" in fields else None
    parents = [_parent(parent) for parent in fields["parents"].each(of="parents")]
    if is_table:
        on = fields["table"].numbers((schema.num_states(len(parents), place.path),))
        return Unit(name, parents, Table(on.reshape((2,) * len(parents))))
    kind, bias = _activation(fields["kind"], given), fields["bias"].number()
    return Unit(name, parents, kind, fields["weights"].numbers((len(parents),)).tolist(), bias)


def _parent(place: Place, position: dict[str | int, int] | None = None) -> Any:
    """What a parent is called, or its position, where these are known."""
    if type(place.value) not in (str, int) or (position is not None and place.value not in position):
        raise place.refuse("the name of a unit, or the index of one where units have no names")
    return place.value if position is None else position[place.value]


def _with_tables(network: BeliefNetwork, fields: dict[str, Place]) -> BeliefNetwork:
    """With the pairs of `implies` and the families of `tables`, where a file has them."""
    if IMPLIES_KEY in fields:
        place = fields[IMPLIES_KEY]
        pairs = [pair.items(2, "units, one and a more general one") for pair in place.each(of="pairs")]
        ends = [_units([pair[k] for pair in pairs], k, place, network.size, network.given_names) for k in range(2)]
        network = network.with_implies(np.stack(ends, axis=1).tolist())
    if TABLES_KEY not in fields:
        return network
    place = fields[TABLES_KEY]
    position = {unit: at for at, unit in enumerate(network.given_names or range(network.size))}
    families: list[Family] = []
    for family in place.each(network.size, "tables, one for each unit"):
        fields = family.fields(("parents", "on"))
        given = fields["parents"].each(of="parents")
        states = schema.num_states(len(given), family.path, MOST_READ_PARENTS)
        parents = [_parent(parent, position) for parent in given]
        families.append((parents, fields["on"].numbers((states,))))
    return schema.with_tables(network, families, place.path)
