"""Exact means of barren units, which depend on all of their parents together.

A barren unit adds nothing to ln P(evidence), but with its family in it a sum may be far wider than without. What it
costs to find its mean is predicted first, and the way is the cheapest that is affordable:

- Noisy-or units as ratios of two sums, P(off | evidence) = P(off, evidence) / P(evidence). A unit that is off
  multiplies a number to each of its parents and binds none of them together, so that its sum is of the kind that
  P(evidence) has taken, with tables that are no wider, of which only the way there is gone. All units of all rows are
  one batch.
- Other units in groups, each with the evidence and all units above it: large groups where that is affordable, and
  otherwise halves of them, and so on.
- The rest as if parents were independent of each other, which recovery does for all methods.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np

from plefka.exact.cost import LITTLE, MOST_PLANNED, ONE_WAY, PLANNED_UNIT, SHORT, SHORT_IN_ALL
from plefka.exact.exact_method import Exact
from plefka.exact.log_factors import grouped
from plefka.exact.state_sum import planned_sum
from plefka.exact.table_networks import TableElimination, families_of
from plefka.methods.posterior import CONVERGED, RowAnswers
from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.reduction.barren_means import predicted
from plefka.reduction.dependence import follow_exactly
from plefka.reduction.recovery import recover, reductions
from plefka.reduction.reduce import Reduction

EXACT = Exact("exact")
MOST_KEPT = 2**20  # units times rows of which all that was reduced is kept until it is done
PREDICTED = "units that no observation depends on are predicted as if their parents were independent of each other"


class BarrenRatios(NamedTuple):
    """Barren units of some rows, of which P(off, evidence) is summed over."""

    network: BeliefNetwork
    evidence: Evidence  # a row for each pair
    row: np.ndarray  # (pairs,)
    unit: np.ndarray  # (pairs,)
    kept: list[tuple[np.ndarray, Reduction]] | None
    row_seconds: np.ndarray  # (rows,): what those of each row would take alone

    @classmethod
    def of(cls, network: BeliefNetwork, evidence: Evidence, barren: np.ndarray) -> "BarrenRatios | None":
        """Of these units (rows, units); None where one that is off would bind units together that are apart."""
        if not _leave_the_sum_as_it_is(network, barren):
            return None
        row, unit = np.nonzero(barren)
        given = evidence.take(row)._replace(batched=True)
        given.rows[np.arange(len(row)), unit] = 0.0
        pairs = network if network.stack is None else network.take(row)
        keeps, count = given.rows.size <= MOST_KEPT, len(barren)
        kept, seconds = [], np.zeros(count)
        for rows, reduction in reductions(EXACT, pairs, given, prune=True, keep_barren=False):
            for part in reduction.parts:
                seconds += ONE_WAY * planned_sum(part).seconds_by(row[rows[part.rows]], count)
            kept += [(rows, reduction)] if keeps else []
        return cls(pairs, given, row, unit, kept if keeps else None, seconds)

    def take(self, rows: np.ndarray) -> "BarrenRatios":
        """Those of some rows (rows,), which keep their numbers."""
        some = np.flatnonzero(rows[self.row])
        if len(some) == len(self.row):
            return self
        network = self.network if self.network.stack is None else self.network.take(some)
        seconds = np.where(rows, self.row_seconds, 0.0)
        return BarrenRatios(network, self.evidence.take(some), self.row[some], self.unit[some], None, seconds)

    def means(self, means: np.ndarray, log_p: np.ndarray, dtype: str) -> np.ndarray:
        """The means (rows, units) with those of these units; `log_p` (rows,) is that of the evidence alone."""
        log_off, means = np.full(len(self.row), -np.inf), means.copy()
        reduced = self.kept
        if reduced is None:
            reduced = reductions(EXACT, self.network, self.evidence, prune=True, keep_barren=False)
        for rows, reduction in reduced:
            for part in reduction.parts:
                log_off[rows[part.rows]] = part.constant + planned_sum(part).log_totals(dtype)
            log_off[rows[reduction.impossible]] = -np.inf
        possible = np.isfinite(log_p[self.row])
        at = self.row[possible], self.unit[possible]
        means[at] = -np.expm1(np.minimum(log_off[possible] - log_p[at[0]], 0.0))
        return means


def _leave_the_sum_as_it_is(network: BeliefNetwork, barren: np.ndarray) -> bool:
    """Whether all are noisy-or units, none below another: with one of them off there is nothing new to sum over."""
    edges = EdgeList.of(network.storage)
    if (barren[:, edges.child] & barren[:, edges.parent]).any():
        return False
    linear = network.activation.is_linear_off(np.atleast_2d(np.asarray(network.bias)))
    return bool(np.broadcast_to(linear, barren.shape)[barren].all())


class BarrenGroup(NamedTuple):
    """Barren units, and the sum over these and all units above them that gives their means."""

    units: np.ndarray  # (units,)
    seconds: float
    answers: Callable[[str], RowAnswers]  # in this precision


class Predictions(NamedTuple):
    """How the means of barren units are found, and those barren units that would cost too much."""

    groups: list[BarrenGroup]
    missing: np.ndarray  # (units,) or (rows, units)
    ratios: BarrenRatios | None = None

    @property
    def row_seconds(self) -> np.ndarray | float:
        """(rows,): what those of each row would take alone; groups are planned for a single row."""
        return sum(group.seconds for group in self.groups) + (0.0 if self.ratios is None else self.ratios.row_seconds)

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for the user, where some are missing."""
        return (PREDICTED,) if self.missing.any() else ()

    def means(self, found: RowAnswers, dtype: str) -> np.ndarray:
        """The means (rows, units) that were found with those that are predicted."""
        means = np.array(found.means)
        for group in self.groups:
            means[:, group.units] = group.answers(dtype).means[:, group.units]
        return means if self.ratios is None else self.ratios.means(means, -found.free_energy, dtype)


