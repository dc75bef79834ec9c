"""`reduce`: from a network and rows of evidence to questions, and the way back to all units of the network.

In this room alone units are observed away, summed out, found certain, impossible or barren, and the part that the
evidence depends on is cut out. All of it is exact. What is left of a belief network is one question for all rows, or
one for each (by_row.py); a Boltzmann machine has a module of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput
from plefka.methods.posterior import JointDraws
from plefka.networks.belief import BeliefNetwork
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.networks.storage import Storage
from plefka.reduction.barren_draws import Averages, Uniforms, chances, with_summed
from plefka.reduction.barren_means import predicted
from plefka.reduction.by_row import ReducedByRow, reduce_by_row, should_reduce_by_row
from plefka.reduction.certainty import Certain, certain
from plefka.reduction.cutting import Cut, cut, is_worth_it, remains
from plefka.reduction.dependence import barren_parents_depend
from plefka.reduction.machine_reduction import ReducedPairs, reduce_pair_question, reduce_pairs
from plefka.reduction.question import BeliefModel, PairModel, Part, Question
from plefka.reduction.summing import Given, Reduced, recovered, reduced, whole
from plefka.runtime.late_binding import CONTRADICTION, supplied
from plefka.runtime.value_cache import cached_for


def observed_tilt(given: Given) -> Any:
    """What soft evidence adds about units that are observed as well."""
    return (given.tilt * given.xp.where(given.hidden, 0.0, given.known)).sum(0)  # no nan in derivatives by the tilt


def masked(storage: Storage, given: Given, left: Reduced) -> Question:
    """All units of a network, those that are summed out or barren not counted."""
    xp, free = given.xp, given.hidden & left.counted
    values = xp.where(left.summed, 0.0, xp.where(given.hidden, 0.5, given.known))
    model = BeliefModel(storage, left.h, given.activation, left.counted)
    return Question(model, free, values, xp.where(free, given.tilt, 0.0), storage.size)


def reduce_belief(
    network: BeliefNetwork, evidence: "Evidence", *, prune: bool, keep_barren: bool, kept: Any
) -> "ReducedTogether | ReducedByRow":
    """What is left to be solved of every row of a belief network: one question for all rows, or one for each."""
    if prune and not keep_barren and should_reduce_by_row(network, evidence):
        by_row = reduce_by_row(network, evidence, kept)
        if not evidence.batched:
            _refuse_impossible(network, by_row.certain, by_row.unit, evidence)
        return by_row
    edges, h = EdgeList.of(network.storage), np.atleast_2d(np.asarray(network.bias, float)).T
    known = np.asarray(evidence.rows, float).T
    tilt = np.zeros(known.shape) if evidence.tilt is None else np.asarray(evidence.tilt, float).T
    sure = certain(edges, h, network.activation, known)
    if not evidence.batched:
        _refuse_impossible(network, sure, np.arange(network.size), evidence)
    asked = {"named": kept if np.ndim(kept) else None, "wanted": evidence.wanted}
    if not prune:
        given = Given(edges, h, network.activation, known, tilt)
        decided = np.isnan(known) & ~np.isnan(sure.known)  # units that stay free: their other state is not excluded
        sure = sure._replace(deterministic=sure.deterministic | decided)
        return ReducedTogether(network.storage, given, sure, whole(given), None, observed_tilt(given), **asked)
    given = Given(edges, h, network.activation, np.where(sure.impossible, known, sure.known), tilt)
    layers = None if network.layers is None else np.repeat(np.arange(len(network.layers)), network.layers)
    return _reduced_together(network.storage, given, sure, layers, keep_barren=keep_barren, **asked)


def reduce_belief_question(question: Question, *, needs_slope: bool) -> "ReducedTogether":
    """Reduce a question of a belief network again, of which more units are known."""
    model = cast(BeliefModel, question.model)
    edges, known = EdgeList.of(question.storage), np.where(question.free, np.nan, question.values)
    absent = ~model.counted & ~question.free
    sure = certain(edges, model.h, model.activation, known, absent)
    known = np.where(sure.impossible, known, sure.known)
    given = Given(edges, model.h, model.activation, known, question.tilt, absent)
    return _reduced_together(question.storage, given, sure, None, needs_slope=needs_slope)


def _reduced_together(
    storage: Storage, given: Given, sure: Certain, layers: np.ndarray | None, *, keep_barren: bool = False, **asked: Any
) -> "ReducedTogether":
    """Sum out what can be, and cut the rest out where that is worth it; `layers`: the layer of every unit, if known."""
    named = asked.get("named")
    left = reduced(given, keep_barren=keep_barren, kept=False if named is None else named[:, None])
    rest = remains(given, left)
    if not is_worth_it(given, rest):
        return ReducedTogether(storage, given, sure, left, None, left.constant + observed_tilt(given), **asked)
    found = cut(given, rest, layers)
    return ReducedTogether(storage, given, sure, left, found, rest.constant, rest.slope, **asked)


def _refuse_impossible(network: BeliefNetwork, sure: Certain, units: np.ndarray, given: Evidence) -> None:
    """A single row of evidence must be possible; if not, say why, and which observations contradict each other.

    `units` are those that it is about.
    """
    unexplained = "observed on, but has no leak and no cause that could be on"
    contradicted = "observed off, but a cause that switches it on for certain is on"
    for wrong, why, advice in (
        (sure.unexplained, unexplained, "Give it a leak (a positive bias) or a possible cause"),
        (sure.contradicted, contradicted, "Correct the evidence or make the edge less than certain"),
    ):
        if wrong.any():
            unit = network.names[units[np.argwhere(wrong)[0][0]]]
            which = supplied(CONTRADICTION)(network, given.rows[0], is_set=given.intervened)
            raise InvalidEvidence(
                f"the evidence is impossible: unit {unit!r} is {why}. {advice}. {which[0].upper()}{which[1:]}."
            )


@dataclass(frozen=True, eq=False)
class ReducedTogether:
    """All rows as one question."""

    storage: Storage
    given: Given
    certain: Certain
    left: Reduced
    cut: Cut | None  # None where all units of the network stay
    constant: np.ndarray
    slope: np.ndarray | None = None  # d ln P / dh of units that are part of the constant
    named: Any = None  # units (of the network) that a method names
    needs_slope: bool = False  # whether d ln P / dh is wanted for all units
    wanted: Any = None  # (units,): those whose means are asked for, and all above them; None for all units

    @property
    def impossible(self) -> np.ndarray:
        """The rows that are seen to have probability zero."""
        return self.certain.impossible | np.isneginf(self.constant)

    @cached_property
    def barren(self) -> np.ndarray:
        """The units (units, rows) that are hidden and wanted, and that nothing known depends on."""
        given, left = self.given, self.left
        found = given.hidden & ~left.counted & ~left.summed & ~np.asarray(given.absent)
        return found if self.wanted is None else found & self.wanted[:, None]

    @property
    def edges(self) -> EdgeList:
        """Of the network."""
        return self.given.edges

    @property
    def has_barren(self) -> bool:
        """Whether there are any."""
        return bool(self.barren.any())

    def spread(self, found: np.ndarray) -> np.ndarray:
        """What was found of the units of the question, in the place of all units."""
        (part,) = self.parts
        return self.restored(part, found, None)[0]

    @property
    def deterministic_rows(self) -> np.ndarray:
        """The rows with edges of probability one between hidden units."""
        return np.asarray(self.certain.deterministic.any(axis=0))

    @cached_property
    def parts(self) -> list[Part]:
        """One part with all rows."""
        question = masked(self.storage, self.given, self.left) if self.cut is None else self.cut.question
        units = np.arange(self.storage.size)
        if self.cut is not None:
            units = np.full(question.size, -1)
            units[self.cut.place] = self.cut.units
        constant = np.where(np.isneginf(self.constant), 0.0, self.constant)
        needs_slope = self.needs_slope or self.given.activation.has_linear_log_off
        question = replace(question, constant=constant)
        return [Part(np.arange(len(constant)), question, constant, units, needs_slope, self.named)]

    def restored(self, part: Part, means: np.ndarray, slope: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
        """The means (units, rows) of all units, nan where barren, and d ln P / dh, from those of a part."""
        given, left = self.given, self.left
        free = given.hidden & left.counted
        found = means if self.cut is None else self.cut.widened(means, np.full(given.known.shape, np.nan))
        full = np.where(free, found, given.known)
        if slope is None:
            return full, None
        if self.cut is not None and self.slope is not None:
            settled = left.counted & ~free & (self.slope != 0)
            slope = np.where(settled, self.slope, self.cut.widened(slope, np.zeros(full.shape)))
        slope = np.where(left.counted & (given.known == 0), -1.0, slope)  # an energy that is linear in h
        if not left.summed.any():
            return full, slope
        means_of_summed, slope = recovered(given, left, slope)
        return np.where(left.summed, means_of_summed, full), slope

    def barren_of(self, part: Part) -> np.ndarray:
        """The barren units (units, rows) that are wanted."""
        return self.barren

    def certain_of(self, part: Part) -> np.ndarray:
        """The units (units, rows) whose state was observed, or follows from what was."""
        return ~self.given.hidden

    @cached_property
    def barren_parents_depend(self) -> np.ndarray:
        """(rows,): whether any of them has parents that depend on each other."""
        return barren_parents_depend(self.given, self.left.counted | self.left.summed, self.barren)

    def predicted(self, part: Part, means: np.ndarray, *, by_field: bool) -> np.ndarray:
        """The means (units, rows) with those of barren units that are wanted."""
        given = self.given
        return predicted(given.edges, given.h, given.activation, means, self.barren, by_field=by_field)

    def averages(self, part: Part, draws: JointDraws) -> Averages:
        """Over draws of the question's states."""
        given, barren, uniforms = self.given, self.barren, Uniforms(draws)
        free, sums = (given.hidden & self.left.counted)[:, :, None], []
        for some in uniforms.chunks(barren.size):
            S = np.moveaxis(np.asarray(draws.states[some], float), 0, -1)
            S = S if self.cut is None else self.cut.widened(S, np.full((*barren.shape, S.shape[2]), np.nan))
            S = with_summed(given, self.left, np.where(free, S, given.known[:, :, None]), uniforms)
            sums.append((*chances(given.edges, given.h, given.activation, S, barren, uniforms), S.sum(axis=2)))
        return Averages.over(sums, uniforms.count)


