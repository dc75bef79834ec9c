"""Exact inference: the posterior of a part, and of rows of evidence, with barren units where that is affordable."""

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from plefka.evidence import Evidence
from plefka.exact.enumeration import MOST_HIDDEN, status_of
from plefka.exact.enumeration import traced as traced
from plefka.exact.predictions import Predictions, planned
from plefka.exact.tables import OfTables, families_of
from plefka.exact.ways import Exactly
from plefka.networks.belief import BeliefNetwork
from plefka.networks.network import Network
from plefka.posterior import About, Posterior
from plefka.recovery import of_reduction, reductions
from plefka.reduction.by_row import FEW_EDGES
from plefka.reduction.reduce import Reduction

if TYPE_CHECKING:
    from plefka.methods import Exact
    from plefka.reduction.reduce import Part

QUICK, NOT_LONG = 0.3, 3.0  # seconds for which no other way is looked for: of any tables, and of those of a file
DEARER = 30  # times as long may be taken for the numbers of a file as they are, and not as compact units have them


def posterior(method: "Exact", part: "Part", *, dtype: str) -> Posterior:
    """ln P(evidence) and all posterior means, exactly."""
    question, way = part.question, Exactly.of(part)
    log_z, means, slopes = way.sums(dtype)
    means = np.where(question.free, np.clip(means, 0.0, 1.0), question.values)
    means = np.where(np.isfinite(log_z), means, np.nan).astype(dtype)
    steps = np.zeros(question.num_rows, int)
    about = About(True, is_exact=True, exact_rows=lambda: np.ones(question.num_rows, bool))
    slope = slopes if part.needs_slope else None
    return Posterior(means, -log_z.astype(dtype), status_of(-log_z, np.where), steps, steps, steps * 0.0, slope, about)


class Asked(NamedTuple):
    """Rows of evidence, reduced for exact inference, and what each part of them will cost."""

    reduced: list[tuple[np.ndarray, Reduction]]
    ways: list[Exactly]
    predictions: Predictions | None = None  # of barren units that were left out

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user about barren units that would cost too much."""
        return self.predictions.notes if self.predictions else ()

    @property
    def seconds(self) -> float:
        """For all rows; infinite where it is out of reach."""
        return sum(way.seconds for way in self.ways) + (self.predictions.seconds if self.predictions else 0.0)

    @property
    def row_seconds(self) -> float:
        """What the dearest row would take alone, at most; infinite where one of them is out of reach."""
        return max((way.row_seconds for way in self.ways), default=0.0)

    @property
    def dearest(self) -> Exactly:
        """The part that costs most."""
        return max(self.ways, key=lambda way: way.seconds)

    def answer(self, method: "Exact", network: Network, evidence: Evidence, dtype: str) -> Posterior:
        """The exact posterior of all rows."""
        found = of_reduction(method, self.reduced, network, evidence, dtype, jointly=False)
        notes, predicted = self._by_elimination(), found.about.predicted
        if self.predictions is not None:
            found = found._replace(
                means=self.predictions.means(cast(BeliefNetwork, network), evidence, found.means, dtype)
            )
            notes, predicted = (*notes, *self.notes), predicted & self.predictions.missing
        return found._replace(about=replace(found.about, notes=notes, predicted=predicted))

    def _by_elimination(self) -> tuple[str, ...]:
        """A sentence for the user, where units with several others were summed over."""
        width = max((way.elimination.width for way in self.ways if not way.enumerates), default=0)
        return (f"summed by elimination, with tables of up to 2^{width} entries",) if width else ()


def asked(
    method: "Exact", network: Network, evidence: Evidence, *, prune: bool, budget: float = np.inf
) -> Asked | OfTables:
    """From the tables of all units where there are some, and it does not cost far more than the other way."""
    if not network.is_normalised:  # no unit is barren
        return _asked(list(reductions(method, network, evidence, prune=prune)))
    network = cast(BeliefNetwork, network)
    families = families_of(network)
    if families is None:
        return _reduced(method, network, evidence, prune=prune, budget=budget)
    by_tables = OfTables(families, evidence)
    if by_tables.seconds <= min(budget, QUICK if network.given_tables is None else NOT_LONG):
        return by_tables
    other = _reduced(method, network, evidence, prune=prune, budget=budget)
    limit = other.seconds * (1 if network.given_tables is None else DEARER)
    return by_tables if by_tables.seconds <= min(limit, max(budget, other.seconds)) else other


def _reduced(method: "Exact", network: BeliefNetwork, evidence: Evidence, *, prune: bool, budget: float) -> Asked:
    """With barren units, whose exact means depend on all of their parents together; without, if that costs too much.

    They are then predicted: in groups as far as that is affordable.
    """
    whole, may_keep = None, bool(may_keep_barren(network, evidence).all())
    if not prune or may_keep:
        whole = _asked(list(reductions(method, network, evidence, prune=prune)))
        if not prune or whole.seconds <= min(budget, QUICK):
            return whole
    small = _asked(list(reductions(method, network, evidence, prune=True, keep_barren=False)))
    barren = _with_dependent_parents(small, network, evidence, quickly=may_keep)
    affordable = np.inf if whole is None else whole.seconds
    limit = min(budget, affordable, NOT_LONG * len(evidence.rows)) - small.seconds if may_keep else 0.0
    predictions = planned(network, evidence, barren, limit) if limit > 0 else Predictions([], barren)
    if whole is not None and predictions.missing.any() and whole.seconds < np.inf and whole.seconds <= budget:
        return whole
    return small._replace(predictions=predictions)


def _with_dependent_parents(small: Asked, network: Network, evidence: Evidence, *, quickly: bool) -> np.ndarray:
    """Barren units (units,) of rows in which any of them has parents that depend on each other, or may have."""
    found = np.zeros(network.size, bool)
    for _, reduction in small.reduced:
        if not reduction.has_barren:
            continue
        binds = reduction.binds_barren(evidence.wanted) if quickly else np.ones(len(evidence.rows), bool)
        for part in reduction.parts:
            found |= (reduction.barren_of(part, evidence.wanted) & binds[part.rows]).any(axis=1)
    return found


def _asked(reduced: list[tuple[np.ndarray, Reduction]]) -> Asked:
    return Asked(reduced, [Exactly.of(part) for _, reduction in reduced for part in reduction.parts])


def may_keep_barren(network: Network, evidence: Evidence) -> np.ndarray:
    """For each row, whether it is tried.

    A network of many edges takes long to plan for, and only to find that its barren units cannot be kept.
    """
    children = network.storage.num_children()
    if children.sum() < FEW_EDGES or not network.is_normalised:
        return np.ones(len(evidence.rows), bool)
    hidden = np.isnan(np.asarray(evidence.rows)) & (children > 0)
    return hidden.sum(axis=1) <= MOST_HIDDEN


def answer(method: "Exact", network: Network, evidence: Evidence, *, prune: bool, dtype: str) -> Posterior:
    """The exact posterior of all rows."""
    return asked(method, network, evidence, prune=prune).answer(method, network, evidence, dtype)
