"""What users give a network: what must hold for it, checked once, at the door, and how it is kept."""

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from plefka.errors import InvalidInput, InvalidNetwork, PlefkaWarning, listed
from plefka.networks.activations import Activation, Mixed, Table, as_activation, namespace
from plefka.networks.blocks import Blocks
from plefka.networks.edges import Edges
from plefka.networks.graph import Graph, cycle_text
from plefka.networks.storage import Storage
from plefka.runtime.precision import is_traced

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork
    from plefka.networks.network import Network

DOMAIN_ROUNDING = 1e-9  # a field this little outside its domain, relative to the field, is inside
PROBABILITY_TOLERANCE = 1e-6  # a field this little outside its domain comes from rounded numbers in a file
NUMBERED = ("0", "1")  # what off and on are called where they have no words
STACKLEVEL = 6  # from the warning to the line that makes the network


def check_network(network: "BeliefNetwork", tolerance: float) -> Any:
    """Finite numbers, no cycle, and fields inside the activation's domain: the biases with which they are."""
    if not 0 <= tolerance < np.inf:
        raise InvalidInput(f"tolerance must be a number, at least 0; got {tolerance!r}.")
    _check_numbers(network)
    _check_acyclic(network)
    return _bias_inside_domain(network, tolerance)


def check_square(shape: tuple[int, ...]) -> None:
    if len(shape) not in (2, 3) or shape[-1] != shape[-2] or 0 in shape:
        raise InvalidNetwork(
            f"weights must be a square matrix, one row and column for each unit (or a stack of them); "
            f"got shape {shape}. For layers use BeliefNetwork.layered."
        )


def check_sparse_stack(weights: Sequence[Any]) -> None:
    shapes = [getattr(W, "shape", None) for W in weights]
    if len(set(shapes)) > 1 or not all(map(sp.issparse, weights)):
        raise InvalidNetwork(f"all matrices of a sparse stack must have the same shape; got {listed(shapes)}.")
    check_square(shapes[0] or ())


def check_layers(weights: Sequence[Any], bias: Sequence[Any]) -> tuple[int, ...]:
    """The sizes of the layers, top first."""
    if len(bias) != len(weights) + 1:
        raise InvalidNetwork(
            f"a layered network must have one more bias vector than weight matrices; got {len(bias)} bias vectors and "
            f"{len(weights)} weight matrices."
        )
    if any(h.ndim not in (1, 2) for h in bias):
        raise InvalidNetwork(f"every layer must have a vector of biases; got shapes {[h.shape for h in bias]}.")
    sizes = tuple(h.shape[-1] for h in bias)
    if sum(sizes) == 0 or any(h.ndim == 2 and h.shape[0] == 0 for h in bias):
        raise InvalidNetwork(
            f"a network must have at least one unit, and a stack at least one network; "
            f"got biases of shapes {[h.shape for h in bias]}."
        )
    for level, (W, above, below) in enumerate(zip(weights, sizes, sizes[1:], strict=False)):
        if W.ndim not in (2, 3) or W.shape[-2:] != (below, above):
            raise InvalidNetwork(
                f"weights[{level}] must be (units of layer {level + 1}, units of layer {level}) = ({below}, {above}); "
                f"got shape {W.shape}."
            )
    stacks = {W.shape[0] for W in weights if W.ndim == 3} | {h.shape[0] for h in bias if h.ndim == 2}
    if len(stacks) > 1 or (stacks and any(W.ndim == 2 for W in weights)):
        raise InvalidNetwork(
            f"in a stack all weights and biases must have the same leading axis; "
            f"got weights {[W.shape for W in weights]}, bias {[h.shape for h in bias]}."
        )
    return sizes


