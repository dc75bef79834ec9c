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
from plefka.posterior import normalised

FEW_NUMBERS = 2**25  # that are kept from the way there, where it is not gone again for each table on the way back


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
    """Of every row: arrays (rows,) and (units, rows)."""

    log_z: np.ndarray
    units: np.ndarray  # (units,)
    means: np.ndarray
    switched: np.ndarray  # (units,)
    leak_slopes: np.ndarray  # d ln Z / d leak of switched units

    @property
    def mean_of(self) -> dict[int, np.ndarray]:
        """By units."""
        return dict(zip(self.units.tolist(), self.means, strict=True))

    def take(self, rows: slice, units: np.ndarray) -> "Answer":
        """Some of the rows, of which these are the units."""
        means, slopes = self.means[:, rows], self.leak_slopes[:, rows]
        return Answer(self.log_z[rows], units[self.units], means, units[self.switched], slopes)


class Underflow(Exception):
    pass


def eliminated(factors: Factors, plan: Plan) -> Answer:
    """ln Z, the means of all free units and how ln Z follows the leaks."""
    try:
        return Run(factors, plan, PLAIN).answer()
    except Underflow:
        return Run(factors, plan, LOGARITHMS).answer()


def log_total(factors: Factors, plan: Plan) -> np.ndarray:
    """ln Z (rows,), which takes about half of the time."""
    try:
        return Run(factors, plan, PLAIN).total()
    except Underflow:
        return Run(factors, plan, LOGARITHMS).total()


def with_tables(factors: Factors, plan: Plan) -> tuple[Answer, list[np.ndarray]]:
    """The same, and of every factor that is a table the probabilities (entries, rows) of the states of its units."""
    asked = (*ASKED, "table")
    try:
        run = Run(factors, plan, PLAIN, asked)
        return run.answer(), run.tables()
    except Underflow:
        run = Run(factors, plan, LOGARITHMS, asked)
        return run.answer(), run.tables()


