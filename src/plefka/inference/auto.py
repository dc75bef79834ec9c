"""`auto`: exact where that is affordable; else some findings of a noisy-or network exactly and the others by draws.

Where that does not apply, or too few of its draws carry weight, annealed populations (`smc`) answer: as many as the
budget allows, with standard errors. Where these would take longer than that, or have not converged, the answer is
belief propagation, on short loops if that settles in time, or else plain, unless the populations contradict it.

What an answer will cost is predicted from the network and the evidence, not measured, so that the same question always
gets the same answer. Every row has a budget of its own and is chosen for by itself: it has the answer that it would
have alone, whoever else is in the batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from plefka.errors import PlefkaError
from plefka.exact import cost
from plefka.exact.exact_answer import in_blocks
from plefka.exact.exact_method import Exact
from plefka.exact.state_sum import StateSum, planned_sum
from plefka.exact.table_networks import TableElimination
from plefka.inference.auto_answers import Chosen, contradicts, joined_answers
from plefka.inference.composite_methods import Auto
from plefka.inference.infer import of_reduced
from plefka.inference.library import parse_method
from plefka.messages.loops import seconds as seconds_of_loops
from plefka.messages.message_methods import Loops
from plefka.methods.method import Method, Seconds, does_not_apply
from plefka.methods.posterior import CONVERGED, IMPOSSIBLE, Posterior, RowAnswers
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.progress import progress
from plefka.reduction.dependence import coupled_in_trees, without_loops
from plefka.reduction.question import PairModel, Part, Question
from plefka.reduction.recovery import posterior_of_part, reductions
from plefka.reduction.reduce import Reduction
from plefka.reduction.traced_reductions import TracedReduction
from plefka.sampling.annealing import AVERAGED, EVEN, USUAL_TEMPERATURES
from plefka.sampling.belief_start import from_prior
from plefka.sampling.findings.transformed import affordable
from plefka.sampling.sampling_methods import Findings, Smc
from plefka.sampling.smc import FEWER_TEMPERATURES, FEWEST_PARTICLES, FEWEST_POPULATIONS, PILOT_PARTICLES

FIRST = "bethe"
OVERDRAWN = 2  # budgets that an answer may take
SAMPLED_PART, SAMPLED_AT_MOST = 0.8, 1.2  # of a budget that populations are meant to take, and may have taken
LITTLE_ERROR = 0.01  # nats: a standard error that is not worth more time
SPREAD_OF_TERM = 2.5  # (pi / 2)^2: a term of the energy that is larger is decided long before the end
NEVER_SUMMED = 2  # findings: with all of them summed over it would be exact inference by another name
FORBIDDEN = "exact was forbidden"
TOO_LONG = "annealed populations would take about {:.1g} s"
NOT_CONVERGED = "annealed populations did not converge"
USABLE = (CONVERGED, IMPOSSIBLE)  # statuses of an answer


def answer(method: Auto, network: Network, evidence: Evidence, *, prune: bool, dtype: str) -> RowAnswers:
    """The answers of the methods that were chosen, with a note that says which and why."""
    rows = AutoRows(method, network, evidence, prune, dtype)
    found, others = rows.exact_answers() if method.exact else ([], dict.fromkeys(range(len(evidence.rows)), HardRow()))
    return joined_answers([*found, *rows.approximate_answers(others)])


def posterior(method: Auto, part: Part, *, dtype: str) -> Posterior:
    """The answer for a part of a larger computation: exact or belief propagation, without a check."""
    way = planned_sum(part)
    why, affordable = _exact_cost(method, way, way.row_seconds)
    chosen = parse_method("exact" if method.exact and affordable else FIRST)
    found = chosen.posterior(part, dtype=dtype)
    notes, is_bound = (f"auto chose {chosen}: {why}", *found.about.notes), found.about.is_lower(chosen)
    return found._replace(about=replace(found.about, notes=notes, is_bound=is_bound))


def traced(method: Auto, reduction: TracedReduction) -> Posterior:
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
    network: Network
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
                found.append(Chosen(block.rows, block.answer(exact, self.dtype), exact, why))
            else:
                others[int(block.rows[0])] = HardRow(why, getattr(block.question, "for_other_methods", None))
        return found, others

    def approximate_answers(self, others: dict[int, "HardRow"]) -> Iterator[Chosen]:
        """Rows one after another, each as it would be alone."""
        for row, hard in progress(sorted(others.items()), "rows of evidence") if len(others) > 1 else others.items():
            alone = OneRow(row, self.take(np.array([row])), hard)
            drawn = alone.by_findings()
            sampled = alone.by_populations() if drawn is None else None
            if drawn is not None:
                yield Chosen(np.array([row]), *drawn, hard.why)
            elif sampled is not None and sampled.status[0] in USABLE:
                more = self._more_time(sampled) if len(self.evidence.rows) == 1 else ""
                yield Chosen(np.array([row]), sampled, self.populations, f"{hard.why}{more}")
            else:
                yield Chosen(np.array([row]), *alone.by_messages(sampled))

    @property
    def populations(self) -> Smc:
        """As many as the budget allows; what they cost is predicted to a factor of two, and recovery takes its time."""
        return Smc("smc", budget=Seconds(float(f"{SAMPLED_PART * self.method.budget:.6g}")))

    def _more_time(self, found: RowAnswers) -> str:
        """What it would buy, of a single row that is not known well."""
        error = float(np.nan_to_num(0.0 if found.error is None else found.error[0]))
        longer = replace(self.method, budget=Seconds(4 * self.method.budget))
        said = f"; the standard error of {error:.1g} would be halved by four times the budget, {longer}"
        return said if error > LITTLE_ERROR else ""


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
        rows = self.rows
        return self.hard.reduced or list(reductions(parse_method(FIRST), rows.network, rows.evidence, prune=rows.prune))

    @cached_property
    def questions(self) -> list[Question]:
        return [part.question for _, reduction in self.reduced for part in reduction.parts]

    def by_findings(self) -> tuple[RowAnswers, Method] | None:
        """Some findings exactly and the others by draws; None where that does not apply or too few carry weight."""
        has_findings = self.rows.network.is_normalised
        k = affordable(self.questions, self.rows.method.budget, kept=NEVER_SUMMED) if has_findings else None
        if k is None:
            return None
        chosen, rows = Findings("findings", k=k), self.rows
        try:
            parts = (part for _, reduction in self.reduced for part in reduction.parts)
            known = {part: posterior_of_part(chosen, part, rows.dtype) for part in parts}
        except PlefkaError:
            return None
        if not all(np.isin(posterior.status, USABLE).all() for posterior in known.values()):
            return None  # and all other units are not predicted from it, which takes longer than to find it
        found = of_reduced(chosen, self.reduced, rows.network, rows.evidence, rows.dtype, known=known)
        return (found, chosen) if found.status[0] in USABLE else None

    @cached_property
    def is_easy(self) -> bool:
        """Whether messages are exact: nothing is left, or trees are."""
        return all(
            (coupled_in_trees if isinstance(question.model, PairModel) else without_loops)(question).all()
            for question in self.questions
        )

    @cached_property
    def seconds(self) -> float:
        """What the fewest populations would take."""
        return sum(least_seconds(question) for question in self.questions)

    def by_populations(self) -> RowAnswers | None:
        """What annealed populations say; None where the budget does not suffice for the fewest."""
        rows = self.rows
        if self.is_easy or self.seconds > OVERDRAWN * rows.method.budget:
            return None
        try:
            return of_reduced(rows.populations, self.reduced, rows.network, rows.evidence, rows.dtype)
        except PlefkaError:
            return None

    def by_loops(self, sampled: RowAnswers | None) -> tuple[RowAnswers, Method] | None:
        """Messages between short loops, or None where these are too many, do not settle or populations contradict them.

        Of the two sizes of regions the larger one that can be swept often enough in what is left of the time.
        """
        rows, spent = self.rows, SAMPLED_AT_MOST if sampled is not None else 0.0
        left, units = (OVERDRAWN - spent) * rows.method.budget, sum(int(each.free.sum()) for each in self.questions)
        least = ((True, cost.JOINED_UNIT), (False, cost.REGION_BUILT))  # seconds of a unit for looking at its loops
        for joined in () if self.is_easy else [joined for joined, each in least if each * units < left]:
            chosen = Loops("loops", joined=joined)
            try:
                chosen.check(rows.network)
                if (seconds := sum(seconds_of_loops(chosen, question) for question in self.questions)) > left:
                    continue
                chosen = replace(chosen, max_steps=min(chosen.max_steps, int(cost.REGION_SWEEPS * left / seconds)))
                found = of_reduced(chosen, self.reduced, rows.network, rows.evidence, rows.dtype)
            except PlefkaError:
                return None
            is_answer = found.status[0] == CONVERGED and not (sampled is not None and contradicts(sampled, found))
            return (found, chosen) if is_answer else None
        return None

    def by_messages(self, sampled: RowAnswers | None) -> tuple[RowAnswers, Method, str]:
        """Belief propagation, on short loops where that settles, or populations that contradict it; and why."""
        why, rows, messages = self.hard.why, self.rows, parse_method(FIRST)
        if not self.is_easy:
            why += f"; {TOO_LONG.format(self.seconds) if sampled is None else NOT_CONVERGED}"
        found, messages = self.by_loops(sampled) or (
            of_reduced(messages, self.reduced, rows.network, rows.evidence, rows.dtype), messages
        )  # fmt: skip
        if sampled is None:
            return found, messages, why
        if not contradicts(sampled, found):
            apart = abs(float(found.free_energy[0] - sampled.free_energy[0]))
            return found, messages, f"{why}, and are {apart:.1g} nats away" if apart > LITTLE_ERROR else why
        return sampled, rows.populations, f"{why}, but contradict {FIRST}"


def least_seconds(question: Question) -> float:
    """Predicted time of populations with the fewest particles, and of belief networks the fewest temperatures."""
    storage, free = question.storage, np.asarray(question.free, float)
    num_free = free.sum()
    if not isinstance(question.model, PairModel):
        calls, each = from_prior(question).seconds(USUAL_TEMPERATURES * np.sqrt(num_free) / FEWER_TEMPERATURES)
        return float(2 * calls + (FEWEST_POPULATIONS + 1) * FEWEST_PARTICLES * each)
    num_edges = storage.map_weights(lambda w: (w != 0) * 1.0).product(np.ones_like(free)).sum() / 2
    field = question.model.h / 2 + storage.product(free) / 4  # of spins
    of_couplings = storage.map_weights(lambda w: np.minimum((w / 4) ** 2, SPREAD_OF_TERM)).product(free)
    spread = (free * np.minimum(field**2, SPREAD_OF_TERM)).sum() + (free * of_couplings).sum() / 2
    steps = AVERAGED + np.sqrt(spread / (1 / EVEN - 1))
    sweep = cost.SPIN * num_free + 2 * cost.SPARSE_COUPLING * num_edges
    return float(steps * sweep * (PILOT_PARTICLES + FEWEST_POPULATIONS * FEWEST_PARTICLES))
