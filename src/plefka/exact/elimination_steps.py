"""The steps of an elimination: what is done to a table, whose axes are units and what has switched them on.

A table is an array (2^axes, rows). Its axes are in the order of a plan, the same in all tables, so that a step sees it
as an array of few axes: neighbours that go through the step together are one. Every step goes forwards, and backwards:
from what all else says of the table after it to what all else says of the table before it.
"""

import math
from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

import numpy as np

from plefka.exact.log_factors import Switch

Shape = tuple[int, ...]
PRODUCT_IN_CACHE = 2**18  # numbers
STRENGTH = "strength"  # the name of edges among the factors that the way back may be asked about
OBSERVED_ON = "observed on"  # and that of units whose table is asked about where they are observed


class Arithmetic(NamedTuple):
    """Numbers as they are, or their logarithms."""

    plus: np.ufunc
    times: np.ufunc
    zero: float
    from_log: Callable
    to_log: Callable


def _log(z: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(z)


PLAIN_NUMBERS = Arithmetic(np.add, np.multiply, 0.0, np.exp, _log)
LOGARITHMS = Arithmetic(np.logaddexp, np.add, -np.inf, np.asarray, np.asarray)

# Two tables that both may switch a unit on: it is off where neither has, and on where the table has, or the factor has
# and the table has not. Three products, of which the last two are added; no term is negative.
OF_TABLE, OF_FACTOR, BOTH = ((0,), (1,), (0,)), ((0,), (0, 1), (1,)), ((0,), (1, 2))
OF_BOTH, FROM_TABLE, FROM_FACTOR = ((0,), (1,), (1,)), ((0, 2), (1,)), ((0, 1), (1, 2))  # the same, transposed


class Workspace:
    """What the steps of some rows work with, and what they find on the way back."""

    def __init__(self, arithmetic: Arithmetic, count: int):
        self.a, self.count = arithmetic, count
        self.one = arithmetic.from_log(np.zeros((1, count)))
        self.factors: dict[tuple, np.ndarray] = {
            ("nothing",): arithmetic.from_log(np.array([[0.0], [-np.inf]])),
            ("any",): arithmetic.from_log(np.zeros((2, 1))),
        }
        self.strength: dict[Switch, np.ndarray] = {}
        self.outside: dict[tuple, np.ndarray] = {}  # what all else says of a factor
        self.weights: dict[int, np.ndarray] = {}  # of the states of each unit, (2, rows)

    def mapped(self, table: np.ndarray, axes: tuple[int, ...], groups: tuple) -> np.ndarray:
        """Along each of these axes, entries that are sums of the old ones."""
        for axis in axes:
            old = [table[(slice(None),) * axis + (k,)] for k in range(table.shape[axis])]
            table = np.stack([reduce(self.a.plus, [old[k] for k in group]) for group in groups], axis=axis)
        return table


class Multiply(NamedTuple):
    """A factor or a message is multiplied in."""

    factor: tuple
    order: tuple[int, ...] | None  # of the axes of the factor; None where they are in order
    table: Shape  # with 1 for axes that only the factor has
    shape: Shape  # of the factor, with 1 for axes that only the table has
    together: tuple[int, ...]  # axes that both switch on: on where either is

    @property
    def sizes(self) -> Shape:
        """Of the product."""
        return tuple(map(max, self.table, self.shape))

    def forwards(self, w: Workspace, table: np.ndarray) -> np.ndarray:
        return _flat(_joined(w, table.reshape(*self.table, -1), self.ordered_factor(w), self.together))

    def aligned_table(self, w: Workspace, table: np.ndarray) -> np.ndarray:
        """With the axes of the product."""
        return w.mapped(table.reshape(*self.table, -1), self.together, OF_TABLE)

    def ordered_factor(self, w: Workspace) -> np.ndarray:
        """With its axes in order, and those of the product that it has not."""
        factor = w.factors[self.factor]
        if self.order is not None:
            factor = factor.transpose(*self.order, factor.ndim - 1)
        return factor.reshape(*self.shape, factor.shape[-1])

    def backwards(self, w: Workspace, after: np.ndarray) -> np.ndarray:
        factor = w.mapped(self.ordered_factor(w), self.together, OF_FACTOR)
        product = w.a.times(self._aligned_product(w, after), factor)
        return _flat(w.mapped(self._summed(w, product, self.table), self.together, FROM_TABLE))

    def find(self, w: Workspace, before: np.ndarray, after: np.ndarray) -> None:
        """What all else says of the factor."""
        product = w.a.times(self._aligned_product(w, after), self.aligned_table(w, before))
        w.outside[self.factor] = _flat(w.mapped(self._summed(w, product, self.shape), self.together, FROM_FACTOR))

    def _aligned_product(self, w: Workspace, after: np.ndarray) -> np.ndarray:
        return w.mapped(after.reshape(*self.sizes, -1), self.together, OF_BOTH)

    def _summed(self, w: Workspace, table: np.ndarray, left: Shape) -> np.ndarray:
        """Over the axes that are not left."""
        axes = tuple(k for k, (size, ours) in enumerate(zip(self.sizes, left, strict=True)) if ours < size)
        return w.a.plus.reduce(table, axis=axes, keepdims=True) if axes else table


def _joined(w: Workspace, table: np.ndarray, factor: np.ndarray, together: tuple[int, ...]) -> np.ndarray:
    """The product of two tables that both may switch units on; of large ones by halves, which stay in the cache."""
    if not together or math.prod(map(max, table.shape, factor.shape)) * 1.5 ** len(together) <= PRODUCT_IN_CACHE:
        product = w.a.times(w.mapped(table, together, OF_TABLE), w.mapped(factor, together, OF_FACTOR))
        return w.mapped(product, together, BOTH)
    axis, rest = together[0], together[1:]
    (off, on), (stays, acts) = (np.split(z, 2, axis) for z in (table, factor))
    either = w.a.plus(_joined(w, on, w.a.plus(stays, acts), rest), _joined(w, off, acts, rest))
    return np.concatenate([_joined(w, off, stays, rest), either], axis)


class Act(NamedTuple):
    """A parent acts on its child, in the entries where it is in the state for that and the child is off, and on."""

    switch: Switch
    shape: Shape
    off: tuple
    on: tuple

    def forwards(self, w: Workspace, table: np.ndarray) -> np.ndarray:
        stay, go = w.strength[self.switch]
        seen = table.reshape(*self.shape, -1)
        off, on = seen[self.off], seen[self.on]
        on[...] = w.a.plus(on, w.a.times(off, go))
        off[...] = w.a.times(off, stay)
        return table

    def backwards(self, w: Workspace, after: np.ndarray) -> np.ndarray:
        stay, go = w.strength[self.switch]
        seen = after.reshape(*self.shape, -1)
        off, on = seen[self.off], seen[self.on]
        off[...] = w.a.plus(w.a.times(off, stay), w.a.times(on, go))
        return after

    def acted_on(self, table: np.ndarray) -> np.ndarray:
        """The entries in which the parent acts, with the child off and on: a copy, as the step changes the table."""
        seen = table.reshape(*self.shape, -1)
        return np.stack([seen[self.off], seen[self.on]])

    def find(self, w: Workspace, before: np.ndarray, after: np.ndarray) -> None:
        """What all else says of the edge: that it fails, that it switches the child on, and that this was on before."""
        seen = after.reshape(*self.shape, -1)
        pairs = zip(before[[0, 0, 1]], (seen[self.off], seen[self.on], seen[self.on]), strict=True)
        w.outside[STRENGTH, self.switch] = np.stack([w.a.plus.reduce(_flat(w.a.times(a, b)), axis=0) for a, b in pairs])


class Sum(NamedTuple):
    """A unit is summed over."""

    unit: int
    shape: Shape  # with the unit in the middle

    def forwards(self, w: Workspace, table: np.ndarray) -> np.ndarray:
        seen = table.reshape(*self.shape, -1)
        return _flat(w.a.plus(seen[:, 0], seen[:, 1]))

    def backwards(self, w: Workspace, after: np.ndarray) -> np.ndarray:
        first, _, last = self.shape
        return _flat(np.repeat(after.reshape(first, 1, last, -1), 2, axis=1))

    def find(self, w: Workspace, before: np.ndarray, after: np.ndarray) -> None:
        """The weights of the states of the unit."""
        first, _, last = self.shape
        after, before = after.reshape(first, 1, last, -1), before.reshape(*self.shape, -1)
        w.weights[self.unit] = w.a.plus.reduce(w.a.times(before, after), axis=(0, 2))


class Observe(NamedTuple):
    """A unit that was observed on is on."""

    unit: int
    shape: Shape  # with the unit in the middle

    def forwards(self, w: Workspace, table: np.ndarray) -> np.ndarray:
        return _flat(table.reshape(*self.shape, -1)[:, 1])

    def backwards(self, w: Workspace, after: np.ndarray) -> np.ndarray:
        found = np.full((*self.shape, after.shape[-1]), w.a.zero)
        found[:, 1] = after.reshape(self.shape[0], self.shape[2], -1)
        return _flat(found)

    def find(self, w: Workspace, before: np.ndarray, after: np.ndarray) -> None:
        """What all else says of the table once the unit is on."""
        w.outside[OBSERVED_ON, self.unit] = after.copy()


class Match(NamedTuple):
    """A unit is in the state that its parents have left it in: the diagonal of the two axes in the middle."""

    shape: Shape

    def forwards(self, w: Workspace, table: np.ndarray) -> np.ndarray:
        seen = table.reshape(*self.shape, -1)
        return _flat(np.stack([seen[:, 0, 0], seen[:, 1, 1]], axis=1))

    def backwards(self, w: Workspace, after: np.ndarray) -> np.ndarray:
        found = np.full((*self.shape, after.shape[-1]), w.a.zero)
        seen = after.reshape(self.shape[0], 2, self.shape[3], -1)
        found[:, 0, 0], found[:, 1, 1] = seen[:, 0], seen[:, 1]
        return _flat(found)


Step = Multiply | Act | Sum | Observe | Match


def _flat(table: np.ndarray) -> np.ndarray:
    return table.reshape(-1, table.shape[-1])
