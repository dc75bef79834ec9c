"""What the native formats share: their version, the three kinds of weights, and how activations and edges are kept."""

import reprlib
from collections.abc import Callable, Container
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from plefka.errors import InvalidFile, InvalidInput, nearest
from plefka.files.strict_json import Place
from plefka.networks.activations import ACTIVATIONS, Activation, Custom
from plefka.networks.belief import BeliefNetwork
from plefka.networks.blocks import Blocks
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.checks import check_network
from plefka.networks.edges import Edges
from plefka.networks.network import Network
from plefka.networks.storage import Storage
from plefka.runtime.precision import is_traced

FORMAT, VERSION = "plefka", 3
WEIGHT_KINDS = {
    "edges": "a list of edges",
    "matrix": "a dense matrix",
    "layers": "a block for each layer but the first",
}
KINDS_IN_WORDS = ", ".join(f"{key} ({what})" for key, what in WEIGHT_KINDS.items())

GivenActivation = Activation | Callable | None
Bias = Float[np.ndarray, "*stack unit"]
Weights = tuple[Storage, tuple[int, ...] | None]  # with the sizes of the layers, if there are any


def check_storable(network: object) -> None:
    """Whatever is written can be read again."""
    if isinstance(network, BoltzmannMachine):
        return
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


def version_of(network: BeliefNetwork | BoltzmannMachine) -> int:
    """Networks whose units are of different kinds came with version 2, and Boltzmann machines with version 3."""
    if isinstance(network, BoltzmannMachine):
        return 3
    return 2 if network.conditionals is not None else 1


def kind_of(network: Network) -> str:
    """Which of `WEIGHT_KINDS` the weights are."""
    if isinstance(network.storage, Blocks):
        return "matrix" if network.storage.is_dense else "layers"
    return "edges"


def kinds_in(file: Container[str]) -> list[str]:
    """Which of `WEIGHT_KINDS` a file has keys for; there must be one."""
    return [kind for kind in WEIGHT_KINDS if kind in file]


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


def activation_in_text(place: Place, given: GivenActivation) -> Activation:
    """The activation that a place in a text names."""
    if isinstance(place.value, str):
        return builtin_activation(place.value, given if place.path == "activation" else None)
    if not isinstance(place.value, dict):
        raise place.refuse('a name, or {"custom": name}')
    return custom_activation(place.fields(("custom",))["custom"].word(), given)


def custom_activation(name: str, given: GivenActivation) -> Activation:
    """The caller's activation, for a file that can only name it; a bare function takes on that name."""
    if given is None:
        raise InvalidFile(
            f"the activation {name!r} is a Python function, which a file cannot store. "
            "Pass it as load(path, activation=Custom(...))."
        )
    if not isinstance(given, Activation):
        return Custom(given, name=name)
    if is_builtin(given) or given.name != name:
        raise InvalidFile(
            f"activation must be the custom one that the file names, {name!r}; got {_given_text(given)}. "
            f"If it is the same function, pass Custom(..., name={name!r})."
        )
    return given


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
        _check_distinct(key[order], order, place)
        values, parents, children = values[..., order], parents[order], children[order]
    return Edges.from_lists(values, children.astype(np.int32), parents.astype(np.int32), size)


def _check_distinct(key: Int[np.ndarray, " edge"], order: Int[np.ndarray, " edge"], place: str) -> None:
    repeated = np.flatnonzero(key[1:] == key[:-1])
    if repeated.size:
        first, second = order[repeated[0]], order[repeated[0] + 1]
        raise InvalidFile(
            f"every edge must occur once; {place}[{second}] repeats {place}[{first}]. Remove one of them."
        )


def _given_text(given: GivenActivation) -> str:
    return repr(given.name) if isinstance(given, Activation) else f"the function {getattr(given, '__name__', given)!r}"
