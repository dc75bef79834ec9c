"""What draws from the posterior of a transformed row say of the row itself.

    P = exp(bound) <w>,   <S | evidence> = <S>_q + <(w / <w> - 1) S>,   w = prod_i f(x_i) / exp(base_i + sum_j a_ij S_j)

over the transformed findings i, with S drawn from q. No weight is above one, so that the relative variance of w is less
than exp(bound) / P. The mean under q is known from the elimination: draws only say by how much the truth differs.
"""

from typing import NamedTuple

import numpy as np

from plefka.exact.state_sum import slopes_of
from plefka.reduction.question import Question
from plefka.sampling.findings.problem import FindingsProblem
from plefka.sampling.findings.transformed import BestTangents, Transformed
from plefka.sampling.importance import WeightedAverage, averaged, resampled

KEPT_DRAWS = 256  # states that barren units are predicted from


class WeightedDraws(NamedTuple):
    """Weighted states of the posterior of a row."""

    relaxed: Transformed
    found: BestTangents
    S: np.ndarray  # (causes, draws)
    log_w: np.ndarray  # (draws,)

    @classmethod
    def of(cls, relaxed: Transformed, found: BestTangents, count: int, rng: np.random.Generator) -> "WeightedDraws":
        """So many draws; with none the bound stands as it is, and a few of its draws all have the same weight."""
        if count and len(relaxed.transformed):
            return cls(relaxed, found, *relaxed.drawn(found.z, count, rng))
        S, _ = relaxed.drawn(found.z, KEPT_DRAWS, rng)
        return cls(relaxed, found, S, np.zeros(KEPT_DRAWS))


class Estimate(NamedTuple):
    """Of one row of a question, whose units are those of the question."""

    bound: float  # from above, of ln Z
    average: WeightedAverage  # of the weights: ln Z - bound, and how far to believe it
    means: np.ndarray
    means_error: np.ndarray
    slope: np.ndarray  # d ln Z / dh
    states: np.ndarray  # (KEPT, units)
    num_exact: int
    num_findings: int

    @classmethod
    def impossible(cls, question: Question) -> "Estimate":
        """Of evidence that has no probability."""
        unknown, nothing = np.where(question.free, np.nan, question.values)[:, 0], np.zeros(question.size)
        none = WeightedAverage(np.zeros(()), np.zeros(()), np.zeros(()))
        return cls(-np.inf, none, unknown, nothing, nothing, np.zeros((KEPT_DRAWS, question.size)), 0, 0)


def estimated(draws: WeightedDraws, question: Question, rng: np.random.Generator) -> Estimate:
    """All that is asked of a row."""
    relaxed, found, S, log_w = draws
    average, problem = averaged(log_w), relaxed.problem
    w = _relative(log_w, average)
    means, error = np.where(question.free, 0.0, question.values)[:, 0], np.zeros(question.size)
    inside, error[problem.units] = _means(found, S, w)
    means[problem.units] = inside
    states = np.repeat(means[None], KEPT_DRAWS, axis=0)
    states[:, problem.units] = S[:, resampled(w / w.sum(), KEPT_DRAWS, rng)].T
    slope = _slope(draws, question, means, w)
    return Estimate(found.bound, average, means, error, slope, states, len(relaxed.exact), len(problem.leak))


def _relative(log_w: np.ndarray, average: WeightedAverage) -> np.ndarray:
    """Weights of mean one; equal ones where no draw is possible."""
    return np.ones(log_w.shape) if np.isneginf(average.log_mean) else np.exp(log_w - average.log_mean)


def _means(found: BestTangents, S: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the causes, with their standard errors, from the variance of w (S - mean) - (S - mean under q)."""
    of_all, m = np.stack([np.ones(len(w)), w, w**2], axis=1), found.means
    on = S.astype(float) @ of_all / len(w)
    off = of_all.mean(axis=0) - on
    u = np.clip(m + on[:, 1] - on[:, 0], 0.0, 1.0)
    variance = (1 - u) ** 2 * on[:, 2] - 2 * (1 - u) * (1 - m) * on[:, 1] + (1 - m) ** 2 * on[:, 0]
    variance += u**2 * off[:, 2] - 2 * u * m * off[:, 1] + m**2 * off[:, 0]
    return u, np.sqrt(np.maximum(variance, 0.0) / len(w))


def _slope(draws: WeightedDraws, question: Question, means: np.ndarray, w: np.ndarray) -> np.ndarray:
    """d ln Z / dh: known of the transformed row, except that of findings that are transformed.

    Where no draw is possible, as in none of them a finding has a cause, that of the transformed row stands.
    """
    relaxed, found, S, log_w = draws
    problem = relaxed.problem
    if problem.factors is None:
        return np.zeros(question.size)
    _, on, off = relaxed.odds(found.z)
    summed = None if relaxed.open is None else relaxed.open.summed(on, off)
    slope = slopes_of(question, problem.factors, means[:, None], summed)[:, 0]
    transformed = problem.findings[relaxed.transformed]
    slope[transformed] = relaxed.rates(found.z)
    if log_w.any() and not np.isneginf(log_w).all():
        switched = np.array(problem.factors.structure.switched, int)
        weights = np.where(np.isin(switched, transformed)[:, None], w, w - 1)
        slope[transformed] = 0.0
        slope[switched] += (weights * _slopes_of_draws(problem, switched, S)).mean(axis=1)
    return slope


def _slopes_of_draws(problem: FindingsProblem, switched: np.ndarray, S: np.ndarray) -> np.ndarray:
    """d ln weight / dh of units that are switched on by others, (switched, draws)."""
    x, number = problem.switched_fields(S), {unit: k for k, unit in enumerate(problem.units.tolist())}
    on = np.array([S[number[unit]] if unit in number else np.ones(S.shape[1], bool) for unit in switched.tolist()])
    with np.errstate(over="ignore"):
        return np.where(on, 1 / np.expm1(np.maximum(x, np.finfo(float).tiny)), -1.0)
