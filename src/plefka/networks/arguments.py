"""What users give a network, as what it keeps: weights, biases, one activation for all units, and names."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp

from plefka.errors import InvalidNetwork
from plefka.networks import checks
from plefka.networks.activations import Activation, Mixed, Table, as_activation, namespace
from plefka.networks.blocks import Blocks
from plefka.networks.edges import Edges
from plefka.networks.storage import Storage
from plefka.runtime.precision import is_traced


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
        checks.check_square(weights.shape)
        return Edges.from_scipy(weights)
    if isinstance(weights, list | tuple) and any(map(sp.issparse, weights)):
        checks.check_sparse_stack(weights)
        return Edges.from_scipy_stack(weights)
    W = as_float(weights, "weights")
    checks.check_square(W.shape)
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
    h = as_float(bias, "bias")
    checks.check_bias_shape(h.shape, storage)
    if storage.stack is not None and h.ndim == 1:
        return namespace(h).broadcast_to(h, (storage.stack, storage.size))
    return h


def concatenate(parts):
    return jnp.concatenate(parts, axis=-1)


_known: dict[int, tuple[tuple[str, ...], dict[str, int]]] = {}
MOST_KNOWN = 4  # networks


def positions(names: tuple[str, ...]) -> dict[str, int]:
    """Where each name is, listed once: a network of many units is asked about many of them."""
    known = _known.get(id(names))
    if known is None or known[0] is not names:
        while len(_known) >= MOST_KNOWN:
            _known.pop(next(iter(_known)), None)
        known = _known[id(names)] = names, {name: position for position, name in enumerate(names)}
    return known[1]
