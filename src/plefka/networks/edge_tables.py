"""What is listed of sparse edges once, before anything is computed: tables of parents, and pairs of units."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plefka.networks.incidence import Index, by_width
from plefka.networks.storage import Table

TABLE_WIDTHS = (2, 5, 12, 32)  # and twice that, and so on: few of them, as each is compiled by itself
SUMMED_WIDTHS = (2, 5, 8, 12, 16, 32)  # where states of parents are summed over: no wider than a table can be
FEW_PAIRS = 2**16


class EdgeTable(eqx.Module):
    """Which edges, parents and children one table of parents has."""

    edge: Index  # (positions, columns); the number of edges stands for none
    parent: Index  # (positions, columns)
    child: Index  # (columns,)


class EdgeTables(eqx.Module):
    """The tables of parents of a sparse network, without weights."""

    tables: tuple[EdgeTable, ...]
    place: Index  # of every unit in the columns of all tables; behind them where it has no parents
    slot: Index  # of every edge in all tables, laid out one behind the other
    first: Index  # of every edge as the first and as the second one of a pair: their sum is the place of the pair
    second: Index  # in the tables (positions, positions, columns), laid out one behind the other

    def fill(self, by_edge: Float[Array, "edge *rows"]) -> list[Float[Array, "positions columns *rows"]]:
        """From edges to tables, with zero where there is no edge."""
        padded = jnp.concatenate([by_edge, jnp.zeros_like(by_edge[:1])])
        return [padded[table.edge] for table in self.tables]

    def to_edges(self, tables: Sequence[Table]) -> Float[Array, "edge rows"]:
        """From tables to edges."""
        return flat(tables)[self.slot]


def flat(tables: Sequence[Float[Array, "... rows"]]) -> Float[Array, "entries rows"]:
    """All tables laid out one behind the other."""
    return jnp.concatenate([table.reshape(-1, table.shape[-1]) for table in tables])


def list_tables(child: np.ndarray, parent: np.ndarray, size: int, widths: tuple[int, ...]) -> EdgeTables:
    """The tables of parents of edges that are sorted by child."""
    counts = np.bincount(child, minlength=size)
    place, (slot, first, second) = np.full(size, -1), np.zeros((3, len(child)), int)
    tables, columns, slots, pairs = [], 0, 0, 0
    widths = _widened(widths, int(counts.max(initial=0)))
    for units, edge in by_width(np.cumsum(counts) - counts, counts, widths, len(child)):
        there = edge < len(child)
        position, column = np.arange(len(edge))[:, None], np.arange(len(units))
        slot[edge[there]] = slots + np.arange(edge.size).reshape(edge.shape)[there]
        first[edge[there]] = (pairs + position * edge.size + column)[there]
        second[edge[there]] = (position * len(units) + 0 * column)[there]
        place[units] = columns + np.arange(len(units))
        tables.append(EdgeTable(*(a.astype(np.int32) for a in (edge, np.append(parent, 0)[edge], units))))
        columns, slots, pairs = columns + len(units), slots + edge.size, pairs + len(edge) * edge.size
    place = np.where(place < 0, columns, place)
    return EdgeTables(tuple(tables), place.astype(np.int32), slot.astype(np.int32), first, second)


def _widened(widths: tuple[int, ...], most: int) -> tuple[int, ...]:
    while widths[-1] < most:
        widths = (*widths, 2 * widths[-1])
    return widths


class UnitPairs(eqx.Module):
    """The pairs of units that share an edge or a child, and which edges and children contribute to each."""

    low: Index
    high: Index
    of_edge: Index  # the pair of every edge
    child: Index  # a common child ...
    first: Index  # ... its edge from one unit of the pair
    second: Index  # ... and its edge from the other
    of_child: Index  # the pair of every common child, in increasing order


def list_pairs(child: np.ndarray, parent: np.ndarray, size: int) -> UnitPairs:
    """All pairs {parent, child} and {parent, parent} with their contributions; edges are sorted by child."""
    counts = np.bincount(child, minlength=size)
    last = np.cumsum(counts)[child]  # one past the last edge of the same child
    later = last - np.arange(len(child)) - 1
    first = np.repeat(np.arange(len(child)), later)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
    ends = np.stack([np.r_[child, parent[first]], np.r_[parent, parent[second]]]).astype(np.int64)
    keys, pair = np.unique(ends.min(0) * size + ends.max(0), return_inverse=True)
    keys = np.pad(keys, (0, _filling(len(keys))))  # pairs of a unit with itself, to which nothing is added
    of_edge, of_child = pair[: len(child)], pair[len(child) :]
    order = np.argsort(of_child, kind="stable")
    first, second = first[order], second[order]
    arrays = (keys // size, keys % size, of_edge, child[first], first, second, of_child[order])
    return UnitPairs(*(a.astype(np.int32) for a in arrays))


def _filling(count: int) -> int:
    """How many there are to fill a small number up to a power of two, so that few sizes are compiled."""
    return (1 << max(count - 1, 0).bit_length()) - count if 0 < count <= FEW_PAIRS else 0
