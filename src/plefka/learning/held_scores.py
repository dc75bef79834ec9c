"""ln P of held rows, by which the trials of a search are compared: exact, or with ln Z by annealing."""

from typing import Any, NamedTuple

import numpy as np

from plefka.learning.annealed import AnnealingStart, log_partitions
from plefka.learning.patterns import MISSING, Patterns
from plefka.learning.scoring import score
from plefka.learning.semi_restricted import SemiRestricted
from plefka.methods.posterior import Accuracy

TRIED, JUDGED = (200, 500), (500, 1000)  # runs and temperatures of the annealing of a trial, and of the result
EXACT_SECONDS, JUDGED_ROWS = 1.0, 256  # of a sum over states that is done instead; rows that other networks score


class HeldScore(NamedTuple):
    """ln P per held row, its standard error, and what it is."""

    value: float
    error: float
    kind: Accuracy

    @property
    def safe(self) -> float:
        """What trials are compared by: states that annealing misses make ln P look high, and its error large."""
        return self.value - 2 * self.error


class HeldRows(NamedTuple):
    """Rows to choose by; `on`: how often columns are on in the rows to learn from."""

    rows: Patterns
    on: np.ndarray
    seed: int

    def of_columns(self) -> HeldScore:
        """By independent columns."""
        V, units = self.rows.values, self.rows.units
        log_p = (V == 1) @ np.log(self.on)[units] + (V == 0) @ np.log1p(-self.on)[units]
        return HeldScore(float(log_p @ self.rows.counts / self.rows.total), 0.0, Accuracy.EXACT)

    def of_machine(self, machine: SemiRestricted, judged_seconds: float = 0.0) -> HeldScore:
        """By a machine around columns that are 0; with more runs and temperatures in the seconds given."""
        network, hidden = machine.machine(), np.full(len(machine.hidden), np.nan)
        most = int(judged_seconds / annealing_seconds(network.size, JUDGED))
        start, size = AnnealingStart(np.append(self.on, hidden), max(1, most)), JUDGED if judged_seconds else TRIED
        given = np.full((1, network.size), np.nan), (self.seed, int(judged_seconds > 0)), *size
        free = log_partitions(network, *given, seconds=EXACT_SECONDS, start=start)
        precise = SemiRestricted(*(part.astype(float) for part in machine))
        value = self.rows.counts @ precise.log_weight(self.rows.values.astype(float)) / self.rows.total
        kind = Accuracy.EXACT if free.is_exact else Accuracy.ESTIMATE
        return HeldScore(float(value - free.value[0]), float(free.error[0]), kind)

    def of_network(self, network: Any) -> HeldScore:
        """By any network, of some of the rows."""
        held = self.rows.thinned(JUDGED_ROWS)
        scored = score(network, table(held), seed=self.seed, num_samples=100)
        kind = Accuracy.EXACT if scored.is_exact else Accuracy.ESTIMATE
        return HeldScore(float(scored.log_likelihood @ held.counts / held.total), scored.mean_error, kind)


def annealing_seconds(units: int, size: tuple[int, int] = TRIED) -> float:
    """What annealing takes, about, on one core of 2024."""
    return size[1] * units * (1e-5 + 2.5e-10 * size[0] * units)


def table(patterns: Patterns) -> np.ndarray:
    """Patterns with nan where missing."""
    rows = np.full((len(patterns), patterns.size), np.nan)
    rows[:, patterns.units] = np.where(patterns.values == MISSING, np.nan, patterns.values)
    return rows