def check_names(names: Sequence[str] | None, size: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    names = tuple(names)
    if len(names) != size:
        raise InvalidNetwork(f"there must be one name for each of the {size} units; got {len(names)}.")
    odd = [name for name in names if not (isinstance(name, str) and name.strip() and name.isprintable())]
    if odd:
        raise InvalidNetwork(f"names must be printable words; got {odd[0]!r}.")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InvalidNetwork(f"names must be unique; these occur more than once: {listed(repeated)}.")
    return names


def check_states(states: Sequence[Sequence[str]] | None, names: Sequence[str]) -> tuple[tuple[str, str], ...] | None:
    """A pair (off, on) of words for each unit; None where all are 0 and 1."""
    if states is None:
        return None
    if len(states) != len(names):
        raise InvalidNetwork(f"states must be a pair (off, on) for each of the {len(names)} units; got {len(states)}.")
    pairs = []
    for pair, name in zip(states, names, strict=True):
        words = tuple(pair) if not isinstance(pair, str) else (pair,)
        printable = all(isinstance(word, str) and word.strip() and word.isprintable() for word in words)
        if len(words) != 2 or not printable or words[0] == words[1]:
            raise InvalidNetwork(
                f"the states of a unit must be two different printable words, off and on; got {words!r} for unit "
                f"{name!r}."
            )
        pairs.append(words)
    return None if all(pair == NUMBERED for pair in pairs) else tuple(pairs)


def check_bias(network: "Network") -> None:
    bad = np.argwhere(~np.isfinite(network.bias))
    if bad.size:
        unit, value = bad[0][-1], network.bias[tuple(bad[0])]
        raise InvalidNetwork(f"biases must be finite; got {value} at unit {network.names[unit]}.")


def _check_numbers(network: "BeliefNetwork") -> None:
    check_bias(network)
    values = np.concatenate([np.zeros(0), *network.storage.leaves()])
    if np.isnan(values).any():
        raise InvalidNetwork("weights must be numbers; got nan. Use 0 for an absent edge.")
    if np.isneginf(values).any():
        raise InvalidNetwork("weights must not be -inf. Use a finite negative number.")
    if np.isinf(values).any() and not network.activation.allows_certain_edges:
        raise InvalidNetwork(
            f"weights of a {network.activation.name} network must be finite; got inf. "
            "Only noisy-or units can have edges of probability one."
        )


def _check_acyclic(network: "BeliefNetwork") -> None:
    storage = network.storage
    if isinstance(storage, Blocks) and not storage.is_dense:
        return
    child, parent, weight = storage.edge_list()
    if Graph(child, parent, storage.size).cycle() is None:
        return
    for there in (weight != 0).T:  # the networks of a stack may order their units differently
        cycle = Graph(child[there], parent[there], storage.size).cycle()
        if cycle is not None:
            raise InvalidNetwork(
                f"weights must be acyclic; got the cycle {cycle_text(network.names, cycle)}. Remove one of these edges."
            )


def _bias_inside_domain(network: "BeliefNetwork", tolerance: float) -> Any:
    """A negative weight is fine, as long as no state of the parents takes the field out of the domain.

    Where it does so by no more than the tolerance, the bias moves. To clip fields where they are computed would let
    methods disagree that are all exact: they compute different ones.
    """
    low, high = network.activation.domain
    if np.isneginf(low) and np.isposinf(high):
        return network.bias
    with np.errstate(over="ignore", invalid="ignore"):  # infinite sums are no fault here
        lowest, highest = (network.bias + part for part in network.storage.extreme_sums())
        has_field = network.activation.has_field(network.bias)
        below = np.where(has_field & (lowest < low - DOMAIN_ROUNDING * (1 + np.abs(lowest))), low - lowest, 0.0)
        above = np.where(has_field & (highest > high + DOMAIN_ROUNDING * (1 + np.abs(high))), highest - high, 0.0)
    for excess, reached, limit, sign, word in ((below, lowest, low, -1, "below"), (above, highest, high, 1, "above")):
        if (excess > tolerance).any():
            at = tuple(np.argwhere(excess > tolerance)[0])
            raise InvalidNetwork(_domain_message(network, at, float(reached[at]), limit, sign, word))
    if not (below.any() or above.any()):
        return network.bias
    names = network.names
    units = [names[unit] for unit in np.unique(np.nonzero(below + above)[-1])]
    warnings.warn(
        f"fields of {len(units)} {'unit' if len(units) == 1 else 'units'} ({listed(units)}) were outside the domain "
        f"({low:g}, {high:g}) of {network.activation.name} by up to {(below + above).max():.1e}; "
        "their biases were corrected by as much.",
        PlefkaWarning, stacklevel=STACKLEVEL,
    )  # fmt: skip
    return network.bias + below - above


def _domain_message(network: "BeliefNetwork", at: tuple, reached: float, limit: float, sign: int, word: str) -> str:
    unit, names = at[-1], network.names
    storage = network.storage if network.stack is None else network.storage.take(at[0])
    row = storage.to_sparse()[[unit]].toarray()[0]
    culprits = [names[j] for j in np.flatnonzero(sign * row > 0)]
    are = "is" if len(culprits) == 1 else "are"
    state = f"when {listed(culprits)} {are} on and no other parent" if culprits else "when all parents are off"
    return (
        f"fields of a {network.activation.name} network must not be {word} {limit:g}; "
        f"the field of unit {names[unit]} is {reached:g} {state}. "
        f"Change its bias by {limit - reached:+g} or its weights."
    )


# ---- as a network keeps it -------------------------------------------------------------------------------------------


def single_activation(activation: Any) -> Activation:
    """The activation of all units."""
    if isinstance(activation, Mixed | Table):
        raise InvalidNetwork(
            f"a single activation, which applies to all units, must not be a {type(activation).__name__}. "
            "Pass a list with an activation for each unit."
        )
    return as_activation(activation)


def as_storage(weights: Any) -> Storage:
    if sp.issparse(weights):
        check_square(weights.shape)
        return Edges.from_scipy(weights)
    if isinstance(weights, list | tuple) and any(map(sp.issparse, weights)):
        check_sparse_stack(weights)
        return Edges.from_scipy_stack(weights)
    W = as_float(weights, "weights")
    check_square(W.shape)
    return Blocks.dense(W)


def as_float(values: Any, what: str) -> Any:
    if is_traced(values):
        if not hasattr(values, "shape"):
            raise InvalidNetwork(
                f"{what} inside a JAX trace must be an array; got {type(values).__name__}. Use jnp.array."
            )
        return values
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidNetwork(
            f"{what} must be numbers in a rectangular array; got {type(values).__name__}: {error}."
        ) from None


def bias_of(storage: Storage, bias: Any) -> Any:
    """A number for each unit, and of a stack for each of its networks."""
    h, n, stack = as_float(bias, "bias"), storage.size, storage.stack
    allowed = [(n,)] + ([(stack, n)] if stack is not None else [])
    if h.shape not in allowed:
        wanted = " or ".join(map(str, allowed))
        raise InvalidNetwork(f"bias must have one number for each unit, shape {wanted}; got shape {h.shape}.")
    return h if h.shape == allowed[-1] else namespace(h).broadcast_to(h, allowed[-1])
