"""Rows whose evidence speaks of different, small parts of a large network: each is reduced by itself, all in one go.

The relevant parts of all rows are the parts of one graph that has no edges between them: a unit of it is a unit of the
network in one row. What is reduced there as one row comes apart again into questions, one for each row, and those of
about the same size are asked together.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from plefka.methods.posterior import JointDraws
from plefka.networks.belief import BeliefNetwork
from plefka.networks.blocks import Blocks
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import Evidence
from plefka.networks.index_arrays import mask_of, places_of, ranges
from plefka.networks.parent_table import ParentTable
from plefka.networks.storage import Storage
from plefka.reduction.barren_draws import Averages, Uniforms, chances, with_summed
from plefka.reduction.barren_means import predicted
from plefka.reduction.certainty import Certain, certain
from plefka.reduction.compact_storage import lay_out
from plefka.reduction.cutting import FILLER_BIAS, Remains, remains
from plefka.reduction.ladder import COARSE, rung
from plefka.reduction.question import BeliefModel, Part, Question
from plefka.reduction.summing import Given, Reduced, recovered, reduced

FEW_EDGES = 4096  # a network with fewer of them is asked for all rows together
MANY_EDGES, FEW_OF_MANY = 2**18, 16  # with more of them, a single row that is about one in so many is reduced alone
MOST_DENSE = 48  # units of a part with several levels that is stored as a full matrix


def should_reduce_by_row(network: BeliefNetwork, evidence: Evidence) -> bool:
    """Whether rows of a large network differ in the units that they observe, or one of a huge one observes few."""
    if network.stack is not None or network.num_edges < FEW_EDGES:
        return False
    if network.activation.mixes_kinds:  # a row by itself is stored as if its units had many parents
        return False
    informed = np.asarray(evidence.informed)
    if not informed.any():  # nothing is relevant, and there is no question to divide
        return False
    if len(informed) > 1:
        return bool((informed != informed[0]).any())
    if network.num_edges < MANY_EDGES:
        return False
    child = network.storage.edge_list()[0]
    return bool(np.count_nonzero(informed[0][child]) * FEW_OF_MANY < network.num_edges)


def reduce_by_row(network: BeliefNetwork, evidence: Evidence, kept: Any) -> "ReducedByRow":
    """Every row by itself."""
    edges = EdgeList.of(network.storage)
    informed = np.asarray(evidence.informed) | kept
    row, unit, edge, child, parent = edges.graph.ancestors_by_row(informed)
    flat = EdgeList(child, parent, edges.weight[edge], len(unit))
    h = np.asarray(network.bias, float)[unit, None]
    known = np.asarray(evidence.rows, float)[row, unit, None]
    tilt = np.zeros(known.shape) if evidence.tilt is None else np.asarray(evidence.tilt, float)[row, unit, None]
    sure = certain(flat, h, network.activation, known)
    impossible = mask_of(row[(sure.unexplained | sure.contradicted)[:, 0]], len(evidence.rows))
    known = np.where(impossible[row, None], known, sure.known)
    given = Given(flat, h, network.activation, known, tilt)
    named = False if np.ndim(kept) == 0 else np.asarray(kept)[unit, None]
    left = reduced(given, keep_barren=True, kept=named)  # there are none: all are above what is known
    rest = remains(given, left, each_is_a_row=True)
    rows, wanted = np.asarray(evidence.rows), evidence.wanted
    return ReducedByRow(network, edges, rows, row, unit, given, left, rest, sure, impossible, kept, wanted)


@dataclass(frozen=True, eq=False)
class ReducedByRow:
    """Questions of rows that share nothing but the network; units of the union of all rows are numbered through."""

    network: BeliefNetwork
    edges: EdgeList  # of the network
    rows: np.ndarray
    row: np.ndarray  # of every unit of the union
    unit: np.ndarray  # of the network
    given: Given
    left: Reduced
    rest: Remains
    certain: Certain
    contradictory: np.ndarray  # (rows,)
    named: Any
    wanted: Any  # (units of the network,): those whose means are asked for, and all above them; None for all units

    @cached_property
    def constant(self) -> np.ndarray:
        """(rows,): ln of all that was taken out of each row."""
        return np.bincount(self.row, self.rest.constant, len(self.rows))

    @property
    def impossible(self) -> np.ndarray:
        return self.contradictory | np.isneginf(self.constant)

    @property
    def has_barren(self) -> bool:
        """Whether there are units that nothing known depends on: those are not part of the union."""
        return len(self.unit) < self.rows.size

    @property
    def deterministic_rows(self) -> np.ndarray:
        """The rows with edges of probability one between hidden units."""
        return mask_of(self.row[self.certain.deterministic[:, 0]], len(self.rows))

    @cached_property
    def parts(self) -> list[Part]:
        """Rows with what is left of about the same size, together."""
        kept = np.flatnonzero(self.rest.kept[:, 0])
        edges = self.rest.edges.between(kept)
        return [self._part(kept, edges, *group) for group in self._groups(kept, edges)]

    def _groups(self, kept: np.ndarray, edges: EdgeList):
        """(rows, sizes of two layers, or of one matrix, or None) of all rows."""
        row, child = self.row[kept], mask_of(edges.child, len(kept))
        several_levels = mask_of(row[edges.parent[child[edges.parent]]], len(self.rows))
        above, below = (np.bincount(row[which], minlength=len(self.rows)) for which in (~child, child))
        total = above + below
        parents = np.bincount(edges.child, minlength=len(kept))
        widest = np.zeros(len(self.rows), int)
        np.maximum.at(widest, row, parents)
        shapes: dict[Any, list[int]] = {}
        for k in range(len(self.rows)):
            if not several_levels[k]:
                shape: Any = tuple(max(rung(int(count[k])), COARSE[0]) for count in (above, below, widest))
            else:
                shape = rung(int(total[k])) if total[k] <= MOST_DENSE else ("alone", k)
            shapes.setdefault(shape, []).append(k)
        for shape, rows in shapes.items():
            yield np.array(rows), shape

    def _part(self, kept: np.ndarray, edges: EdgeList, rows: np.ndarray, shape: Any) -> Part:
        of_row = places_of(rows, len(self.rows))[self.row[kept]]
        members = np.flatnonzero(of_row >= 0)
        inside = of_row[edges.child] >= 0
        some = edges.take(inside)
        slot, storage, searched = _stored(
            some, members, of_row, len(rows), shape, self.rest.free[kept, 0], self.network
        )
        size = storage.size
        question = self._question(kept[members], slot[members], of_row[members], (size, len(rows)), storage, searched)
        units = np.full((size, len(rows)), -1)
        units[slot[members], of_row[members]] = self.unit[kept[members]]
        constant = np.where(np.isneginf(self.constant[rows]), 0.0, self.constant[rows])
        needs_slope = self.given.activation.has_linear_log_off
        question = replace(question, constant=constant)
        return Part(rows, question, constant, units, needs_slope, self.named if np.ndim(self.named) else None)

    def _question(self, members, slot, row, shape, storage: Storage, searched: int) -> Question:
        def filled(values: np.ndarray, filler: float | bool) -> np.ndarray:
            out = np.full(shape, filler, values.dtype)
            out[slot, row] = values[members, 0]
            return out

        rest = self.rest
        model = BeliefModel(storage, filled(rest.h, FILLER_BIAS), self.given.activation, filled(rest.kept, False))
        return Question(model, filled(rest.free, False), filled(rest.values, 0.0), filled(rest.tilt, 0.0), searched)

    def restored(self, part: Part, means: np.ndarray, slope: np.ndarray | None) -> tuple[np.ndarray, Any]:
        """The means (units, rows) of all units, nan where barren; of the rows of one part."""
        number = places_of(part.rows, len(self.rows))
        there = number[self.row] >= 0
        full = self.rows[part.rows].T
        column, unit = number[self.row[there]], self.unit[there]
        flat = self._flat(part, means, np.nan)
        found = np.where(self.given.hidden & self.left.counted, flat, self.given.known)
        if slope is not None and self.left.summed.any():
            own = np.where(self.rest.slope != 0, self.rest.slope, self._flat(part, slope, 0.0))
            own = np.where(there[:, None], own, 0.0)
            found = np.where(self.left.summed, recovered(self.given, self.left, own)[0], found)
        full[unit, column] = found[there, 0]
        return full, None

    def _flat(self, part: Part, values: np.ndarray, otherwise: float) -> np.ndarray:
        """From (units of the question, rows, or more) to the units of the union, (units, 1 or more)."""
        slot, column = np.nonzero(part.units >= 0)
        keys = self.row * self.network.size + self.unit
        at = np.searchsorted(keys, part.rows[column] * self.network.size + part.units[slot, column])
        out = np.full((len(keys), *(values.shape[2:] or (1,))), otherwise)
        out[at] = values[slot, column].reshape(len(at), out.shape[1])
        return out

    def predicted(self, part: Part, means: np.ndarray, *, by_field: bool) -> np.ndarray:
        """The means (units, rows) with those of barren units that are wanted, of the rows of one part."""
        h, barren = np.asarray(self.network.bias, float)[:, None], self.barren_of(part)
        return predicted(self.edges, h, self.network.activation, means, barren, by_field=by_field)

    def averages(self, part: Part, draws: JointDraws) -> Averages:
        """Over draws of the question's states."""
        barren, uniforms, h = self.barren_of(part), Uniforms(draws), np.asarray(self.network.bias, float)
        column, sums = places_of(part.rows, len(self.rows)), []
        there, free = column[self.row] >= 0, self.given.hidden & self.left.counted
        for some in uniforms.chunks(barren.size):
            S = np.where(free, self._flat(part, np.moveaxis(draws.states[some], 0, -1), np.nan), self.given.known)
            S = with_summed(self.given, self.left, S[:, None], uniforms, self.unit)
            full = np.repeat(self.rows[part.rows].T[:, :, None], S.shape[2], axis=2)
            full[self.unit[there], column[self.row[there]]] = S[there, 0]
            found = chances(self.edges, h[:, None], self.network.activation, full, barren, uniforms)
            sums.append((*found, full.sum(axis=2)))
        return Averages.over(sums, uniforms.count)

    def barren_of(self, part: Part) -> np.ndarray:
        """The barren units (units, rows) that are wanted, of the rows of one part."""
        shape = (len(self.rows), self.network.size)
        barren = np.ones(shape, bool) if self.wanted is None else np.tile(self.wanted, (shape[0], 1))
        barren[self.row, self.unit] = False
        return barren[part.rows].T

    def certain_of(self, part: Part) -> np.ndarray:
        """The units (units, rows) whose state was observed, or follows from what was, of the rows of one part."""
        certain = ~np.isnan(self.rows)
        certain[self.row, self.unit] = ~self.given.hidden[:, 0]
        return certain[part.rows].T

    @property
    def barren_parents_depend(self) -> np.ndarray:
        """(rows,): whether any of them may have parents that depend on each other: in a large network, they may."""
        return np.ones(len(self.rows), bool)


