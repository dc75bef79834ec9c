"""The schema of the native formats, the same in JSON and in NumPy arrays; docs/formats.md describes it.

A file has the weights of all units together (edges, a matrix, or a block for each layer), or one unit after the other
where units are of different kinds. A network that was read from tables keeps these beside its compact units: numbers of
a file are rounded, and a compact unit is off by as much, so that without them `exact` would find other numbers for a
network that was saved and loaded again.
"""

import reprlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plefka.errors import InvalidFile, InvalidInput, nearest
from plefka.networks.activations import ACTIVATIONS, MOST_PARENTS, Activation, Custom, Table, own_activation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.blocks import Blocks
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.checks import check_network
from plefka.networks.conditionals import GivenTables
from plefka.networks.edges import Edges
from plefka.networks.graph import Graph, cycle_text
from plefka.networks.markov import MarkovNetwork
from plefka.networks.network import Network
from plefka.networks.storage import Storage
from plefka.runtime.precision import is_traced

FORMAT, VERSION = "plefka", 4
MACHINE_KEY = "boltzmann"
VERSION_KEY = "network_version"  # what its users call these numbers; "version" is that of the format
WEIGHT_KINDS = {
    "edges": "a list of edges",
    "matrix": "a dense matrix",
    "layers": "a block for each layer but the first",
}
KINDS_IN_WORDS = ", ".join(f"{key} ({what})" for key, what in WEIGHT_KINDS.items())

GivenActivation = Activation | Callable | None
Bias = Float[np.ndarray, "*stack unit"]
Weights = tuple[Storage, tuple[int, ...] | None]  # with the sizes of the layers, if there are any
Family = tuple[list[int], np.ndarray]  # the parents of a unit, and P(on) in each of their states


def check_storable(network: object) -> None:
    """Whatever is written can be read again."""
    if isinstance(network, BoltzmannMachine):
        return
    if isinstance(network, MarkovNetwork):
        raise InvalidInput("a MarkovNetwork can be saved as .uai alone.")
    if not isinstance(network, BeliefNetwork):
        raise InvalidInput(f"save needs a BeliefNetwork or a BoltzmannMachine; got {type(network).__name__}.")
    if is_traced(network):
        raise InvalidInput("save needs a network of numbers; got one that JAX is tracing. Save it outside jax.jit.")
    if kind_of(network) == "layers" and network.layers is None:
        raise InvalidInput(
            "save needs blocks between neighbouring layers; got other blocks. Use BeliefNetwork.layered."
        )
    own = [] if network.conditionals is None else [kind for kind in network.conditionals.kinds if not is_builtin(kind)]
    if len(own) > 1:
        names = ", ".join(repr(kind.name) for kind in own)
        raise InvalidInput(
            f"save allows at most one activation of your own in a network; got {names}. Use tables for the others."
        )
    check_network(network, tolerance=0.0)


# ---- header and activations ------------------------------------------------------------------------------------------


def version_of(network: BeliefNetwork | BoltzmannMachine) -> int:
    """Units of different kinds came with version 2, Boltzmann machines with 3, and what units imply with 4."""
    if isinstance(network, BoltzmannMachine) or network.hierarchy is not None:
        return 3 if network.hierarchy is None else 4
    return 2 if network.conditionals is not None else 1


def check_header(form: object, version: object) -> None:
    """The file is one of ours, and not from the future."""
    if form != FORMAT:
        found = "nothing" if form is None else reprlib.repr(form)
        raise InvalidFile(f"format must be {FORMAT!r}; got {found}. Is this a network that plefka saved?")
    if type(version) is not int or version < 1:
        raise InvalidFile(f"version must be a whole number from 1 on; got {reprlib.repr(version)}.")
    if version > VERSION:
        raise InvalidFile(f"version must be at most {VERSION}; got {version}. Update plefka to read this file.")


def is_builtin(activation: Activation) -> bool:
    """Whether the name alone says what the activation is."""
    return type(activation) in ACTIVATIONS.values()


def builtin_activation(name: str, given: GivenActivation) -> Activation:
    """The activation that a file names, which is the one that the caller expects, if any."""
    if name not in ACTIVATIONS:
        raise InvalidFile(
            f"activation must be one of {', '.join(ACTIVATIONS)}, or custom; got {reprlib.repr(name)}."
            + nearest(name, ACTIVATIONS)
        )
    activation = ACTIVATIONS[name]()
    if given is not None and type(given) is not type(activation):
        raise InvalidFile(
            f"activation must be what the file says, {name!r}; got {_given_text(given)}. Load it without `activation`."
        )
    return activation


def custom_activation(name: str, given: GivenActivation) -> Activation:
    """The caller's activation, for a file that can only name it; a bare function takes on that name."""
    given = own_activation(name) if given is None else given
    if given is None:
        raise InvalidFile(
            f"the activation {name!r} is a Python function, which a file cannot store. "
            f"Pass it as load(path, activation=Custom(...)), or register it, as in pf.register({name!r})(Custom(...))."
        )
    if not isinstance(given, Activation):
        return Custom(given, name=name)
    if is_builtin(given) or given.name != name:
        raise InvalidFile(
            f"activation must be the custom one that the file names, {name!r}; got {_given_text(given)}. "
            f"If it is the same function, pass Custom(..., name={name!r})."
        )
    return given


