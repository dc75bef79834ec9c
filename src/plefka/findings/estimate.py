"""What draws from the posterior of a transformed row say of the row itself.

    P = exp(bound) <w>,    <S | evidence> = <S>_q + <(w / <w> - 1) S>,    w = prod_i f(x_i) / exp(base_i + sum_j a_ij S_j)

over the transformed findings i, with S drawn from q. No weight is above one, so that the relative variance of w is less
than exp(bound) / P. The mean under q is known from the elimination: draws only say by how much the truth differs.
"""

from typing import NamedTuple

import numpy as np

from plefka.exact.factors import Factors
from plefka.exact.ways import slopes_of
from plefka.findings.transformed import Found, Transformed
from plefka.question import Question
from plefka.sampling.fields import Target
from plefka.sampling.importance import Average, averaged, resampled

KEPT = 256  # states that barren units are predicted from


class Draws(NamedTuple):
    """Weighted states of the posterior of a row."""

    relaxed: Transformed
    found: Found
    S: np.ndarray  # (causes, draws)
    log_w: np.ndarray  # (draws,)

    @classmethod
    def of(cls, relaxed: Transformed, found: Found, count: int, rng: np.random.Generator) -> "Draws":
        """So many draws; with none the bound stands as it is, and a few of its draws all have the same weight."""
        if count and len(relaxed.transformed):
            return cls(relaxed, found, *relaxed.drawn(found.z, count, rng))
        S, _ = relaxed.drawn(found.z, KEPT, rng)
        return cls(relaxed, found, S, np.zeros(KEPT))


class Estimate(NamedTuple):
    """Of one row of a question, whose units are those of the question."""

    bound: float  # from above, of ln Z
    average: Average  # of the weights: ln Z - bound, and how far to believe it
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
        none = Average(np.zeros(()), np.zeros(()), np.zeros(()))
        return cls(-np.inf, none, unknown, nothing, nothing, np.zeros((KEPT, question.size)), 0, 0)


def estimated(draws: Draws, question: Question, rng: np.random.Generator) -> Estimate:
    """All that is asked of a row."""
    relaxed, found, S, log_w = draws
    average, problem = averaged(log_w), relaxed.problem
    w = _relative(log_w, average)
    means, error = np.where(question.free, 0.0, question.values)[:, 0], np.zeros(question.size)
    change = (w - 1) * S
    means[problem.units] = np.clip(found.means + change.mean(axis=1), 0.0, 1.0)
    error[problem.units] = change.std(axis=1) / np.sqrt(len(w))
    whole = _states(question, problem.units, S)
    chosen = resampled(w / w.sum(), KEPT, rng)
    return Estimate(
        found.bound, average, means, error, _slope(draws, question, means, whole, w), whole[:, chosen].T,
        len(relaxed.exact), len(problem.leak),
    )  # fmt: skip


def _relative(log_w: np.ndarray, average: Average) -> np.ndarray:
    """Weights of mean one; equal ones where no draw is possible."""
    return np.ones(log_w.shape) if np.isneginf(average.log_mean) else np.exp(log_w - average.log_mean)


def _states(question: Question, units: np.ndarray, S: np.ndarray) -> np.ndarray:
    """(units of the question, draws)."""
    whole = np.repeat(np.where(question.free, 0.0, question.values), S.shape[1], axis=1)
    whole[units] = S
    return whole


def _slope(draws: Draws, question: Question, means: np.ndarray, S: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Under q it is known, except for findings that are transformed."""
    factors = draws.relaxed.problem.factors
    if factors is None:
        return np.zeros(question.size)
    slope, transformed = _known_slope(draws, question, factors)
    if not draws.log_w.any():
        return slope
    target = Target(question)
    of_draws = target.slopes(S[target.units][:, None])[:, 0]
    weights = np.where(transformed[target.units][:, None], w, w - 1)
    slope = np.where(transformed, 0.0, slope)
    slope[target.units] += (weights * of_draws).mean(axis=1)
    return slope


def _known_slope(draws: Draws, question: Question, factors: Factors) -> tuple[np.ndarray, np.ndarray]:
    """d bound / dh, and which units are findings that are transformed."""
    relaxed, found = draws.relaxed, draws.found
    problem, (_, on, off) = relaxed.problem, relaxed.odds(found.z)
    means = np.zeros((question.size, 1))
    means[problem.units, 0] = found.means
    leaks = {} if relaxed.open is None else relaxed.open.summed(on, off).leak_slopes
    known = slopes_of(question, factors, means, leaks)[:, 0]
    transformed = problem.findings[relaxed.transformed]
    known[transformed] = relaxed.rates(found.z)
    return known, np.isin(np.arange(question.size), transformed)
