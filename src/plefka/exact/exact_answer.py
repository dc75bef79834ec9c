"""Exact inference: the posterior of a part, and of rows of evidence, with barren units where that is affordable."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np

from plefka.exact import enumeration, machine_enumeration
from plefka.exact.barren import BarrenRatios, Predictions, TablesInGroups, planned
from plefka.exact.chain_units import WithoutChains
from plefka.exact.cost import AS_LONG, DEARER, FEW_STATES, LITTLE_WORK, QUICK, QUICK_TABLES, THOROUGH
from plefka.exact.enumeration import status_of
from plefka.exact.exact_method import Exact
from plefka.exact.groups import elimination_notes
from plefka.exact.state_sum import StateSum, planned_sum
from plefka.exact.states import MOST_SUMMED
from plefka.exact.table_networks import TableElimination, families_of
from plefka.methods.posterior import Posterior, RowAnswers
from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.reduction.by_row import FEW_EDGES
from plefka.reduction.dependence import have_several_parents
from plefka.reduction.or_chains import folded_chains
from plefka.reduction.question import Part
from plefka.reduction.recovery import recover, reductions
from plefka.reduction.reduce import Reduction
from plefka.reduction.traced_reductions import TracedBelief, TracedPairs, TracedReduction

TRACED = {TracedBelief: enumeration.summed_in_trace, TracedPairs: machine_enumeration.summed_in_trace}


def posterior(method: Exact, part: Part, *, dtype: str) -> Posterior:
    """ln P(evidence) and all posterior means, exactly."""
    question, way = part.question, planned_sum(part)
    log_z, means, slopes = way.sums(dtype)
    means = np.where(question.free, np.clip(means, 0.0, 1.0), question.values)
    means = np.where(np.isfinite(log_z), means, np.nan).astype(dtype)
    slope = slopes if part.needs_slope else None
    found = Posterior.of(means, log_z.astype(dtype), slope=slope, is_exact=True, is_bound=True)
    return found._replace(status=status_of(-log_z, np.where))


def traced(method: Exact, reduction: TracedReduction) -> Posterior:
    """Inside a user's trace."""
    return TRACED[type(reduction)](reduction)


class ReducedRows(NamedTuple):
    """Rows of evidence, reduced for exact inference, and what each part of them will cost."""

    reduced: list[tuple[np.ndarray, Reduction]]
    ways: list[StateSum]
    predictions: Predictions | None = None  # of barren units that were left out
    without_barren: list[tuple[np.ndarray, Reduction]] | None = None  # the same rows as other methods need them

    @classmethod
    def of(cls, method: Exact, network: Network, evidence: Evidence, **how: bool) -> "ReducedRows":
        reduced = list(reductions(method, network, evidence, **how))
        return cls(reduced, [planned_sum(part) for _, reduction in reduced for part in reduction.parts])

    @property
    def row_seconds(self) -> np.ndarray:
        """(rows,): what each would take alone, at most; infinite where it is out of reach."""
        total = np.zeros(sum(len(rows) for rows, _ in self.reduced))
        parts = [rows[part.rows] for rows, reduction in self.reduced for part in reduction.parts]
        for rows, way in zip(parts, self.ways, strict=True):
            total[rows] += way.row_seconds
        return total + (self.predictions.row_seconds if self.predictions else 0.0)

    @property
    def for_other_methods(self) -> list[tuple[np.ndarray, Reduction]]:
        """The rows as they are reduced where barren units are predicted afterwards."""
        return self.reduced if self.without_barren is None else self.without_barren

    @property
    def dearest(self) -> StateSum:
        """The part that costs most."""
        return max(self.ways, key=lambda way: way.seconds)

    def answer(self, method: Exact, network: Network, evidence: Evidence, dtype: str) -> RowAnswers:
        """The exact posterior of all rows."""
        found = recover(method, self.reduced, network, evidence, dtype)
        width = max((way.elimination.width for way in self.ways if not way.enumerates), default=0)
        notes, predicted = elimination_notes(width), found.predicted
        if self.predictions is not None:
            means = self.predictions.means(found, dtype)
            found = replace(found, means=means)
            notes, predicted = (*notes, *self.predictions.notes), predicted & self.predictions.missing
        return replace(found.with_predicted(predicted), notes=notes)


