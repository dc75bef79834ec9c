"""Networks without loops, drawn and solved exactly without any code of the library, for units with hundreds of parents.

All weights are whole multiples of one step, so that the field of a unit takes few values whatever its parents do: its
distribution is a sequence of sums over two shifted copies of a list. Messages then run along the tree, once towards a
root and once back. Everything is in logarithms.
"""

from collections.abc import Callable
from graphlib import TopologicalSorter
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import log_ndtr

import plefka as pf
from tests.zoo import PROBIT

STEP = 1 / 64  # all finite weights are multiples of it, and so are their sums, to the last digit
LARGEST = 4.0
ACTIVATIONS = {"sigmoid": "sigmoid", "noisy_or": "noisy_or", "probit": PROBIT}


def _log_noisy_or(x):
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(-x))


LOG_ON: dict[str, Callable] = {"sigmoid": lambda x: -np.logaddexp(0, -x), "noisy_or": _log_noisy_or, "probit": log_ndtr}
LOG_OFF: dict[str, Callable] = {
    "sigmoid": lambda x: -np.logaddexp(0, x),
    "noisy_or": np.negative,
    "probit": lambda x: log_ndtr(-x),
}


# Drawing


def polytree(
    seed: int, fan_in: int, size: int, activation: str = "sigmoid", *, certain: float = 0.0
) -> tuple[pf.BeliefNetwork, np.ndarray]:
    """A network of `size` units in random order and a row of evidence that can happen.

    Units with `fan_in` parents are joined by a unit that they share as long as there is room; the rest are single units
    that hang on others, as a parent or as a child. Of a noisy-or network, a share of edges may be certain.
    """
    rng = np.random.default_rng(seed)
    edges = _relabelled(_tree(rng, fan_in, size), rng.permutation(size))
    weights, bias = _numbers(rng, edges, size, activation, certain)
    network = pf.BeliefNetwork(weights, bias, ACTIVATIONS[activation])
    state = _sample(rng, weights, bias, activation)
    has_parents, has_children = (np.isin(np.arange(size), side) for side in zip(*edges, strict=True))
    observed = rng.random(size) < np.where(has_children, np.where(has_parents, 0.4, 0.1), 0.7)
    return network, np.where(observed, state, np.nan)


def _tree(rng: np.random.Generator, fan_in: int, size: int) -> list[tuple[int, int]]:
    """Pairs (child, parent): each new one hangs on the tree by a single edge."""
    edges, count = [], 1
    while count + fan_in <= size:
        hub, joint = count, int(rng.integers(count))
        edges += [(hub, joint)] + [(hub, hub + k) for k in range(1, fan_in)]
        count += fan_in
    for unit in range(count, size):
        other = int(rng.integers(unit))
        edges.append((unit, other) if rng.random() < 0.5 else (other, unit))
    return edges


def _relabelled(edges: list[tuple[int, int]], label: np.ndarray) -> list[tuple[int, int]]:
    return [(int(label[child]), int(label[parent])) for child, parent in edges]


def _numbers(rng, edges, size: int, activation: str, certain: float) -> tuple[sp.csr_array, np.ndarray]:
    """Weights on the lattice, smaller where there are many parents, and biases of any value."""
    child, parent = np.array(edges).T.reshape(2, -1)
    parents = np.bincount(child, minlength=size)
    if activation == "noisy_or":
        steps = rng.integers(1, np.maximum(2, LARGEST / STEP / np.maximum(parents, 2)).astype(int)[child] + 1)
        bias = rng.uniform(0.05, 0.5, size) * ((parents == 0) | (rng.random(size) < 0.7))
    else:
        most = np.maximum(1, LARGEST / STEP / np.sqrt(np.maximum(parents, 1))).astype(int)[child]
        steps = rng.integers(1, most + 1) * rng.choice([-1, 1], len(child))
        bias = rng.uniform(-1, 1, size)
    weights = np.where(rng.random(len(child)) < certain, np.inf, steps * STEP)
    return sp.csr_array((weights, (child, parent)), shape=(size, size)), bias


def _sample(rng, weights: sp.csr_array, bias: np.ndarray, activation: str) -> np.ndarray:
    factors, state = _factors(weights, bias, activation), np.zeros(len(bias))
    for unit in TopologicalSorter({factor.unit: factor.parents for factor in factors}).static_order():
        factor = factors[unit]
        x = bias[unit] + factor.weights[state[factor.parents] == 1].sum()
        state[unit] = rng.random() < np.exp(LOG_ON[activation](x))
    return state


# Solving


class Factor(NamedTuple):
    """P(unit | parents)."""

    unit: int
    parents: np.ndarray
    weights: np.ndarray
    bias: float
    activation: str

    def messages(self, incoming: np.ndarray) -> np.ndarray:
        """ln of the sum over all others, for the unit (row 0) and for each parent; `incoming` is what each says."""
        lattice = Lattice.of(self.weights)
        on, off = self._log_probabilities(lattice)
        ahead, lists = lattice.start(), []
        for w, message in zip(self.weights, incoming[1:], strict=True):
            lists.append(ahead)
            ahead = np.logaddexp(ahead + message[0], lattice.moved(ahead, w) + message[1])
        outgoing = np.zeros_like(incoming)
        outgoing[0] = _log_sum(ahead + off), _log_sum(ahead + on)
        behind = np.logaddexp(off + incoming[0, 0], on + incoming[0, 1])
        for k in range(len(self.weights), 0, -1):
            w, ahead = self.weights[k - 1], lists[k - 1]
            shifted = lattice.seen_from(behind, w)
            outgoing[k] = _log_sum(ahead + behind), _log_sum(ahead + shifted)
            behind = np.logaddexp(behind + incoming[k, 0], shifted + incoming[k, 1])
        return outgoing

    def _log_probabilities(self, lattice: "Lattice") -> tuple[np.ndarray, np.ndarray]:
        x = self.bias + lattice.fields()
        reachable = x if self.activation != "noisy_or" else np.maximum(x, 0.0)
        return LOG_ON[self.activation](reachable), LOG_OFF[self.activation](reachable)


