"""`bounds`: the best known lower and upper bounds on ln P(evidence), and the method that gave each of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plefka.errors import InvalidInput, MethodDoesNotApply
from plefka.exact.cost import BOUNDED_SECONDS
from plefka.exact.state_sum import planned_sum
from plefka.inference.library import parse_method
from plefka.methods.posterior import CONVERGED, OUT_OF_STEPS
from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import as_evidence
from plefka.reduction.question import Part, Question
from plefka.reduction.recovery import exact_rows
from plefka.reduction.reduce import Reduction, reduce
from plefka.reduction.summing import times
from plefka.sampling.findings.findings import problem_of
from plefka.sampling.findings.problem import RATES, FindingsProblem, is_two_layered, two_layers
from plefka.sampling.findings.transformed import TangentSearch, transformed

LOWER = ("SJJ", "G1", "conditioned[G1,k=4]", "mixture[4]")


@dataclass(frozen=True)
class Bounds:
    """lower <= ln P(evidence) <= upper, up to rounding.

    - `lower`, `upper`: the bounds, in nats.
    - `lower_method`, `upper_method`: the methods that gave them.
    - `is_exact`: whether both are ln P(evidence) itself.

    **Example:**

    >>> import plefka as pf
    >>> pf.Bounds(lower=-3.6, upper=-3.5, lower_method="G1", upper_method="exact").gap < 0.2
    True
    """

    lower: float
    upper: float
    lower_method: str
    upper_method: str
    is_exact: bool = False

    @property
    def gap(self) -> float:
        """The distance between the two bounds; 0 if the evidence is impossible and both are -inf."""
        return 0.0 if self.upper == self.lower else self.upper - self.lower


def bounds(network: BeliefNetwork, evidence: Any = None) -> Bounds:
    """Bound ln P(evidence) from below and from above, for a single network and a single row of evidence.

    If an exact answer takes at most about a second, both bounds are exact. Otherwise the lower bound is the best of
    `SJJ`, `G1`, `conditioned[G1,k=4]` and `mixture[4]`, as far as they apply, and the upper bound is that of Jaakkola
    and Jordan (1999).

    **Example:**

    >>> import plefka as pf
    >>> found = pf.bounds(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1})
    >>> print(f"{found.lower:.3f} to {found.upper:.3f}, by {found.upper_method}")
    -2.452 to -2.452, by exact
    """
    if not isinstance(network, BeliefNetwork):
        raise InvalidInput(f"network must be a BeliefNetwork; got {type(network).__name__}.")
    given = as_evidence(network, evidence)
    if given.batched:
        raise InvalidInput(
            "bounds needs a single network and a single row of evidence; got a batch. Call bounds once for each row."
        )
    offset = 0.0 if given.offset is None else float(given.offset[0])
    reduction = reduce(network, given._replace(batched=True))  # so that impossible evidence has a bound
    (part,) = reduction.parts
    if reduction.impossible[0]:
        return Bounds(-np.inf, -np.inf, "exact", "exact", is_exact=True)
    if planned_sum(part).seconds <= BOUNDED_SECONDS:
        found = parse_method("exact").posterior(part, dtype="float64")
        exact = offset + float(part.constant[0] - found.free_energy[0])
        return Bounds(exact, exact, "exact", "exact", is_exact=bool(exact_rows(part, found)[0]))
    lower, by = _lower(network, reduction)
    above = upper_bound(part)
    return Bounds(lower + offset, above.log_likelihood + offset, by, above.method)


def _lower(network: BeliefNetwork, reduction: Reduction) -> tuple[float, str]:
    """The highest of all lower bounds that apply; minus infinity where there is none."""
    best, by = -np.inf, "no lower bound applies"
    (part,) = reduction.parts
    for name in () if reduction.deterministic_rows[0] else LOWER:
        method = parse_method(name)
        try:
            method.check(network)
            found = method.posterior(part, dtype="float64")
        except MethodDoesNotApply:
            continue
        is_bound = method.is_bound if found.about.is_bound is None else found.about.is_bound
        value = float(part.constant[0] - found.free_energy[0])
        if is_bound and found.status[0] in (CONVERGED, OUT_OF_STEPS) and np.isfinite(value) and value > best:
            best, by = value, str(method)
    return best, by


# ---- ln P(evidence) from above, by findings that are transformed: see `plefka.sampling.findings` ---------------------


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
