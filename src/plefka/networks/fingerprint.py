"""What tells one network from another: a short digest of all that its answers depend on. And one of any arrays."""

import hashlib
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from plefka.networks.activations import ACTIVATIONS, Activation

DIGITS, FIELDS = 16, 101  # of 64 that are kept, and at which two activations are compared


def fingerprint(network: Any) -> str:
    """Equal for the same units and numbers, however the weights are stored, in every process and on every machine."""
    child, parent, weight = network.storage.edge_list()
    if not network.is_normalised:  # a coupling has no direction
        child, parent = np.maximum(child, parent), np.minimum(child, parent)
    order = np.lexsort((parent, child))
    texts = [type(network).__name__, network.names, network.given_states, network.values, network.stack]
    found = hashlib.sha256(repr(texts).encode())
    for part in (child[order], parent[order], weight[order], network.bias, *_further_parts(network)):
        numbers = np.zeros(0) if isinstance(part, str) else np.asarray(part, "<f8") + 0.0  # -0 is 0
        found.update(repr((part if isinstance(part, str) else "", numbers.shape)).encode() + numbers.tobytes())
    return found.hexdigest()[:DIGITS]


def _further_parts(network: Any) -> Iterator[Any]:
    """What networks of some kinds have besides weights and biases: numbers, or texts."""
    yield from (getattr(network, name, "") for name in ("temperature", "constant"))
    if (units := getattr(network, "carrier", network).conditionals) is not None:
        yield from (units.units, units.kind, units.starts, units.numbers)
        yield from map(activation_text, (*units.kinds, units.with_fields))
    elif network.activation is not None:
        yield activation_text(network.activation)
    if (tables := network.given_tables) is not None:
        yield from (repr(tables.parents), *tables.on)
    if network.hierarchy is not None:
        yield network.hierarchy.pairs


def digest(tree: Any) -> str:
    """Equal only for equal arrays of the same shapes and types."""
    found = hashlib.sha256()
    for array in map(np.asarray, jax.tree.leaves(tree)):
        found.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
    return found.hexdigest()


def activation_text(activation: Activation) -> str:
    """Its name; of a function of the user's also its domain and a digest of rounded values of ln f and ln(1 - f)."""
    if type(activation) in ACTIVATIONS.values():
        return activation.name
    low, high = activation.domain
    first = max(low, min(-10.0, high - 20))
    x = np.linspace(first, min(high, max(10.0, first + 20)), FIELDS)
    rounded = " ".join(f"{value:.6g}" for value in np.ravel([activation.log_on(x), activation.log_off(x)]))
    return f"{activation.name} on ({low:g}, {high:g}), {hashlib.sha256(rounded.encode()).hexdigest()[:DIGITS]}"
