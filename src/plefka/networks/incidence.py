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

BUCKET_WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
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
    done = longest * (np.arange(len(unit)) - np.repeat(np.cumsum(pieces) - pieces, pieces))
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
