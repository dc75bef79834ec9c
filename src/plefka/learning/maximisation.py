"""Maximisation steps of noisy-or networks: from how often coins were thrown and were on to their probabilities.

A coin (a prior, a leak, a link) is on with p = on / thrown, with the cases that are added to all. A penalty on weights,
which are -ln(1 - p), adds cases that are off. Coins that are shared are counted together.
"""

from typing import TYPE_CHECKING

import numpy as np

from plefka.learning.family_counts import LARGEST_LEAK
from plefka.learning.shared_states import Families

if TYPE_CHECKING:
    from plefka.learning.steps import LearningRun

LEAST_LEARNED = 1e-300  # a number that is learned stays above 0, where it could never leave
NEWTON = 20  # steps, where weights have a quadratic penalty


class Maximisation:
    """From a tally to the numbers: what moves, what moves together, what is added to the counts."""

    def __init__(self, families: Families, run: "LearningRun"):
        rules, parameters = run.settings.rules, run.network.parameters
        self.moves = families.matrix(rules.moves_in(parameters)) > 0
        self.groups = families.matrix(rules.groups).astype(int)
        self.l1, self.l2 = run.settings.l1 * run.data.total, run.settings.l2 * run.data.total
        cases = run.method.smoothing
        self.on, self.off = np.zeros(self.moves.shape), np.full(self.moves.shape, float(cases))
        self.on[:, 0] = self.off[:, 0] = cases / 2
        self.off[:, 1:] += self.l1

    def of(self, fields: np.ndarray, share: np.ndarray, acted: np.ndarray) -> np.ndarray:
        """The numbers after a step."""
        on = -np.expm1(-fields) * share
        off = np.maximum(acted - on, 0.0) + self.off
        on = on + self.on
        if self.groups.any():
            together = (self.groups > 0) & self.moves
            for counts in (on, off):
                sums = np.bincount(self.groups[together], counts[together], self.groups.max() + 1)
                counts[together] = sums[self.groups[together]]
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.log1p(on / off)
            if self.l2:
                for _ in range(NEWTON):  # on / (e^x - 1) = off + l2 x, in ln x
                    slope = on / np.expm1(best) - off - self.l2 * best
                    bend = on * np.exp(best) / np.expm1(best) ** 2 + self.l2
                    best = np.where(self._penalised, best * np.exp(np.clip(slope / (bend * best), -1, 1)), best)
        return np.where(self.moves & (on + off > 0), np.clip(best, LEAST_LEARNED, LARGEST_LEAK), fields)

    @property
    def _penalised(self) -> np.ndarray:
        return np.arange(self.moves.shape[1]) > 0

    def log_prior(self, fields: np.ndarray) -> float:
        """What is added to ln P of all rows, of numbers that move."""
        x = np.where(self.moves, fields, 1.0)
        return float(
            (self.on * np.log(-np.expm1(-x)) - self.off * x - self.l2 / 2 * x**2 * self._penalised)[self.moves].sum()
        )
