"""A network in a given state: the fields of its units, and what each adds to ln P(S)."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Array, Float

from plefka.networks.activations import Activation, namespace
from plefka.networks.storage import OpenStorage, Storage

SMALL_NETWORK = 256  # units up to which a full matrix is quicker
CERTAIN_STATE = 1e30  # an infinite weight as a number: no other sum comes near it, and 0 times it is 0


def open_for_states(storage: Storage) -> OpenStorage:
    """Weights that are multiplied with states only, never with means."""
    return storage.open(1, CERTAIN_STATE)


def fields(
    weights: OpenStorage, h: Float[Array, "units #rows"], activation: Activation, S: Float[Array, "units rows"]
) -> Float[Array, "units rows"]:
    """x_i = sum_j w_ij S_j + h_i, for weights that are open for states."""
    return settled(activation, h + weights.field_of(S))


def settled(activation: Activation, x: Any) -> Any:
    """The field with infinity where a certain parent is on, and inside its domain."""
    xp = namespace(x)
    return activation.clip(xp.where(x > CERTAIN_STATE / 2, xp.inf, x))


def bits(number: Any, places: Any) -> Any:
    """States (units, numbers) from their numbers: the unit of place k is on where bit k of the number is set."""
    return (number >> places[:, None]) & 1


def log_terms(activation: Activation, x: Any, S: Any) -> Any:
    """S_i log_on(x_i) + (1 - S_i) log_off(x_i), where the one that does not count has no pole.            (4)"""
    on, xp = S == 1, namespace(x)
    return xp.where(on, activation.log_on(xp.where(on, x, 1.0)), activation.log_off(xp.where(on, 1.0, x)))


def field_weights(storage: Storage, network: int) -> Any:
    """The weights of one network as a matrix of NumPy or SciPy to be multiplied with states."""
    child, parent, weight = storage.edge_list()
    values = np.minimum(weight[:, network if weight.shape[1] > 1 else 0], CERTAIN_STATE)
    if storage.size > SMALL_NETWORK:
        return sp.csr_array((values, (child, parent)), shape=(storage.size, storage.size))
    W = np.zeros((storage.size, storage.size))
    W[child, parent] = values
    return W