def _given_text(given: GivenActivation) -> str:
    return repr(given.name) if isinstance(given, Activation) else f"the function {getattr(given, '__name__', given)!r}"


# ---- weights of all units --------------------------------------------------------------------------------------------


def kind_of(network: Network) -> str:
    """Which of `WEIGHT_KINDS` the weights are."""
    if isinstance(network.storage, Blocks):
        return "matrix" if network.storage.is_dense else "layers"
    return "edges"


def block_shapes(layers: tuple[int, ...], bias: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The shape of each block, (units of a layer, units of the layer above), from those of the layers and the bias."""
    return [(*bias[:-1], below, above) for above, below in pairwise(layers)]


def sorted_edges(
    values: Float[np.ndarray, "*stack edge"],
    parents: Int[np.ndarray, " edge"],
    children: Int[np.ndarray, " edge"],
    size: int,
    place: str,
) -> Edges:
    """Edges in the order in which a network keeps them; `place` is where the file lists them."""
    key = children.astype(np.int64) * size + parents
    if np.any(key[1:] <= key[:-1]):
        order = np.argsort(key, kind="stable")
        repeated = np.flatnonzero(key[order][1:] == key[order][:-1])
        if repeated.size:
            first, second = order[repeated[0]], order[repeated[0] + 1]
            raise InvalidFile(
                f"every edge must occur once; {place}[{second}] repeats {place}[{first}]. Remove one of them."
            )
        values, parents, children = values[..., order], parents[order], children[order]
    return Edges.from_lists(values, children.astype(np.int32), parents.astype(np.int32), size)


def machine_from(weights: Weights, bias: Bias, names: Sequence[str] | None, **numbers: Any) -> BoltzmannMachine:
    """The machine with the weights of a file, which have a coupling once, or in a matrix twice."""
    storage, layers = weights
    if layers is not None and len(layers) != 2:
        raise InvalidFile(f"a restricted machine must have two layers, visible and hidden; got {len(layers)}.")
    given: Any = storage
    if layers is None:
        given = storage.weights[0] if isinstance(storage, Blocks) else _symmetric(storage)
    try:
        return BoltzmannMachine(given, bias, names=names, layers=layers, **numbers)
    except InvalidInput as error:
        raise InvalidFile(str(error)) from error


def _symmetric(storage: Storage) -> Any:
    halves = storage.to_sparse() if storage.stack is not None else [storage.to_sparse()]
    both = [abs(L).multiply(abs(L.T)).tocoo() for L in halves]
    for matrix in both:
        if matrix.nnz and np.any(matrix.coords[0] != matrix.coords[1]):
            i, j = sorted((int(matrix.coords[0][0]), int(matrix.coords[1][0])))
            raise InvalidFile(
                f"every coupling must occur once; got that of units {i} and {j} twice. Remove one of them."
            )
    whole = [L + L.T for L in halves]
    return whole if storage.stack is not None else whole[0]


# ---- units one by one, and tables ------------------------------------------------------------------------------------


def num_states(num_parents: int, where: str, most: int = MOST_PARENTS) -> int:
    """The states of the parents of a table, of which there must not be too many."""
    if not 0 <= num_parents <= most:
        raise InvalidFile(f"{where}: a table must have at most {most} parents; got {num_parents}.")
    return 2**num_parents


def check_given(given: GivenActivation, kinds: Sequence[Any]) -> None:
    """An activation is given for a file that names one; `kinds` has None for a table."""
    builtin = tuple(ACTIVATIONS.values())
    if given is not None and all(kind is None or isinstance(kind, (*builtin, Table)) for kind in kinds):
        raise InvalidFile(
            f"activation is only for files that name an activation of your own, and this one does not; "
            f"got {reprlib.repr(given)}. "
            "Load it without `activation`."
        )


def with_tables(network: BeliefNetwork, families: list[Family], where: str) -> BeliefNetwork:
    """The network with the tables that it was read from: probabilities, of parents that differ and make no cycle."""
    for unit, (parents, on) in enumerate(families):
        if not np.all((on >= 0) & (on <= 1)):
            raise InvalidFile(f"{where}: a table must have probabilities; got others for unit {network.names[unit]!r}.")
        if len({*parents}) < len(parents):
            raise InvalidFile(f"{where}: parents must differ; got one twice for unit {network.names[unit]!r}.")
    if network.stack is not None:
        raise InvalidFile(f"{where}: a stack of networks has no tables; got some. Remove them.")
    cycle = Graph.of_parents([parents for parents, _ in families]).cycle()
    if cycle is not None:
        raise InvalidFile(f"{where}: parents must make no cycle; got {cycle_text(network.names, cycle)}.")
    given = GivenTables(
        tuple(tuple(parents) for parents, _ in families),
        tuple(on.reshape((2,) * len(parents)) for parents, on in families),
    )
    return network.with_tables(given)
