"""A network in a given state: the fields of its units, what each adds to ln P(S), and draws from parent to child."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from jaxtyping import Array, Float

from plefka.errors import InvalidInput
from plefka.networks.activations import Activation, namespace
from plefka.networks.edge_list import CERTAIN_WEIGHT, EdgeList
from plefka.networks.storage import OpenStorage, Storage
from plefka.runtime.precision import is_traced

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork
    from plefka.networks.boltzmann import BoltzmannMachine
    from plefka.networks.network import Network

SMALL_NETWORK = 256  # units up to which a full matrix is quicker
SMALL_PRODUCT, FEWEST_COLUMNS = 2**18, 64  # multiplications that BLAS does in one thread, and columns worth a call
FULL_FRACTION, FULL_UNITS = 0.05, 64  # of edges, and units, from which a product with the full matrix is faster


def open_for_states(storage: Storage) -> OpenStorage:
    """Weights that are multiplied with states only, never with means."""
    return storage.open(1, CERTAIN_WEIGHT)


def fields(
    weights: OpenStorage, h: Float[Array, "units #rows"], activation: Activation, S: Float[Array, "units rows"]
) -> Float[Array, "units rows"]:
    """x_i = sum_j w_ij S_j + h_i, for weights that are open for states."""
    return field_in_domain(activation, h + weights.field_of(S))


def field_in_domain(activation: Activation, x: Any) -> Any:
    """The field with infinity where a certain parent is on, and inside its domain."""
    xp = namespace(x)
    return activation.clip(xp.where(x > CERTAIN_WEIGHT / 2, xp.inf, x))


def bits(number: Any, places: Any) -> Any:
    """States (units, ..., numbers) from their numbers: a unit of place k is on where bit k of the number is set."""
    return (number >> places[..., None]) & 1


def fields_of_states(
    bias: float, weights: Float[np.ndarray, " parent"], negated: np.ndarray | None = None
) -> Float[np.ndarray, "..."]:
    """bias + sum_j weights_j S_j for every state of the parents; 1 - S_j for S_j where a parent is negated."""
    x = np.array(bias, float)
    for weight, flipped in zip(weights, np.zeros(len(weights), bool) if negated is None else negated, strict=True):
        x = np.add.outer(x, np.array([weight, 0.0] if flipped else [0.0, weight]))
    return x


def log_terms(activation: Activation, x: Any, S: Any) -> Any:
    """S_i log_on(x_i) + (1 - S_i) log_off(x_i), where the one that does not count has no pole.            (4)"""
    on, xp = S == 1, namespace(x)
    return xp.where(on, activation.log_on(xp.where(on, x, 1.0)), activation.log_off(xp.where(on, 1.0, x)))


def field_weights(storage: Storage, network: int) -> Any:
    """The weights of one network as a matrix of NumPy or SciPy to be multiplied with states."""
    child, parent, weight = storage.edge_list()
    values = np.minimum(weight[:, network if weight.shape[1] > 1 else 0], CERTAIN_WEIGHT)
    if storage.size > SMALL_NETWORK:
        return sp.csr_array((values, (child, parent)), shape=(storage.size, storage.size))
    W = np.zeros((storage.size, storage.size))
    W[child, parent] = values
    return W


class StateFields:
    """The fields of all units of a network, or of the networks of a stack, each of which is a row, in NumPy.

    Arrays of states are (units, rows, columns).
    """

    def __init__(self, edges: EdgeList, h: np.ndarray, activation: Activation):
        self.edges, self.h, self.activation = edges, h[:, :, None], activation

    @classmethod
    def of_network(cls, network: "BeliefNetwork") -> "StateFields":
        """Of all units, without evidence."""
        h = np.atleast_2d(np.asarray(network.bias, float)).T
        return cls(EdgeList.of(network.storage), h, network.activation)

    @cached_property
    def finite(self) -> list:
        """The finite weights as a matrix (child, parent): one for all rows, or one for each."""
        return self._matrices(np.where(np.isinf(self.edges.weight), 0.0, self.edges.weight))

    @cached_property
    def certain(self) -> list:
        """1 for every edge of probability one; nothing where there is none."""
        is_certain = np.isinf(self.edges.weight)
        return self._matrices(is_certain * 1.0) if is_certain.any() else []

    def _matrices(self, values: np.ndarray) -> list:
        edges = self.edges
        where, shape = (edges.child, edges.parent), (edges.size, edges.size)
        matrices = [sp.csr_array((column, where), shape=shape) for column in values.T]
        full = edges.size > FULL_UNITS and len(edges.child) > FULL_FRACTION * edges.size**2 and len(matrices) == 1
        return [matrix.toarray() for matrix in matrices] if full else matrices

    def split(self, S: np.ndarray, units: np.ndarray | slice = slice(None)) -> tuple[np.ndarray, np.ndarray | None]:
        """The fields of some units without edges of probability one, and how many of these are on, if there are any."""
        x = times_states(self.finite, S, units) + self.h[units]
        return x, times_states(self.certain, S, units) if self.certain else None

    def of(self, S: np.ndarray, units: np.ndarray | slice = slice(None)) -> np.ndarray:
        """The fields of some units, infinite where an edge of probability one is on."""
        x, on = self.split(S, units)
        return np.asarray(self.activation.clip(x if on is None else np.where(on > 0, np.inf, x)))

    def forwards(self, known: np.ndarray, rule: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Units that are nan follow from the probability to be on given their parents, by the rule."""
        hidden, S = np.isnan(known), np.nan_to_num(known)
        for units in self.edges.graph.groups(np.asarray(hidden.any(axis=(1, 2)))):
            p = np.asarray(self.activation.probability(self.of(S, units)))
            S[units] = np.where(hidden[units], rule(p), S[units])
        return S

    def drawn(self, known: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Units that are nan are drawn given their parents."""
        return self.forwards(known, lambda p: rng.random(p.shape) < p)


def product_with_states(matrix: Any, S: np.ndarray) -> np.ndarray:
    """matrix @ S (units, columns); a small full matrix in pieces that one thread does: several wait for each other."""
    at_once = SMALL_PRODUCT // max(1, matrix.shape[0] * matrix.shape[1])
    if not isinstance(matrix, np.ndarray) or at_once < FEWEST_COLUMNS:
        return matrix @ S
    found = np.empty((len(matrix), S.shape[1]), np.result_type(matrix, S))
    for first in range(0, S.shape[1], at_once):
        np.matmul(matrix, S[:, first : first + at_once], out=found[:, first : first + at_once])
    return found


def times_states(matrices: list, S: np.ndarray, units: Any) -> np.ndarray:
    """Some rows of a matrix for all rows of states (units, rows, columns), or of one for each, times the states."""
    if len(matrices) == 1:
        product = product_with_states(matrices[0][units], S.reshape(len(S), S.shape[1] * S.shape[2]))
        return product.reshape(len(product), *S.shape[1:])
    return np.stack([matrix[units] @ S[:, row] for row, matrix in enumerate(matrices)], axis=1)


# ---- ln P(S) of a state ----------------------------------------------------------------------------------------------


def log_joint(network: "BeliefNetwork", S: Any) -> Any:
    """ln P(S) = sum_i S_i log_on(x_i) + (1 - S_i) log_off(x_i).                                     (4)"""
    traced = is_traced(network, S)
    S = jnp.asarray(S) if traced else np.asarray(S, dtype=float)
    rows = rows_of_states(network, S, "networks")
    if not traced and not np.all((S == 0) | (S == 1)):
        raise InvalidInput("a state consists of zeros and ones; use infer for units that are not known.")
    columns, activation = rows.T, network.activation
    if traced:
        h = jnp.atleast_2d(jnp.asarray(network.bias)).T
        columns = jnp.broadcast_to(columns, (len(columns), max(columns.shape[1], h.shape[1])))
        x = fields(open_for_states(network.storage), h, activation, columns)
        total = log_terms(activation, x, columns).sum(0)
    else:
        stack = network.stack
        states = columns[:, None] if stack is None else np.broadcast_to(columns, (len(columns), stack))[:, :, None]
        total = log_terms(activation, StateFields.of_network(network).of(states), states).sum(0).ravel()
    if S.ndim == 2 or network.stack is not None:
        return total
    return total[0] if traced else total[0].item()


def log_weights(machine: "BoltzmannMachine", S: Any) -> Any:
    """-E(S) / T + constant of a state (n,), or of each state of a batch (B, n)."""
    S = np.asarray(S, float)
    off, on = machine.values
    rows = rows_of_states(machine, S, "machines")
    if not np.all((off == S) | (on == S)):
        raise InvalidInput(f"a state of this machine consists of {off} and {on}; use infer for units that are unknown.")
    columns = np.broadcast_to(rows, (machine.stack or len(rows), machine.size)).T
    h = np.atleast_2d(np.asarray(machine.bias, float)).T
    total = (columns * (h + machine.storage.product(columns) / 2)).sum(axis=0) / machine.temperature + machine.constant
    return total if S.ndim == 2 or machine.stack is not None else total[0].item()


def rows_of_states(network: "Network", S: Any, kind: str) -> Any:
    """States (B, n), one or as many as there are networks in a stack."""
    if S.ndim not in (1, 2) or S.shape[-1] != network.size:
        raise InvalidInput(f"a state has one number for each unit, shape (..., {network.size}); got {S.shape}.")
    rows = S[None] if S.ndim == 1 else S
    if network.stack is not None and len(rows) not in (1, network.stack):
        raise InvalidInput(f"a stack of {network.stack} {kind} takes one state, or {network.stack}; got {len(rows)}.")
    return rows
