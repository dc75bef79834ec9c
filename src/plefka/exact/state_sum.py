"""The sum over the states of a question: by enumeration or by elimination, whichever takes less time."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from plefka.errors import MethodDoesNotApply
from plefka.exact import enumeration
from plefka.exact.cost import (
    COMPILING,
    FEWEST_COVERED,
    MOST_GIB,
    MOST_GIB_OF_MACHINES,
    QUICK,
    STATE_WORK,
    STEP,
    STEPS_PER_EDGE,
    WIDEST_TABLE,
    WORK_PER_SECOND,
)
from plefka.exact.covering import CoveringSum
from plefka.exact.elimination import EliminationAnswer, EliminationRun, by_rows
from plefka.exact.enumeration import REFUSED, num_enumerated
from plefka.exact.groups import Cost, Elimination, EliminationGroup
from plefka.exact.log_factors import FactorWriter, LogFactors, Structure, factors_of, grouped, patterns
from plefka.exact.machine_enumeration import Enumeration, RowSum, enumerations, sum_row
from plefka.exact.ordering import TooWide, greedy_plan, strip_plan
from plefka.exact.plans import WANTED_FACTORS, Plan
from plefka.exact.states import MOST_SUMMED, too_many_states
from plefka.methods.posterior import CONVERGED, About, Posterior
from plefka.networks.edge_list import EdgeList
from plefka.reduction.question import PairModel, Part, Question

Sums = tuple[np.ndarray, np.ndarray, np.ndarray]  # ln Z (rows,), the means and d ln Z / dh of all units (units, rows)


@dataclass(frozen=True, eq=False)
class QuestionElimination(Elimination):
    """The rows of a question."""

    question: Question

    @property
    def num_rows(self) -> int:
        return self.question.num_rows

    @cached_property
    def edges(self) -> EdgeList:
        return EdgeList.of(self.question.storage)

    def sums(self) -> Sums:
        log_z, means = np.zeros(self.num_rows), np.zeros(self.question.free.shape)
        slopes = np.zeros(means.shape)
        for some, found in self.answers():
            log_z[some.rows] = found.log_z
            means[found.units[:, None], some.rows] = found.means
            slopes[:, some.rows] = slopes_of(self.question, some, means[:, some.rows], found)
        return log_z, means, slopes


class BeliefElimination(QuestionElimination):
    """A table for each unit with its parents, or switches for noisy-or units."""

    def patterns(self) -> list[np.ndarray]:
        return patterns(self.question)

    def factors(self, rows: np.ndarray) -> LogFactors:
        return factors_of(self.question, self.edges, rows)

    def groups(self, rows: np.ndarray) -> list[EliminationGroup]:
        """Rows of one pattern: with the edges that any of them has, or those with the same edges together."""
        weight = self.edges.weight
        apart = [rows] if weight.shape[1] == 1 else [rows[some] for some in grouped(weight[:, rows] != 0)]
        if len(apart) > 1:
            seconds = STEP * STEPS_PER_EDGE * np.count_nonzero(weight[:, rows])
            try:
                together = self.group(rows)
            except TooWide:
                together = None
            if together is not None and together.seconds <= seconds and together.order.gib <= MOST_GIB:
                return [together]
        return [self.group(some) for some in apart]


class PairElimination(QuestionElimination):
    """A table of four entries for each coupling of a Boltzmann machine."""

    @property
    def most_gib(self) -> float:
        return MOST_GIB_OF_MACHINES

    def patterns(self) -> list[np.ndarray]:
        return grouped(self.question.free)

    def plan(self, structure: Structure) -> Plan:
        """Tables are joined as the couplings ask for, or in the order of a strip where that takes less time."""
        plans, refusal = [], None
        for order in (greedy_plan, strip_plan):
            try:
                plans.append(order(structure))
            except TooWide as wide:
                refusal = refusal or wide
            if plans and Cost.of(plans[0]).seconds(1) <= QUICK:
                break
        if not plans:
            raise refusal or TooWide(0)
        return min(plans, key=lambda plan: Cost.of(plan).seconds(1) if Cost.of(plan).gib <= self.most_gib else np.inf)

    def factors(self, rows: np.ndarray) -> LogFactors:
        question, edges = self.question, self.edges.of_rows(rows)
        free = question.free[:, rows[0]]
        h = (np.broadcast_to(question.model.h, question.free.shape) + question.tilt)[:, rows]
        units = np.flatnonzero(free).tolist()
        prior = {unit: np.stack([np.zeros(len(rows)), h[unit]]) for unit in units}
        there = free[edges.child] & free[edges.parent] & (edges.weight != 0).any(axis=1)
        width = int(there.sum()) // max(1, len(units))  # no graph of so many couplings has a smaller one
        if width > WIDEST_TABLE:
            raise TooWide(width)
        tables = {}
        for child, parent, weight in zip(edges.child[there], edges.parent[there], edges.weight[there], strict=True):
            table = np.zeros((2, 2, len(weight)))
            table[1, 1] = weight
            tables[int(child), int(parent)] = table
        structure = Structure(question.size, tuple(units), (), (), tuple(tables), tuple(prior))
        return LogFactors(rows, structure, prior, {}, {}, tuple(tables.values()), np.zeros(len(rows)), h)

    def pairs(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Rows, children and parents of couplings, and <S_i S_j> (couplings, rows), of some rows after others."""
        for members in self._of_one_form():
            for factors, order, units in members:
                _, tables = by_rows(factors, order, EliminationRun.tables, (*WANTED_FACTORS, "table"))
                ends = units[np.array(factors.structure.tables, int).reshape(-1, 2)]
                both_on = np.array([table[-1] for table in tables]).reshape(-1, len(factors.rows))
                yield factors.rows, ends[:, 0], ends[:, 1], both_on