def planned(network: BeliefNetwork, evidence: Evidence, barren: np.ndarray, limit: float) -> Predictions:
    """How the means of these units (units,) are found within so many seconds."""
    return _Planner(network, evidence, barren, limit).plan()


def improved(network: BeliefNetwork, evidence: Evidence, found: RowAnswers, dtype: str) -> RowAnswers:
    """What a method found, with exact means of the barren units of rows in which it knows the parents exactly."""
    rows = np.flatnonzero(found.knows_parents)
    some, piece = evidence.take(rows), network if network.stack is None else network.take(rows)
    predictions = _affordable(piece, some, found.predicted[rows])
    means, predicted = found.means.copy(), found.predicted.copy()
    means[rows] = predictions.means(found.take(rows), dtype)
    predicted[rows] &= predictions.missing
    notes = (*found.notes, *(predictions.notes if predicted[rows].any() else ()))
    return replace(found.with_predicted(predicted), means=means, notes=notes)


def _affordable(network: BeliefNetwork, evidence: Evidence, barren: np.ndarray) -> Predictions:
    """Of these units (rows, units), those that take a short time: row by row where they are noisy-or units."""
    few = network.num_edges * barren.sum(axis=1) <= MOST_PLANNED
    ratios = BarrenRatios.of(network, evidence, barren & few[:, None])
    if ratios is not None:
        quick = few & (ratios.row_seconds <= SHORT)
        return Predictions([], barren & ~quick[:, None], ratios.take(quick))
    patterns = len(grouped(np.asarray(evidence.informed).T))  # rows that observe other units are planned one by one
    limit = min(SHORT * len(barren), SHORT_IN_ALL) if network.num_edges * patterns <= MOST_PLANNED else 0.0
    units = np.asarray(barren.any(axis=0))
    return planned(network, evidence, units, limit) if limit else Predictions([], units)