def _stored(edges: EdgeList, members, of_row, count: int, shape: Any, free: np.ndarray, network: BeliefNetwork):
    """Where every unit is in its question, the weights of all rows, and how many units are searched."""
    slot = np.full(len(of_row), -1)
    if isinstance(shape, tuple) and shape[0] == "alone":
        place = places_of(members, len(of_row))
        alone = EdgeList(place[edges.child], place[edges.parent], edges.weight, len(members))
        layout = lay_out(alone, free[members], None, 1, network.activation)
        slot[members] = layout.place
        return slot, layout.storage, layout.num_searched
    if isinstance(shape, tuple):
        above, below, positions = shape
        child = mask_of(edges.child, len(of_row))
        searched = above + below if free[members[child[members]]].any() else above
        for which, first in ((~child, 0), (child, above)):
            some = members[which[members]]
            order = some[np.argsort(of_row[some], kind="stable")]
            slot[order] = first + ranges(np.bincount(of_row[order], minlength=count))
        if 2 * positions >= above:
            W = np.zeros((count, below, above))
            W[of_row[edges.child], slot[edges.child] - above, slot[edges.parent]] = edges.weight[:, 0]
            return slot, Blocks.layered([W], (above, below)), searched
        return slot, _table(edges, of_row, slot, (count, above, below, positions)), searched
    order = members[np.argsort(of_row[members], kind="stable")]
    slot[order] = ranges(np.bincount(of_row[order], minlength=count))
    W = np.zeros((count, shape, shape))
    W[of_row[edges.child], slot[edges.child], slot[edges.parent]] = edges.weight[:, 0]
    return slot, Blocks.dense(W), shape


def _table(edges: EdgeList, of_row: np.ndarray, slot: np.ndarray, shape: tuple[int, int, int, int]) -> ParentTable:
    """Two layers as tables of parents, a different one for each row."""
    count, above, below, positions = shape
    order = np.argsort(edges.child, kind="stable")
    child, parent = edges.child[order], edges.parent[order]
    position = ranges(np.unique(child, return_counts=True)[1])
    weights, parents = np.zeros((count, positions, below)), np.zeros((count, positions, below), np.int32)
    at = (of_row[child], position, slot[child] - above)
    weights[at], parents[at] = edges.weight[order, 0], slot[parent]
    children = np.arange(above, above + below, dtype=np.int32)
    return ParentTable(weights=weights, parent=parents, child=children, size=above + below)