@dataclass(frozen=True, eq=False)
class StateSum:
    """A question, and what its answer will cost."""

    question: Question

    @cached_property
    def bits(self) -> int:
        """How many units an enumeration sums over."""
        return num_enumerated(self.question)

    @cached_property
    def enumeration_seconds(self) -> float:
        if self.bits > MOST_SUMMED:
            return np.inf
        work = self.question.storage.num_edges + self.question.size
        seconds = self.question.num_rows * 2.0**self.bits * STATE_WORK * work / WORK_PER_SECOND
        return seconds + self._compiling()

    @cached_property
    def elimination(self) -> Any:
        """How rows are eliminated, or why they are not."""
        return BeliefElimination(self.question)

    @cached_property
    def elimination_seconds(self) -> float:
        """Infinite where it is out of reach, or where it is clear without a plan that enumeration takes less time."""
        is_dearer = self.enumeration_seconds < STEP * STEPS_PER_EDGE * self._fewest_steps()
        return np.inf if is_dearer else self.elimination.seconds

    def _fewest_steps(self) -> float:
        free = self.question.free.sum() / self.question.num_rows
        return len(patterns(self.question)) * (1.0 + float(free))

    @property
    def enumerates(self) -> bool:
        return self.enumeration_seconds <= self.elimination_seconds

    @property
    def seconds(self) -> float:
        """For all rows; infinite where it is out of reach."""
        return min(self.enumeration_seconds, self.elimination_seconds)

    def seconds_for(self, count: int) -> float:
        """For so many times as many rows of the same form."""
        compiling = self._compiling()
        enumerated = (self.enumeration_seconds - compiling) * count + compiling
        return enumerated if self.enumerates else self.elimination.seconds_for(count)

    def seconds_by(self, owner: np.ndarray, count: int) -> np.ndarray:
        """(count,): what the rows of each owner would take without the others, at most; infinite out of reach."""
        if self.elimination_seconds < self.enumeration_seconds or self.enumeration_seconds == np.inf:
            return self.elimination.seconds_by(owner, count)
        owned = np.bincount(owner, minlength=count)
        compiling = self._compiling()
        each = (self.enumeration_seconds - compiling) / self.question.num_rows
        return np.where(owned > 0, each * owned + compiling, 0.0)

    @property
    def row_seconds(self) -> np.ndarray:
        """(rows,): what each would take alone, at most."""
        return self.seconds_by(np.arange(self.question.num_rows), self.question.num_rows)

    def _compiling(self) -> float:
        return 0.0 if enumeration.is_small(self.question) else COMPILING

    def __str__(self) -> str:
        if self.seconds == np.inf:
            return f"{self.elimination.refusal}, and {too_many_states(self.bits)}"
        if not self.enumerates:
            return "elimination"
        return f"a sum over {2**self.bits:,} states" if self.bits else "all units could be summed out one by one"

    def sums(self, dtype: str) -> Sums:
        """The answer, the cheaper way."""
        if self.seconds == np.inf:
            raise MethodDoesNotApply(REFUSED.format(self))
        return self._enumerated(dtype) if self.enumerates else self.elimination.sums()

    def _enumerated(self, dtype: str) -> Sums:
        return enumeration.sums(self.question, dtype=dtype)

    def log_totals(self, dtype: str) -> np.ndarray:
        """ln Z (rows,) alone."""
        return self.sums(dtype)[0] if self.enumerates else self.elimination.log_totals()