class TablesInGroups(NamedTuple):
    """A row of evidence of a network of tables: the units above the evidence, and those below it in groups."""

    tables: TableElimination
    predictions: Predictions

    @classmethod
    def of(cls, tables: TableElimination, network: BeliefNetwork, limit: float) -> "TablesInGroups":
        """`tables` of the units above the evidence; the others within so many seconds."""
        units = cast(np.ndarray, tables.units)
        return cls(tables, planned(network, tables.evidence, np.asarray(tables.unseen[0] & ~units), limit))

    @property
    def row_seconds(self) -> np.ndarray:
        return self.tables.row_seconds + self.predictions.row_seconds

    @property
    def dearest(self) -> TableElimination:
        """The part that says what was done."""
        return self.tables

    def answer(self, method: "Exact", network: Network, evidence: Evidence, dtype: str) -> RowAnswers:
        """The exact posterior; of units that would cost too much, as if their parents were independent."""
        network = cast(BeliefNetwork, network)
        found = self.tables.answer(method, network, evidence, dtype)
        if found.status[0] != CONVERGED:
            return found
        means, missing = self.predictions.means(found, dtype), self.predictions.missing[None]
        if not missing.any():
            return replace(found, means=means)
        edges, h = EdgeList.of(network.storage), np.atleast_2d(np.asarray(network.bias, float)).T
        means = predicted(edges, h, network.activation, means.T, missing.T, by_field=False).T
        certain = ~self.tables.unseen
        inexact = missing & ~follow_exactly(edges, ~missing.T, certain.T, missing.T).T
        notes = (*found.notes, *(self.predictions.notes if inexact.any() else ()))
        return replace(found.with_predicted(inexact), means=means.astype(dtype), notes=notes)


class _Planner:
    """Groups from the top downwards: what is out of reach with a unit is so with all units below it.

    What planning takes counts as well, and is predicted, so that the same question always has the same plan.
    """

    def __init__(self, network: BeliefNetwork, evidence: Evidence, barren: np.ndarray, limit: float):
        self.network, self.evidence, self.barren, self.left = network, evidence, barren, limit
        self.edges = EdgeList.of(network.storage)
        self.families = families_of(network)
        self.informed = np.asarray(evidence.informed).T
        self.groups: list[BarrenGroup] = []
        self.covered = np.zeros(len(barren), bool)
        self.out_of_reach = np.zeros(len(barren), bool)

    def plan(self) -> Predictions:
        """All units at once, and otherwise the upper half of them before the lower half, and so on."""
        waiting = [self.edges.graph.depth_first(self.barren)]
        while waiting and self.left > 0:
            some = waiting.pop()
            some = some[~self.covered[some] & ~self.out_of_reach[some]]
            if not len(some):
                continue
            group = self._group(some)
            if group.seconds <= self.left and (len(some) == 1 or group.seconds <= max(LITTLE, len(some) * self._alone)):
                self.groups.append(group)
                self.covered |= group.units
                self.left -= group.seconds
            elif len(some) > 1:
                waiting += [some[len(some) // 2 :], some[: len(some) // 2]]
            else:
                self.out_of_reach |= self.edges.graph.with_descendants(self._mask(some))
        return Predictions(self.groups, self.barren & ~self.covered)

    @cached_property
    def _alone(self) -> float:
        """What the evidence takes without any of them."""
        return self._group(np.zeros(0, int)).seconds

    def _group(self, some: np.ndarray) -> BarrenGroup:
        """These units: a sum over tables, or over what is left of a network when units are summed out by hand."""
        network, evidence, kept = self.network, self.evidence, self._mask(some)
        summed = self.edges.with_ancestors(kept[:, None] | self.informed)  # (units, rows)
        units, covered = np.asarray(summed.any(axis=1)), summed.all(axis=1) & self.barren
        self.left -= PLANNED_UNIT * units.sum()
        if self.families is not None:
            tables = TableElimination(self.families, evidence, units)
            return BarrenGroup(covered, tables.seconds, lambda dtype: tables.answer(EXACT, network, evidence, dtype))
        asked = evidence._replace(wanted=units)
        reduced = list(reductions(EXACT, network, asked, prune=True, keep_barren=False, kept=kept))
        seconds = sum(planned_sum(part).seconds for _, reduction in reduced for part in reduction.parts)
        wanted = evidence._replace(wanted=covered)
        return BarrenGroup(covered, seconds, lambda dtype: recover(EXACT, reduced, network, wanted, dtype))

    def _mask(self, units: np.ndarray) -> np.ndarray:
        mask = np.zeros(self.edges.size, bool)
        mask[units] = True
        return mask
