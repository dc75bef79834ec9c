"""The sum over the states of a question: by enumeration or by elimination, whichever takes less time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from plefka.errors import MethodDoesNotApply
from plefka.exact import enumeration
from plefka.exact.cost import COMPILING, FEWEST_COVERED, QUICK, STATE_WORK, STEP, STEPS_PER_EDGE, WORK_PER_SECOND
from plefka.exact.covering import CoveringSum
from plefka.exact.elimination import EliminationAnswer
from plefka.exact.enumeration import REFUSED, num_enumerated
from plefka.exact.log_factors import FactorWriter, patterns
from plefka.exact.machine_enumeration import Enumeration, RowSum, enumerations, sum_row
from plefka.exact.question_elimination import BeliefElimination, PairElimination, Sums, slopes_of
from plefka.exact.states import MOST_SUMMED, too_many_states
from plefka.methods.posterior import Posterior
from plefka.networks.edge_list import EdgeList
from plefka.reduction.question import PairModel, Part, Question
from plefka.runtime.value_cache import cached_for


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
        return self.joined(self.row_sums(pairs=False))

    def joined(self, sums: Iterable[tuple[Enumeration, int, RowSum]]) -> Sums:
        """Those of all rows."""
        log_z, means = np.zeros(self.question.num_rows), np.zeros(self.question.free.shape)
        for group, row, found in sums:
            log_z[row], means[group.units, row] = found.log_z, found.means
        return log_z, means, np.zeros(means.shape)


class CoveredSum(StateSum):
    """A question about noisy-or units, some rows of which are summed over by sets of findings."""

    @property
    def enumerates(self) -> bool:
        """Whether ln Z alone is taken from all sums."""
        return True

    @cached_property
    def covering(self) -> list[tuple[CoveringSum, FactorWriter]]:
        """Rows that are quicker this way, those of the same causes and findings together."""
        found, edges, question = [], EdgeList.of(self.question.storage), self.question
        free, on = question.free, question.model.counted & (question.free | (question.values == 1))
        large = np.flatnonzero((free[edges.parent] & on[edges.child]).sum(axis=0) >= FEWEST_COVERED)
        for rows in patterns(question.take(large)) if len(large) else []:
            weight = edges.weight[:, large[rows]] if edges.weight.shape[1] > 1 else edges.weight
            for some in [large[rows]] if (weight == weight[:, :1]).all() else large[rows][:, None]:
                writer = FactorWriter(question, edges, some, False)
                sets = None if writer.prepared() else CoveringSum.of(writer)
                if sets is None:
                    continue
                eliminated = STEP * STEPS_PER_EDGE * np.count_nonzero(sets.theta)  # at least
                alone = question.take(some[:1])
                if sets.row_seconds <= eliminated or sets.row_seconds <= StateSum(alone).seconds:
                    found.append((sets, writer))
        return found

    @cached_property
    def other_rows(self) -> np.ndarray:
        covered = [writer.rows for _, writer in self.covering]
        return np.setdiff1d(np.arange(self.question.num_rows), np.concatenate([[], *covered]).astype(int))

    @cached_property
    def others(self) -> StateSum:
        return StateSum(self.question.take(self.other_rows))

    def seconds_by(self, owner: np.ndarray, count: int) -> np.ndarray:
        rows = self.other_rows
        total = self.others.seconds_by(owner[rows], count) if len(rows) else np.zeros(count)
        for sets, writer in self.covering:
            total += sets.row_seconds * np.bincount(owner[writer.rows], minlength=count)
        return total

    @property
    def seconds(self) -> float:
        return float(self.row_seconds.sum())

    def seconds_for(self, count: int) -> float:
        return count * self.seconds

    def __str__(self) -> str:
        if len(self.other_rows):
            return str(self.others)
        return f"a sum over sets of {max(len(sets.leak) for sets, _ in self.covering)} findings"

    def sums(self, dtype: str) -> Sums:
        question, rows = self.question, self.other_rows
        log_z, means = np.zeros(question.num_rows), np.zeros(question.free.shape)
        slopes = np.zeros(means.shape)
        if len(rows):
            log_z[rows], means[:, rows], slopes[:, rows] = self.others.sums(dtype)
        for sets, writer in self.covering:
            rows, free, (found, of_causes, of_leaks) = writer.rows, writer.free, sets.sums()
            off, on = writer.prior[:, 0], writer.prior[:, 1]
            alone = np.logaddexp(off, on)
            means[:, rows] = np.where(free[:, None], np.exp(on - alone), 0.0)
            means[np.ix_(sets.causes, rows)], alone[sets.causes] = of_causes, off[sets.causes]
            log_z[rows] = writer.constant + alone[free].sum(axis=0) + found
            answer = EliminationAnswer(log_z[rows], sets.causes, of_causes, sets.findings, of_leaks)
            slopes[:, rows] = slopes_of(question, writer, means[:, rows], answer)
            if (lost := rows[np.isneginf(found)]).size:
                log_z[lost], means[:, lost], slopes[:, lost] = StateSum(question.take(lost)).sums(dtype)
        return log_z, means, slopes


def planned_sum(part: Part) -> StateSum:
    """Always the same sum for the same part: what was planned to learn its cost is then there to be done."""
    return cached_for(part, planned_sum, lambda: state_sum(part.question))


def state_sum(question: Question) -> StateSum:
    """How the states of a question are summed over, and what that will cost."""
    if isinstance(question.model, PairModel):
        return MachineStateSum(question)
    may_be_covered = question.model.activation.has_linear_log_off and question.storage.num_edges >= FEWEST_COVERED
    return by_sets if may_be_covered and (by_sets := CoveredSum(question)).covering else StateSum(question)


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
    exact = MachineStateSum(part.question)
    seconds = exact.enumeration_seconds
    if np.isinf(seconds) or seconds > max(QUICK, exact.elimination.seconds):
        return None
    found = list(exact.row_sums(pairs=True))
    log_z, means, _ = exact.joined(found)
    return StateMoments(Posterior.of(means, log_z, is_exact=True, is_bound=True), found)
