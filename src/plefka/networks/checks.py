"""What must hold for a network, checked once, at the door."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from plefka.errors import InvalidNetwork, listed
from plefka.networks.blocks import Blocks
from plefka.networks.graph import find_cycle
from plefka.networks.storage import Storage

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

LONGEST_PATH = 20  # units of a cycle that are printed
ROUNDING = 1e-9  # a field this little outside its domain, relative to the field, is inside


def check_network(network: "BeliefNetwork") -> None:
    """Finite numbers, no cycle, and fields that stay inside the activation's domain."""
    _check_numbers(network)
    _check_acyclic(network)
    _check_domain(network)


def check_square(shape: tuple[int, ...]) -> None:
    if len(shape) not in (2, 3) or shape[-1] != shape[-2] or 0 in shape:
        raise InvalidNetwork(
            f"weights must be a square matrix, one row and column for each unit (or a stack of them); "
            f"got shape {shape}. For layers use BeliefNetwork.layered."
        )


def check_sparse_stack(weights: Sequence[Any]) -> None:
    shapes = [getattr(W, "shape", None) for W in weights]
    if len(set(shapes)) > 1 or not all(map(sp.issparse, weights)):
        raise InvalidNetwork(f"a stack of sparse matrices has one shape for all; got {listed(shapes)}.")
    check_square(shapes[0] or ())


def check_bias_shape(shape: tuple[int, ...], storage: Storage) -> None:
    n, stack = storage.size, storage.stack
    allowed = [(n,)] + ([(stack, n)] if stack is not None else [])
    if shape not in allowed:
        wanted = " or ".join(map(str, allowed))
        raise InvalidNetwork(f"bias must have one number for each unit, shape {wanted}; got shape {shape}.")


def check_layers(weights: Sequence[Any], bias: Sequence[Any]) -> tuple[int, ...]:
    """The sizes of the layers, top first."""
    if len(bias) != len(weights) + 1:
        raise InvalidNetwork(
            f"a layered network has one bias vector more than weight matrices; got {len(bias)} and {len(weights)}."
        )
    if any(h.ndim not in (1, 2) for h in bias):
        raise InvalidNetwork(f"every layer has a vector of biases; got shapes {[h.shape for h in bias]}.")
    sizes = tuple(h.shape[-1] for h in bias)
    if sum(sizes) == 0 or any(h.ndim == 2 and h.shape[0] == 0 for h in bias):
        raise InvalidNetwork(
            f"a network must have a unit, and a stack a network; got shapes {[h.shape for h in bias]}."
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
            f"in a stack every weight matrix has the same leading axis; got shapes {[W.shape for W in weights]}, "
            f"bias {[h.shape for h in bias]}."
        )
    return sizes


def check_names(names: Sequence[str] | None, size: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    names = tuple(names)
    if len(names) != size:
        raise InvalidNetwork(f"names must be one for each of the {size} units; got {len(names)}.")
    odd = [name for name in names if not (isinstance(name, str) and name.strip() and name.isprintable())]
    if odd:
        raise InvalidNetwork(f"names must be printable words; got {odd[0]!r}.")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InvalidNetwork(f"names must differ from each other; got twice: {listed(repeated)}.")
    return names


def _check_numbers(network: "BeliefNetwork") -> None:
    bad = np.argwhere(~np.isfinite(network.bias))
    if bad.size:
        unit, value = bad[0][-1], network.bias[tuple(bad[0])]
        raise InvalidNetwork(f"biases must be finite; got {value} at unit {_name(network, unit)}.")
    values = np.concatenate([np.zeros(0), *network.storage.leaves()])
    if np.isnan(values).any():
        raise InvalidNetwork("weights must be numbers; got nan. Use 0 for an absent edge.")
    if np.isneginf(values).any():
        raise InvalidNetwork("weights must be above minus infinity; got -inf.")
    if np.isinf(values).any() and not network.activation.allows_certain_edges:
        raise InvalidNetwork(
            f"weights of a {network.activation.name} network must be finite; got inf. "
            "Only noisy-or knows edges of probability one."
        )


def _check_acyclic(network: "BeliefNetwork") -> None:
    storage = network.storage
    if isinstance(storage, Blocks) and not storage.is_dense:
        return
    if storage.stack is None:
        patterns = [storage.to_sparse()]
    else:  # one look at the union is enough where the networks have their edges in common
        union = storage.union()
        patterns = [union] if find_cycle(union) is None else storage.to_sparse()
    for pattern in patterns:
        cycle = find_cycle(sp.csr_array(pattern))
        if cycle is not None:
            raise InvalidNetwork(
                f"weights must be acyclic; got the cycle {_path(network, cycle)}. Remove one of these edges."
            )


def _path(network: "BeliefNetwork", cycle: list[int]) -> str:
    """'a -> b -> a', with the middle of a long cycle left out."""
    names = [_name(network, unit) for unit in (*cycle, cycle[0])]
    left_out = names[LONGEST_PATH // 2 : -LONGEST_PATH // 2]
    if len(left_out) > 1:
        names[LONGEST_PATH // 2 : -LONGEST_PATH // 2] = [f"... {len(left_out)} more ..."]
    return " -> ".join(names)


def _check_domain(network: "BeliefNetwork") -> None:
    """A negative weight is fine, as long as no state of the parents takes the field out of the domain."""
    low, high = network.activation.domain
    if np.isneginf(low) and np.isposinf(high):
        return
    with np.errstate(over="ignore"):  # a sum beyond the largest number is infinite, and that is no fault here
        lowest, highest = (network.bias + part for part in network.storage.extreme_sums())
    slack = ROUNDING * (1 + np.abs(lowest))
    for reached, outside, sign, word in (
        (lowest, lowest < low - slack, -1, "below"),
        (highest, highest > high + ROUNDING * (1 + np.abs(high)), 1, "above"),
    ):
        if outside.any():
            at = tuple(np.argwhere(outside)[0])
            limit = low if sign < 0 else high
            raise InvalidNetwork(_domain_message(network, at, reached[at], limit, sign, word))


def _domain_message(network: "BeliefNetwork", at: tuple, reached: float, limit: float, sign: int, word: str) -> str:
    unit = at[-1]
    storage = network.storage if network.stack is None else network.storage.take(at[0])
    row = sp.csr_array(storage.to_sparse())[[unit]].toarray()[0]
    culprits = [_name(network, int(j)) for j in np.flatnonzero(sign * row > 0)]
    are = "is" if len(culprits) == 1 else "are"
    state = f"when {listed(culprits)} {are} on and no other parent" if culprits else "with all parents off"
    return (
        f"fields of a {network.activation.name} network must not be {word} {limit:g}; "
        f"that of unit {_name(network, unit)} is {reached:g} {state}. "
        f"Change its bias by {limit - reached:+g} or its weights."
    )


def _name(network: "BeliefNetwork", unit: int) -> str:
    return network.given_names[unit] if network.given_names else str(unit)
