"""`auto`: exact where that is affordable; else some findings of a noisy-or network exactly and the others by draws.

Where that does not apply, or too few of its draws carry weight, it is belief propagation with as much conditioning as
the budget allows.

What an answer will cost is predicted from the network and the evidence, not measured, so that the same question always
gets the same answer. Every row has a budget of its own and is chosen for by itself: it has the answer that it would
have alone, whoever else is in the batch. Belief propagation is checked by importance sampling: where the draws
contradict it, the second order takes its place if it is closer to them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plefka.averages.choice import FEW_PARENTS
from plefka.errors import MissingExtra, PlefkaError
from plefka.exact.cost import (
    CHECKED_UNIT,
    LONGEST_CHECK,
    MESSAGES,
    MESSAGES_OF_MANY,
    MESSAGES_OF_PAIRS,
    WORK_PER_SECOND,
)
from plefka.exact.exact_answer import in_blocks
from plefka.exact.exact_method import Exact
from plefka.exact.state_sum import StateSum, planned_sum
from plefka.exact.table_networks import TableElimination
from plefka.inference.auto_answers import CheckedRow, Chosen, joined_answers, with_note
from plefka.inference.composite_methods import Auto, Conditioned
from plefka.inference.infer import of_reduced, solved
from plefka.inference.library import parse_method
from plefka.mean_field.minimisation import MOST_PAIRS
from plefka.methods.method import Method, does_not_apply
from plefka.methods.posterior import CONVERGED, IMPOSSIBLE, Posterior, RowAnswers
from plefka.networks.evidence import Evidence
from plefka.progress import progress
from plefka.reduction.question import PairModel, Part, Question
from plefka.reduction.recovery import posterior_of_part, reductions
from plefka.reduction.reduce import Reduction
from plefka.sampling.findings.transformed import affordable
from plefka.sampling.sampling_methods import Findings

if TYPE_CHECKING:
    from plefka.networks.network import Network
    from plefka.reduction.traced_reductions import TracedReduction

FIRST, SECOND = "bethe", "G2"
MOST_CONDITIONED = 8
NEVER_SUMMED = 2  # units or findings: with all of them summed over it would be exact inference by another name
NOT_CHECKED = "was not checked, as arviz-stats is not installed (pip install 'plefka[sampling]')"
FORBIDDEN = "exact was forbidden"
USABLE = (CONVERGED, IMPOSSIBLE)  # statuses of an answer
TOO_LONG = "was not checked, as that would take about {:.0f} s"


def answer(method: Auto, network: "Network", evidence: Evidence, *, prune: bool, dtype: str) -> RowAnswers:
    """The answers of the methods that were chosen, with a note that says which and why."""
    rows = AutoRows(method, network, evidence, prune, dtype)
    found, others = rows.exact_answers() if method.exact else ([], dict.fromkeys(range(len(evidence.rows)), HardRow()))
    return joined_answers([*found, *rows.approximate_answers(others)])


def posterior(method: Auto, part: Part, *, dtype: str) -> Posterior:
    """The answer for a part of a larger computation: exact or belief propagation, without a check."""
    way = planned_sum(part)
    why, affordable = _exact_cost(method, way, way.row_seconds)
    chosen = parse_method("exact" if method.exact and affordable else FIRST)
    return with_note(chosen.posterior(part, dtype=dtype), chosen, why)


def traced(method: Auto, reduction: "TracedReduction") -> Posterior:
    """Inside a trace numbers cannot be looked at, so that nothing can be chosen by them."""
    raise does_not_apply(
        method, "it chooses by looking at numbers, which cannot be done inside a trace of JAX", "exact, bethe or G1"
    )


def _exact_cost(method: Auto, way: StateSum | TableElimination, row_seconds: np.ndarray) -> tuple[str, bool]:
    """What exact inference would do, and whether the budget allows it for every row."""
    seconds = float(row_seconds.max(initial=0.0))
    if seconds == np.inf:
        return f"exact is out of reach: {way}", False
    if seconds > method.budget:
        return f"exact would take about {seconds:.1g} s", False
    return str(way), True


@dataclass(frozen=True, eq=False)
class AutoRows:
    """All rows of evidence, and how they are to be answered."""

    method: Auto
    network: "Network"
    evidence: Evidence
    prune: bool
    dtype: str

    def take(self, rows: np.ndarray) -> "AutoRows":
        """Some of them."""
        if len(rows) == len(self.evidence.rows):
            return self
        network = self.network if self.network.stack is None else self.network.take(rows)
        return replace(self, network=network, evidence=self.evidence.take(rows))

    def exact_answers(self) -> tuple[list[Chosen], dict[int, "HardRow"]]:
        """Rows that are affordable, in blocks, and why the others are not."""
        exact, budget, found, others = Exact("exact"), float(self.method.budget), [], {}
        for block in in_blocks(exact, self.network, self.evidence, prune=self.prune, budget=budget):
            why, is_affordable = _exact_cost(self.method, block.question.dearest, block.question.row_seconds)
            if is_affordable:
                found.append(Chosen(block.rows, block.answer(exact, self.dtype), exact, (why,) * len(block.rows)))
            else:
                others[int(block.rows[0])] = HardRow(why, getattr(block.question, "for_other_methods", None))
        return found, others

    def approximate_answers(self, others: dict[int, "HardRow"]) -> Iterator[Chosen]:
        """Rows by findings one after another, and those with the same conditioning together."""
        left: dict[Method, list[OneRow]] = {}
        for row, hard in progress(sorted(others.items()), "rows of evidence") if len(others) > 1 else others.items():
            alone = OneRow(row, self.take(np.array([row])), hard)
            drawn = alone.by_findings()
            if drawn is not None:
                yield Chosen(np.array([row]), drawn[0], drawn[1], (hard.why,))
            else:
                left.setdefault(alone.first, []).append(alone)
        for first, rows in left.items():
            yield from self._checked(first, rows)

    def _solved(self, method: Method, rows: "list[OneRow]") -> RowAnswers:
        """Rows that a method answers together; a single one as it was reduced."""
        some = self.take(np.array([each.row for each in rows]))
        if len(rows) == 1 and rows[0].hard.reduced is not None:
            return of_reduced(method, rows[0].hard.reduced, some.network, some.evidence, self.dtype)
        return solved(method, some.network, some.evidence, prune=self.prune, dtype=self.dtype)

    def _checked(self, first: Method, rows: "list[OneRow]") -> Iterator[Chosen]:
        """One method for some rows, or the second order where draws say that it is closer."""
        found, numbers = self._solved(first, rows), np.array([each.row for each in rows])
        some = self.take(numbers)
        checks = [some.checked_row(found, row) for row in range(len(rows))]
        doubtful = np.array([row for row, one in enumerate(checks) if one.is_off], int)
        other = self._by_second_order(first, [rows[row] for row in doubtful]) if len(doubtful) else None
        why = [f"{each.hard.why}{one}" for each, one in zip(rows, checks, strict=True)]
        better = []
        for place, row in enumerate(doubtful.tolist()):
            new = np.inf if other is None else abs(-other[0].free_energy[place] - checks[row].draws)
            if other is None or not new < checks[row].off or other[0].status[place] != found.status[row]:
                why[row] += ", but no better method was found"
                continue
            closer = f"is closer to it ({new:.2g} away) than to {first} ({checks[row].off:.2g})"
            why[row] = f"{rows[row].hard.why}; importance sampling {closer}"
            better.append(place)
        kept = np.setdiff1d(np.arange(len(rows)), doubtful[better])
        if len(kept):
            yield Chosen(numbers, found, first, tuple(why)).take(kept)
        if other is not None and better:
            reasons = tuple(why[row] for row in doubtful)
            yield Chosen(numbers[doubtful], other[0], other[1], reasons).take(np.array(better))

    def _by_second_order(self, first: Method, rows: "list[OneRow]") -> tuple[RowAnswers, Method] | None:
        second = replace(first, inner=parse_method(SECOND)) if isinstance(first, Conditioned) else parse_method(SECOND)
        try:
            return self._solved(second, rows), second
        except PlefkaError:
            return None

    def checked_row(self, found: RowAnswers, row: int) -> CheckedRow:
        """What draws say of one row; its seed does not depend on where the row stands."""
        from plefka.inference.check import check_row

        if found.status[row] == IMPOSSIBLE:
            return CheckedRow(None)
        seconds = CHECKED_UNIT * self.network.size
        if seconds > LONGEST_CHECK * self.method.budget:
            return CheckedRow(None, f"; it {TOO_LONG.format(seconds)}")
        try:
            check = check_row(self.network, self.evidence, found, row, seed=0)
        except MissingExtra:
            return CheckedRow(None, f"; it {NOT_CHECKED}")
        return CheckedRow(check if np.isfinite(check.log_likelihood) else None)


class HardRow(NamedTuple):
    """Why a row is not summed over exactly, and how it was reduced when that was found, if it was."""

    why: str = FORBIDDEN
    reduced: list[tuple[np.ndarray, Reduction]] | None = None


@dataclass(frozen=True, eq=False)
class OneRow:
    """A single row, reduced."""

    row: int
    rows: AutoRows
    hard: HardRow

    @cached_property
    def reduced(self) -> list[tuple[np.ndarray, Reduction]]:
        if self.hard.reduced is not None:
            return self.hard.reduced
        rows = self.rows
        given = rows.evidence._replace(batched=True)
        return list(reductions(parse_method(FIRST), rows.network, given, prune=rows.prune))

    @property
    def parts(self) -> list[Part]:
        return [part for _, reduction in self.reduced for part in reduction.parts]

    @property
    def questions(self) -> list[Question]:
        return [part.question for part in self.parts]

    def by_findings(self) -> tuple[RowAnswers, Method] | None:
        """Some findings exactly and the others by draws; None where that does not apply or too few carry weight."""
        has_findings = self.rows.network.is_normalised
        k = affordable(self.questions, self.rows.method.budget, kept=NEVER_SUMMED) if has_findings else None
        if k is None:
            return None
        chosen, rows = Findings("findings", k=k), self.rows
        try:
            known = {part: posterior_of_part(chosen, part, rows.dtype) for part in self.parts}
        except PlefkaError:
            return None
        if not all(np.isin(posterior.status, USABLE).all() for posterior in known.values()):
            return None  # and all other units are not predicted from it, which takes longer than to find it
        found = of_reduced(chosen, self.reduced, rows.network, rows.evidence, rows.dtype, known=known)
        return (found, chosen) if found.status[0] in USABLE else None

    @property
    def first(self) -> Method:
        """Belief propagation, with as much conditioning as the budget and the network allow."""
        bethe = parse_method(FIRST)
        if self.rows.network.is_normalised and any(q.storage.num_pairs() > MOST_PAIRS for q in self.questions):
            return bethe  # units could not be chosen
        k = min((num_conditioned(self.rows.method, question) for question in self.questions), default=0)
        return Conditioned("conditioned", inner=bethe, k=k) if k else bethe


def num_conditioned(method: Auto, question: Question) -> int:
    """How many units can be conditioned on within the budget of a row."""
    storage = question.storage
    work = MESSAGES if storage.most_parents() <= FEW_PARENTS else MESSAGES_OF_MANY
    work = MESSAGES_OF_PAIRS if isinstance(question.model, PairModel) else work
    seconds = work * (storage.num_edges + question.size) / WORK_PER_SECOND
    room = int(np.floor(np.log2(max(method.budget / seconds, 1.0))))
    free = int(question.free.sum(axis=0).max(initial=0))
    return max(0, min(room, MOST_CONDITIONED, free - NEVER_SUMMED))
