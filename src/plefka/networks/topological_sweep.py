"""One pass along the edges, from parent to child or back, that computes each unit once.

Units are put into levels, each after all units that it depends on, and a level is computed at once. In a deep network
of narrow levels, a chain for one, NumPy takes longer to be called than to compute: there units follow each other one
by one, by the same functions, as plain numbers.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from plefka.networks.index_arrays import places_of

DEEP, NARROW = 128, 8  # levels from which units may be computed one by one, and units of a level up to which they are


@dataclass(frozen=True, eq=False)
class Sweep:
    """Units by levels; behind the first level, which depends on nothing, all edges into a unit follow each other.

    The networks of a stack may order units differently, so that there is no order for all of them: the units are then
    one level that is computed as often as a path can have edges.
    """

    units: np.ndarray
    unit_bounds: np.ndarray  # (levels + 1,): where levels begin among the units
    edges: np.ndarray
    edge_bounds: np.ndarray  # (levels + 1,): and among the edges
    source: np.ndarray  # of the edges as they are sorted
    first: np.ndarray  # (units,): the first edge of every unit, as they are sorted
    is_acyclic: bool

    @classmethod
    def of(cls, source: np.ndarray, target: np.ndarray, level: np.ndarray | None, size: int) -> "Sweep":
        """Along edges from source to target; `level`: of every unit, or None where there is a cycle."""
        is_acyclic = level is not None
        level = (np.bincount(target, minlength=size) > 0) * 1 if level is None else level
        units, unit_bounds = np.argsort(level, kind="stable"), _bounds(np.bincount(level, minlength=1))
        place = places_of(units, size)
        edges = np.argsort(place[target], kind="stable")
        first = _bounds(np.bincount(place[target], minlength=size))
        return cls(units, unit_bounds, edges, first[unit_bounds], source[edges], first[:-1], is_acyclic)

    @property
    def num_levels(self) -> int:
        return len(self.unit_bounds) - 1

    def follow(self, edge: Callable, unit: Callable, weight: np.ndarray, sources: tuple, own: tuple) -> np.ndarray:
        """values_i = unit(xp, sums of edge(xp, weight, values of the source, its terms...), own terms of i...).

        What an edge gives is a tuple; a sum over no edges is 0.
        """
        count = max([weight.shape[1], *(z.shape[1] for z in (*sources, *own))])
        values = np.zeros((len(self.units), count))
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            if count == 1 and self.num_levels > DEEP and len(self.units) <= NARROW * self.num_levels:
                return self._one_by_one(edge, unit, weight, sources, own, values)
            return self._by_levels(edge, unit, weight[self.edges], sources, own, values)

    def _by_levels(self, edge, unit, weight, sources, own, values) -> np.ndarray:
        for level in range(self.num_levels):
            units = self.units[self.unit_bounds[level] : self.unit_bounds[level + 1]]
            terms = [z[units] for z in own]
            if level == 0:
                values[units] = unit(np, *_of_no_edge(edge, weight, sources), *terms)
                continue
            some = slice(self.edge_bounds[level], self.edge_bounds[level + 1])
            source, starts = self.source[some], self.first[self.unit_bounds[level] : self.unit_bounds[level + 1]]
            ends = [z[source] for z in sources]
            for _ in range(1 if self.is_acyclic else len(self.units)):
                before = values[units]
                by_edge = edge(np, weight[some], values[source], *ends)
                sums = [np.add.reduceat(z, starts - some.start) for z in by_edge]
                values[units] = unit(np, *sums, *terms)
                if np.array_equal(before, values[units], equal_nan=True):
                    break
        return values

    def _one_by_one(self, edge, unit, weight, sources, own, values) -> np.ndarray:
        source, weight = self.source.tolist(), weight[self.edges, 0].tolist()
        ends, terms = ([z[:, 0].tolist() for z in arrays] for arrays in (sources, own))
        found, last = [0.0] * len(self.units), [*self.first[1:].tolist(), len(source)]
        nothing, roots = _of_no_edge(edge, values, sources), int(self.unit_bounds[1])
        for number, (one, begin, end) in enumerate(zip(self.units.tolist(), self.first.tolist(), last, strict=True)):
            sums = nothing
            if number >= roots:
                above = source[begin:end]
                by_edge = [
                    edge(SCALARS, w, found[j], *[z[j] for z in ends])
                    for w, j in zip(weight[begin:end], above, strict=True)
                ]
                sums = by_edge[0] if len(by_edge) == 1 else [sum(z) for z in zip(*by_edge, strict=True)]
            found[one] = unit(SCALARS, *sums, *[z[one] for z in terms])
        values[:, 0] = found
        return values


def _of_no_edge(edge: Callable, values: np.ndarray, sources: tuple) -> tuple[float, ...]:
    """A zero for each sum."""
    return tuple(0.0 for _ in edge(np, values[:0], values[:0], *(z[:0] for z in sources)))


def _bounds(counts: np.ndarray) -> np.ndarray:
    """Where each of these many begins, one behind the other, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)])


# ---- plain numbers ---------------------------------------------------------------------------------------------------


def _or_infinite(function: Callable[[float], float], beyond: float, x: float) -> float:
    """With an infinity in the place of an error."""
    try:
        return function(x)
    except (OverflowError, ValueError):
        return beyond


def _logaddexp(x: float, y: float) -> float:
    top = max(x, y)
    return top if math.isinf(top) else top + math.log1p(math.exp(min(x, y) - top))


class SCALARS:
    """What is used of NumPy's namespace, for plain numbers."""

    inf = math.inf
    exp = staticmethod(partial(_or_infinite, math.exp, math.inf))
    expm1 = staticmethod(partial(_or_infinite, math.expm1, math.inf))
    log = staticmethod(partial(_or_infinite, math.log, -math.inf))
    log1p = staticmethod(partial(_or_infinite, math.log1p, -math.inf))
    logaddexp, minimum, maximum = staticmethod(_logaddexp), staticmethod(min), staticmethod(max)

    @staticmethod
    def where(condition: Any, x: Any, y: Any) -> Any:
        return x if condition else y
