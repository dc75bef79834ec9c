"""Exact means of barren units, which depend on all of their parents together.

A barren unit adds nothing to ln P(evidence), but with its family in it a sum may be far wider than without. Noisy-or
units are predicted one by one, see ratios.py. Other barren units are summed over in groups, each with the evidence and
all units above it: large groups where that is affordable, and otherwise halves of them, and so on. What either costs is
predicted before it is done.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plefka.evidence import Evidence
from plefka.exact.factors import grouped
from plefka.exact.ratios import EXACT, Ratios
from plefka.exact.ways import Exactly
from plefka.networks.belief import BeliefNetwork
from plefka.posterior import Posterior
from plefka.recovery import of_reduction, reductions
from plefka.reduction.edges import EdgeList
from plefka.reduction.summing import relevant

if TYPE_CHECKING:
    from plefka.reduction.reduce import Reduction

PREDICTED = "units that no observation depends on are predicted as if their parents were independent of each other"
MOST_PLANS, MOST_PLANNED = 64, 2**14  # groups that are looked at, and these times the edges of the network
LITTLE = 0.02  # seconds for which a group is not split
SHORT, SHORT_IN_ALL = 0.1, 1.0  # seconds for a row, and for all rows, where exact inference was not asked for


class Group(NamedTuple):
    """Barren units and all units above them."""

    units: np.ndarray  # (units,)
    reduced: list[tuple[np.ndarray, "Reduction"]]
    seconds: float


class Predictions(NamedTuple):
    """How the means of barren units are found, and those barren units that would cost too much."""

    groups: list[Group]
    missing: np.ndarray  # (units,) or (rows, units)
    ratios: Ratios | None = None

    @property
    def row_seconds(self) -> np.ndarray | float:
        """(rows,): what those of each row would take alone; groups are planned for a single row."""
        return sum(group.seconds for group in self.groups) + (0.0 if self.ratios is None else self.ratios.row_seconds)

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for the user, where some are missing."""
        return (PREDICTED,) if self.missing.any() else ()

    def means(self, network: BeliefNetwork, evidence: Evidence, found: Posterior, dtype: str) -> np.ndarray:
        """The means (rows, units) that were found with those that are predicted."""
        means = np.array(found.means)
        for group in self.groups:
            asked = evidence._replace(wanted=group.units)
            exact = of_reduction(EXACT, group.reduced, network, asked, dtype, jointly=False)
            means[:, group.units] = exact.means[:, group.units]
        return means if self.ratios is None else self.ratios.means(means, -found.free_energy, dtype)


def planned(network: BeliefNetwork, evidence: Evidence, barren: np.ndarray, limit: float) -> Predictions:
    """How the means of these units (units,) are found within so many seconds."""
    planner = _Planner(network, evidence, barren, limit)
    planner.plan()
    return Predictions(planner.groups, barren & ~planner.covered)


def improved(network: BeliefNetwork, evidence: Evidence, found: Posterior, dtype: str) -> Posterior:
    """What a method found, with exact means of the barren units of rows in which it knows the parents exactly."""
    rows, about = np.flatnonzero(found.about.knows_parents), found.about
    some, piece = evidence.take(rows), network if network.stack is None else network.take(rows)
    predictions = _affordable(piece, some, about.predicted[rows])
    means, predicted = found.means.copy(), about.predicted.copy()
    known = found._replace(means=means[rows], free_energy=found.free_energy[rows])
    means[rows] = predictions.means(piece, some, known, dtype)
    predicted[rows] &= predictions.missing
    notes = (*about.notes, *(predictions.notes if predicted[rows].any() else ()))
    return found._replace(means=means, about=replace(about, notes=notes, predicted=predicted, knows_parents=None))


def _affordable(network: BeliefNetwork, evidence: Evidence, barren: np.ndarray) -> Predictions:
    """Of these units (rows, units), those that take a short time: row by row where they are noisy-or units."""
    few = network.num_edges * barren.sum(axis=1) <= MOST_PLANNED
    ratios = Ratios.of(network, evidence, barren & few[:, None])
    if ratios is not None:
        quick = few & (ratios.row_seconds <= SHORT)
        return Predictions([], barren & ~quick[:, None], ratios.take(quick))
    limit = min(SHORT * len(barren), SHORT_IN_ALL) if _is_quickly_planned(network, evidence) else 0.0
    units = np.asarray(barren.any(axis=0))
    return planned(network, evidence, units, limit) if limit else Predictions([], units)


def _is_quickly_planned(network: BeliefNetwork, evidence: Evidence) -> bool:
    """Rows that observe other units are planned one by one."""
    patterns = len(grouped(np.asarray(evidence.informed).T))
    return network.num_edges * patterns <= MOST_PLANNED


class _Planner:
    def __init__(self, network: BeliefNetwork, evidence: Evidence, barren: np.ndarray, limit: float):
        self.network, self.evidence, self.barren, self.limit = network, evidence, barren, limit
        self.edges = EdgeList.of(network.storage)
        self.groups: list[Group] = []
        self.covered = np.zeros(len(barren), bool)
        self.plans = int(np.clip(MOST_PLANNED // max(1, network.num_edges), 1, MOST_PLANS))

    def plan(self) -> None:
        """From the last units upwards: what is above them comes with them, if it is the same in all networks."""
        is_stack = self.network.stack is not None
        last = np.flatnonzero(self.barren if is_stack else self._last_of(self.barren))
        waiting = [last]
        while waiting and self.plans:
            some = waiting.pop()
            some = some[~self.covered[some]]
            if not len(some):
                continue
            group = self._group(some)
            if group.seconds <= max(LITTLE, self.limit * len(some) / len(last)) and group.seconds <= self.limit:
                self._take(group)
            elif len(some) > 1:
                waiting += [some[len(some) // 2 :], some[: len(some) // 2]]
            else:
                above = group.units & self.barren & ~self.covered
                above[some] = False
                waiting.append(np.flatnonzero(self._last_of(above)))

    def _take(self, group: Group) -> None:
        self.groups.append(group)
        self.covered |= group.units
        self.limit -= group.seconds

    def _last_of(self, units: np.ndarray) -> np.ndarray:
        """Those without children among them."""
        parents = self.edges.parent[units[self.edges.child]]
        return units & ~np.isin(np.arange(len(units)), parents)

    def _group(self, some: np.ndarray) -> Group:
        self.plans -= 1
        kept = np.isin(np.arange(self.edges.size), some)
        reduced = list(reductions(EXACT, self.network, self.evidence, prune=True, keep_barren=False, kept=kept))
        seconds = sum(Exactly.of(part).seconds for _, reduction in reduced for part in reduction.parts)
        return Group(relevant(self.edges, kept[:, None]).all(axis=1), reduced, seconds)