class Run:
    def __init__(self, factors: Factors, plan: Plan, arithmetic: Arithmetic, asked: tuple[str, ...] = ASKED):
        self.plan, self.a, self.asked = plan, arithmetic, asked
        self.count = len(factors.rows)
        self.log_z = factors.constant.copy()
        self.one = arithmetic.from_log(np.zeros((1, self.count)))
        self.factors: dict[tuple, np.ndarray] = {
            ("nothing",): arithmetic.from_log(np.array([[0.0], [-np.inf]])),
            ("any",): arithmetic.from_log(np.zeros((2, 1))),
        }
        pairs = {("prior", unit): log for unit, log in factors.prior.items()}
        pairs |= {("leak", unit): log for unit, log in factors.leak.items()}
        if pairs:
            self.factors |= zip(pairs, self._of_logs(np.stack(list(pairs.values()))), strict=True)
        for k, log in enumerate(factors.tables):
            self.factors["table", k] = self._of_logs(log[None])[0]
        strengths = arithmetic.from_log(np.stack(list(factors.strength.values()))) if factors.strength else ()
        self.strength: dict[Switch, np.ndarray] = dict(zip(factors.strength, strengths, strict=True))
        self.keeps = plan.stored * self.count <= FEW_NUMBERS
        self.kept: dict[int, list] = {}
        self.outside: dict[tuple, np.ndarray] = {}  # what all else says of a factor
        self.weights: dict[int, np.ndarray] = {}  # of the states of each unit, (2, rows)

    def _of_logs(self, logs: np.ndarray) -> np.ndarray:
        """Factors along the first axis, each scaled so that its largest entry is one."""
        top = logs.max(axis=tuple(range(1, logs.ndim - 1)), keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        self.log_z += top.reshape(len(logs), -1).sum(axis=0)
        return self.a.from_log(logs - top)

    def scaled(self, table: np.ndarray) -> np.ndarray:
        top = table.max(axis=0)
        if (top < self.a.smallest).any():
            raise Underflow
        log = self._log_or_zero(top)
        self.log_z += log
        return self.a.times(table, self.a.from_log(-log))

    def _log_or_zero(self, top: np.ndarray) -> np.ndarray:
        log = self.a.to_log(top)
        return np.where(np.isfinite(log), log, 0.0)

    def answer(self) -> Answer:
        log_z, clusters = self.total(), self.plan.clusters
        for k in reversed(range(len(clusters))):
            self._backwards(k, clusters[k])
        return Answer(log_z, np.array(list(self.weights), int), self._means(), *self._leak_slopes())

    def total(self) -> np.ndarray:
        """ln Z: the way there alone."""
        for k, cluster in enumerate(self.plan.clusters):
            table, kept = self.forwards(cluster)
            if self.keeps:
                self.kept[k] = kept
            self.factors["message", k] = self.scaled(table)
        ends = [self.factors["message", k][0] for k, c in enumerate(self.plan.clusters) if not c.axes]
        return self.log_z + sum((self.a.to_log(end) for end in ends), np.zeros(self.count))

    def _means(self) -> np.ndarray:
        """Of the units that were summed over."""
        if not self.weights:
            return np.zeros((0, self.count))
        off, on = np.moveaxis(self.a.to_log(np.stack(list(self.weights.values()))), 1, 0)
        with np.errstate(invalid="ignore"):
            return np.exp(on - np.logaddexp(off, on))

    def _leak_slopes(self) -> tuple[np.ndarray, np.ndarray]:
        names = [name for name in self.outside if name[0] == "leak"]
        if not names:
            return np.zeros(0, int), np.zeros((0, self.count))
        outside, leak = (np.stack([z[name] for name in names]) for z in (self.outside, self.factors))
        log_z = self.a.to_log(self.a.plus.reduce(self.a.times(outside, leak), axis=1))
        off, on = np.moveaxis(self.a.to_log(outside), 1, 0)
        stay, units = self.a.to_log(leak[:, 0]), np.array([name[1] for name in names])
        with np.errstate(invalid="ignore", over="ignore"):
            return units, np.exp(stay + on - log_z) - np.exp(stay + off - log_z)

    def tables(self) -> list[np.ndarray]:
        """Of factors that are tables, in their order, the probabilities of their entries."""
        steps = [step for cluster in self.plan.clusters for step in cluster.steps if type(step) is Multiply]
        entries = {step.factor: self._entries(step) for step in steps if step.factor[0] == "table"}
        return [normalised(self.a.to_log(entries[name]), axis=0) for name in sorted(entries)]

    def _entries(self, step: Multiply) -> np.ndarray:
        """Of a table with axes in the order of the product, (entries, rows): what it says itself, and all others."""
        factor = self.ordered_factor(step)
        return self.a.times(self.outside[step.factor], factor.reshape(-1, factor.shape[-1]))

    def forwards(self, cluster: Cluster) -> tuple[np.ndarray, list]:
        """The message, and the tables before those steps whose way back needs them."""
        table, kept = self.one, []
        for step in cluster.steps:
            is_asked = type(step) is Sum or (type(step) is Multiply and step.factor[0] in self.asked)
            kept.append(table if is_asked else None)
            table = FORWARDS[type(step)](self, step, table)
        return table, kept

    def _backwards(self, k: int, cluster: Cluster) -> None:
        after = self.outside.pop(("message", k)) if cluster.axes else self.one
        after = self._comparable(after, self.factors["message", k])
        kept = self.kept.pop(k) if self.keeps else self.forwards(cluster)[1]
        for step, before in zip(reversed(cluster.steps), reversed(kept), strict=True):
            after = BACKWARDS[type(step)](self, step, before, after)

    def _comparable(self, outside: np.ndarray, message: np.ndarray) -> np.ndarray:
        """Scaled so that the largest entry is one; what both say together must not have been lost."""
        log = self._log_or_zero(outside.max(axis=0))
        outside = self.a.times(outside, self.a.from_log(-log))
        total = self.a.plus.reduce(self.a.times(outside, message), axis=0)
        if (total < self.a.smallest).any():
            raise Underflow
        return outside

    def multiply(self, step: Multiply, table: np.ndarray) -> np.ndarray:
        product = self.a.times(self.aligned_table(step, table), self._aligned_factor(step))
        product = self.mapped(product, step.together, BOTH)
        return product.reshape(-1, product.shape[-1])

    def aligned_table(self, step: Multiply, table: np.ndarray) -> np.ndarray:
        """With the axes of the product."""
        return self.mapped(table.reshape(*step.table, -1), step.together, OF_TABLE)

    def _aligned_factor(self, step: Multiply) -> np.ndarray:
        return self.mapped(self.ordered_factor(step), step.together, OF_FACTOR)

    def ordered_factor(self, step: Multiply) -> np.ndarray:
        """With its axes in order, and those of the product that it has not."""
        factor = self.factors[step.factor]
        if step.order is not None:
            factor = factor.transpose(*step.order, factor.ndim - 1)
        return factor.reshape(*step.shape, factor.shape[-1])

    def multiply_back(self, step: Multiply, before: np.ndarray | None, after: np.ndarray) -> np.ndarray:
        sizes = step.sizes
        after = self.mapped(after.reshape(*sizes, -1), step.together, OF_BOTH)
        if before is not None:
            found = self.a.times(after, self.aligned_table(step, before))
            found = self._summed(found, sizes, step.shape)
            found = self.mapped(found, step.together, FROM_FACTOR)
            self.outside[step.factor] = found.reshape(-1, found.shape[-1])
        found = self._summed(self.a.times(after, self._aligned_factor(step)), sizes, step.table)
        found = self.mapped(found, step.together, FROM_TABLE)
        return found.reshape(-1, found.shape[-1])

    def _summed(self, table: np.ndarray, sizes: tuple[int, ...], left: tuple[int, ...]) -> np.ndarray:
        """Over the axes that are not left."""
        axes = tuple(k for k, (size, ours) in enumerate(zip(sizes, left, strict=True)) if ours < size)
        return self.a.plus.reduce(table, axis=axes, keepdims=True) if axes else table

    def mapped(self, table: np.ndarray, axes: tuple[int, ...], groups: tuple) -> np.ndarray:
        """Along each of these axes, entries that are sums of the old ones."""
        for axis in axes:
            table = np.stack([self._of_group(table, axis, group) for group in groups], axis=axis)
        return table

    def _of_group(self, table: np.ndarray, axis: int, group: tuple[int, ...]) -> np.ndarray:
        return reduce(self.a.plus, [table[(slice(None),) * axis + (k,)] for k in group])

    def act(self, step: Act, table: np.ndarray) -> np.ndarray:
        stay, go = self.strength[step.switch]
        seen = table.reshape(*step.shape, -1)
        off, on = seen[step.off], seen[step.on]
        on[...] = self.a.plus(on, self.a.times(off, go))
        off[...] = self.a.times(off, stay)
        return table

    def act_back(self, step: Act, before: None, after: np.ndarray) -> np.ndarray:
        stay, go = self.strength[step.switch]
        seen = after.reshape(*step.shape, -1)
        off, on = seen[step.off], seen[step.on]
        off[...] = self.a.plus(self.a.times(off, stay), self.a.times(on, go))
        return after

    def sum(self, step: Sum, table: np.ndarray) -> np.ndarray:
        seen = table.reshape(*step.shape, -1)
        found = self.a.plus(seen[:, 0], seen[:, 1])
        return found.reshape(-1, found.shape[-1])

    def sum_back(self, step: Sum, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        first, _, last = step.shape
        after, before = after.reshape(first, 1, last, -1), before.reshape(*step.shape, -1)
        self.weights[step.unit] = self.a.plus.reduce(self.a.times(before, after), axis=(0, 2))
        return np.repeat(after, 2, axis=1).reshape(-1, after.shape[-1])

    def observe(self, step: Observe, table: np.ndarray) -> np.ndarray:
        seen = table.reshape(*step.shape, -1)[:, 1]
        return seen.reshape(-1, seen.shape[-1])

    def observe_back(self, step: Observe, before: None, after: np.ndarray) -> np.ndarray:
        found = np.full((*step.shape, after.shape[-1]), self.a.zero)
        found[:, 1] = after.reshape(step.shape[0], step.shape[2], -1)
        return found.reshape(-1, after.shape[-1])

    def match(self, step: Match, table: np.ndarray) -> np.ndarray:
        seen = table.reshape(*step.shape, -1)
        return np.stack([seen[:, 0, 0], seen[:, 1, 1]], axis=1).reshape(-1, seen.shape[-1])

    def match_back(self, step: Match, before: None, after: np.ndarray) -> np.ndarray:
        found = np.full((*step.shape, after.shape[-1]), self.a.zero)
        seen = after.reshape(step.shape[0], 2, step.shape[3], -1)
        found[:, 0, 0], found[:, 1, 1] = seen[:, 0], seen[:, 1]
        return found.reshape(-1, after.shape[-1])


# Two tables that both may switch a unit on: it is off where neither has, and on where the table has, or the factor has
# and the table has not. Three products, of which the last two are added; no term is negative.
OF_TABLE, OF_FACTOR, BOTH = ((0,), (1,), (0,)), ((0,), (0, 1), (1,)), ((0,), (1, 2))
OF_BOTH, FROM_TABLE, FROM_FACTOR = ((0,), (1,), (1,)), ((0, 2), (1,)), ((0, 1), (1, 2))  # the same, transposed
FORWARDS = {Multiply: Run.multiply, Act: Run.act, Sum: Run.sum, Observe: Run.observe, Match: Run.match}
BACKWARDS = {
    Multiply: Run.multiply_back, Act: Run.act_back, Sum: Run.sum_back, Observe: Run.observe_back,
    Match: Run.match_back,
}  # fmt: skip
