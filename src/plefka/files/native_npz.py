"""Networks as NumPy archives, for large ones: plain arrays without pickles; docs/formats.md has the schema."""

import io
from typing import Any

import numpy as np
from jaxtyping import Int, Integer

from plefka.errors import InvalidFile, listed
from plefka.files import native_schema as schema
from plefka.files.archive import Archive
from plefka.files.conditional_tables import MOST_READ_PARENTS
from plefka.files.native_schema import MACHINE_KEY, VERSION_KEY, Bias, Family, GivenActivation, Weights
from plefka.networks.activations import Activation, Table, as_activation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.blocks import Blocks
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.checks import check_names
from plefka.networks.units import Unit

TABLE_KIND = "table"
CUSTOM = "custom:"  # and the name, of a unit's kind
MACHINE_ENTRIES = (MACHINE_KEY, "temperature", "constant")
TABLE_ENTRIES = ("table_num_parents", "table_parents", "table_numbers")
COMMON = ("format", "version", VERSION_KEY, "names", "states", "implies")
HEADER = (*COMMON, "activation", "custom", "bias", *TABLE_ENTRIES, *MACHINE_ENTRIES)
UNIT_ENTRIES = (*COMMON, "kinds", "kind", "num_parents", "parents", "numbers")


def dumps(network: BeliefNetwork | BoltzmannMachine) -> bytes:
    """The archive of a network."""
    arrays: dict[str, Any] = {"format": np.array(schema.FORMAT), "version": np.array(schema.version_of(network))}
    if isinstance(network, BoltzmannMachine):
        numbers = np.array(network.values), np.array(network.temperature), np.asarray(network.constant, float)
        arrays |= {**dict(zip(MACHINE_ENTRIES, numbers, strict=True)), **_weight_arrays(network)}
    elif network.conditionals is not None:
        arrays |= _unit_arrays(network)
    else:
        name = network.activation.name
        key = "activation" if schema.is_builtin(network.activation) else "custom"
        arrays |= {key: np.array(name, f"U{len(name) or 1}"), **_weight_arrays(network)}
    arrays |= _table_arrays(network)
    if network.given_names is not None:
        arrays["names"] = np.array(network.given_names)
    if network.given_states is not None:
        arrays["states"] = np.array(network.given_states)
    if network.version is not None:
        arrays[VERSION_KEY] = np.array(network.version)
    if network.hierarchy is not None:
        arrays["implies"] = network.hierarchy.pairs
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def loads(content: bytes, activation: GivenActivation = None) -> BeliefNetwork | BoltzmannMachine:
    """The network in an archive; `activation` is for one that the archive only names."""
    archive = Archive(content)
    schema.check_header(archive.text("format"), archive.whole("version"))
    version = archive.text(VERSION_KEY) if VERSION_KEY in archive else None
    return _network(archive, activation).with_version(version)


def _network(archive: Archive, activation: GivenActivation) -> BeliefNetwork | BoltzmannMachine:
    is_machine = MACHINE_KEY in archive
    if "kinds" in archive and not is_machine:
        return _with_tables(archive, _network_of_units(archive, activation))
    chosen: Any = None if is_machine else _activation(archive, activation)
    names = archive.texts("names") if "names" in archive else None
    bias = _bias(archive, names)
    weights, layers = _weights(archive, bias)
    if is_machine:
        constant = archive.numbers("constant", bias.shape[:-1], "a number, or one for each machine of a stack")
        numbers = {
            "values": tuple(archive.indices(MACHINE_KEY, (2,), "the numbers for off and on").tolist()),
            "temperature": float(archive.numbers("temperature", (), "one number")),
            "constant": constant if constant.ndim else float(constant),
        }
        return schema.machine_from((weights, layers), bias, names, **numbers)
    states = archive.pairs("states", bias.shape[-1]) if "states" in archive else None
    return _with_tables(archive, BeliefNetwork(weights, bias, chosen, names, layers=layers, states=states))


def _activation(archive: Archive, given: GivenActivation) -> Activation:
    if ("activation" in archive) == ("custom" in archive):
        raise InvalidFile("the archive must have exactly one of the entries activation and custom; got both or none.")
    if "custom" in archive:
        return schema.custom_activation(archive.text("custom"), given)
    return schema.builtin_activation(archive.text("activation"), given)


