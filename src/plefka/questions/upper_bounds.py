"""ln P(evidence) from above, by findings that are transformed: see `plefka.sampling.findings`.

Any tangents give a bound, so a search for the best ones that stops early only leaves it looser. Where no unit can be
transformed, the bound is a weak one.
"""

from dataclasses import dataclass

import numpy as np

from plefka.errors import MethodDoesNotApply
from plefka.networks.edge_list import EdgeList
from plefka.reduction.question import Part, Question
from plefka.reduction.summing import times
from plefka.sampling.findings.findings import problem_of
from plefka.sampling.findings.greedy import transformed
from plefka.sampling.findings.problem import RATES, FindingsProblem, is_two_layered, two_layers
from plefka.sampling.findings.transformed import TangentSearch

EXACT_FINDINGS = 12
TO_THE_END = TangentSearch(max_steps=500, tol=1e-7)


@dataclass(frozen=True)
class Upper:
    """`log_likelihood` is not below ln P(evidence), whether the search for the best tangents `converged` or not."""

    log_likelihood: float
    converged: bool
    method: str


def upper_bound(part: Part, *, exact_findings: int = EXACT_FINDINGS) -> Upper:
    """An upper bound of ln P(evidence) of a part with a single row.

    `exact_findings`: how many noisy-or findings are summed over exactly, at most. The cost doubles with each that has
    causes in common with the others; where a sum would take too long, fewer are exact.
    """
    question, constant = part.question, float(part.constant[0])
    problem = _problem(question)
    if problem is None:
        return Upper(constant + _best_case(question), True, "every observed unit at its most probable")
    if problem.constant == -np.inf:
        return Upper(-np.inf, True, "the evidence is impossible")
    relaxed, found = transformed(problem, exact_findings if problem.factors else 0, TO_THE_END)
    method = f"Jaakkola-Jordan, {len(relaxed.exact)} of {len(problem.leak)} findings exact"
    return Upper(constant + found.bound, found.converged, method)


def _problem(question: Question) -> FindingsProblem | None:
    """None where findings cannot be transformed, or that would leave too much to be summed over."""
    if is_two_layered(question):
        return two_layers(question)
    try:
        return problem_of(question, 0)
    except MethodDoesNotApply:
        return None


def _best_case(question: Question) -> float:
    """Z is at most the product over observed units of their largest probability given any parents."""
    f, free = question.model.activation, question.free
    soft = np.maximum(question.tilt, 0.0).sum()
    if type(f) not in RATES:
        return float(soft)
    edges, known = EdgeList.of(question.storage), np.where(free, 0.0, question.values)

    def field(extreme: np.ufunc):
        """With all free parents in the state that moves it furthest."""
        return f.clip(
            question.model.h
            + edges.down(lambda w, on, free: times(w) * on + extreme(times(w), 0.0) * free, (), (known, free))
        )

    best = np.where(question.values == 1, f.log_on(field(np.maximum)), f.log_off(field(np.minimum)))
    return float(soft + best[question.model.counted & ~free].sum())
