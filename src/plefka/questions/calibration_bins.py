"""How often what was predicted happened, bin by bin, with intervals."""

from typing import Any, NamedTuple

import numpy as np

QUANTILE = 1.959963984540054  # of the normal distribution, for an interval of 95 %


class CalibrationBins(NamedTuple):
    """Predictions in bins of probabilities."""

    edges: np.ndarray
    sums: np.ndarray  # (3, bins): how many predictions, the sum of them, and how many came true

    @classmethod
    def of(cls, edges: np.ndarray, predicted: Any, happened: Any) -> "CalibrationBins":
        """Of probabilities and what came of them, 0 or 1, or nan where nobody knows, which is left out."""
        known = ~(np.isnan(predicted) | np.isnan(happened))
        p, y = predicted[known], happened[known]
        place = np.searchsorted(edges[1:-1], p, side="right")
        return cls(edges, np.array([np.bincount(place, z, len(edges) - 1) for z in (np.ones(len(p)), p, y)]))

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance of prediction and frequency, weighted by the numbers."""
        return float(np.abs(self.sums[1] - self.sums[2]).sum() / max(self.sums[0].sum(), 1))

    def columns(self) -> dict[str, np.ndarray]:
        """Of each bin with predictions: how many, their mean, how often they came true, and Wilson's interval."""
        there = self.sums[0] > 0
        (n, p, y), ends = self.sums[:, there], np.stack([self.edges[:-1], self.edges[1:]])[:, there]
        z, half = QUANTILE, np.sqrt(y * (1 - y / n) + QUANTILE**2 / 4)
        low, high = (np.clip((y + z**2 / 2 + sign * z * half) / (n + z**2), 0, 1) for sign in (-1, 1))
        counts = {"from": ends[0], "to": ends[1], "predictions": n.astype(int), "mean": p / n, "came true": y / n}
        return counts | {"low": low, "high": high}
