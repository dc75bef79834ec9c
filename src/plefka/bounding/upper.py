"""ln P(evidence) from above: T. Jaakkola and M. Jordan, "Variational probabilistic inference and the QMR-DT network".

J. Artificial Intelligence Research 10 (1999). Every finding is bounded by a function that is a product over its causes,
so that the sum over the causes factorises; findings that lose most by that are then treated exactly, one after another.
Any rates give a bound, so a search for the best ones that stops early only leaves it looser.

Where a free unit has parents, the bound is a weak one.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plefka.bounding.open_findings import OpenFindings
from plefka.bounding.transformed import Found, Transformed
from plefka.bounding.two_layers import RATES, TwoLayers, is_two_layered, two_layers
from plefka.question import Question
from plefka.reduction.edges import EdgeList
from plefka.reduction.summing import times

if TYPE_CHECKING:
    from plefka.reduction.reduce import Part

EXACT_FINDINGS = 12


@dataclass(frozen=True)
class Upper:
    """`log_likelihood` is not below ln P(evidence), whether the search for the best rates `converged` or not."""

    log_likelihood: float
    converged: bool
    method: str


def upper_bound(part: "Part", *, exact_findings: int = EXACT_FINDINGS) -> Upper:
    """An upper bound of ln P(evidence) of a part with a single row.

    `exact_findings`: how many findings of a noisy-or network are treated exactly, at most. The cost doubles with each
    that has causes in common with the others; where too many would be open at once, fewer are exact.
    """
    question, constant = part.question, float(part.constant[0])
    if not is_two_layered(question):
        return Upper(constant + _best_case(question), True, "every observed unit at its best")
    problem = two_layers(question)
    return _two_layers(problem, constant, exact_findings if question.model.activation.has_linear_log_off else 0)


def _two_layers(problem: TwoLayers, constant: float, most: int) -> Upper:
    """One finding after another is made exact, with the rates of the others searched for anew from where they were."""
    if problem.constant == -np.inf:
        return Upper(-np.inf, True, "the evidence is impossible")
    relaxed = Transformed(problem, _exact_from_the_start(problem, most))
    found = relaxed.minimise(relaxed.start())
    bound = found.bound
    while len(relaxed.exact) < most and (finding := _costliest(relaxed, found)) is not None:
        z = found.z[relaxed.transformed != finding]
        relaxed = Transformed(problem, [*relaxed.exact, finding])
        found = relaxed.minimise(z)
        bound = min(bound, found.bound)
    method = f"Jaakkola-Jordan, {len(relaxed.exact)} of {len(problem.leak)} findings exact"
    return Upper(constant + bound, found.converged, method)


def _exact_from_the_start(problem: TwoLayers, most: int) -> list[int]:
    """All findings, where that is feasible."""
    findings = list(range(len(problem.leak)))
    return findings if len(findings) <= most and _fits(problem, findings) else []


def _fits(problem: TwoLayers, findings: list[int]) -> bool:
    return OpenFindings.of(problem, findings).fits


def _costliest(relaxed: Transformed, found: Found) -> int | None:
    """The finding that gains most by being exact, of those with which the tables do not grow too large."""
    by_cost = relaxed.transformed[np.argsort(-relaxed.costs(found))].tolist()
    return next((finding for finding in by_cost if _fits(relaxed.problem, [*relaxed.exact, finding])), None)


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