class MachineStateSum(StateSum):
    """A question about a Boltzmann machine, and what its exact answer will cost."""

    @cached_property
    def groups(self) -> list[Enumeration]:
        return enumerations(self.question)

    @cached_property
    def bits(self) -> int:
        return max((group.num_bits for group in self.groups), default=0)

    @cached_property
    def enumeration_seconds(self) -> float:
        return np.inf if self.bits > MOST_SUMMED else sum(group.seconds for group in self.groups)

    @cached_property
    def elimination(self) -> PairElimination:
        return PairElimination(self.question)

    def _fewest_steps(self) -> float:
        return float(sum(1 + len(group.units) for group in self.groups))

    def _compiling(self) -> float:
        return 0.0

    def row_sums(self, *, pairs: bool) -> Iterator[tuple[Enumeration, int, RowSum]]:
        """Of every row, by enumeration."""
        h = np.broadcast_to(self.question.model.h, self.question.free.shape) + self.question.tilt
        for group in self.groups:
            for row in group.rows.tolist():
                yield group, row, sum_row(group.W, group.cover, h[group.units, row], pairs=pairs)

    def _enumerated(self, dtype: str) -> Sums:
        log_z, means = np.zeros(self.question.num_rows), np.zeros(self.question.free.shape)
        for group, row, found in self.row_sums(pairs=False):
            log_z[row], means[group.units, row] = found.log_z, found.means
        return log_z, means, np.zeros(means.shape)


class CoveredSum(StateSum):
    """A question about noisy-or units, some rows of which are summed over by sets of findings."""

    @property
    def enumerates(self) -> bool:
        """Whether ln Z alone is taken from all sums."""
        return True

    @cached_property
    def covering(self) -> dict[int, tuple[CoveringSum, FactorWriter]]:
        """By row: those that are quicker this way."""
        found, edges, question = {}, EdgeList.of(self.question.storage), self.question
        free, on = question.free, question.model.counted & (question.free | (question.values == 1))
        live = free[edges.parent] & on[edges.child]
        for row in np.flatnonzero(live.sum(axis=0) >= FEWEST_COVERED).tolist():
            writer = FactorWriter(question, edges, np.array([row]), False)
            sets = None if writer.prepared() else CoveringSum.of(writer)
            if sets is None:
                continue
            eliminated = STEP * STEPS_PER_EDGE * np.count_nonzero(sets.theta)  # at least
            if sets.seconds <= eliminated or sets.seconds <= StateSum(question.take([row])).seconds:
                found[row] = sets, writer
        return found

    @cached_property
    def other_rows(self) -> np.ndarray:
        return np.setdiff1d(np.arange(self.question.num_rows), list(self.covering))

    @cached_property
    def others(self) -> StateSum:
        return StateSum(self.question.take(self.other_rows))

    def seconds_by(self, owner: np.ndarray, count: int) -> np.ndarray:
        rows = self.other_rows
        total = self.others.seconds_by(owner[rows], count) if len(rows) else np.zeros(count)
        for row, (sets, _) in self.covering.items():
            total[owner[row]] += sets.seconds
        return total

    @property
    def seconds(self) -> float:
        return float(self.row_seconds.sum())

    def seconds_for(self, count: int) -> float:
        return count * self.seconds

    def __str__(self) -> str:
        if len(self.other_rows):
            return str(self.others)
        return f"a sum over sets of {max(len(sets.leak) for sets, _ in self.covering.values())} findings"

    def sums(self, dtype: str) -> Sums:
        question, rows = self.question, self.other_rows
        log_z, means = np.zeros(question.num_rows), np.zeros(question.free.shape)
        slopes = np.zeros(means.shape)
        if len(rows):
            log_z[rows], means[:, rows], slopes[:, rows] = self.others.sums(dtype)
        for row, (sets, writer) in self.covering.items():
            found, of_causes, of_leaks = sets.sums()
            if np.isneginf(found):
                log_z[[row]], means[:, [row]], slopes[:, [row]] = StateSum(question.take([row])).sums(dtype)
                continue
            (off, on), free = writer.prior[:, :, 0].T, writer.free
            alone = np.logaddexp(off, on)
            means[:, row] = np.where(free, np.exp(on - alone), 0.0)
            means[sets.causes, row], alone[sets.causes] = of_causes, off[sets.causes]
            log_z[row] = writer.constant[0] + alone[free].sum() + found
            answer = EliminationAnswer(log_z[[row]], sets.causes, of_causes[:, None], sets.findings, of_leaks[:, None])
            slopes[:, [row]] = slopes_of(question, writer, means[:, [row]], answer)
        return log_z, means, slopes


