"""Exact means of barren units as ratios: P(off | evidence) = P(off, evidence) / P(evidence).

A noisy-or unit that is observed off multiplies a number to each of its parents and binds none of them together. So a
barren unit takes one more sum of the kind that ln P(evidence) has taken, with tables that are no wider, of which only
the way there is gone. All barren units of all rows are rows of one batch.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plefka.exact.cost import ONE_WAY
from plefka.exact.exact_method import Exact
from plefka.exact.state_sum import planned_sum
from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import Evidence
from plefka.reduction.recovery import reductions

if TYPE_CHECKING:
    from plefka.reduction.reduce import Reduction

EXACT = Exact("exact")
MOST_KEPT = 2**20  # units times rows of which all that was reduced is kept until it is done


class BarrenRatios(NamedTuple):
    """Barren units of some rows, of which P(off, evidence) is summed over."""

    network: BeliefNetwork
    evidence: Evidence  # a row for each pair
    row: np.ndarray  # (pairs,)
    unit: np.ndarray  # (pairs,)
    kept: "list[tuple[np.ndarray, Reduction]] | None"
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
        for rows, reduction in self._reduced():
            for part in reduction.parts:
                log_off[rows[part.rows]] = part.constant + planned_sum(part).log_totals(dtype)
            log_off[rows[reduction.impossible]] = -np.inf
        possible = np.isfinite(log_p[self.row])
        at = self.row[possible], self.unit[possible]
        means[at] = -np.expm1(np.minimum(log_off[possible] - log_p[at[0]], 0.0))
        return means

    def _reduced(self) -> "Iterator[tuple[np.ndarray, Reduction]]":
        if self.kept is not None:
            return iter(self.kept)
        return reductions(EXACT, self.network, self.evidence, prune=True, keep_barren=False)


def _leave_the_sum_as_it_is(network: BeliefNetwork, barren: np.ndarray) -> bool:
    """Whether all are noisy-or units, none below another: with one of them off there is nothing new to sum over."""
    edges = EdgeList.of(network.storage)
    if (barren[:, edges.child] & barren[:, edges.parent]).any():
        return False
    linear = network.activation.is_linear_off(np.atleast_2d(np.asarray(network.bias)))
    return bool(np.broadcast_to(linear, barren.shape)[barren].all())
