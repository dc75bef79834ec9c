"""`auto`: exact where that is affordable; else some findings of a noisy-or network exactly and the others by draws.

Where that does not apply, or too few of its draws carry weight, it is belief propagation with as much conditioning as
the budget allows.

What an answer will cost is predicted from the network and the evidence, not measured, so that the same question always
gets the same answer. A few rows are then checked by importance sampling: where the draws contradict belief propagation,
the second order takes its place if it is closer to them.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from plefka.errors import MissingExtra, PlefkaError
from plefka.evidence import Evidence
from plefka.exact.posterior import Asked, asked
from plefka.exact.tables import OfTables
from plefka.exact.ways import Exactly
from plefka.findings.cost import affordable
from plefka.mean_field import MOST_PAIRS
from plefka.methods import Auto, Conditioned, Exact, Findings, Method, parse_method
from plefka.posterior import Posterior
from plefka.question import Question
from plefka.recovery import of_reduction, reductions
from plefka.reduction.reduce import Reduction
from plefka.solution import CONVERGED, IMPOSSIBLE

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork
    from plefka.reduction.reduce import Part, TracedReduction
    from plefka.sampling.verdict import Check

IN_A_TRACE = "G1"
FIRST, SECOND = "bethe", "G2"
MOST_CONDITIONED = 8
KEPT = 2  # units or findings that are never summed over: with all of them it would be exact inference by another name
FEW_PARENTS = 5
PASSES_FEW, PASSES_MANY, RATE = 1e3, 4e3, 2e8  # work for each edge, and how much of it a second holds
ROUTINE = 0.01  # seconds that any answer to a row may take, however many rows there are
BATCH = 10  # times the budget of a row is what all rows of a batch have together
CHECKED = 4  # rows that are checked
CLOSE = 5e-3  # nats that are no reason to look further
NOT_CHECKED = "was not checked, as arviz-stats is not installed (pip install 'plefka[sampling]')"


def answer(method: Auto, network: "BeliefNetwork", evidence: Evidence, *, prune: bool, dtype: str) -> Posterior:
    """The answer of the method that was chosen, with a note that says which and why."""
    exact = Exact("exact")
    if not method.exact:
        return _approximate(method, network, evidence, "exact was forbidden", prune, dtype)
    question = asked(exact, network, evidence, prune=prune, budget=_exact_budget(method, len(evidence.rows)))
    why, affordable = _exact_cost(method, question, len(evidence.rows))
    if affordable:
        return _noted(question.answer(exact, network, evidence, dtype), exact, why)
    return _approximate(method, network, evidence, why, prune, dtype)


def posterior(method: Auto, part: "Part", *, dtype: str) -> Posterior:
    """The same for a part of a larger computation: exact or belief propagation, without a check."""
    why, affordable = _exact_cost(method, Asked([], [Exactly.of(part)]), part.question.num_rows)
    chosen = parse_method("exact" if method.exact and affordable else FIRST)
    return _noted(chosen.posterior(part, dtype=dtype), chosen, why)


def _exact_cost(method: Auto, question: Asked | OfTables, rows: int) -> tuple[str, bool]:
    """What exact inference would do, and whether the budget allows it."""
    way, seconds = question.dearest, question.seconds
    if seconds == np.inf:
        return f"exact is out of reach: {way}", False
    if seconds > _exact_budget(method, rows):
        return f"exact would take about {seconds:.1g} s", False
    return f"{way} {'are' if way.enumerates else 'is'} affordable", True


def traced(method: Auto, reduction: "TracedReduction") -> Posterior:
    """Inside a trace numbers cannot be looked at."""
    chosen = parse_method(IN_A_TRACE)
    return _noted(chosen.traced(reduction), chosen, "inside a trace, where numbers cannot be looked at")


def _approximate(
    method: Auto, network: "BeliefNetwork", evidence: Evidence, why: str, prune: bool, dtype: str
) -> Posterior:
    reduced = list(reductions(parse_method(FIRST), network, evidence, prune=prune))
    drawn = _by_findings(method, reduced, network, evidence, dtype)
    if drawn is not None:
        return _noted(*drawn, why)
    first = _first(method, reduced, evidence)
    found = of_reduction(first, reduced, network, evidence, dtype)
    rows, checks = _checks(network, evidence, found)
    if checks is None:
        return _noted(found, first, f"{why}; it {NOT_CHECKED}")
    if not checks:
        return _noted(found, first, why)
    reliable = np.array([check.reliable for check in checks])
    why = f"{why}; draws are reliable on {reliable.sum()} of {len(checks)} checked rows"
    if not reliable.any():
        return _noted(found, first, why)
    rows, sure = rows[reliable], [check for check in checks if check.reliable]
    draws = np.array([check.log_likelihood for check in sure])
    off, error = _off(found, rows, draws), float(np.mean([check.standard_error for check in sure]))
    if off <= CLOSE + 2 * error:
        return _noted(found, first, f"{why} and agree with it")
    differ = f"{why} but differ from it by {off:.2g} (+- {error:.1g})"
    if not reliable.all():
        return _noted(found, first, differ)
    second = replace(first, inner=parse_method(SECOND)) if isinstance(first, Conditioned) else parse_method(SECOND)
    other = _tried(second, reduced, network, evidence, dtype)
    if other is None or _off(other, rows, draws) >= off or (other.status[rows] != found.status[rows]).any():
        return _noted(found, first, f"{differ}, and nothing better was found")
    closer = f"and are closer to it ({_off(other, rows, draws):.2g} away) than to {first} ({off:.2g})"
    return _noted(other, second, f"{why} {closer}")


def _by_findings(
    method: Auto, reduced: list[tuple[np.ndarray, Reduction]], network: "BeliefNetwork", evidence: Evidence, dtype: str
) -> tuple[Posterior, Method] | None:
    """Some findings exactly and the others by draws; None where that does not apply or too few draws carry weight."""
    questions = [part.question for _, reduction in reduced for part in reduction.parts]
    k = affordable(questions, _budget(method, len(evidence.rows)), kept=KEPT)
    chosen = None if k is None else Findings("findings", k=k)
    found = None if chosen is None else _tried(chosen, reduced, network, evidence, dtype)
    if chosen is None or found is None or not np.isin(found.status, (CONVERGED, IMPOSSIBLE)).all():
        return None
    return found, chosen


def _first(method: Auto, reduced: list[tuple[np.ndarray, Reduction]], evidence: Evidence) -> Method:
    """Belief propagation, with as much conditioning as the budget and the network allow."""
    bethe = parse_method(FIRST)
    questions = [part.question for _, reduction in reduced for part in reduction.parts]
    if any(question.storage.num_pairs() > MOST_PAIRS for question in questions):
        return bethe  # units could not be chosen
    k = min(num_conditioned(method, question, evidence) for question in questions)
    return Conditioned("conditioned", inner=bethe, k=k) if k else bethe


def _tried(method: Method, reduced: list, network: "BeliefNetwork", evidence: Evidence, dtype: str) -> Posterior | None:
    try:
        return of_reduction(method, reduced, network, evidence, dtype)
    except PlefkaError:
        return None


def num_conditioned(method: Auto, question: Question, evidence: Evidence) -> int:
    """How many units can be conditioned on within the budget, in every row."""
    storage = question.storage
    passes = PASSES_FEW if storage.most_parents() <= FEW_PARENTS else PASSES_MANY
    seconds = len(evidence.rows) * passes * (storage.num_edges + question.size) / RATE
    room = int(np.floor(np.log2(max(_budget(method, len(evidence.rows)) / seconds, 1.0))))
    free = int(question.free.sum(axis=0).max(initial=0))
    return max(0, min(room, MOST_CONDITIONED, free - KEPT))


def _budget(method: Auto, rows: int) -> float:
    """For all rows together."""
    return method.budget * min(rows, BATCH)


def _exact_budget(method: Auto, rows: int) -> float:
    """The same, or a short time for each row, so that a row of a batch has the answer that it has alone."""
    return max(_budget(method, rows), min(ROUTINE, method.budget) * rows)


def _checks(network, evidence: Evidence, found: Posterior) -> tuple[np.ndarray, list["Check"] | None]:
    """Checks of a few possible rows, evenly spread; None where what they need is not installed."""
    from plefka.sampling.checking import check_row

    possible = np.flatnonzero(found.status != IMPOSSIBLE)
    rows = possible[np.unique(np.linspace(0, len(possible) - 1, CHECKED).astype(int))] if len(possible) else possible
    try:
        checks = [check_row(network, evidence, found, row, seed=row) for row in rows.tolist()]
    except MissingExtra:
        return rows, None
    finite = [np.isfinite(check.log_likelihood) for check in checks]
    return rows[finite], [check for check in checks if np.isfinite(check.log_likelihood)]


def _off(found: Posterior, rows: np.ndarray, draws: np.ndarray) -> float:
    """How far ln P(evidence) is from that of the draws, on average."""
    return float(np.abs(-found.free_energy[rows] - draws).mean())


def _noted(found: Posterior, chosen: Method, why: str) -> Posterior:
    about = found.about
    bound = chosen.is_bound if about.is_bound is None else about.is_bound
    notes = (f"auto chose {chosen}: {why}", *about.notes)
    return found._replace(about=replace(about, is_bound=bound, notes=notes, is_exact=chosen.name == "exact"))
