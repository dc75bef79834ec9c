"""How far to believe what was drawn, by ArviZ: the only place that imports it."""

from typing import Any

import numpy as np

from plefka.errors import MissingExtra

SAME_NUMBER = 1e-12  # a spread up to which draws are the same number
FEWEST_IN_TAIL = 5  # what a fit of the tail needs
NEGLIGIBLE = 0.01  # of all weight


def _arviz() -> Any:
    try:
        from arviz_stats.base.array import array_stats
    except ImportError as error:
        raise MissingExtra("arviz-stats", "sampling", "judging samples") from error
    return array_stats


def of_chains(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rank-normalised split R-hat, effective sample size and standard error of the mean, of draws (..., chains, draws).

    What never changes has R-hat 1, or infinity where chains are stuck in different places.
    """
    arviz = _arviz()
    shape, count = draws.shape[:-2], draws.shape[-1] * draws.shape[-2]
    r_hat, size, error = np.ones(shape), np.full(shape, float(count)), np.zeros(shape)
    within = np.ptp(draws, axis=-1).max(axis=-1, initial=0.0) > SAME_NUMBER
    between = np.ptp(draws.mean(axis=-1), axis=-1) > SAME_NUMBER
    stuck = between & ~within
    r_hat[stuck], size[stuck] = np.inf, 1.0
    error[stuck] = draws.mean(axis=-1).std(axis=-1, ddof=1)[stuck] / np.sqrt(draws.shape[-2])
    moving = draws[within]
    if len(moving):
        with np.errstate(all="ignore"):
            r_hat[within] = arviz.rhat(moving)
            size[within] = arviz.ess(moving, method="mean")
            error[within] = moving.std(axis=(-2, -1), ddof=1) / np.sqrt(size[within])
    return r_hat, size, error


def smoothed(log_weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Pareto-smoothed logarithms of weights (draws,), on their own scale, and the shape k of their tail.

    States of a small network come in few weights, each drawn again and again: where these make up the tail, nothing is
    smoothed and k is -inf. Where draws that came up rarely matter but are too few for a fit, k is inf.
    """
    finite = np.isfinite(log_weights)
    if not finite.any():
        return log_weights, np.inf
    floor = np.where(finite, log_weights, log_weights[finite].min() - 700.0)
    order, draws = np.argsort(floor), len(floor)
    usual = int(min(draws / 5 - 1, 3 * np.sqrt(draws)))
    if _rare_fraction(floor, order[-usual:]) <= NEGLIGIBLE:
        return log_weights, -np.inf
    tail = int(np.sum(floor > floor[order[-usual - 1]] + SAME_NUMBER))  # none of it equals the first below it
    if tail < FEWEST_IN_TAIL or np.ptp(floor[order[-tail:]]) <= SAME_NUMBER:
        return log_weights, np.inf
    with np.errstate(all="ignore"):
        lifted, k = _arviz().psislw(-floor, r_eff=9 * draws / (tail + 0.5) ** 2)
    below = order[-tail - 1]  # is not smoothed, and so fixes the scale
    if not np.isfinite(k) or not np.isfinite(lifted[below]) or np.isnan(lifted).any():
        return log_weights, np.inf  # too far apart to be fitted
    return np.where(finite, np.asarray(lifted) + (floor[below] - lifted[below]), -np.inf), float(k)


def _rare_fraction(log_weights: np.ndarray, tail: np.ndarray) -> float:
    """The part of all weight that draws of the tail have whose weight came up fewer times than a fit needs."""
    w = np.exp(log_weights - log_weights.max())
    _, value, times = np.unique(log_weights[tail].round(9), return_inverse=True, return_counts=True)
    return float(w[tail][times[value] < FEWEST_IN_TAIL].sum() / w.sum())