_PLANNED: WeakKeyDictionary[Part, StateSum] = WeakKeyDictionary()


def planned_sum(part: Part) -> StateSum:
    """Always the same sum for the same part: what was planned to learn its cost is then there to be done."""
    found = _PLANNED.get(part)
    if found is None:
        found = _PLANNED[part] = state_sum(part.question)
    return found


def state_sum(question: Question) -> StateSum:
    """How the states of a question are summed over, and what that will cost."""
    if isinstance(question.model, PairModel):
        return MachineStateSum(question)
    may_be_covered = question.model.activation.has_linear_log_off and question.storage.num_edges >= FEWEST_COVERED
    return by_sets if may_be_covered and (by_sets := CoveredSum(question)).covering else StateSum(question)


def slopes_of(
    question: Question, factors: LogFactors | FactorWriter, means: np.ndarray, found: EliminationAnswer | None
) -> np.ndarray:
    """d ln Z / dh of all units of some rows, of which `found` is known, if they were summed over."""
    slopes = np.zeros(means.shape)
    if isinstance(question.model, PairModel) or not question.model.activation.has_linear_log_off:
        return slopes
    counted = question.model.counted[:, factors.rows]
    on = np.where(question.free[:, factors.rows], means, question.values[:, factors.rows])
    x = np.where(factors.fields > 0, factors.fields, np.inf)
    odds = np.exp(-x) / -np.expm1(-x)  # 1 / (exp(x) - 1), which must not overflow
    slopes = np.where(counted, on * odds - (1 - on), 0.0)
    if found is not None:
        slopes[found.switched] = found.leak_slopes
    return slopes


class StateMoments(NamedTuple):
    """The sums over all states of every row, products of units included."""

    posterior: Posterior
    rows: list[tuple[Enumeration, int, RowSum]]

    def covariances(self, weights: np.ndarray) -> np.ndarray:
        """The weighted sum over rows of <S_i S_j> - <S_i> <S_j>, of units that are coupled."""
        K = np.zeros((len(self.posterior.means),) * 2)
        for group, row, found in self.rows:
            products = np.where(group.W != 0, found.pairs - np.outer(found.means, found.means), 0.0)
            K[np.ix_(group.units, group.units)] += weights[row] * products
        return K


def state_moments(part: Part) -> StateMoments | None:
    """By enumeration, or None where an elimination is quicker, or nothing else possible."""
    question, exact = part.question, MachineStateSum(part.question)
    seconds = exact.enumeration_seconds
    if np.isinf(seconds) or seconds > max(QUICK, exact.elimination.seconds):
        return None
    found, steps = list(exact.row_sums(pairs=True)), np.zeros(question.num_rows, int)
    log_z, means = np.zeros(question.num_rows), np.zeros(question.free.shape)
    for group, row, sums in found:
        log_z[row], means[group.units, row] = sums.log_z, sums.means
    about = About(is_bound=True, exact_rows=lambda: np.ones(question.num_rows, bool))
    return StateMoments(Posterior(means, -log_z, steps + CONVERGED, steps, steps, steps * 0.0, about=about), found)
