"""Where barren units have parents that depend on each other, so that the means of the parents do not say all of it.

Units and factors are a graph; a factor is shared by a unit and its parents, and one that is linear in them binds none.
Barren units that close no loop of it have parents in separate parts: these are independent of each other.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from plefka.networks.edge_list import EdgeList
from plefka.networks.graph import Graph
from plefka.reduction.question import Question
from plefka.reduction.summing import Given
from plefka.runtime.value_cache import cached_for

MEAN_ROUNDING = 1e-13  # of a mean, by which a further step may still change it where the answer is called exact


class _Graphs(NamedTuple):
    """Links between units and factors, the latter numbered behind all units, of a graph for each row."""

    row: np.ndarray
    unit: np.ndarray
    factor: np.ndarray
    shape: tuple[int, int]  # units, rows

    @classmethod
    def of(cls, edges: EdgeList, uncertain: np.ndarray, binding: np.ndarray) -> "_Graphs":
        """`uncertain`, `binding`: (units, rows), the units that may be in both states, and whose factor binds them."""
        there = uncertain[edges.parent] & binding[edges.child] & (edges.weight != 0)
        edge, row = np.nonzero(there)
        own, own_row = np.nonzero(uncertain & binding)
        unit, factor = np.r_[edges.parent[edge], own], np.r_[edges.child[edge], own]
        return cls(np.r_[row, own_row], unit, factor, uncertain.shape)

    def surplus(self) -> np.ndarray:
        """(rows,): how many links could be cut without taking a part of the graph apart."""
        size, count = self.shape
        return _surplus(self.row, self.unit, size + self.factor, (2 * size, count))


def _surplus(row: np.ndarray, one: np.ndarray, other: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """(rows,): of links from one node to another, how many could be cut without taking a part of the graph apart."""
    nodes, count = shape
    parts, label = Graph(row * nodes + one, row * nodes + other, nodes * count).components()
    row_of_part = np.zeros(parts, int)
    row_of_part[label] = np.arange(nodes * count) // nodes
    links, separate = (np.bincount(z, minlength=count) for z in (row, row_of_part))
    return links - (nodes - separate)


def barren_parents_depend(given: Given, relevant: Any, barren: np.ndarray) -> np.ndarray:
    """(rows,): whether any of the barren units (units, rows) has parents that depend on each other."""
    binding, rows = given.has_nonlinear_energy(relevant), np.arange(barren.shape[1])
    edges, uncertain = given.edges.of_rows(np.r_[rows, rows]), np.hstack([given.hidden, given.hidden])
    both = _Graphs.of(edges, uncertain, np.hstack([binding & ~barren, binding | barren])).surplus()
    without, those = np.split(both, 2)
    return those > without


def where_converged(known: Callable[[Question], Any], question: Question, residual: np.ndarray) -> np.ndarray:
    """(rows,): where a further step would change nothing, and where this is known of a question with these rows."""
    found, rows = np.zeros(question.num_rows, bool), np.flatnonzero(residual <= MEAN_ROUNDING)
    found[rows] = known(question.take(rows)) if rows.size else False
    return found


def without_loops(question: Question) -> np.ndarray:
    """(rows,): whether the factors of a question form trees, on which messages are exact."""
    graphs = _graphs_of(question)
    few = np.bincount(graphs.row, minlength=question.num_rows) < 2 * len(question.free)
    return graphs.surplus() == 0 if few.any() else few


def without_pairs(question: Question) -> np.ndarray:
    """(rows,): whether no factor of a question binds two free units, so that these are independent of each other."""
    graphs, (size, count) = _graphs_of(question), question.free.shape
    bound = np.bincount(graphs.row * size + graphs.factor, minlength=size * count)  # units, by each factor
    return bound.reshape(count, size).max(axis=1, initial=0) <= 1


def coupled_in_trees(question: Question) -> np.ndarray:
    """(rows,): whether the couplings between the free units of a Boltzmann machine form no loop."""
    edge, row, edges = _couplings(question)
    few = np.bincount(row, minlength=question.num_rows) < question.size
    if not few.any():
        return few
    return _surplus(row, edges.parent[edge], edges.child[edge], (question.size, question.num_rows)) == 0


def uncoupled(question: Question) -> np.ndarray:
    """(rows,): whether there is no coupling between the free units of a Boltzmann machine."""
    return np.bincount(_couplings(question)[1], minlength=question.num_rows) == 0


def _couplings(question: Question) -> tuple[np.ndarray, np.ndarray, EdgeList]:
    """Which couplings there are between free units, and in which rows."""
    edges, free = EdgeList.of(question.storage), np.asarray(question.free)
    edge, row = np.nonzero(free[edges.parent] & free[edges.child] & (edges.weight != 0))
    return edge, row, edges


def _graphs_of(question: Question) -> _Graphs:
    """Of the free units; a unit that is off binds none of its parents where that is linear in them."""
    model, edges, free = question.model, EdgeList.of(question.storage), np.asarray(question.free)
    linear = np.broadcast_to(model.activation.is_linear_off(model.h), free.shape)
    return _Graphs.of(edges, free, np.asarray(model.counted) & ~(~free & (question.values == 0) & linear))


def follow_exactly(edges: EdgeList, exact: np.ndarray, certain: np.ndarray, barren: np.ndarray) -> np.ndarray:
    """(units, rows): barren units whose mean is exact: those of their parents are, and one is uncertain at most.

    `exact`, `certain`: (units, rows), what is known of all other units.
    """

    def ends(xp, w, exact, uncertain):
        there = xp.where(w != 0, 1.0, 0.0)
        return there * (1 - exact), there * uncertain

    def unit(xp, inexact, uncertain, exact, barren):
        return xp.where(barren > 0, xp.where((inexact > 0) | (uncertain > 1), 0.0, 1.0), exact)

    own = (exact * 1.0, barren * 1.0)
    return barren & (edges.descend(ends, unit, (~certain * 1.0,), own) > 0)


def have_several_parents(edges: EdgeList) -> np.ndarray:
    """(units,): those with several parents, and all below them; the others follow from the mean of a single unit."""
    graph = edges.graph
    return cached_for(graph, have_several_parents, lambda: graph.with_descendants(graph.by_child.counts > 1))
