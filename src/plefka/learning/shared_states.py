"""Expectation steps of noisy-or networks: the numbers of a network as a matrix, and the states that all rows share.

Where no row observes a hidden unit, and what rows observe has no children, all rows have the same states, and ln P of
every row is exact. Other rows have states of their own, see row_states.py.
"""

from typing import Any, NamedTuple

import numpy as np

from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList
from plefka.networks.fields import bits
from plefka.tables.dataset import MISSING

SHARED_NUMBERS = 2**27  # rows times states, of which all rows have the same, times units
SMALLEST_CHANCE = 1e-300  # instead of 0, where a unit is never on
NEVER, IMPOSSIBLE = -1e300, -1e290  # for ln 0, so that 0 times it is 0, and what is below is -inf


class Families:
    """The numbers -ln(1 - p) of a network in a matrix (units, 1 + parents): a leak or prior, then links to parents."""

    def __init__(self, network: BeliefNetwork):
        self.network, self.parents = network, np.unique(EdgeList.of(network.storage).parent)
        self.place = np.zeros(network.size, int)
        self.place[self.parents] = 1 + np.arange(len(self.parents))

    def matrix(self, tree: Any) -> np.ndarray:
        """Of a tree of arrays like `network.parameters`."""
        weights, bias = tree
        W = self.network.storage.with_parameters(weights).to_sparse().tocoo()
        found = np.zeros((self.network.size, 1 + len(self.parents)))
        found[:, 0] = bias
        known = self.place[W.col] > 0
        found[W.row[known], self.place[W.col[known]]] = W.data[known]
        return np.minimum(found, -NEVER)  # of what is certain

    def parameters(self, matrix: np.ndarray) -> Any:
        """The tree of a matrix."""
        weights = self.network.storage.along(lambda child, parent: matrix[child, self.place[parent]])
        return weights, matrix[:, 0]

    def hidden(self, values: np.ndarray) -> np.ndarray:
        """Which parents are hidden above something that is known, (rows, parents)."""
        size, known = self.network.size, values != MISSING
        found = EdgeList.of(self.network.storage).graph.ancestors_by_row(np.eye(size, dtype=bool))
        above = np.zeros((size, size))
        above[found.row, found.unit] = 1.0
        return ((known @ above > 0) & ~known)[:, self.parents]


class Tally(NamedTuple):
    """What an expectation step has found: a number of every coin (units, 1 + parents), and ln P by row."""

    share: np.ndarray  # times p, how often the coin was on
    acted: np.ndarray  # how often it was thrown
    log_likelihood: np.ndarray


def shares(on: np.ndarray, p_on: np.ndarray, acting: np.ndarray) -> np.ndarray:
    """`share` of cases: how often each unit was on in a case, and which coins act in it."""
    return (on / np.maximum(p_on, SMALLEST_CHANCE)).T @ acting


def coins_acting(states: np.ndarray) -> np.ndarray:
    """A leak always, and the links of parents that are on."""
    return np.concatenate([np.ones((len(states), 1)), states], axis=1)


def logs(p: np.ndarray) -> np.ndarray:
    """ln p, with a finite number for ln 0."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(p), NEVER)


class SharedStates:
    """All states of hidden units that no row observes, above units without children: the same for every row."""

    exact = True

    def __init__(self, families: Families, values: np.ndarray):
        self.on, self.off = ((values == z) * 1.0 for z in (1, 0))
        self.parents = families.parents
        states = bits(np.arange(2 ** len(self.parents)), np.arange(len(self.parents))).T
        self.states = states.astype(float, order="C")
        self.acting = coins_acting(self.states)
        self.memory = ()

    @property
    def cases(self) -> int:
        """Of all rows, about: states are shared, and so are their logarithms."""
        return len(self.on) + len(self.states)

    @staticmethod
    def applies(families: Families, values: np.ndarray) -> bool:
        never = (values[:, families.parents] == MISSING).all()
        work = len(values) * values.shape[1] * 2.0 ** len(families.parents)
        return bool(never and families.hidden(values).all() and work <= SHARED_NUMBERS)

    def step(self, fields: np.ndarray, numbers: np.ndarray, counts: np.ndarray, rng: Any = None) -> Tally:
        """The expectations of some rows."""
        S, U, on, off = self.states, self.parents, self.on[numbers], self.off[numbers]
        joint, p_on = self._joint(fields, numbers)
        top = joint.max(axis=1, keepdims=True)
        parts = np.exp(joint - top)
        total = parts.sum(axis=1, keepdims=True)
        weights = parts * (counts[:, None] / total)
        on, known, of_state = weights.T @ on, weights.T @ (on + off), weights.sum(axis=0)[:, None]
        on[:, U], known[:, U] = of_state * S, of_state
        return Tally(shares(on, p_on, self.acting), known.T @ self.acting, (top + np.log(total))[:, 0])

    def _joint(self, fields: np.ndarray, numbers: Any) -> tuple[np.ndarray, np.ndarray]:
        """ln P of rows with each state, and P(on) of units in each state."""
        S, U = self.states, self.parents
        A = self.acting @ fields.T
        p_on = -np.expm1(-A)
        prior = (S * logs(p_on)[:, U] - (1 - S) * A[:, U]).sum(axis=1)
        return self.on[numbers] @ logs(p_on).T - self.off[numbers] @ A.T + prior, p_on