class Lattice(NamedTuple):
    """The sums that weights can make: whole steps from `low` to `high`, and infinity as the last entry."""

    low: int
    high: int

    @classmethod
    def of(cls, weights: np.ndarray) -> "Lattice":
        steps = weights[np.isfinite(weights)] / STEP
        if np.any(steps != np.round(steps)):
            raise ValueError(f"weights must be multiples of {STEP}")
        return cls(int(np.minimum(steps, 0).sum()), int(np.maximum(steps, 0).sum()))

    def fields(self) -> np.ndarray:
        return np.append(np.arange(self.low, self.high + 1) * STEP, np.inf)

    def start(self) -> np.ndarray:
        """ln P of the sum of no weights."""
        return np.where(self.fields() == 0, 0.0, -np.inf)

    def moved(self, ahead: np.ndarray, weight: float) -> np.ndarray:
        """ln P of the sum with one weight more; what would leave the lattice has probability zero."""
        if np.isinf(weight):
            return np.where(np.isinf(self.fields()), _log_sum(ahead), -np.inf)
        return np.append(_shift(ahead[:-1], round(weight / STEP)), ahead[-1])

    def seen_from(self, behind: np.ndarray, weight: float) -> np.ndarray:
        """A function of the sum, as a function of the sum without one weight that is on."""
        if np.isinf(weight):
            return np.full_like(behind, behind[-1])
        return np.append(_shift(behind[:-1], -round(weight / STEP)), behind[-1])


def _shift(values: np.ndarray, by: int) -> np.ndarray:
    out = np.full_like(values, -np.inf)
    out[max(by, 0) : len(out) + min(by, 0)] = values[max(-by, 0) : len(out) - max(by, 0)]
    return out


def _log_sum(values: np.ndarray) -> float:
    return float(np.logaddexp.reduce(values))


def _factors(weights: sp.csr_array, bias: np.ndarray, activation: str) -> list[Factor]:
    rows = [slice(*weights.indptr[unit : unit + 2]) for unit in range(len(bias))]
    return [
        Factor(unit, weights.indices[row], weights.data[row], float(bias[unit]), activation)
        for unit, row in enumerate(rows)
    ]


def exact(network: pf.BeliefNetwork, row: np.ndarray) -> tuple[float, np.ndarray]:
    """ln P(evidence) and the posterior means of all units of a network without loops, with weights on the lattice."""
    weights = sp.csr_array(network.storage.to_sparse())
    weights.eliminate_zeros()
    factors = _factors(weights, np.asarray(network.bias), network.activation.name)
    tree = _Messages(factors, np.asarray(row, float))
    log_p = 0.0
    for path in tree.paths():
        for factor, towards in reversed(path):
            tree.send(factor, [towards])
        log_p += _log_sum(tree.belief(path[0][1]))
        for factor, _ in path:
            tree.send(factor, tree.members[factor])
    beliefs = np.array([tree.belief(unit) for unit in range(len(row))])
    return log_p, np.exp(beliefs[:, 1] - np.logaddexp.reduce(beliefs, axis=1))


class _Messages:
    """What the factors of each unit have told it, from no news on, and its evidence."""

    def __init__(self, factors: list[Factor], row: np.ndarray):
        self.factors = factors
        self.members = [[factor.unit, *factor.parents.tolist()] for factor in factors]
        self.told = [{} for _ in factors]  # of each unit: factor -> message
        for factor, members in enumerate(self.members):
            for unit in members:
                self.told[unit][factor] = np.zeros(2)
        self.evidence = np.stack([np.where(row == 1, -np.inf, 0.0), np.where(row == 0, -np.inf, 0.0)], axis=1)

    def belief(self, unit: int, without: int | None = None) -> np.ndarray:
        news = [message for factor, message in self.told[unit].items() if factor != without]
        return self.evidence[unit] + np.sum(news, axis=0)

    def send(self, factor: int, units: list[int]) -> None:
        members = self.members[factor]
        outgoing = self.factors[factor].messages(np.array([self.belief(unit, without=factor) for unit in members]))
        for unit in units:
            self.told[unit][factor] = outgoing[members.index(unit)]

    def paths(self) -> list[list[tuple[int, int]]]:
        """For each connected part, all its factors from one unit outwards, each with its unit nearest to that one."""
        parts, reached = [], np.zeros(len(self.factors), bool)
        for start in range(len(self.factors)):
            if not reached[start]:
                parts.append(self._outwards(start, reached))
        return parts

    def _outwards(self, start: int, reached: np.ndarray) -> list[tuple[int, int]]:
        found, units, seen = [], [start], set()
        reached[start] = True
        for unit in units:
            for factor in set(self.told[unit]).difference(seen):
                seen.add(factor)
                found.append((factor, unit))
                further = [member for member in self.members[factor] if member != unit]
                if reached[further].any():
                    raise ValueError("the network has a loop")
                reached[further] = True
                units += further
        return found
