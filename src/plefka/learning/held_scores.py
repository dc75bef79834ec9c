"""ln P of held rows, by which the trials of a search are compared: exact, or with ln Z by annealing."""

from typing import Any, NamedTuple

import numpy as np

from plefka.learning.annealed import AnnealingStart, independent, log_partitions
from plefka.learning.patterns import Patterns
from plefka.learning.scoring import score
from plefka.learning.semi_restricted import SemiRestricted
from plefka.methods.posterior import Accuracy

ANNEALED, FEWEST = 200, 300  # runs, and temperatures at least: more of these find what few runs do
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
        return HeldScore(independent(self.rows, self.on[self.rows.units]), 0.0, Accuracy.EXACT)

    def of_machine(self, machine: SemiRestricted, seconds: float, number: int = 0) -> HeldScore:
        """By a machine around columns that are 0, with as many temperatures as the seconds allow."""
        network, hidden = machine.machine(), np.full(len(machine.hidden), np.nan)
        step = network.size * (1e-5 + 2.5e-10 * ANNEALED * network.size)  # seconds, about, on one core of 2024
        start, temperatures = AnnealingStart(np.append(self.on, hidden)), max(FEWEST, int(seconds / step))
        given = np.full((1, network.size), np.nan), (self.seed, number), ANNEALED, temperatures
        free = log_partitions(network, *given, seconds=EXACT_SECONDS, start=start)
        precise = SemiRestricted(*(part.astype(float) for part in machine))
        value = self.rows.counts @ precise.log_weight(self.rows.values.astype(float)) / self.rows.total
        kind = Accuracy.EXACT if free.is_exact else Accuracy.ESTIMATE
        return HeldScore(float(value - free.value[0]), float(free.error[0]), kind)

    def of_network(self, network: Any) -> HeldScore:
        """By any network, of some of the rows."""
        held = self.rows.thinned(JUDGED_ROWS)
        scored = score(network, held.rows(), seed=self.seed, num_samples=100)
        kind = Accuracy.EXACT if scored.is_exact else Accuracy.ESTIMATE
        return HeldScore(float(scored.log_likelihood @ held.counts / held.total), scored.mean_error, kind)
