"""P(units off, target on | evidence) for many sets of units: one batch of the sums that answer the evidence (MATH 17).

A noisy-or unit with nothing known below it multiplies e^-w to each of its parents when it is off, so that it is soft
evidence on these. Any other unit stays a part of the sum, and soft evidence on itself leaves it no other state. So all
sets have the same free units, and share one reduction and one plan. Causes that share nothing with the evidence are
independent of all others, and need no sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from plefka.averages.choice import FEW_PARENTS
from plefka.exact.barren import EXACT
from plefka.exact.cost import MESSAGES, MESSAGES_OF_MANY, REDUCED_UNIT, WORK_PER_SECOND
from plefka.exact.exact_answer import ReducedRows
from plefka.exact.table_networks import TableElimination, families_of
from plefka.methods.posterior import RowAnswers
from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import CERTAIN_WEIGHT, EdgeList
from plefka.networks.evidence import Evidence
from plefka.questions.information import Outcomes, SingleUnits, mutual_information
from plefka.reduction.summing import LEAST

UnitSet = tuple[int, ...]
IN_CACHE = 2**16  # units times rows that are reduced at once, which is quicker than all of them


def _lowered(chance: np.ndarray, field: np.ndarray) -> np.ndarray:
    """P(on) of a unit whose log-odds are lowered by so much."""
    on = chance * np.exp(-field)
    total = 1 - chance + on
    return np.divide(on, total, out=np.zeros(np.shape(total)), where=total > 0)


class SetsOff(NamedTuple):
    """Of sets of units: ln P(all off | evidence), and P(on | evidence, all off) of units that are summed over.

    `fields`: how far a set lowers the log-odds of causes that are not summed over, which are independent of all others.
    """

    log_off: np.ndarray  # (sets,)
    means: np.ndarray  # (sets, units of the part)
    fields: Any  # (sets, units), sparse


@dataclass(frozen=True, eq=False)
class UnitsOff:
    """A row of evidence that has an exact answer, targets, and candidates: units whose state could be observed."""

    network: BeliefNetwork
    evidence: Evidence
    targets: np.ndarray
    weights: Any  # of all edges, sparse, certain ones as numbers
    inside: np.ndarray  # (units,): those that are summed over, as far as they are hidden
    kept: np.ndarray  # (units,): those of them that must not be summed out before
    part: BeliefNetwork  # those that are summed over, or all units of a network of tables
    units: np.ndarray  # of the part, in ascending order
    given_fields: np.ndarray  # (units,): how far units that were observed off, outside, lower the log-odds of each
    chances: np.ndarray  # (units,): P(on) of causes that are not summed over

    @classmethod
    def of(cls, network: BeliefNetwork, evidence: Evidence, targets: np.ndarray, candidates: np.ndarray) -> "UnitsOff":
        """Noisy-or units below everything else, hidden or off, are soft evidence; a file's tables stay as they are."""
        edges, bias, (row,) = EdgeList.of(network.storage), np.asarray(network.bias, float), evidence.rows
        linear = np.broadcast_to(network.activation.is_linear_off(bias[:, None]), (network.size, 1))[:, 0]
        linear = linear & (network.given_tables is None)
        every, off, cause = np.arange(network.size), (row == 0) & linear, np.asarray(network.roots) & linear
        candidate = np.isin(every, candidates)
        asked = np.concatenate([targets, edges.parent[(candidate | off)[edges.child]]])
        needed = np.isin(every, asked) & np.isnan(row) & ~cause
        needed |= candidate & (~linear | cause)
        seen = needed | (np.asarray(evidence.informed)[0] & ~off)
        seen[targets[:1]] |= not seen.any()  # without evidence nothing need be summed over
        inside, weights = edges.with_ancestors(seen[:, None])[:, 0], network.storage.to_sparse()
        part, units = network, every
        if families_of(network) is None and network.conditionals is None and not inside.all():
            part, units = BeliefNetwork(weights[inside][:, inside], bias[inside], network.activation), units[inside]
        weights.data = np.minimum(weights.data, CERTAIN_WEIGHT)
        fields, alone = (off & ~inside) @ weights, cause & ~inside & np.isnan(row)
        chances = _lowered(-np.expm1(-np.where(alone, bias, 0.0)), fields)
        kept = (needed | (candidate & inside)) & np.isnan(row)
        return cls(network, evidence, targets, weights, inside, kept, part, units, fields, chances)

    def _sums(self, evidence: Evidence) -> ReducedRows | TableElimination:
        families = families_of(self.part)
        if families is not None:
            tilt = np.where(evidence.tilt <= LEAST, -np.inf, evidence.tilt)
            tables = TableElimination(families, evidence._replace(tilt=tilt), self.inside)
            if not tables.refusal:
                return tables
        kept: Any = self.kept[self.units]
        return ReducedRows.of(EXACT, self.part, evidence, prune=True, keep_barren=False, kept=kept)

    @cached_property
    def _alone(self) -> ReducedRows | TableElimination:
        """The sums of the evidence by itself, of the form that those of all sets have."""
        return self._sums(self._rows(sp.csr_array((1, self.network.size)))[0])

    def seconds(self, count: int) -> float:
        """What the sums of so many sets would take."""
        ways = self._alone.ways if isinstance(self._alone, ReducedRows) else [self._alone]
        return sum(way.seconds_for(count) for way in ways) + REDUCED_UNIT * count * len(self.units)

    def affordable(self, seconds: float) -> int:
        """How many sets take no longer than this, about."""
        one, many = self.seconds(1), self.seconds(1001)
        return 0 if one > seconds else 1 + int(1000 * (seconds - one) / (many - one))

    @property
    def message_seconds(self) -> float:
        """What belief propagation takes for a row, about."""
        weights = self.part.storage
        work = MESSAGES if weights.most_parents() <= FEW_PARENTS else MESSAGES_OF_MANY
        return work * (weights.num_edges + weights.size) / WORK_PER_SECOND

    def by_target(self, units: np.ndarray) -> bool:
        """Whether these units are found from sums with each target off, where that is fewer."""
        return bool(len(self.targets) < len(units) and self.inside[self.targets].all() and self.inside[units].all())

    def _rows(self, members: Any) -> tuple[Evidence, Any]:
        """The evidence with the units of each set off, and the fields of these on their parents, (sets, units)."""
        given, rows = self.evidence, np.repeat(self.evidence.rows[:, self.units], members.shape[0], axis=0)
        outside = sp.csr_array(members @ sp.diags_array(~self.inside * 1.0))
        fields = sp.csr_array(outside @ self.weights)
        excluded = (members @ sp.diags_array(self.inside * 1.0))[:, self.units].toarray()
        lowered = fields[:, self.units].toarray() + self.given_fields[self.units]
        tilt = excluded * LEAST - lowered * self.inside[self.units]
        tilt = np.maximum(tilt if given.tilt is None else tilt + given.tilt[:, self.units], LEAST)
        offset = -outside @ np.asarray(self.network.bias, float)
        return Evidence(rows, tilt, offset, batched=True, wanted=self.inside[self.units]), fields

    def off(self, sets: Sequence[UnitSet]) -> SetsOff:
        """All units of each set off; the first set is empty."""
        at = np.repeat(np.arange(len(sets)), [len(some) for some in sets])
        unit = np.array([unit for some in sets for unit in some], int)
        members = sp.csr_array((np.ones(len(unit)), (at, unit)), shape=(len(sets), self.network.size))
        evidence, lowered = self._rows(members)
        step = max(1, IN_CACHE // len(self.units))
        pieces = [evidence.take(slice(first, first + step)) for first in range(0, len(sets), step)]
        found = RowAnswers.join([self._sums(some).answer(EXACT, self.part, some, "float64") for some in pieces])
        fields: Any = sp.csr_array(lowered @ sp.diags_array((self.chances > 0) * 1.0))
        fields.eliminate_zeros()
        row, unit = fields.nonzero()
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = np.bincount(row, np.log1p(self.chances[unit] * np.expm1(-fields.data)), minlength=len(sets))
            log_off = evidence.offset - found.free_energy + found.free_energy[0] + alone
        log_off = np.where(np.isnan(log_off), -np.inf, log_off)
        return SetsOff(log_off, np.where(np.isneginf(log_off)[:, None], 0.0, found.means), fields)

    def singles(self, units: np.ndarray) -> SingleUnits:
        """Each unit by itself: from sums with the unit off, or with each target off."""
        summed = self.inside[self.targets]
        place, others = self.units.searchsorted(self.targets[summed]), self.chances[self.targets[~summed]]
        if self.by_target(units):
            found = self.off([(), *((target,) for target in self.targets.tolist())])
            own = self.units.searchsorted(units)
            both = np.exp(found.log_off[1:]) * (1 - found.means[1:, own].T)
            off = 1 - found.means[0, own]
            with_target = off[:, None] - both  # P(unit off, target on)
        else:
            found = self.off([(), *((unit,) for unit in units.tolist())])
            off = np.exp(found.log_off[1:])
            with_target = off[:, None] * found.means[1:, place]
        now = found.means[0, place]
        chance = np.stack([1 - off, off])
        information = mutual_information(chance[..., None], np.stack([now - with_target, with_target])).sum(axis=-1)
        fields = found.fields[1:][:, self.targets[~summed]] if len(others) else sp.csr_array((len(units), 0))
        row, column = fields.nonzero()
        lowered = off[row] * _lowered(others[column], fields.data)
        information += np.bincount(
            row, mutual_information(chance[:, row], np.stack([others[column] - lowered, lowered])), minlength=len(units)
        )

        def outcomes(at: np.ndarray) -> Outcomes:
            on = np.empty((2, len(at), len(self.targets)))
            on[1][:, summed] = with_target[at]
            on[1][:, ~summed] = off[at, None] * _lowered(others, fields[at].toarray())
            on[0][:, summed], on[0][:, ~summed] = now - on[1][:, summed], others - on[1][:, ~summed]
            return Outcomes.exactly(chance[:, at].T, np.moveaxis(on, 0, 1))

        return SingleUnits(units, information, off, outcomes)

    def outcomes(self, sets: Sequence[UnitSet]) -> Outcomes:
        """Of sets of the same size, from those of their subsets being off."""
        size = len(sets[0])
        subsets = [tuple(at for at in range(size) if number >> at & 1) for number in range(2**size)]
        number: dict[UnitSet, int] = {(): 0}
        rows = [
            [number.setdefault(tuple(some[at] for at in subset), len(number)) for subset in subsets] for some in sets
        ]
        found = self.off(list(number))
        on = np.empty((len(number), len(self.targets)))
        summed = self.inside[self.targets]
        on[:, summed] = found.means[:, self.units.searchsorted(self.targets[summed])]
        others = self.targets[~summed]
        on[:, ~summed] = _lowered(self.chances[others], found.fields[:, others].toarray())
        chance = np.exp(found.log_off)
        chance, on = chance[rows], (chance[:, None] * on)[rows]
        for at in range(size):  # what is off and what may be either, less what is off: what is on
            either, off = (np.arange(2**size) >> at & 1 == state for state in (0, 1))
            chance[:, either] -= chance[:, off]
            on[:, either] -= on[:, off]
        return Outcomes.exactly(chance, on)