class AlikeRows(NamedTuple):
    """Rows that have the same answer together as alone."""

    rows: np.ndarray
    network: Network
    evidence: Evidence
    question: ReducedRows | TableElimination | TablesInGroups | WithoutChains

    def answer(self, method: Exact, dtype: str) -> RowAnswers:
        return self.question.answer(method, self.network, self.evidence, dtype)


def in_blocks(
    method: Exact, network: Network, evidence: Evidence, *, prune: bool, budget: float = np.inf
) -> Iterator[AlikeRows]:
    """All rows; those that may take more than the budget, or need a plan of their own, one by one."""
    tried = may_keep_barren(network, evidence)
    waiting = [np.flatnonzero(tried), np.flatnonzero(~tried)]
    while waiting:
        rows = waiting.pop()
        if not len(rows):
            continue
        piece = network if network.stack is None else network.take(rows)
        some = evidence if len(rows) == len(evidence.rows) else evidence.take(rows)
        question, apart = plan_rows(method, piece, some, prune=prune, budget=budget)
        apart = apart | (question.row_seconds > budget)
        if len(rows) > 1 and apart.any():
            waiting += [rows[~apart], *rows[apart][:, None]]
        else:
            yield AlikeRows(rows, piece, some, question)


def plan_rows(
    method: Exact, network: Network, evidence: Evidence, *, prune: bool, budget: float
) -> tuple[ReducedRows | TableElimination | TablesInGroups | WithoutChains, np.ndarray]:
    """How rows will be summed over, and which of them (rows,) need a plan of their own, where there are several.

    From the tables of all units where there are some, and it does not cost far more than the other way. A row that
    takes long is asked without its chains of ORs.
    """
    found, apart = _planned_rows(method, network, evidence, prune=prune, budget=budget)
    if len(apart) > 1:
        return found, apart | (found.row_seconds == np.inf)
    if not prune or not network.is_normalised or found.row_seconds[0] <= QUICK:
        return found, apart
    folded = folded_chains(cast(BeliefNetwork, network), evidence)
    if folded is None:
        return found, apart
    other = WithoutChains(folded, _reduced(method, folded.network, folded.evidence, prune=True, budget=budget)[0])
    return (other, apart & False) if other.row_seconds[0] < found.row_seconds[0] else (found, apart)


def _planned_rows(
    method: Exact, network: Network, evidence: Evidence, *, prune: bool, budget: float
) -> tuple[ReducedRows | TableElimination | TablesInGroups, np.ndarray]:
    """With all units."""
    if not network.is_normalised:  # no unit is barren
        return ReducedRows.of(method, network, evidence, prune=prune), np.zeros(len(evidence.rows), bool)
    network = cast(BeliefNetwork, network)
    families = families_of(network)
    if families is None:
        return _reduced(method, network, evidence, prune=prune, budget=budget)
    by_tables = TableElimination(families, evidence)
    enough = min(budget, QUICK if network.given_tables is None else QUICK_TABLES)
    dear = by_tables.row_seconds > enough
    if not dear.any() or len(dear) > 1:
        return by_tables, dear
    informed = np.asarray(evidence.informed).T
    above = TableElimination(families, evidence, EdgeList.of(network.storage).with_ancestors(informed)[:, 0])
    if above.seconds > enough:
        other, apart = _reduced(method, network, evidence, prune=prune, budget=budget)
        (seconds,) = other.row_seconds
        limit = seconds * (1 if network.given_tables is None else DEARER)
        if by_tables.seconds <= min(limit, max(budget, seconds)):
            return by_tables, apart
        if above.seconds > min(limit, max(budget, seconds)) or above.seconds == np.inf:
            return other, apart
    return TablesInGroups.of(above, network, min(budget, THOROUGH) - above.seconds), dear & False


def _reduced(
    method: Exact, network: BeliefNetwork, evidence: Evidence, *, prune: bool, budget: float
) -> tuple[ReducedRows, np.ndarray]:
    """Without barren units, which are then predicted, or with them; and which rows must be asked alone."""
    none = np.zeros(len(evidence.rows), bool)
    if not prune:
        return ReducedRows.of(method, network, evidence, prune=False), none
    if _has_few_states(network, evidence):
        whole = ReducedRows.of(method, network, evidence, prune=True, keep_barren=True)
        if (whole.row_seconds <= budget).all():  # or else it is other methods that need the rows
            return whole, none
    small = ReducedRows.of(method, network, evidence, prune=True, keep_barren=False)
    may_keep = may_keep_barren(network, evidence)
    barren = _with_dependent_parents(small, network, evidence, quickly=bool(may_keep.all()))
    if not barren.any():
        return small, none
    if not may_keep.all():
        return small._replace(predictions=Predictions([], barren)), none
    return _with_barren(method, network, evidence, (small, barren), budget)


