"""Exact inference by elimination: tables are multiplied and summed over along a plan, and then back along it.

On the way back every table meets what all others say of it, which gives the means of all units. Numbers are plain ones
first, which is quick; where they come close to what floating point can hold, it is all done again with logarithms.
"""

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

import numpy as np

from plefka.exact.factors import Factors, Switch
from plefka.exact.steps import ASKED, Act, Cluster, Match, Multiply, Observe, Plan, Sum

FEW_NUMBERS = 2**22  # that are kept from the way there, where it is not gone again for each table on the way back


class Arithmetic(NamedTuple):
    """Numbers as they are, or their logarithms."""

    plus: np.ufunc
    times: np.ufunc
    zero: float
    smallest: float  # what a sum of products must be above for underflow not to matter
    from_log: Callable
    to_log: Callable


def _log(z: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(z)


PLAIN = Arithmetic(np.add, np.multiply, 0.0, 1e-200, np.exp, _log)
LOGARITHMS = Arithmetic(np.logaddexp, np.add, -np.inf, -np.inf, np.asarray, np.asarray)


class Answer(NamedTuple):
    """Of every row, (rows,)."""

    log_z: np.ndarray
    means: dict[int, np.ndarray]
    leak_slopes: dict[int, np.ndarray]  # d ln Z / d leak


class Underflow(Exception):
    pass


def eliminated(factors: Factors, plan: Plan) -> Answer:
    """ln Z, the means of all free units and how ln Z follows the leaks."""
    try:
        return Run(factors, plan, PLAIN).answer()
    except Underflow:
        return Run(factors, plan, LOGARITHMS).answer()


class Run:
    def __init__(self, factors: Factors, plan: Plan, arithmetic: Arithmetic):
        self.plan, self.a = plan, arithmetic
        count = len(factors.rows)
        self.log_z = factors.constant.copy()
        self.factors: dict[tuple, np.ndarray] = {
            ("nothing",): arithmetic.from_log(np.stack([np.zeros(count), np.full(count, -np.inf)])),
            ("any",): arithmetic.from_log(np.zeros((2, count))),
        }
        pairs = {("prior", unit): log for unit, log in factors.prior.items()}
        pairs |= {("leak", unit): log for unit, log in factors.leak.items()}
        if pairs:
            self.factors |= zip(pairs, self._of_logs(np.stack(list(pairs.values()))), strict=True)
        for k, log in enumerate(factors.tables):
            self.factors["table", k] = self._of_logs(log[None])[0]
        strengths = arithmetic.from_log(np.stack(list(factors.strength.values()))) if factors.strength else ()
        self.strength: dict[Switch, np.ndarray] = dict(zip(factors.strength, strengths, strict=True))
        self.keeps = plan.stored * count <= FEW_NUMBERS
        self.kept: dict[int, list] = {}
        self.outside: dict[tuple, np.ndarray] = {}  # what all else says of a factor
        self.means: dict[int, np.ndarray] = {}
        self.leak_slopes: dict[int, np.ndarray] = {}

    def _of_logs(self, logs: np.ndarray) -> np.ndarray:
        """Factors along the first axis, each scaled so that its largest entry is one."""
        top = logs.max(axis=tuple(range(1, logs.ndim - 1)), keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        self.log_z += top.reshape(len(logs), -1).sum(axis=0)
        return self.a.from_log(logs - top)

    def scaled(self, table: np.ndarray) -> np.ndarray:
        top = table.max(axis=tuple(range(table.ndim - 1)))
        if (top < self.a.smallest).any():
            raise Underflow
        log = self.a.to_log(top)
        log = np.where(np.isfinite(log), log, 0.0)
        self.log_z += log
        return self.a.times(table, self.a.from_log(-log))

    def answer(self) -> Answer:
        clusters = self.plan.clusters
        for k, cluster in enumerate(clusters):
            table, kept = self.forwards(cluster)
            if self.keeps:
                self.kept[k] = kept
            self.factors["message", k] = self.scaled(table)
        for k in reversed(range(len(clusters))):
            self._backwards(k, clusters[k])
        return Answer(self._total(), self.means, self.leak_slopes)

    def _total(self) -> np.ndarray:
        ends = [self.factors["message", k] for k, c in enumerate(self.plan.clusters) if not c.axes]
        return self.log_z + sum((self.a.to_log(end) for end in ends), np.zeros(self.log_z.shape))

    def forwards(self, cluster: Cluster) -> tuple[np.ndarray, list]:
        """The message, and the tables before those steps whose way back needs them."""
        table, kept = self.a.from_log(np.zeros(self.log_z.shape)), []
        for step in cluster.steps:
            is_asked = isinstance(step, Sum) or (isinstance(step, Multiply) and step.factor[0] in ASKED)
            kept.append(table if is_asked else None)
            table = FORWARDS[type(step)](self, step, table)
        return table, kept

    def _backwards(self, k: int, cluster: Cluster) -> None:
        one = self.a.from_log(np.zeros(self.log_z.shape))
        after = self.outside.pop(("message", k), one) if cluster.axes else one
        after = self._comparable(after, self.factors["message", k])
        kept = self.kept.pop(k) if self.keeps else self.forwards(cluster)[1]
        for step, before in zip(reversed(cluster.steps), reversed(kept), strict=True):
            after = BACKWARDS[type(step)](self, step, before, after)

    def _comparable(self, outside: np.ndarray, message: np.ndarray) -> np.ndarray:
        """Scaled so that the largest entry is one; what both say together must not have been lost."""
        axes = tuple(range(outside.ndim - 1))
        log = self.a.to_log(outside.max(axis=axes))
        outside = self.a.times(outside, self.a.from_log(-np.where(np.isfinite(log), log, 0.0)))
        total = self.a.plus.reduce(self.a.times(outside, message), axis=axes)
        if (total < self.a.smallest).any():
            raise Underflow
        return outside

    def multiply(self, step: Multiply, table: np.ndarray) -> np.ndarray:
        product = self.a.times(self.aligned_table(step, table), self._aligned_factor(step))
        return self.mapped(product, step.together, BOTH)

    def aligned_table(self, step: Multiply, table: np.ndarray) -> np.ndarray:
        """With the axes of the product."""
        return self.mapped(table.reshape((1,) * step.new + table.shape), step.together, OF_TABLE)

    def _aligned_factor(self, step: Multiply) -> np.ndarray:
        factor = self.factors[step.factor]
        factor = factor.transpose(*step.order, factor.ndim - 1).reshape(*step.shape, factor.shape[-1])
        return self.mapped(factor, step.together, OF_FACTOR)

    def multiply_back(self, step: Multiply, before: np.ndarray | None, after: np.ndarray) -> np.ndarray:
        shape = after.shape[step.new :]
        after = self.mapped(after, step.together, OF_BOTH)
        if before is not None:
            found = self.a.times(after, self.aligned_table(step, before))
            found = self._summed(found, [k for k, size in enumerate(step.shape) if size == 1])
            found = self.mapped(found, step.together, FROM_FACTOR)
            found = found.reshape((2,) * len(step.order) + found.shape[-1:])
            self._note(step.factor, found.transpose(*np.argsort(step.order), len(step.order)))
        found = self.mapped(self.a.times(after, self._aligned_factor(step)), step.together, FROM_TABLE)
        return self._summed(found, range(step.new)).reshape(shape)

    def _note(self, name: tuple, outside: np.ndarray) -> None:
        if name[0] == "message":
            self.outside[name] = outside
            return
        leak, (off, on) = self.factors[name], self.a.to_log(outside)
        log_z, stay = self.a.to_log(self.a.plus.reduce(self.a.times(outside, leak), axis=0)), self.a.to_log(leak[0])
        with np.errstate(invalid="ignore", over="ignore"):
            self.leak_slopes[name[1]] = np.exp(stay + on - log_z) - np.exp(stay + off - log_z)

    def _chances(self, weights: np.ndarray) -> np.ndarray:
        """Numbers in proportion to these that add up to one, along the first axis."""
        log = self.a.to_log(weights)
        with np.errstate(invalid="ignore"):
            return np.exp(log - np.logaddexp.reduce(log, axis=0))

    def _summed(self, table: np.ndarray, axes) -> np.ndarray:
        axes = tuple(axes)
        return self.a.plus.reduce(table, axis=axes, keepdims=True) if axes else table

    def mapped(self, table: np.ndarray, axes: tuple[int, ...], groups: tuple) -> np.ndarray:
        """Along each of these axes, entries that are sums of the old ones."""
        for axis in axes:
            if table.shape[axis] > 1:
                table = np.stack([self._of_group(table, axis, group) for group in groups], axis=axis)
        return table

    def _of_group(self, table: np.ndarray, axis: int, group: tuple[int, ...]) -> np.ndarray:
        return reduce(self.a.plus, [table[(slice(None),) * axis + (k,)] for k in group])

    def act(self, step: Act, table: np.ndarray) -> np.ndarray:
        stay, go = self.strength[step.switch]
        off, on = table[step.off], table[step.on]
        self.a.plus(on, self.a.times(off, go), out=on)
        self.a.times(off, stay, out=off)
        return table

    def act_back(self, step: Act, before: None, after: np.ndarray) -> np.ndarray:
        stay, go = self.strength[step.switch]
        off, on = after[step.off], after[step.on]
        self.a.plus(self.a.times(off, stay), self.a.times(on, go), out=off)
        return after

    def sum(self, step: Sum, table: np.ndarray) -> np.ndarray:
        return self.a.plus.reduce(table, axis=step.axis)

    def sum_back(self, step: Sum, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        after = np.stack([after, after], axis=step.axis)
        others = tuple(k for k in range(before.ndim - 1) if k != step.axis)
        self.means[step.unit] = self._chances(self.a.plus.reduce(self.a.times(before, after), axis=others))[1]
        return after

    def observe(self, step: Observe, table: np.ndarray) -> np.ndarray:
        return table.take(1, axis=step.axis)

    def observe_back(self, step: Observe, before: None, after: np.ndarray) -> np.ndarray:
        return np.stack([np.full_like(after, self.a.zero), after], axis=step.axis)

    def match(self, step: Match, table: np.ndarray) -> np.ndarray:
        return np.moveaxis(np.diagonal(table, axis1=step.waiting, axis2=step.axis), -1, 0).copy()

    def match_back(self, step: Match, before: None, after: np.ndarray) -> np.ndarray:
        found = np.full((2, 2, *after.shape[1:]), self.a.zero)
        found[(0, 1), (0, 1)] = after
        return np.ascontiguousarray(np.moveaxis(found, (0, 1), (step.waiting, step.axis)))


# Two tables that both may switch a unit on: it is off where neither has, and on where the table has, or the factor has
# and the table has not. Three products, of which the last two are added; no term is negative.
OF_TABLE, OF_FACTOR, BOTH = ((0,), (1,), (0,)), ((0,), (0, 1), (1,)), ((0,), (1, 2))
OF_BOTH, FROM_TABLE, FROM_FACTOR = ((0,), (1,), (1,)), ((0, 2), (1,)), ((0, 1), (1, 2))  # the same, transposed
FORWARDS = {Multiply: Run.multiply, Act: Run.act, Sum: Run.sum, Observe: Run.observe, Match: Run.match}
BACKWARDS = {
    Multiply: Run.multiply_back, Act: Run.act_back, Sum: Run.sum_back, Observe: Run.observe_back,
    Match: Run.match_back,
}  # fmt: skip
