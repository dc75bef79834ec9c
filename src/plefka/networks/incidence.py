"""Which edges touch which unit, laid out so that sums over them are gathers.

Scatter-adds are slow on a CPU. Here units with about the same number of edges form a bucket instead, a table
(position, unit) that is added up position by position, a gather and an addition for each edge. Where a unit has more
edges than the widest bucket, they are cut into pieces, whose sums are added up in the same way in a further round.
"""

from collections.abc import Iterator, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from plefka.networks.index_arrays import ranges

BUCKET_WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
TABLE_WIDTHS = (2, 5, 12, 32)  # and twice that, and so on: few of them, as each is compiled by itself
SUMMED_WIDTHS = (2, 5, 8, 12, 16, 32)  # where states of parents are summed over: no wider than a table can be
FEW_PAIRS = 2**16
Index = Int[np.ndarray, "..."] | Int[Array, "..."]


class Incidence(eqx.Module):
    """The unit at one end of every edge, and the buckets that add edges up by that unit.

    In a table, the number of edges itself stands for "no edge here"; callers pad what they gather from with a zero.
    """

    unit: Index
    rounds: tuple[tuple[Index, ...], ...]  # tables of edges, then of pieces, then of pieces of pieces
    owners: tuple[Index, ...]  # the unit of every column of the first round's tables
    place: Index  # where the sum of each unit is found in the end

    @classmethod
    def of(cls, unit: np.ndarray, size: int) -> "Incidence":
        rounds, owners, item = [], (), unit
        while True:
            tables, columns = _tables(item, size)
            rounds.append(tables)
            owners = owners or columns
            item = np.concatenate([np.zeros(0, np.int32), *columns])
            if np.bincount(item, minlength=1).max() <= 1:
                break
        place = np.full(size, len(item), np.int32)
        place[item] = np.arange(len(item), dtype=np.int32)
        return cls(unit.astype(np.int32), tuple(rounds), owners, place)

    def in_buckets(self, by_edge: Shaped[Array, "edge ..."]) -> tuple[Shaped[Array, "_ _ ..."], ...]:
        """What each edge has, laid out in the buckets, with zero where there is no edge."""
        padded = jnp.concatenate([by_edge, jnp.zeros_like(by_edge[:1])])
        return tuple(padded[table] for table in self.rounds[0])

    def finish(self, columns: list[Float[Array, "_ rows"]]) -> Float[Array, "units rows"]:
        """From the sums of the columns of the first round to the sums of the units."""
        for tables in self.rounds[1:]:
            columns = _add_up(_with_zero(columns), tables)
        return _with_zero(columns)[self.place]

    def spread(self, z: Float[Array, "units rows"]) -> Float[Array, "edge rows"]:
        """From units to edges: z of the unit at this end."""
        return _spread(self, z)

    def collect(self, by_edge: Float[Array, "edge rows"]) -> Float[Array, "units rows"]:
        """From edges to units: the sum over the edges that touch a unit at this end; the transpose of `spread`."""
        return _collect(self, by_edge)


@jax.custom_vjp
def _spread(incidence, z):
    return z[incidence.unit]


@jax.custom_vjp
def _collect(incidence, by_edge):
    columns = _add_up(_with_zero([by_edge]), incidence.rounds[0])
    if not columns:
        return jnp.zeros((incidence.place.shape[0], by_edge.shape[1]), by_edge.dtype)
    return incidence.finish(columns)


def _add_up(padded, tables):
    """For every table, the sums of its columns, position by position."""
    return [jax.lax.fori_loop(1, t.shape[0], lambda k, s, t=t: s + padded[t[k]], padded[t[0]]) for t in tables]


_spread.defvjp(lambda i, z: (_spread(i, z), i), lambda i, g: (None, _collect(i, g)))
_collect.defvjp(lambda i, e: (_collect(i, e), i), lambda i, g: (None, _spread(i, g)))


def _with_zero(parts):
    return jnp.concatenate([*parts, jnp.zeros_like(parts[0][:1])])


def _tables(item: np.ndarray, size: int) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Lay items out by the unit they belong to, in pieces of at most the widest bucket: tables and their units."""
    longest = BUCKET_WIDTHS[-1]
    order = np.append(np.argsort(item, kind="stable"), len(item)).astype(np.int32)
    counts = np.bincount(item, minlength=size)
    starts = np.cumsum(counts) - counts
    pieces = -(-counts // longest)
    unit = np.repeat(np.arange(size, dtype=np.int32), pieces)
    done = longest * ranges(pieces)
    found = list(by_width(starts[unit] + done, np.minimum(longest, counts[unit] - done), BUCKET_WIDTHS, len(item)))
    return tuple(order[at] for _, at in found), tuple(unit[columns] for columns, _ in found)


def by_width(
    start: np.ndarray, length: np.ndarray, widths: Sequence[int], none: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Runs of consecutive items as tables of a few widths: which of the runs, and their items (positions, runs).

    `none` stands where a run is shorter than its table; empty runs are in no table.
    """
    group = np.where(length > 0, np.searchsorted(widths, length), -1)
    for k in np.unique(group[group >= 0]):
        runs = np.flatnonzero(group == k)
        position = np.arange(widths[k])[:, None]
        yield runs, np.where(position < length[runs], start[runs] + position, none)


# ---- what is listed of sparse edges once, before anything is computed: tables of parents, and pairs of units ---------


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

    def to_edges(self, tables: Sequence[Float[Array, "_ _ rows"]]) -> Float[Array, "edge rows"]:
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
    while widths[-1] < counts.max(initial=0):
        widths = (*widths, 2 * widths[-1])
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
    second = first + 1 + ranges(later)
    ends = np.stack([np.r_[child, parent[first]], np.r_[parent, parent[second]]]).astype(np.int64)
    keys, pair = np.unique(ends.min(0) * size + ends.max(0), return_inverse=True)
    if 0 < len(keys) <= FEW_PAIRS:  # few sizes are compiled; nothing is added to a pair of a unit with itself
        keys = np.pad(keys, (0, (1 << (len(keys) - 1).bit_length()) - len(keys)))
    of_edge, of_child = pair[: len(child)], pair[len(child) :]
    order = np.argsort(of_child, kind="stable")
    first, second = first[order], second[order]
    arrays = (keys // size, keys % size, of_edge, child[first], first, second, of_child[order])
    return UnitPairs(*(a.astype(np.int32) for a in arrays))
