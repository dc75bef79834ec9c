"""What to observe next: the hidden units whose states are expected to give most information about the targets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb, isqrt
from numbers import Real
from typing import Any

import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput
from plefka.exact.cost import ASKED_SECONDS
from plefka.inference.log_odds import entropy
from plefka.inference.ranking import check_top, named_once
from plefka.inference.solution import Solution
from plefka.methods.method import Method
from plefka.methods.posterior import Accuracy
from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList
from plefka.questions.advice import Advice, Candidate, CandidateOutcome, CandidateSet, Leading, NothingToAsk, stopping
from plefka.questions.candidate_costs import costs_of
from plefka.questions.changed_evidence import ChangedEvidence, weakest
from plefka.questions.explain import possible_units
from plefka.questions.information import NUM_LEADING, TINY, Outcomes, SingleUnits, estimated_information
from plefka.questions.units_off import UnitSet, UnitsOff

MOST_CANDIDATES = 64  # that are computed from rows of their own, on and off
MOST_ESTIMATED_BEST = 200  # that are computed exactly, of too many for the time: the best were among 160
FEW = 10  # for fewer of them than this, another method is asked
MOST_TOGETHER = 5
MOST_PAIRED, MOST_ADDED = 40, 100  # candidates of all pairs, and of one more
OUTCOMES_AT_ONCE = 2**22  # sets times outcomes times targets
INSTEAD = "bethe"  # of sums for all candidates, where these would take too long
ESTIMATED = (
    "{:,} of {:,} candidates were chosen by an estimate that takes their parents as independent given the evidence"
)
FEWER_SETS = "sets are pairs of the best {:,} candidates{}, as more of them would take too long"
FEWER_ADDED = " and what to add to them of the best {:,}"
INSTEAD_NOTE = "candidates are computed by {}, as exact sums for them would take too long"


def ask(
    network: BeliefNetwork,
    evidence: Any = None,
    candidates: Sequence[str | int] | None = None,
    targets: Sequence[str | int] | None = None,
    method: str | Method | None = None,
    *,
    top: int = 10,
    costs: Any = None,
    together: int = 1,
    stop_below: float | None = None,
    certain_above: float | None = None,
    do: Any = None,
    exclusive: Any = None,
    without: Sequence[str | int] = (),
) -> Advice:
    """Which hidden unit to observe next: the one with most mutual information about the targets, given the evidence.

    The information about several targets is the sum of the information about each of them. Where the evidence has an
    exact answer, all candidates are computed exactly, in one batch of the same sums. If that would take more than
    about 3 seconds, the best 200, or as many as there is time for, are chosen by an estimate first. With an approximate
    method, the result is an approximation, from two rows for each of the 64 candidates of the highest estimate. The
    notes say so.

    **Arguments:**

    - `network`, `evidence`: a single network and a single row of evidence, as for `infer`.
    - `candidates`: the hidden units that could be observed. The default is all hidden units with parents.
    - `targets`: the units to learn about. The default is all hidden units without parents, the causes.
    - `method`: the method for all probabilities, as for `infer`. The default is `auto`.
    - `top`: the number of candidates to return.
    - `costs`: what observing a unit costs, {unit: cost}, or a table with the columns `finding` (or `unit`) and `cost`,
        such as the findings of a diagnosis spreadsheet. Other units cost 1. Candidates are then ranked by information
        per cost.
    - `together`: how many units are to be observed together, at most 5: `best_set` is the best of all sets where there
        are at most 780, or else the best pair of the best 40 candidates with others added one by one. Where these would
        take more than about 3 seconds, fewer are compared, which the notes say.
    - `stop_below`: say that it is time to stop when no candidate gives so many nats for a cost of 1.
    - `certain_above`: say that it is time to stop when a target has at least this probability.
    - `do`, `exclusive`: what is set, and units of which exactly one is on, as for `infer`. Given such a group, the best
        64 candidates by an estimate are computed.
    - `without`: units that are no candidates, such as those that cannot be observed here.

    **Example:**

    >>> import plefka as pf
    >>> advice = pf.ask(pf.example("espresso"), {"slow_flow": 1}, targets=["stale_beans"], top=2)
    >>> [candidate.unit for candidate in advice.candidates]
    ['thin_crema', 'bitter_taste']
    """
    check_top(top)
    _check_rules(together, stop_below, certain_above)
    changed = ChangedEvidence.of(network, evidence, method, "ask", do=do, exclusive=exclusive)
    about = _targets(changed, targets)
    units = possible_units(changed, candidates, without=about)
    units = units[~np.isin(units, named_once(network, without))]
    if not units.size:
        raise NothingToAsk(
            "ask needs a hidden unit that is not a target; all are observed, targets or left out. Name fewer targets."
        )
    cost, asked = costs_of(network, costs), _Asked.of(changed, about, units)
    single = asked.source.singles(asked.units)
    gain = single.information / cost[single.units]
    order = np.argsort(np.where(np.isnan(gain), np.inf, -gain), kind="stable")
    found, now = asked.described(single, order[:top], cost), asked.now.means[0, about]
    chosen, notes = (None, asked.notes) if together == 1 else asked.best_set(single, order, cost, together)
    known = {weakest(asked.now.codes.means[0, about]), *(each.accuracy for each in found)}
    names = network.names
    leading = _leading(names, about, now)
    return Advice(
        found, tuple(names[unit] for unit in about), float(entropy(now).sum()), asked.method, notes,
        known == {Accuracy.EXACT}, leading, chosen, *stopping(found, leading, stop_below, certain_above),
    )  # fmt: skip


def _check_rules(together: int, stop_below: float | None, certain_above: float | None) -> None:
    if not isinstance(together, int) or isinstance(together, bool) or not 1 <= together <= MOST_TOGETHER:
        raise InvalidInput(f"together must be a whole number from 1 to {MOST_TOGETHER}; got {together!r}.")
    if stop_below is not None and not (isinstance(stop_below, Real) and stop_below >= 0):
        raise InvalidInput(f"stop_below must be a number of nats for a cost of 1, 0 or more; got {stop_below!r}.")
    if certain_above is not None and not (isinstance(certain_above, Real) and 0 < certain_above <= 1):
        raise InvalidInput(f"certain_above must be a probability above 0; got {certain_above!r}.")


def _leading(names: Sequence[str], about: np.ndarray, means: np.ndarray) -> Leading:
    order = np.argsort(-means, kind="stable")[:NUM_LEADING]
    return tuple((names[int(about[k])], float(means[k])) for k in order)


def _targets(changed: ChangedEvidence, targets: Sequence[str | int] | None) -> np.ndarray:
    network = changed.network
    if targets is None:
        found = np.flatnonzero(network.roots & changed.hidden)
    else:
        found = named_once(network, targets)
        observed = found[~changed.hidden[found]]
        if observed.size:
            raise InvalidEvidence(
                f"targets must be hidden units; {network.names[observed[0]]!r} is observed. Name other targets."
            )
    if not found.size:
        raise NothingToAsk(
            "ask needs at least one target; got none. By default the targets are the hidden units without parents. "
            "Pass targets=[...] with other hidden units."
        )
    return found


@dataclass(frozen=True, eq=False)
class _RowsOfOutcomes:
    """Candidates by a method of any kind: a row of evidence for each state of the units of a set."""

    changed: ChangedEvidence
    targets: np.ndarray
    wanted: np.ndarray

    def outcomes(self, sets: Sequence[UnitSet]) -> Outcomes:
        size = len(sets[0])
        states = [[float(not number >> at & 1) for at in range(size)] for number in range(2**size)]
        changes = [dict(zip(some, state, strict=True)) for some in sets for state in states]
        solution = self.changed.answers([{}, *changes], self.wanted)
        log_p = np.reshape(solution.log_likelihood[1:], (len(sets), -1))
        with np.errstate(invalid="ignore", over="ignore"):
            chance = np.exp(log_p - log_p.max(axis=1, keepdims=True))
        chance = chance / chance.sum(axis=1, keepdims=True)
        means = np.where(solution.converged[1:, None], solution.means[1:, self.targets], np.nan)
        means = np.where(chance[..., None] == 0, 0.0, means.reshape(*chance.shape, -1))
        codes = np.column_stack([solution.codes.log_partition, solution.codes.means[:, self.targets]])[1:]
        exact = np.array([weakest(some) is Accuracy.EXACT for some in codes.reshape(len(sets), -1)])
        exact &= ~((chance > 0) & (chance < TINY)).any(axis=1)
        low, high = (np.reshape(end[1:], log_p.shape) for end in solution.log_likelihood_interval)
        with np.errstate(invalid="ignore"):
            reach = np.where(low == high, 0.0, (high - low) / 2)
        return Outcomes(chance, chance[..., None] * means, exact, reach)

    def singles(self, units: np.ndarray) -> SingleUnits:
        """Each unit by itself."""
        found = self.outcomes([(unit,) for unit in units.tolist()])
        certain = (found.chance == 1).any(axis=1)
        information = np.where(certain, 0.0, found.information())
        return SingleUnits(units, information, found.chance[:, 1], lambda at: Outcomes(*(z[at] for z in found)))


@dataclass(frozen=True, eq=False)
class _Asked:
    """The candidates that are computed, what is known now, and how."""

    targets: np.ndarray
    units: np.ndarray
    num_candidates: int
    most: int  # candidates that there is time for
    now: Solution
    source: UnitsOff | _RowsOfOutcomes
    rows: _RowsOfOutcomes
    method: str
    notes: tuple[str, ...]

    @classmethod
    def of(cls, changed: ChangedEvidence, about: np.ndarray, units: np.ndarray) -> "_Asked":
        """By exact sums where the evidence has an exact answer and there is time for them, and otherwise by rows."""
        network, edges = changed.network, EdgeList.of(changed.network.storage)
        asked, wanted = np.zeros((2, network.size), bool)
        asked[units] = True
        wanted[np.concatenate([about, edges.parent[asked[edges.child]]])] = True
        wanted = edges.with_ancestors(wanted[:, None])[:, 0]
        now, count = changed.answers([{}], wanted), len(units)
        sums, most, seconds = UnitsOff.of(network, changed.evidence, about, units), 0, np.inf
        of_group = changed.evidence.exclusive is not None  # which sums do not know of, but rows do
        if now.methods[0].name == "exact" and not of_group:
            seconds = sums.seconds(1 + (len(about) if sums.by_target(units) else count))
            most = count if seconds <= ASKED_SECONDS else min(sums.affordable(ASKED_SECONDS), MOST_ESTIMATED_BEST)
        notes, by_sums, chosen = now.notes, most >= min(FEW, count), now.methods[0].name != now.method.name
        if not by_sums and chosen and not of_group:  # by `auto`, for one row
            changed = replace(changed, method=INSTEAD)
            notes = (*notes, INSTEAD_NOTE.format(INSTEAD))
        if not by_sums:
            most = max(FEW, int(ASKED_SECONDS / (2 * sums.message_seconds))) if chosen else MOST_CANDIDATES
            most = min(most, MOST_CANDIDATES)
        if count > most:
            units = units[np.argsort(-estimated_information(network, now.means[0], units, about), kind="stable")[:most]]
            notes = (*notes, ESTIMATED.format(most, count))
        rows = _RowsOfOutcomes(changed, about, wanted)
        return cls(about, units, count, most, now, sums if by_sums else rows, rows, str(changed.method), notes)

    def described(self, single: SingleUnits, order: np.ndarray, cost: np.ndarray) -> tuple[Candidate, ...]:
        """These units in this order, with what each of their states would do to the targets."""
        names, found, described = self.now.names, single.outcomes(order), []
        if isinstance(self.source, UnitsOff):
            of = 1.0 if self.source.by_target(self.units) else self.now.means[0, self.targets]
            lost = np.flatnonzero(found.have_lost_digits(of))
            found.exact[lost], again = False, lost[: self.source.affordable(ASKED_SECONDS) // 2]
            if len(again):
                better = self.rows.outcomes([(unit,) for unit in single.units[order[again]].tolist()])
                found.chance[again], found.on[again], found.exact[again], found.reach[again] = better
        ends = found.interval.tolist()
        for at, chances, ons, exact, interval in zip(order.tolist(), *found[:3], ends, strict=True):
            outcomes = tuple(
                self._outcome(state, float(chance), on / chance)
                for state, chance, on in zip(("on", "off"), chances, ons, strict=True)
                if chance > 0
            )
            unit, accuracy = single.units[at], Accuracy.EXACT if exact else Accuracy.ESTIMATE
            numbers = float(single.information[at]), float(chances[0]), accuracy, float(cost[unit])
            described.append(Candidate(names[unit], *numbers, outcomes, interval))
        return tuple(described)

    def _outcome(self, state: str, chance: float, then: np.ndarray) -> CandidateOutcome:
        names, now = self.now.names, self.now.means[0, self.targets]
        most = int(np.argmax(abs(then - now)))
        changed = names[int(self.targets[most])], float(now[most]), float(then[most])
        return CandidateOutcome(state, chance, _leading(names, self.targets, then), changed)

    def best_set(
        self, single: SingleUnits, order: np.ndarray, cost: np.ndarray, size: int
    ) -> tuple[CandidateSet, tuple[str, ...]]:
        """The best of all sets where these are few; else the best pair, and what to add to it, one after another.

        As many as there is time for, which the notes say.
        """
        best, size = single.units[order].tolist(), min(size, len(order))
        paired = added = isqrt(self.most)  # by rows, as many as for candidates by themselves
        usual, every = (isqrt(MOST_CANDIDATES),) * 2, comb(len(best), size) <= comb(paired, 2)
        if isinstance(self.source, UnitsOff):
            num_rows, usual = self.source.affordable(ASKED_SECONDS / max(1, size - 1)), (MOST_PAIRED, MOST_ADDED)
            paired = max(2, min(MOST_PAIRED, (isqrt(8 * max(1, num_rows) - 7) - 1) // 2))  # with all pairs of them
            added = max(1, min(MOST_ADDED, num_rows // 2 ** (size - 1)))
            every = sum(comb(len(best), some) for some in range(size + 1)) <= num_rows
            every = every and comb(len(best), size) <= comb(MOST_PAIRED, 2)
        notes = self.notes
        if not every and (paired < min(usual[0], len(best)) or (size > 2 and added < min(usual[1], len(best) - 2))):
            notes = (*notes, FEWER_SETS.format(paired, FEWER_ADDED.format(added) if size > 2 else ""))
        sets: list[UnitSet] = [*combinations(best if every else best[:paired], size if every else 2)]
        while True:
            step = max(1, OUTCOMES_AT_ONCE // (2 ** len(sets[0]) * len(self.targets)))
            parts = [self.source.outcomes(sets[first : first + step]) for first in range(0, len(sets), step)]
            found, exact = (np.concatenate(z) for z in zip(*((z.information(), z.exact) for z in parts), strict=True))
            at = int(np.argmax(np.nan_to_num(found / [cost[list(some)].sum() for some in sets], nan=-1.0)))
            if len(sets[at]) == size:
                break
            sets = [(*sets[at], unit) for unit in best if unit not in sets[at]][:added]
        is_whole = len(best) == self.num_candidates
        own = np.sort(entropy(single.off))[-size:].sum() if is_whole else size * np.log(2)
        return CandidateSet(
            tuple(self.now.names[unit] for unit in sets[at]), float(found[at]), float(cost[list(sets[at])].sum()),
            bool(every and is_whole and exact.all()),
            float(np.minimum(entropy(self.now.means[0, self.targets]), own).sum()),
            float(np.sort(np.nan_to_num(single.information))[-size:].sum()),
            Accuracy.EXACT if exact[at] else Accuracy.ESTIMATE,
        ), notes  # fmt: skip