Reduction: TypeAlias = ReducedTogether | ReducedByRow | ReducedPairs
REDUCE: dict[type, Callable] = {BeliefNetwork: reduce_belief, BoltzmannMachine: reduce_pairs}


KEPT_REDUCTIONS = 4  # of a network, for the next method that is asked the same
KEPT_NUMBERS, KEPT_WEIGHTS = 2**14, 2**16  # units times rows of each, and weights of the network, at most


def reduce(
    network: Network, evidence: Evidence, *, prune: bool = True, keep_barren: bool = False, kept: Any = False
) -> Reduction:
    """What is left to be solved of every row: the same for every method, so that a few of small networks are kept.

    `keep_barren`: barren units stay, and with them all that their means depend on. `kept`: units that must not be
    summed out.
    """
    if type(network) not in REDUCE:
        raise InvalidInput(
            f"this is for belief networks and Boltzmann machines; got a {type(network).__name__}, for which there are "
            "infer and most_probable."
        )
    options = {"prune": prune, "keep_barren": keep_barren}
    if evidence.rows.size > KEPT_NUMBERS or network.storage.num_edges > KEPT_WEIGHTS:
        return REDUCE[type(network)](network, evidence, **options, kept=kept)
    weights = network.storage.parameters
    numbers = (evidence.rows, evidence.tilt, evidence.wanted, kept, network.bias)
    numbers = (*numbers, *(weights if isinstance(weights, tuple) else (weights,)))
    key = (evidence.batched, prune, keep_barren, *map(_key, numbers))
    known: dict[tuple, Reduction] = cached_for(network, reduce, dict)
    found = known.get(key)
    if found is None:
        own = evidence._replace(
            rows=np.array(evidence.rows), tilt=_copied(evidence.tilt), wanted=_copied(evidence.wanted)
        )
        found = REDUCE[type(network)](network, own, **options, kept=_copied(kept) if np.ndim(kept) else kept)
        if isinstance(found, ReducedByRow):  # which holds its network, and would keep it alive
            return found
        for oldest in list(known)[: 1 - KEPT_REDUCTIONS]:
            known.pop(oldest, None)
        known[key] = found
    return found


def _key(numbers: Any) -> tuple | None:
    """What tells arrays apart, also those that somebody changes in place."""
    array = None if numbers is None else np.asarray(numbers)
    return None if array is None else (array.dtype.str, array.shape, array.tobytes())


def _copied(numbers: Any) -> Any:
    """Apart from what belongs to the user, as a reduction that is kept must not change with it."""
    return None if numbers is None else np.array(numbers)


def reduce_question(question: Question, *, needs_slope: bool) -> ReducedTogether | ReducedPairs:
    """A question of which more units are known is reduced again."""
    if isinstance(question.model, PairModel):
        return reduce_pair_question(question)
    return reduce_belief_question(question, needs_slope=needs_slope)