# ---- biases and weights ----------------------------------------------------------------------------------------------


def _weight_arrays(network: Any) -> dict[str, np.ndarray]:
    arrays, storage, kind = {"bias": np.asarray(network.bias, float)}, network.storage, schema.kind_of(network)
    if kind == "matrix":
        return arrays | {"matrix": np.asarray(network.weights, float)}
    if kind == "edges":
        ends = np.stack([storage.parent.unit, storage.child.unit], axis=-1)
        return arrays | {"edges": ends, "weights": np.asarray(storage.values, float)}
    blocks = {f"block_{k}": np.asarray(W, float) for k, W in enumerate(storage.original())}
    return arrays | {"layers": np.array(network.layers), **blocks}


def _bias(archive: Archive, names: list[str] | None) -> Bias:
    if names is not None:
        check_names(names, len(names))
    stacked = "bias" in archive and len(archive.shape("bias")) == 2
    size = len(names) if names is not None else None
    units = "unit" if size is None else f"of the {size} units"
    bias = archive.numbers("bias", (None, size) if stacked else (size,), f"one number for each {units} (or a stack)")
    if bias.size == 0:
        raise InvalidFile(f"entry 'bias' must have at least one number; got shape {bias.shape}.")
    return bias


def _weights(archive: Archive, bias: Bias) -> Weights:
    found = [kind for kind in schema.WEIGHT_KINDS if kind in archive]
    if len(found) != 1:
        got = ", ".join(found) or "none of them"
        raise InvalidFile(f"the archive must have exactly one of the entries {schema.KINDS_IN_WORDS}; got {got}.")
    return _READERS[found[0]](archive, bias)


def _read_edges(archive: Archive, bias: Bias) -> Weights:
    archive.check_names((*HEADER, "edges", "weights"))
    *stack, size = bias.shape
    ends = archive.indices("edges", (None, 2), "pairs (parent, child) of whole numbers")
    parents, children = _within(ends, size).T
    shape = (*stack, len(ends))
    values = archive.numbers("weights", shape, f"one number for each edge, shape {shape}")
    return schema.sorted_edges(values, parents, children, size, "edges"), None


def _within(ends: Integer[np.ndarray, "edge 2"], size: int, entry: str = "edges") -> Int[np.ndarray, "edge 2"]:
    outside = np.argwhere((ends < 0) | (ends >= size))
    if outside.size:
        edge, end = outside[0]
        raise InvalidFile(
            f"entry {entry!r} must have indices of units, from 0 to {size - 1}; "
            f"got {ends[edge, end]} at {entry}[{edge}][{end}]."
        )
    return ends.astype(np.int32)


def _read_matrix(archive: Archive, bias: Bias) -> Weights:
    archive.check_names((*HEADER, "matrix"))
    shape = (*bias.shape, bias.shape[-1])
    return Blocks.dense(archive.numbers("matrix", shape, f"one row for each unit, shape {shape}")), None


def _read_layers(archive: Archive, bias: Bias) -> Weights:
    layers = tuple(archive.indices("layers", (None,), "the sizes of the layers").tolist())
    size = bias.shape[-1]
    if sum(layers) != size or min(layers) < 0:
        raise InvalidFile(f"entry 'layers' must be sizes that add up to the {size} units; got {listed(layers)}.")
    shapes = schema.block_shapes(layers, bias.shape)
    archive.check_names((*HEADER, "layers", *(f"block_{k}" for k in range(len(shapes)))))
    blocks = [archive.numbers(f"block_{k}", shape, f"numbers of shape {shape}") for k, shape in enumerate(shapes)]
    return Blocks.layered(blocks, layers), layers


_READERS = {"edges": _read_edges, "matrix": _read_matrix, "layers": _read_layers}


# ---- units one by one: kinds, parents and numbers of all of them, one behind the other -------------------------------


def _unit_arrays(network: BeliefNetwork) -> dict[str, Any]:
    units = network.units
    words = []
    for unit in units:
        kind = None if isinstance(unit.kind, Table) else as_activation(unit.kind)
        words.append(TABLE_KIND if kind is None else kind.name if schema.is_builtin(kind) else CUSTOM + kind.name)
    kinds = list(dict.fromkeys(words))
    parents = [[network.index(parent) for parent in unit.parents] for unit in units]
    numbers = [u.kind.probabilities.ravel() if isinstance(u.kind, Table) else [u.bias, *u.weights] for u in units]
    return {
        "kinds": np.array(kinds),
        "kind": np.array([kinds.index(word) for word in words]),
        "num_parents": np.array(list(map(len, parents))),
        "parents": np.concatenate([np.zeros(0, int), *parents]).astype(int),
        "numbers": np.concatenate(numbers),
    }


