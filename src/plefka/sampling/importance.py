"""Importance sampling: draws from a solution, weighted by what the network says of them, and averages of weights.

With S drawn from q, ln Z = ln < exp(-E(S)) / q(S) >. Here q is the factorial distribution of a solution, or a mixture
of some, made a little wider so that no cause is excluded, and a small part of the network's own distribution without
the evidence, so that no state outweighs all others beyond what the evidence says of it. The shape k of the weights'
Pareto tail says whether the average is to be believed: below 0.5 it is good, below 0.7 usable. All of it is NumPy's,
which compiles nothing. How far to believe chains and weights is judged by ArviZ, which is imported here alone.
"""

from typing import Any, NamedTuple

import numpy as np

from plefka.errors import MissingExtra
from plefka.reduction.cutting import LEAST
from plefka.sampling.state_weights import Target

SAME_NUMBER = 1e-12  # a spread up to which draws are the same number
FEWEST_IN_TAIL = 5  # what a fit of the tail needs
NEGLIGIBLE = 0.01  # of all weight
NUM_SAMPLES = 4096
WIDER, UNDECIDED = 0.02, 0.02  # how far means are moved towards the prior, and the prior towards 1/2
DEFENSIVE, FLIPS = 0.1, 2.0  # the fraction of draws that look around, and how many units they flip on average
PRIOR = 0.1  # the fraction of draws that follow the arrows, as if there were no evidence


def _arviz() -> Any:
    try:
        from arviz_stats.base.array import array_stats
    except ImportError as error:
        raise MissingExtra("arviz-stats", "sampling", "judging samples") from error
    return array_stats


def chain_diagnostics(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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


class WeightedAverage(NamedTuple):
    """What weights (..., draws) say: their mean is an estimate of Z, if they are those of draws from a proposal."""

    log_mean: np.ndarray  # -inf where no draw is possible
    standard_error: np.ndarray  # of log_mean, from the spread of the weights; inf where no draw is possible
    effective: np.ndarray  # how many draws of equal weight would be as informative


def averaged(log_weights: np.ndarray) -> WeightedAverage:
    """The mean of the weights and its error, in logarithms."""
    count, top = log_weights.shape[-1], log_weights.max(axis=-1)
    lost = np.isneginf(top)
    w = np.exp(log_weights - np.where(lost, 0.0, top)[..., None])
    mean = np.where(lost, 1.0, w.mean(axis=-1))
    error = np.where(np.ptp(w, axis=-1) <= SAME_NUMBER, 0.0, w.std(axis=-1, ddof=1) / (mean * np.sqrt(count)))
    effective = count * mean**2 / np.where(lost, 1.0, (w**2).mean(axis=-1))
    return WeightedAverage(top + np.log(mean), np.where(lost, np.inf, error), np.where(lost, 0.0, effective))


class Proposals(NamedTuple):
    """Mixtures of factorial distributions over the units of a question and of draws along the arrows, for each row."""

    log_alpha: np.ndarray  # (components, rows): ln of weights that, with those of the prior, add up to one
    u: np.ndarray  # (components, units, rows): means
    log_prior: np.ndarray  # (rows,): ln of the weight of draws along the arrows, -inf for none

    @classmethod
    def of(cls, log_weights: np.ndarray, u: np.ndarray, log_prior: np.ndarray | float = -np.inf) -> "Proposals":
        """With weights that add up to one."""
        log_prior = np.broadcast_to(log_prior, log_weights.shape[1:])
        total = np.logaddexp(np.logaddexp.reduce(log_weights, axis=0), log_prior)
        return cls(log_weights - total, u, log_prior - total)


def widened(target: Target, proposals: Proposals) -> Proposals:
    """Every distribution moved a little towards the prior, and beside it a wider one that looks around.

    The prior means are those predicted from the parents' means. The part that looks around flips two units on
    average: it covers a small network altogether, and the neighbours of what a large one would draw.
    """
    log_alpha, u, _ = proposals
    prior = target.forwards(target.known(1), lambda p: p)[:, :, 0]
    prior = (1 - UNDECIDED) * prior + UNDECIDED / 2
    near, around = (1 - WIDER) * u + WIDER * prior, _around(target, u)
    weights = np.concatenate([log_alpha + np.log1p(-DEFENSIVE), log_alpha + np.log(DEFENSIVE)])
    return Proposals.of(weights + np.log1p(-PRIOR), np.concatenate([near, around]), np.log(PRIOR))


def prior_and_around(target: Target) -> Proposals:
    """Draws along the arrows, and a wider distribution around what these are on average."""
    u = target.forwards(target.known(1), lambda p: p)[None, :, :, 0]
    return Proposals.of(np.full(u.shape[::2], np.log(DEFENSIVE)), _around(target, u), np.log1p(-DEFENSIVE))


def _around(target: Target, u: np.ndarray) -> np.ndarray:
    """Two units are flipped on average."""
    rate = np.minimum(1.0, 2 * FLIPS / np.maximum(1, target.free.sum(axis=0)))
    return (1 - rate) * u + rate / 2


def weighted_draws(
    target: Target, proposals: Proposals, rng: np.random.Generator, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """States (units, rows, count) drawn from mixtures, and ln weight(S) / q(S), (rows, count)."""
    log_alpha, u, log_prior = (np.moveaxis(z, -1, 0) for z in proposals)  # rows in front
    upper = np.cumsum(np.exp(log_alpha), axis=1)
    component = (rng.random((len(upper), count, 1)) > upper[:, None]).sum(axis=-1)
    along = (component == u.shape[1]) & np.isfinite(log_prior)[:, None]  # (rows, count)
    chance = np.take_along_axis(u, np.minimum(component, u.shape[1] - 1)[:, :, None], axis=1)  # (rows, count, units)
    drawn = np.transpose(rng.random(chance.shape) < chance, (2, 0, 1))
    if along.any():
        some = along.any(axis=0)
        drawn[:, :, some] = np.where(along[:, some], target.drawn(target.known(some.sum()), rng), drawn[:, :, some])
    S = np.where(target.free[:, :, None], drawn, target.values[:, :, None])
    free = target.free.T[:, None]
    with np.errstate(divide="ignore"):  # ln 0 is LEAST, as 0 times it is 0
        log_on, log_off = (np.where(free, np.maximum(z, LEAST), 0.0) for z in (np.log(u), np.log1p(-u)))
    density = (log_on - log_off) @ np.moveaxis(S, 1, 0) + log_off.sum(axis=2, keepdims=True)
    log_q = np.logaddexp.reduce(log_alpha[:, :, None] + density, axis=1)
    if np.isfinite(log_prior).any():
        log_q = np.logaddexp(log_q, log_prior[:, None] + target.log_prior(S))
    return S, target.log_weight(S) - log_q


def resampled(weights: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Systematic resampling: `count` draws, each about as often as its weight (normalised) says."""
    places = (np.arange(count) + rng.random()) / count
    return np.minimum(np.searchsorted(np.cumsum(weights), places), len(weights) - 1)
