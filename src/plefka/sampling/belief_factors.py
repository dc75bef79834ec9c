"""The factors of a belief network that particles are weighed by, and which units a sweep may visit together.

Units of one colour of the moral graph, of which no two have a common child or are parent and child, are independent
given all others. On sparse networks hundreds of them are visited in one step.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from plefka.networks.activations import numpy_softplus
from plefka.networks.fields import log_terms
from plefka.reduction.summing import LEAST
from plefka.sampling.state_weights import Target
from plefka.sampling.visits import moral_colours

FACTORS_TOGETHER = 512  # of units that are visited together; with a few hundred particles they stay in the cache


class CountedUnits(NamedTuple):
    """Units whose factors count: those observed on, those observed off, and those that are free."""

    units: Any  # their numbers, as a slice where they stand together, which is quicker
    num_on: int
    num_fixed: int
    weights: np.ndarray  # (units, 1), of the edges from one parent
    certain: np.ndarray  # (units, 1): 1 for an edge of probability one


class VisitedUnits(NamedTuple):
    """Free units no two of which have a common factor, and all their children whose factor counts."""

    units: Any
    places: Any  # of these units among the free ones
    children: CountedUnits
    owner: Any  # which of the units each child belongs to; all to a single one
    of_fixed: Any  # a matrix (units, children) that sums over children that are observed; None for a single unit
    of_free: Any

    @property
    def themselves(self) -> CountedUnits:
        """Their own factors."""
        return CountedUnits(self.units, 0, 0, self.children.weights, self.children.certain)

    def summed(self, terms: np.ndarray, *, of_free: bool) -> np.ndarray:
        """Over the children of each unit that are free, or that are observed."""
        some = terms[self.children.num_fixed :] if of_free else terms[: self.children.num_fixed]
        matrix = self.of_free if of_free else self.of_fixed
        return some.sum(axis=0, keepdims=True) if matrix is None else matrix @ some


class BeliefFactors:
    """ln P(unit | parents) of the units of a question of one row that count, for states (units, count)."""

    def __init__(self, target: Target):
        self.target, self.free = target, np.flatnonzero(target.free[:, 0])

    @cached_property
    def counted(self) -> CountedUnits:
        """All units whose factor counts."""
        units = np.flatnonzero(self.target.counted[:, 0] | self.target.free[:, 0])
        return self._sorted(units, np.zeros((len(units), 1)))[0]

    def _sorted(self, units: np.ndarray, weights: np.ndarray) -> tuple[CountedUnits, np.ndarray]:
        """And in which order they are."""
        off = 1 - self.target.values[units, 0].astype(int)
        kind = np.where(self.target.free[units, 0], 2, 0 if self.target.activation.has_linear_log_odds else off)
        order = np.argsort(kind, kind="stable")
        units, weights, (a, b) = units[order], weights[order], np.searchsorted(kind[order], (1, 2))
        certain = np.isinf(weights)
        return CountedUnits(_slice(units), int(a), int(b), np.where(certain, 0.0, weights), certain * 1.0), order

    @cached_property
    def one_by_one(self) -> list[VisitedUnits]:
        """Every free unit by itself."""
        return [self._visited(np.array([place])) for place in range(len(self.free))]

    @cached_property
    def together(self) -> list[VisitedUnits]:
        """As many free units at once as are of one colour, and stay in the cache."""
        colour, starts = moral_colours(self.target.edges, self.free)[self.free], self.target.edges.graph.by_parent[1]
        order = np.argsort(colour, kind="stable")
        block = np.cumsum(1 + np.diff(starts)[self.free[order]]) // FACTORS_TOGETHER
        ends = np.flatnonzero((np.diff(colour[order]) != 0) | (np.diff(block) != 0)) + 1
        return [self._visited(np.sort(places)) for places in np.split(order, ends) if len(places)]

    def _visited(self, places: np.ndarray) -> VisitedUnits:
        """The free units with these numbers."""
        edges, units, (order, starts) = self.target.edges, self.free[places], self.target.edges.graph.by_parent
        mine = np.concatenate([order[starts[unit] : starts[unit + 1]] for unit in units])
        mine = mine[(self.target.counted | self.target.free)[edges.child[mine], 0]]
        mine = mine[np.argsort(edges.child[mine], kind="stable")]
        children, order = self._sorted(edges.child[mine], edges.weight[mine, :1])
        owner = np.searchsorted(units, edges.parent[mine[order]])
        if len(units) == 1:
            return VisitedUnits(_slice(units), _slice(places), children, slice(None), None, None)
        sums, b = sp.csr_array((owner == np.arange(len(units))[:, None]) * 1.0), children.num_fixed
        return VisitedUnits(_slice(units), _slice(places), children, owner, sums[:, :b], sums[:, b:])

    def of(self, some: CountedUnits, x: np.ndarray, on: Any, S: np.ndarray, floor: float) -> np.ndarray:
        """ln of the factors of some units, from their fields and how many certain edges into them are on."""
        f, a, b = self.target.activation, some.num_on, some.num_fixed
        if f.has_linear_log_odds:
            return -numpy_softplus(np.where(S == 1, -x, x))
        x = f.clip(x if on is None else np.where(on > 0.5, np.inf, x))
        logs = np.concatenate([f.log_on(x[:a]), f.log_off(x[a:b]), log_terms(f, x[b:], S[b:])])
        logs = np.maximum(logs, LEAST)
        np.copyto(logs[:b], floor, where=logs[:b] <= LEAST)
        return logs

    def of_all(self, S: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """Fields, how many certain edges are on, and ln factors of all units (units, count); 0 where not counted."""
        x, on = self.target.split(S[:, None])
        x, on = x[:, 0], None if on is None else on[:, 0]
        L, units = np.zeros(S.shape), self.counted.units
        with np.errstate(divide="ignore"):
            L[units] = self.of(self.counted, x[units], None if on is None else on[units], S[units], floor)
        return x, on, L


def _slice(numbers: np.ndarray) -> Any:
    """Numbers that follow each other as a slice."""
    follow = len(numbers) > 0 and bool(np.all(np.diff(numbers) == 1))
    return slice(int(numbers[0]), int(numbers[-1]) + 1) if follow else numbers
