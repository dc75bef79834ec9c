"""How what is left of a network is stored: dense blocks where they are not much larger than its edges, else tables.

Units that are there to fill a size of the ladder up are behind those of their layer, and are never free or counted.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from plefka.averages.choice import MOST
from plefka.networks.activations import Activation, Mixed
from plefka.networks.blocks import Blocks
from plefka.networks.edge_list import EdgeList
from plefka.networks.edges import Edges
from plefka.networks.incidence import SUMMED_WIDTHS, TABLE_WIDTHS
from plefka.networks.index_arrays import places_of
from plefka.networks.parent_table import ParentTable
from plefka.networks.storage import Storage
from plefka.reduction.ladder import layer_sizes, num_weights, rung, table_for

LARGE = 2**16  # numbers from which on a network has a program for its own size
GATHER = 6  # an entry of a table costs about so many of a dense block
SMALLEST_DENSE = 48  # units whose full matrix is no burden


class StorageLayout(NamedTuple):
    """Where units are put."""

    storage: Storage
    place: np.ndarray  # of every unit
    num_searched: int  # units before those that are free in no row

    @property
    def size(self) -> int:
        return self.storage.size


def lay_out(
    edges: EdgeList, ever_free: np.ndarray, layers: np.ndarray | None, rows: int, activation: Activation
) -> StorageLayout:
    """The cheapest way to store these edges; `layers`: the layer of every unit, where the network came in layers."""
    closed_forms, any_parents = activation.has_closed_averages, activation.has_linear_log_off
    in_degrees = np.bincount(edges.child, minlength=1)
    in_degree, num_children = int(in_degrees.max()), int(np.count_nonzero(in_degrees))
    if isinstance(activation, Mixed):
        table = table_for(edges.size, num_children, in_degree, summed=True)
        if table is not None and table[2] <= activation.most_summed:  # not wider than a sum over states needs it
            return _in_table(edges, ever_free, table)
        return StorageLayout(edges_of(edges, SUMMED_WIDTHS), np.arange(edges.size), edges.size)
    levels = layers if layers is not None else _levels(edges)
    table = table_for(edges.size, num_children, in_degree)
    most = sparse_cost(edges, table)
    if levels is None:
        dense = rung(edges.size, rows)
        if dense <= SMALLEST_DENSE and dense**2 <= most and _allowed(dense, in_degree, closed_forms):
            return in_matrix(edges, dense)
    else:
        counts = np.bincount(levels, minlength=2).tolist()
        has_own_program = len(edges.child) > LARGE
        rungs = tuple(count if has_own_program else rung(count, rows, any_parents=any_parents) for count in counts)
        if num_weights(rungs) <= most and _allowed(max(rungs[:-1]), in_degree, closed_forms):
            return _in_layers(edges, ever_free, levels, layer_sizes(counts, rungs))
    return sparsely(edges, ever_free, table)


def in_matrix(edges: EdgeList, size: int) -> StorageLayout:
    """As one block of so many units."""
    W = np.zeros((edges.weight.shape[1], size, size))
    W[:, edges.child, edges.parent] = edges.weight.T
    return StorageLayout(Blocks.dense(_unstacked(W)), np.arange(edges.size), size)


def sparse_cost(edges: EdgeList, table: tuple[int, int, int] | None) -> float:
    """In numbers of a block: of the table that holds these edges, if there is one, or of the edges themselves."""
    return min(GATHER * 4.0 * len(edges.child) + LARGE, GATHER * table[1] * table[2] if table else np.inf)


def sparsely(edges: EdgeList, ever_free: np.ndarray, table: tuple[int, int, int] | None) -> StorageLayout:
    """What of these two costs less."""
    if table is not None and GATHER * table[1] * table[2] <= sparse_cost(edges, table):
        return _in_table(edges, ever_free, table)
    return StorageLayout(edges_of(edges), np.arange(edges.size), edges.size)


def _in_table(edges: EdgeList, ever_free: np.ndarray, table: tuple[int, int, int]) -> StorageLayout:
    order = np.argsort(~ever_free, kind="stable")
    place = places_of(order, edges.size)
    storage = ParentTable.of_edges(place[edges.child], place[edges.parent], edges.weight, table)
    return StorageLayout(storage, place, table[0])


def edges_of(edges: EdgeList, widths: tuple[int, ...] = TABLE_WIDTHS) -> Edges:
    """The edges in the order in which a storage keeps them."""
    order = np.lexsort((edges.parent, edges.child))
    child, parent = (units[order].astype(np.int32) for units in (edges.child, edges.parent))
    return Edges.from_lists(_unstacked(edges.weight[order].T), child, parent, edges.size, widths)


def _unstacked(weights: np.ndarray) -> np.ndarray:
    """One for all rows, where there is one."""
    return weights[0] if len(weights) == 1 else weights


def _levels(edges: EdgeList) -> np.ndarray | None:
    """The level of every unit, where each edge leads from one level to the next."""
    level = edges.graph.levels
    return level if level is not None and np.all(level[edges.child] == level[edges.parent] + 1) else None


def _allowed(parents: int, in_degree: int, closed_forms: bool) -> bool:
    """Sums over the states of parents take no more of them than there are."""
    return closed_forms or parents <= MOST or in_degree > MOST


def _in_layers(edges: EdgeList, ever_free: np.ndarray, levels: np.ndarray, sizes: tuple[int, ...]) -> StorageLayout:
    starts = np.cumsum((0, *sizes))
    order = np.argsort(levels, kind="stable")
    rank = np.empty(edges.size, int)
    rank[order] = np.arange(edges.size) - np.searchsorted(levels[order], levels[order])
    blocks = []
    for level, (above, below) in enumerate(pairwise(sizes)):
        here = levels[edges.child] == level + 1
        W = np.zeros((edges.weight.shape[1], below, above))
        W[:, rank[edges.child[here]], rank[edges.parent[here]]] = edges.weight[here].T
        blocks.append(_unstacked(W))
    last = len(sizes) - 1
    head = starts[last] if last > 0 and not ever_free[levels == last].any() else starts[-1]
    return StorageLayout(Blocks.layered(blocks, sizes), starts[levels] + rank, int(head))
