"""`findings`: some findings of a noisy-or network exactly, the others transformed, and what draws add to that.

Draws from the posterior of a transformed row say of the row itself

    P = exp(bound) <w>,   <S | evidence> = <S>_q + <(w / <w> - 1) S>,   w = prod_i f(x_i) / exp(base_i + sum_j a_ij S_j)

over the transformed findings i, with S drawn from q. No weight is above one, so that the relative variance of w is less
than exp(bound) / P. The mean under q is known from the elimination: draws only say by how much the truth differs.
"""

from typing import NamedTuple

import numpy as np

from plefka.exact.cost import FINDINGS_SECONDS
from plefka.exact.log_factors import TooManyParents, factors_of
from plefka.exact.question_elimination import slopes_of
from plefka.methods.method import does_not_apply
from plefka.methods.posterior import CONVERGED, IMPOSSIBLE, OUT_OF_STEPS, About, JointDraws, Posterior
from plefka.methods.registry import parse_method
from plefka.networks.edge_list import EdgeList
from plefka.reduction.question import Part, Question
from plefka.sampling.findings.problem import FindingsProblem, OpenFindings, edges_into, fields
from plefka.sampling.findings.transformed import BestTangents, TangentSearch, Transformed, transformed
from plefka.sampling.importance import WeightedAverage, averaged, resampled
from plefka.sampling.sampling_methods import Findings

KEPT_DRAWS = 256  # states that barren units are predicted from
CLOSE_TANGENTS = TangentSearch(max_steps=12, tol=1e-2)  # draws mend the rest
BEST_TANGENTS = TangentSearch(max_steps=500, tol=1e-7)  # where there are none
FEWEST_EFFECTIVE = 400  # draws: ln P is then off by less than 0.05, as a rule


class WeightedDraws(NamedTuple):
    """Weighted states of the posterior of a row."""

    relaxed: Transformed
    found: BestTangents
    S: np.ndarray  # (causes, draws)
    log_w: np.ndarray  # (draws,)


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
    w = np.ones(log_w.shape) if np.isneginf(average.log_mean) else np.exp(log_w - average.log_mean)  # of mean one
    means, error = np.where(question.free, 0.0, question.values)[:, 0], np.zeros(question.size)
    inside, error[problem.units] = _means(found, S, w)
    means[problem.units] = inside
    states = np.repeat(means[None], KEPT_DRAWS, axis=0)
    states[:, problem.units] = S[:, resampled(w / w.sum(), KEPT_DRAWS, rng)].T
    slope = _slope(draws, question, means, w)
    return Estimate(found.bound, average, means, error, slope, states, len(relaxed.exact), len(problem.leak))


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
    x = fields(*edges_into(problem.factors, switched.tolist()), S)
    number = {unit: k for k, unit in enumerate(problem.units.tolist())}
    on = np.array([S[number[unit]] if unit in number else np.ones(S.shape[1], bool) for unit in switched.tolist()])
    with np.errstate(over="ignore"):
        return np.where(on, 1 / np.expm1(np.maximum(x, np.finfo(float).tiny)), -1.0)


def posterior(method: Findings, part: Part, *, dtype: str) -> Posterior:
    """Means and ln P(evidence) of every row; the residual is the largest standard error of a mean."""
    question, size = part.question, part.question.num_rows
    found = [_row(method, question.take([row])) for row in range(size)]
    bound, gap = np.array([(estimate.bound, _gap(estimate)) for estimate in found]).reshape(-1, 2).T
    poor = np.array([not is_enough(estimate.average, method.samples) for estimate in found])
    log_z = bound - gap
    status = np.where(np.isneginf(bound), IMPOSSIBLE, np.where(poor, OUT_OF_STEPS, CONVERGED))
    means, slope, error = (np.stack(z, axis=1) for z in zip(*((e.means, e.slope, e.means_error) for e in found)))
    states = np.stack([e.states for e in found], axis=2)
    exact = np.array([estimate.num_exact == estimate.num_findings for estimate in found])
    proposals, sampled = (np.zeros((len(states), size)), states), ~exact & (method.samples > 0)
    about = About(
        bool(exact.all()), is_upper=method.samples == 0, notes=_notes(method, found), proposals=proposals,
        draws=JointDraws(states, method.seed), exact_rows=lambda: exact,
        error=np.where(sampled, [float(e.average.standard_error) for e in found], np.nan),
        means_error=np.where(sampled, error, np.nan),
    )  # fmt: skip
    return Posterior(
        means.astype(dtype), -log_z.astype(dtype), status, np.full(size, method.samples), np.zeros(size, int),
        error.max(axis=0, initial=0.0), slope if part.needs_slope else None, about,
    )  # fmt: skip


