"""Exact inference by elimination: tables are multiplied and summed over along a plan, and then back along it.

On the way back every table meets what all others say of it, which gives the means of all units. Numbers are plain ones
first, which is quick. Where one was too small for floating point and may have mattered, the row is done again with
logarithms.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from plefka.exact.elimination_steps import (
    LOGARITHMS,
    OBSERVED_ON,
    PLAIN_NUMBERS,
    STRENGTH,
    Act,
    Arithmetic,
    Multiply,
    Observe,
    Sum,
    Workspace,
)
from plefka.exact.log_factors import LogFactors
from plefka.exact.plans import WANTED_FACTORS, Cluster, Plan, segments_of
from plefka.methods.posterior import normalised
from plefka.progress import progress

SMALLEST_LOG = -700.0  # ln of about the smallest number that has all its digits
NOTICED = 60.0  # ln of how far below a sum all that was lost must be: 1e-16 of it, for a thousand million numbers


class EliminationAnswer(NamedTuple):
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

    def take(self, rows: slice, units: np.ndarray) -> "EliminationAnswer":
        """Some of the rows, of which these are the units."""
        means, slopes = self.means[:, rows], self.leak_slopes[:, rows]
        return EliminationAnswer(self.log_z[rows], units[self.units], means, units[self.switched], slopes)


def eliminated(factors: LogFactors, plan: Plan) -> EliminationAnswer:
    """ln Z, the means of all free units and how ln Z follows the leaks."""
    run, (log_z, means, slopes) = by_rows(factors, plan, EliminationRun.answer)
    return EliminationAnswer(log_z, run.units, means, run.switched, slopes)


def log_total(factors: LogFactors, plan: Plan, kind: "Callable[..., EliminationRun] | None" = None) -> np.ndarray:
    """ln Z (rows,), which takes about half of the time."""
    return by_rows(factors, plan, lambda run: [run.total()], kind=kind)[1][0]


def by_rows(
    factors: LogFactors,
    plan: Plan,
    ask: Callable[[Any], list[np.ndarray]],
    wanted: tuple[str, ...] = WANTED_FACTORS,
    kind: "Callable[..., EliminationRun] | None" = None,
) -> "tuple[Any, list[np.ndarray]]":
    """What `ask` takes from a run, arrays (..., rows): by logarithms in rows where plain numbers have lost a part."""
    kind = kind or EliminationRun
    run = kind(factors, plan, PLAIN_NUMBERS, wanted)
    found, rows = ask(run), run.doubtful
    if len(rows):
        better = ask(kind(factors.take(rows), plan, LOGARITHMS, wanted))
        for plain, new in zip(found, better, strict=True):
            plain[..., rows] = new
    return run, found


class EliminationRun(Workspace):
    """The way there and back of some rows, by one arithmetic."""

    goes_back = True  # so that tables of a segment are kept; messages to it are made again from those before it

    def __init__(
        self, factors: LogFactors, plan: Plan, arithmetic: Arithmetic, wanted: tuple[str, ...] = WANTED_FACTORS
    ):
        super().__init__(arithmetic, len(factors.rows))
        self.plan, self.wanted = plan, wanted
        self.log_scale = factors.constant.copy()  # with all factors scaled, so that none has an entry above one
        self.log_sum = np.zeros(self.count)  # and then of their product
        self.has_lost = False  # whether a number was too small for this arithmetic
        pairs = {("prior", unit): log for unit, log in factors.prior.items()}
        pairs |= {("leak", unit): log for unit, log in factors.leak.items()}
        free = factors.structure.free
        self.log_most = np.full(self.count, np.log(2) * (len(free) - len(factors.prior)))  # that a table may hold
        if pairs:
            several = self._of_logs(np.stack(list(pairs.values())))
            self.log_most += arithmetic.to_log(arithmetic.plus.reduce(several, axis=1)).sum(axis=0)
            self.factors |= zip(pairs, several, strict=True)
        for k, log in enumerate(factors.tables):
            self.factors["table", k] = self._of_logs(log[None])[0]
        strengths = self._from_log(np.stack(list(factors.strength.values()))) if factors.strength else ()
        self.strength = dict(zip(factors.strength, strengths, strict=True))
        self.segments = segments_of(plan.clusters, self.count)
        self.marks: list[dict[tuple, np.ndarray]] = []  # messages from before each segment
        self.kept: dict[int, list] = {}  # tables of the clusters of a segment

    def _of_logs(self, logs: np.ndarray) -> np.ndarray:
        """Factors along the first axis, each scaled so that its largest entry is one."""
        top = logs.max(axis=tuple(range(1, logs.ndim - 1)), keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        self.log_scale += top.reshape(len(logs), -1).sum(axis=0)
        return self._from_log(logs - top)

    def _from_log(self, logs: np.ndarray) -> np.ndarray:
        self.has_lost |= self.a is PLAIN_NUMBERS and bool(((logs < SMALLEST_LOG) & (logs > -np.inf)).any())
        return self.a.from_log(logs)

    def _losses_noticed(self) -> np.errstate:
        """Where a product is too small for a plain number, which floating point itself says, that is remembered."""
        return np.errstate(under="call" if self.a is PLAIN_NUMBERS else "ignore", call=self._lose)

    def _lose(self, *_: Any) -> None:
        self.has_lost = True

    @property
    def doubtful(self) -> np.ndarray:
        """The rows of which a part that matters may have been lost.

        No entry of a factor is above one, nor is a table above exp(log_most), there or back. What a step has lost is
        below the smallest number, and so all that was lost is below that times exp(2 log_most): nothing, beside a Z
        that is far above it.
        """
        return np.flatnonzero(self.has_lost & ~(self.log_sum > SMALLEST_LOG + NOTICED + 2 * self.log_most))

    def _scaled(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        log = self.log_of_top(table)
        return self.a.times(table, self.a.from_log(-log)), log

    def log_of_top(self, table: np.ndarray) -> np.ndarray:
        """Of the largest entry; any number will do where that is next to nothing."""
        log = self.a.to_log(table.max(axis=0))
        return np.where(np.isfinite(log), np.maximum(log, SMALLEST_LOG) if self.a is PLAIN_NUMBERS else log, 0.0)

    def answer(self) -> list[np.ndarray]:
        """ln Z (rows,), the means (units, rows) of `units` and d ln Z / d leak of those that are `switched`."""
        log_z, clusters = self.total(), self.plan.clusters
        with self._losses_noticed():
            for segment in progress(self.segments[::-1], "finding means"):
                messages = self.marks.pop()
                if segment[0] not in self.kept:
                    self.factors |= messages
                    self._go_through(segment, kept=True)
                for k in reversed(segment):
                    self._backwards(k, clusters[k])
                    del self.factors["message", k]
        return [log_z, self._means(), self._leak_slopes()]

    def total(self) -> np.ndarray:
        """ln Z: the way there alone."""
        with self._losses_noticed():
            for segment in progress(self.segments, "eliminating units"):
                is_last = segment is self.segments[-1]
                self.marks.append({name: table for name, table in self.factors.items() if name[0] == "message"})
                self.log_sum += self._go_through(segment, kept=is_last and self.goes_back)
                if self.goes_back and not is_last:
                    for name in [name for k in segment for name in self.plan.clusters[k].messages()]:
                        del self.factors[name]
        return self.log_scale + self.log_sum

    def _go_through(self, segment: range, *, kept: bool) -> np.ndarray:
        """The messages of its clusters, and tables for the way back; how much was scaled, in logarithms."""
        log_sum = np.zeros(self.count)
        for k in segment:
            cluster = self.plan.clusters[k]
            table, tables = self.forwards(cluster)
            if kept:
                self.kept[k] = tables
            self.factors["message", k], log = self._scaled(table)
            log_sum += log if cluster.axes else log + self.a.to_log(self.factors["message", k][0])
        return log_sum

    def _means(self) -> np.ndarray:
        """Of the units that were summed over."""
        if not self.weights:
            return np.zeros((0, self.count))
        off, on = np.moveaxis(self.a.to_log(np.stack(list(self.weights.values()))), 1, 0)
        with np.errstate(invalid="ignore"):
            return np.exp(on - np.logaddexp(off, on))

    @property
    def units(self) -> np.ndarray:
        """Those of which means were found."""
        return np.array(list(self.weights), int)

    @property
    def switched(self) -> np.ndarray:
        """Those of whose leaks something was found."""
        return np.array([unit for name, unit in self.outside if name == "leak"], int)

    def _leak_slopes(self) -> np.ndarray:
        names = [("leak", unit) for unit in self.switched.tolist()]
        if not names:
            return np.zeros((0, self.count))
        outside, leak = (np.stack([z[name] for name in names]) for z in (self.outside, self.factors))
        log_z = self.a.to_log(self.a.plus.reduce(self.a.times(outside, leak), axis=1))
        off, on = np.moveaxis(self.a.to_log(outside), 1, 0)
        stay = self.a.to_log(leak[:, 0])
        with np.errstate(invalid="ignore", over="ignore"):
            return np.exp(stay + on - log_z) - np.exp(stay + off - log_z)

    def tables(self) -> list[np.ndarray]:
        """Of factors that are tables, in their order, the probabilities of their entries, (entries, rows)."""
        self.answer()
        steps = [step for cluster in self.plan.clusters for step in cluster.steps if isinstance(step, Multiply)]
        entries = {step.factor: self._entries(step) for step in steps if step.factor[0] == "table"}
        return [normalised(self.a.to_log(entries[name]), axis=0) for name in sorted(entries)]

    def _entries(self, step: Multiply) -> np.ndarray:
        """Of a table with axes in the order of the product, (entries, rows): what it says itself, and all others."""
        factor = step.ordered_factor(self)
        return self.a.times(self.outside[step.factor], factor.reshape(-1, factor.shape[-1]))

    def forwards(self, cluster: Cluster) -> tuple[np.ndarray, list]:
        """The message, and what the way back will ask of the tables before steps, if anything."""
        table, kept = self.one, []
        for step in cluster.steps:
            is_wanted = isinstance(step, Sum) or (isinstance(step, Multiply) and step.factor[0] in self.wanted)
            is_wanted |= isinstance(step, Observe) and OBSERVED_ON in self.wanted
            if isinstance(step, Act) and STRENGTH in self.wanted:
                kept.append(step.acted_on(table))
            else:
                kept.append(table if is_wanted else None)
            table = step.forwards(self, table)
        return table, kept

    def _backwards(self, k: int, cluster: Cluster) -> None:
        after = self.outside.pop(("message", k)) if cluster.axes else self.one
        after, kept = self._scaled(after)[0], self.kept.pop(k)
        first = next(at for at, before in enumerate(kept) if before is not None)  # nothing is asked of earlier steps
        for at in reversed(range(first, len(kept))):
            step, before = cluster.steps[at], kept[at]
            if before is not None and isinstance(step, Sum | Multiply | Act | Observe):
                step.find(self, before, after)
            if at > first:
                after = step.backwards(self, after)
