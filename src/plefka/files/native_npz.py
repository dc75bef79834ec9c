"""Networks as NumPy archives, for large ones: plain arrays without pickles; docs/formats.md has the schema."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Int, Integer

from plefka.errors import InvalidFile, listed
from plefka.files import given_lists, stored, stored_machines, unit_lists
from plefka.files.archive import Archive
from plefka.files.stored import Bias, GivenActivation, Weights
from plefka.networks.activations import Activation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.blocks import Blocks
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.checks import check_names
from plefka.networks.network import Network

NPZ_HEADER = (
    "format",
    "version",
    "activation",
    "custom",
    "names",
    "states",
    "bias",
    *given_lists.TABLE_ENTRY_NAMES,
    *stored_machines.MACHINE_ENTRIES,
)


def dumps(network: BeliefNetwork | BoltzmannMachine) -> bytes:
    """The archive of a network."""
    arrays: dict[str, Any] = {
        "format": np.array(stored.FORMAT),
        "version": np.array(stored.version_of(network)),
        **_content(network),
    }
    if network.given_names is not None:
        arrays["names"] = np.array(network.given_names)
    if network.given_states is not None:
        arrays["states"] = np.array(network.given_states)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _content(network: BeliefNetwork | BoltzmannMachine) -> dict[str, Any]:
    if isinstance(network, BoltzmannMachine):
        bias = {"bias": np.asarray(network.bias, float)}
        return {**stored_machines.arrays(network), **bias, **_WRITERS[stored.kind_of(network)](network)}
    return {
        **(_arrays(network) if network.conditionals is None else unit_lists.arrays(network)),
        **given_lists.arrays(network),
    }


def _arrays(network: BeliefNetwork) -> dict[str, Any]:
    name = network.activation.name
    return {
        "activation" if stored.is_builtin(network.activation) else "custom": np.array(name, f"U{len(name) or 1}"),
        "bias": np.asarray(network.bias, float),
        **_WRITERS[stored.kind_of(network)](network),
    }


def loads(content: bytes, activation: GivenActivation = None) -> BeliefNetwork | BoltzmannMachine:
    """The network in an archive; `activation` is for one that the archive only names."""
    archive = Archive(content)
    stored.check_header(archive.text("format"), archive.whole("version"))
    if stored_machines.MACHINE_KEY in archive:
        names = archive.texts("names") if "names" in archive else None
        bias = _bias(archive, names)
        weights = _READERS[_kind(archive)](archive, bias)
        return stored_machines.machine_from(
            *weights, bias, names, **stored_machines.numbers_in(archive, bias.shape[:-1])
        )
    if "kinds" in archive:
        return given_lists.from_archive(archive, unit_lists.from_archive(archive, activation))
    chosen = _activation(archive, activation)
    names = archive.texts("names") if "names" in archive else None
    bias = _bias(archive, names)
    weights, layers = _READERS[_kind(archive)](archive, bias)
    states = archive.pairs("states", bias.shape[-1]) if "states" in archive else None
    network = BeliefNetwork(weights, bias, chosen, names, layers=layers, states=states)
    return given_lists.from_archive(archive, network)


def _edge_arrays(network: Network) -> dict[str, np.ndarray]:
    storage: Any = network.storage
    ends = np.stack([storage.parent.unit, storage.child.unit], axis=-1)
    return {"edges": ends, "weights": np.asarray(storage.values, float)}


def _matrix_array(network: Any) -> dict[str, np.ndarray]:
    return {"matrix": np.asarray(network.weights, float)}


def _layer_arrays(network: Any) -> dict[str, np.ndarray]:
    blocks = {f"block_{k}": np.asarray(W, float) for k, W in enumerate(network.storage.original())}
    return {"layers": np.array(network.layers), **blocks}


_WRITERS: dict[str, Callable[[Any], dict[str, np.ndarray]]] = {
    "edges": _edge_arrays,
    "matrix": _matrix_array,
    "layers": _layer_arrays,
}


def _kind(archive: Archive) -> str:
    found = stored.kinds_in(archive)
    if len(found) != 1:
        got = ", ".join(found) or "none of them"
        raise InvalidFile(f"the archive must have exactly one of the entries {stored.KINDS_IN_WORDS}; got {got}.")
    return found[0]


def _activation(archive: Archive, given: GivenActivation) -> Activation:
    if ("activation" in archive) == ("custom" in archive):
        raise InvalidFile("the archive must have exactly one of the entries activation and custom; got both or none.")
    if "custom" in archive:
        return stored.custom_activation(archive.text("custom"), given)
    return stored.builtin_activation(archive.text("activation"), given)


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


def _read_edges(archive: Archive, bias: Bias) -> Weights:
    archive.check_names((*NPZ_HEADER, "edges", "weights"))
    *stack, size = bias.shape
    ends = archive.indices("edges", (None, 2), "pairs (parent, child) of whole numbers")
    parents, children = _within(ends, size).T
    shape = (*stack, len(ends))
    values = archive.numbers("weights", shape, f"one number for each edge, shape {shape}")
    return stored.sorted_edges(values, parents, children, size, "edges"), None


def _within(ends: Integer[np.ndarray, "edge 2"], size: int) -> Int[np.ndarray, "edge 2"]:
    outside = np.argwhere((ends < 0) | (ends >= size))
    if outside.size:
        edge, end = outside[0]
        raise InvalidFile(
            f"entry 'edges' must have indices of units, from 0 to {size - 1}; "
            f"got {ends[edge, end]} at edges[{edge}][{end}]."
        )
    return ends.astype(np.int32)


def _read_matrix(archive: Archive, bias: Bias) -> Weights:
    archive.check_names((*NPZ_HEADER, "matrix"))
    shape = (*bias.shape, bias.shape[-1])
    return Blocks.dense(archive.numbers("matrix", shape, f"one row for each unit, shape {shape}")), None


def _read_layers(archive: Archive, bias: Bias) -> Weights:
    layers = tuple(archive.indices("layers", (None,), "the sizes of the layers").tolist())
    size = bias.shape[-1]
    if sum(layers) != size or min(layers) < 0:
        raise InvalidFile(f"entry 'layers' must be sizes that add up to the {size} units; got {listed(layers)}.")
    shapes = stored.block_shapes(layers, bias.shape)
    archive.check_names((*NPZ_HEADER, "layers", *(f"block_{k}" for k in range(len(shapes)))))
    blocks = [archive.numbers(f"block_{k}", shape, f"numbers of shape {shape}") for k, shape in enumerate(shapes)]
    return Blocks.layered(blocks, layers), layers


_READERS: dict[str, Callable[[Archive, Bias], Weights]] = {
    "edges": _read_edges,
    "matrix": _read_matrix,
    "layers": _read_layers,
}