def problem_of(question: Question) -> FindingsProblem:
    """The findings of a single row; refuses one of which too much is left even where all findings are transformed."""
    method = parse_method("findings")
    if not question.model.activation.has_linear_log_off:
        raise does_not_apply(method, "it is for noisy-or units that are observed on, and there are none", "bethe")
    try:
        factors = factors_of(question, EdgeList.of(question.storage), np.array([0]))
    except TooManyParents as many:
        why = f"it would need a table of 2^{many.parents + 1} entries for the parents of a unit"
        raise does_not_apply(method, why, "bethe") from None
    problem = FindingsProblem.of(factors)
    rest = OpenFindings.of(problem, [])
    if rest is not None and rest.seconds > FINDINGS_SECONDS:
        raise does_not_apply(
            method, "the hidden units depend on each other too strongly to be summed over exactly", "bethe"
        )
    return problem


def _row(method: Findings, question: Question) -> Estimate:
    search = CLOSE_TANGENTS if method.samples else BEST_TANGENTS
    relaxed, found = transformed(problem_of(question), method.k, search)
    if not np.isfinite(found.bound):
        return Estimate.impossible(question)
    rng, is_drawn = np.random.default_rng(method.seed), method.samples > 0 and len(relaxed.transformed) > 0
    S, log_w = relaxed.drawn(found.z, method.samples if is_drawn else KEPT_DRAWS, rng)
    if not is_drawn:  # the bound stands as it is
        log_w = np.zeros(KEPT_DRAWS)
    return estimated(WeightedDraws(relaxed, found, S, log_w), question, rng)


def is_enough(average: WeightedAverage, samples: int) -> bool:
    """Whether enough draws carry weight, or all have the same."""
    return bool(average.standard_error == 0 or average.effective >= min(FEWEST_EFFECTIVE, samples / 2))


def _gap(estimate: Estimate) -> float:
    """How far ln Z is below the bound; nothing is known of it where no draw is possible."""
    return max(0.0, -float(estimate.average.log_mean)) if np.isfinite(estimate.average.log_mean) else 0.0


def _notes(method: Findings, found: list[Estimate]) -> tuple[str, ...]:
    """How many findings were exact, and how far to believe what draws say of the others."""
    possible = [estimate for estimate in found if np.isfinite(estimate.bound)]
    if not possible:
        return ()
    exact, findings = ([getattr(e, name) for e in possible] for name in ("num_exact", "num_findings"))
    counted = f"{_range(exact)} of {_range(findings)} findings are exact"
    if exact == findings:
        return (counted,)
    if method.samples == 0:
        return (f"{counted}, the others transformed: this is an upper bound on ln P",)
    gap = max(_gap(estimate) for estimate in possible)
    error = max(float(e.average.standard_error) for e in possible)
    effective = min(float(e.average.effective) for e in possible)
    return (
        f"{counted}, the others transformed: the upper bound on ln P is {gap:.2g} above this estimate",
        f"ln P has a standard error of {error:.2g} "
        f"(effective sample size {effective:,.0f} of {method.samples:,} draws)",
    )


def _range(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high}"
