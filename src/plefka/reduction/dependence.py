"""Where barren units have parents that depend on each other, so that the means of the parents do not say all of it.

Units and factors are a graph; a factor is shared by a unit and its parents, and one that is linear in them binds none.
Barren units that close no loop of it have parents in separate parts: these are independent of each other.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from plefka.question import Question
from plefka.reduction.edges import EdgeList
from plefka.reduction.summing import Given


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

    def may_be_trees(self) -> bool:
        """Whether any row has few enough links for that."""
        return bool((np.bincount(self.row, minlength=self.shape[1]) < 2 * self.shape[0]).any())

    def surplus(self) -> np.ndarray:
        """(rows,): how many links could be cut without taking a part of the graph apart."""
        size, count = self.shape
        first = self.row * 2 * size
        ones, ends = np.ones(len(self.row), bool), (first + self.unit, first + size + self.factor)
        graph = sp.coo_array((ones, ends), shape=(2 * size * count,) * 2)
        parts, label = connected_components(graph, directed=False)
        row_of_part = np.zeros(parts, int)
        row_of_part[label] = np.arange(2 * size * count) // (2 * size)
        links, separate = (np.bincount(z, minlength=count) for z in (self.row, row_of_part))
        return links - (2 * size - separate)


def binds_barren(given: Given, relevant: Any, barren: np.ndarray) -> np.ndarray:
    """(rows,): whether any of the barren units (units, rows) has parents that depend on each other."""
    binding = given.has_nonlinear_energy(relevant)
    without, those = (_Graphs.of(given.edges, given.hidden, z).surplus() for z in (binding & ~barren, binding | barren))
    return those > without


def without_loops(question: Question) -> np.ndarray:
    """(rows,): whether the factors of a question form trees, on which messages are exact."""
    model, edges, free = question.model, EdgeList.of(question.storage), np.asarray(question.free)
    linear = np.broadcast_to(model.activation.is_linear_off(model.h), free.shape)
    graphs = _Graphs.of(edges, free, np.asarray(model.counted) & ~(~free & (question.values == 0) & linear))
    return graphs.surplus() == 0 if graphs.may_be_trees() else np.zeros(question.num_rows, bool)


def have_several_parents(edges: EdgeList) -> np.ndarray:
    """(units,): those with several parents, and all below them; the others follow from the mean of a single unit."""
    found = np.bincount(edges.child, minlength=edges.size) > 1
    while True:
        below = found.copy()
        below[edges.child[found[edges.parent]]] = True
        if np.array_equal(below, found):
            return found
        found = below
