"""Importance sampling: draws from a solution, weighted by what the network says of them, and averages of weights.

With S drawn from q, ln Z = ln < exp(-E(S)) / q(S) >. Here q is the factorial distribution of a solution, or a mixture
of some, made a little wider so that no cause is excluded, and a small part of the network's own distribution without
the evidence, so that no state outweighs all others beyond what the evidence says of it. The shape k of the weights'
Pareto tail says whether the average is to be believed: below 0.5 it is good, below 0.7 usable. All of it is NumPy's,
which compiles nothing.
"""

from typing import NamedTuple

import numpy as np

from plefka.reduction.cutting import LEAST
from plefka.sampling.diagnostics import SAME_NUMBER
from plefka.sampling.state_weights import Target

NUM_SAMPLES = 4096
WIDER, UNDECIDED = 0.02, 0.02  # how far means are moved towards the prior, and the prior towards 1/2
DEFENSIVE, FLIPS = 0.1, 2.0  # the fraction of draws that look around, and how many units they flip on average
PRIOR = 0.1  # the fraction of draws that follow the arrows, as if there were no evidence


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
    rate = np.minimum(1.0, 2 * FLIPS / np.maximum(1, target.free.sum(axis=0)))
    near, around = (1 - WIDER) * u + WIDER * prior, (1 - rate) * u + rate / 2
    weights = np.concatenate([log_alpha + np.log1p(-DEFENSIVE), log_alpha + np.log(DEFENSIVE)])
    return Proposals.of(weights + np.log1p(-PRIOR), np.concatenate([near, around]), np.log(PRIOR))


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