def _has_few_states(network: BeliefNetwork, evidence: Evidence) -> bool:
    """Whether a sum over the states of all hidden units takes no longer than looking for another way would."""
    hidden = np.isnan(evidence.rows) & (network.storage.num_children() > 0)
    most = int(hidden.sum(axis=1).max(initial=0))
    work = network.size * 2 ** min(most, MOST_SUMMED)
    return work <= FEW_STATES and work * len(hidden) <= LITTLE_WORK


def _with_barren(
    method: Exact, network: BeliefNetwork, evidence: Evidence, without: tuple[ReducedRows, np.ndarray], budget: float
) -> tuple[ReducedRows, np.ndarray]:
    """As ratios, as part of the sum, or in groups: what takes least, within a limit for each row.

    Where exact inference was asked for, that is as long as it takes; `auto` pays for it only where it is cheap beside
    the answer itself.
    """
    small, barren = without
    alone = small.row_seconds
    if (alone > budget).any() or (alone == np.inf).any():
        return small, (alone > budget) | (alone == np.inf)
    limit = np.minimum(budget - alone, np.inf if budget == np.inf else np.maximum(QUICK, AS_LONG * alone))
    ratios = BarrenRatios.of(network, evidence, barren)
    ways = [] if ratios is None else [small._replace(predictions=Predictions([], barren & False, ratios))]
    if not ways or (len(barren) == 1 and ways[0].row_seconds[0] - alone[0] > min(limit[0], QUICK)):
        whole = ReducedRows.of(method, network, evidence, prune=True, keep_barren=True)
        ways.append(whole._replace(without_barren=small.reduced))
    seconds = np.stack([way.row_seconds - alone for way in ways])
    dear = seconds > np.minimum(limit, QUICK)
    best = int(np.argmin(seconds.sum(axis=1)))
    if len(barren) > 1 or not dear[best].any():
        return ways[best], dear[best]
    in_groups = planned(network, evidence, barren[0], float(min(limit[0], THOROUGH, seconds[best, 0])))
    if in_groups.missing.any() and seconds[best, 0] <= limit[0] and seconds[best, 0] < np.inf:
        return ways[best], dear[best]
    return small._replace(predictions=in_groups), dear[best]


def _with_dependent_parents(
    small: ReducedRows, network: BeliefNetwork, evidence: Evidence, *, quickly: bool
) -> np.ndarray:
    """Barren units (rows, units) of rows in which any of them has parents that depend on each other, or may have."""
    found = np.zeros(evidence.rows.shape, bool)
    for rows, reduction in small.reduced:
        if not reduction.has_barren:
            continue
        binds = reduction.barren_parents_depend if quickly else np.ones(len(rows), bool)
        for part in reduction.parts:
            found[rows[part.rows]] = (reduction.barren_of(part) & binds[part.rows]).T
    return found & have_several_parents(EdgeList.of(network.storage)) if found.any() else found


def may_keep_barren(network: Network, evidence: Evidence) -> np.ndarray:
    """For each row, whether it is tried.

    A network of many edges takes long to plan for, and only to find that its barren units cannot be kept.
    """
    children = network.storage.num_children()
    if children.sum() < FEW_EDGES or not network.is_normalised:
        return np.ones(len(evidence.rows), bool)
    hidden = np.isnan(np.asarray(evidence.rows)) & (children > 0)
    return hidden.sum(axis=1) <= MOST_SUMMED


def answer(method: Exact, network: Network, evidence: Evidence, *, prune: bool, dtype: str) -> RowAnswers:
    """The exact posterior of all rows."""
    blocks = list(in_blocks(method, network, evidence, prune=prune))
    found = [block.answer(method, dtype) for block in blocks]
    if len(found) == 1:
        return found[0]
    return RowAnswers.join(found, np.argsort(np.concatenate([block.rows for block in blocks])))
