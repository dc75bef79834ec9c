"""What an exact answer to a question will cost: by enumeration or by elimination, whichever takes less time."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from plefka.errors import MethodDoesNotApply
from plefka.exact import enumeration
from plefka.exact.elimination import EliminationAnswer
from plefka.exact.enumeration import REFUSED, num_enumerated
from plefka.exact.groups import MOST_GIB, STEP, Elimination, EliminationGroup
from plefka.exact.log_factors import LogFactors, Logs, factors_of, grouped, patterns
from plefka.exact.ordering import TooWide
from plefka.exact.states import MOST_SUMMED, too_many_states
from plefka.networks.edge_list import EdgeList
from plefka.reduction.question import Question

if TYPE_CHECKING:
    pass

STATES, RATE = 3.0, 2e8  # work of a state for each unit and edge, and how much of it a second holds
COMPILING = 0.5  # seconds
STEPS_PER_EDGE = 4  # for each edge, at least


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

    @cached_property
    def logs(self) -> Logs:
        return Logs.of(self.question.model.activation)

    def patterns(self) -> list[np.ndarray]:
        return patterns(self.question)

    def factors(self, rows: np.ndarray) -> LogFactors:
        return factors_of(self.question, self.edges, self.logs, rows)

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

    def sums(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """ln Z (rows,), and the means and d ln Z / dh of all units, (units, rows)."""
        log_z, means = np.zeros(self.num_rows), np.zeros(self.question.free.shape)
        slopes = np.zeros(means.shape)
        for some, found in self.answers():
            log_z[some.rows] = found.log_z
            means[found.units[:, None], some.rows] = found.means
            slopes[:, some.rows] = slopes_of(self.question, some, means[:, some.rows], found)
        return log_z, means, slopes


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
        seconds = self.question.num_rows * 2.0**self.bits * STATES * work / RATE
        return seconds + self._compiling()

    @cached_property
    def elimination(self) -> Any:
        """How rows are eliminated, or why they are not."""
        return QuestionElimination(self.question)

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
        return f"2^{self.bits} states" if self.enumerates else "elimination"

    def sums(self, dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """ln Z (rows,), and the means and d ln Z / dh of all units, (units, rows)."""
        if self.seconds == np.inf:
            raise MethodDoesNotApply(REFUSED.format(self))
        return self._enumerated(dtype) if self.enumerates else self.elimination.sums()

    def _enumerated(self, dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return enumeration.sums(self.question, dtype=dtype)

    def log_totals(self, dtype: str) -> np.ndarray:
        """ln Z (rows,) alone."""
        return self.sums(dtype)[0] if self.enumerates else self.elimination.log_totals()


def slopes_of(
    question: Question, factors: LogFactors, means: np.ndarray, found: EliminationAnswer | None
) -> np.ndarray:
    """d ln Z / dh of all units of some rows, of which `found` is known, if they were summed over."""
    slopes = np.zeros(means.shape)
    if not question.model.activation.has_linear_log_off:
        return slopes
    counted = question.model.counted[:, factors.rows]
    on = np.where(question.free[:, factors.rows], means, question.values[:, factors.rows])
    x = np.where(factors.fields > 0, factors.fields, np.inf)
    odds = np.exp(-x) / -np.expm1(-x)  # 1 / (exp(x) - 1), which must not overflow
    slopes = np.where(counted, on * odds - (1 - on), 0.0)
    if found is not None:
        slopes[found.switched] = found.leak_slopes
    return slopes