def _network_of_units(archive: Archive, given: GivenActivation) -> BeliefNetwork:
    archive.check_names((*UNIT_ENTRIES, *TABLE_ENTRIES))
    kinds: list[Activation | None] = []
    for word in archive.texts("kinds"):
        if word.startswith(CUSTOM):
            kinds.append(schema.custom_activation(word.removeprefix(CUSTOM), given))
        else:
            kinds.append(None if word == TABLE_KIND else schema.builtin_activation(word, None))
    schema.check_given(given, kinds)
    number = archive.indices("kind", (None,), "the number of a kind for each unit")
    counts = archive.indices("num_parents", (len(number),), "how many parents each unit has")
    if np.any((number < 0) | (number >= len(kinds))) or np.any(counts < 0) or len(number) == 0:
        raise InvalidFile("entries 'kind' and 'num_parents' must be those of units; got other numbers or none.")
    parents = archive.indices("parents", (int(counts.sum()),), "the parents of all units")
    names = archive.texts("names") if "names" in archive else [None] * len(number)
    if len(names) != len(number):
        raise InvalidFile(f"entry 'names' must have a name for each of the {len(number)} units; got {len(names)}.")
    of_units = [kinds[k] for k in number]
    sizes = [
        schema.num_states(count, f"unit {k}") if of_units[k] is None else count + 1
        for k, count in enumerate(counts.tolist())
    ]
    numbers = archive.numbers("numbers", (sum(sizes),), "the numbers of all units")
    units = []
    for name, kind, own, above in zip(names, of_units, _cut(numbers, sizes), _cut(parents, counts), strict=True):
        if kind is None:
            units.append(Unit(name, above.tolist(), Table(own.reshape((2,) * len(above)))))
        else:
            units.append(Unit(name, above.tolist(), kind, own[1:].tolist(), float(own[0])))
    states = archive.pairs("states", len(number)) if "states" in archive else None
    return BeliefNetwork.of_units(units, states=states)


def _cut(values: np.ndarray, sizes: Any) -> list[np.ndarray]:
    return np.split(values, np.cumsum(sizes)[:-1])


# ---- the tables that a network was read from -------------------------------------------------------------------------


def _table_arrays(network: BeliefNetwork | BoltzmannMachine) -> dict[str, Any]:
    given = network.given_tables
    if given is None:
        return {}
    counts = np.array(list(map(len, given.parents)))
    parents = np.concatenate([np.zeros(0, int), *given.parents]).astype(int)
    return dict(zip(TABLE_ENTRIES, (counts, parents, np.concatenate(list(map(np.ravel, given.on)))), strict=True))


def _with_tables(archive: Archive, network: BeliefNetwork) -> BeliefNetwork:
    """With what units imply, and with the tables that a network was read from."""
    if "implies" in archive:
        pairs = archive.indices("implies", (None, 2), "pairs (unit, more general unit) of whole numbers")
        network = network.with_implies(_within(pairs, network.size, "implies").tolist())
    if not any(name in archive for name in TABLE_ENTRIES):
        return network
    first, second, third = TABLE_ENTRIES
    counts = archive.indices(first, (network.size,), f"how many parents each of the {network.size} units has").tolist()
    sizes = [schema.num_states(count, f"{first}[{unit}]", MOST_READ_PARENTS) for unit, count in enumerate(counts)]
    parents = archive.indices(second, (sum(counts),), "the parents of all units")
    if np.any((parents < 0) | (parents >= network.size)):
        raise InvalidFile(f"entry {second!r} must have indices of units, from 0 to {network.size - 1}; got others.")
    numbers = archive.numbers(third, (sum(sizes),), "P(on) in each state of the parents, unit by unit")
    families = zip(_cut(parents, counts), _cut(numbers, sizes), strict=True)
    found: list[Family] = [(some.tolist(), on) for some, on in families]
    return schema.with_tables(network, found, third)
