"""`findings`: some findings of a noisy-or network exactly, the others transformed, and what draws add to that."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plefka.exact.cost import FINDINGS_SECONDS
from plefka.exact.log_factors import Logs, TooManyParents, factors_of
from plefka.methods.method import does_not_apply
from plefka.methods.posterior import About, JointDraws, Posterior
from plefka.methods.registry import parse_method
from plefka.methods.status import CONVERGED, IMPOSSIBLE, OUT_OF_STEPS
from plefka.networks.edge_list import EdgeList
from plefka.reduction.question import Part, Question
from plefka.sampling.findings.estimate import Estimate, WeightedDraws, estimated
from plefka.sampling.findings.greedy import transformed
from plefka.sampling.findings.open_findings import OpenFindings
from plefka.sampling.findings.problem import FindingsProblem
from plefka.sampling.findings.transformed import BestTangents, TangentSearch, Transformed
from plefka.sampling.importance import WeightedAverage

if TYPE_CHECKING:
    from plefka.sampling.sampling_methods import Findings

CLOSE_TANGENTS = TangentSearch(max_steps=12, tol=1e-2)  # draws mend the rest
FEWEST_EFFECTIVE = 400  # draws: ln P is then off by less than 0.05, as a rule


def posterior(method: "Findings", part: Part, *, dtype: str) -> Posterior:
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


def problem_of(question: Question, row: int) -> FindingsProblem:
    """The findings of a row; refuses a row of which too much is left even where all findings are transformed."""
    method, f = parse_method("findings"), question.model.activation
    if not f.has_linear_log_off:
        raise does_not_apply(method, "it is for noisy-or units that are observed on, and there are none", "bethe")
    try:
        factors = factors_of(question, EdgeList.of(question.storage), Logs.of(f), np.array([row]))
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


def _row(method: "Findings", question: Question) -> Estimate:
    problem, rng = problem_of(question, 0), np.random.default_rng(method.seed)
    relaxed, found = transformed(problem, method.k, CLOSE_TANGENTS)
    if not np.isfinite(found.bound):
        return Estimate.impossible(question)
    draws = WeightedDraws.of(relaxed, found, method.samples, rng)
    return estimated(draws, question, rng)


class FindingsProposal(NamedTuple):
    """The posterior of a row whose findings are transformed, to draw states from; no weight is above exp(bound)."""

    question: Question
    relaxed: Transformed
    found: BestTangents

    @classmethod
    def of(cls, question: Question, k: int) -> "FindingsProposal | None":
        """Of a single row, with k findings exact; None where the evidence is seen to be impossible."""
        relaxed, found = transformed(problem_of(question, 0), k, CLOSE_TANGENTS)
        return cls(question, relaxed, found) if np.isfinite(found.bound) else None

    def drawn(self, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """States (units, count), and ln of weights, whose mean is Z."""
        S, log_w = self.relaxed.drawn(self.found.z, count, rng)
        states = np.repeat(np.where(self.question.free, 0.0, self.question.values), count, axis=1)
        states[self.relaxed.problem.units] = S
        return states, self.found.bound + log_w


def is_enough(average: WeightedAverage, samples: int) -> bool:
    """Whether enough draws carry weight, or all have the same."""
    return bool(average.standard_error == 0 or average.effective >= min(FEWEST_EFFECTIVE, samples / 2))


def _gap(estimate: Estimate) -> float:
    """How far ln Z is below the bound; nothing is known of it where no draw is possible."""
    return max(0.0, -float(estimate.average.log_mean)) if np.isfinite(estimate.average.log_mean) else 0.0


def _notes(method: "Findings", found: list[Estimate]) -> tuple[str, ...]:
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
