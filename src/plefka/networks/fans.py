"""Fans: a child with all of its parents at once, for what is not a sum over edges.

A fan is a table whose columns are children and whose positions are their parents. A layer is one fan, all columns of
which share their parents; the children of a sparse network are grouped by how many parents they have. An edge of weight
0 is none, so that fans can be filled up.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plefka.networks.incidence import Incidence, Index

WIDTHS = (2, 5, 12, 32)  # and twice that, and so on: few of them, as each is compiled by itself
Table = Float[Array, "positions columns rows"]
Columns = Float[Array, "columns rows"]


class Fans(eqx.Module):
    """All fans of a network, ready for products: arrays are (positions, columns, rows)."""

    weights: tuple[Float[Array, "positions columns #rows"], ...]

    @abstractmethod
    def parents(self, z: Float[Array, "units rows"]) -> list[Float[Array, "positions #columns rows"]]:
        """z of the parents, fan by fan; with a single column where all children of a fan share them."""

    @abstractmethod
    def children(self, z: Float[Array, "units #rows"]) -> list[Float[Array, "columns #rows"]]:
        """z of the children, fan by fan."""

    @abstractmethod
    def to_children(
        self, columns: Sequence[Columns], otherwise: Float[Array, "units rows"]
    ) -> Float[Array, "units rows"]:
        """From fans to units; `otherwise` for units that have no parents."""

    @abstractmethod
    def to_parents(self, tables: Sequence[Table]) -> Float[Array, "units rows"]:
        """The sum over the edges that lead from a unit."""

    @property
    def shared(self) -> bool:
        """Whether all children of a fan have their parents in common."""
        return False

    @abstractmethod
    def pair_sum(
        self, v: Float[Array, "units rows"], along: Sequence[Table], common: Sequence[Array]
    ) -> Float[Array, " rows"]:
        """sum over pairs i, j of v_i v_j P_ij^2, where P_ij is made of edges and of what common children add.

        `common` is (positions, positions, rows) summed over the columns of a fan where they share their parents, and
        (positions, positions, columns, rows) where not.
        """

    @abstractmethod
    def pair_product(
        self, z: Float[Array, "units rows"], along: Sequence[Table], common: Sequence[Array]
    ) -> Float[Array, "units rows"]:
        """sum_j P_ij z_j for every unit i, with the same P."""

    def map(self, function: Callable, *terms: Sequence[Any]) -> list[Any]:
        """function(weights, terms...) of every fan."""
        return [function(*fan) for fan in zip(self.weights, *terms, strict=True)]


class BlockFans(Fans):
    """The fans of dense blocks: spans of children and of parents."""

    child_spans: tuple[tuple[int, int], ...] = eqx.field(static=True)
    parent_spans: tuple[tuple[int, int], ...] = eqx.field(static=True)

    def parents(self, z):
        return [z[slice(*span), None] for span in self.parent_spans]

    def children(self, z):
        return [z[slice(*span)] for span in self.child_spans]

    def to_children(self, columns, otherwise):
        pieces, at = [], 0
        for piece, (first, last) in zip(columns, self.child_spans, strict=True):
            pieces += [otherwise[at:first], piece]
            at = last
        return jnp.concatenate([*pieces, otherwise[at:]])

    def to_parents(self, tables):
        sums = zip(tables, self.parent_spans, strict=True)
        total = jnp.zeros((self._size(), tables[0].shape[-1]), tables[0].dtype)
        for table, span in sums:
            total = total.at[slice(*span)].add(table.sum(1))
        return total

    def _size(self) -> int:
        return max(last for _, last in self.child_spans)

    @property
    def shared(self):
        return True

    def pair_sum(self, v, along, common):
        total = 0.0
        for edge, pairs, child, parent in zip(along, common, self.child_spans, self.parent_spans, strict=True):
            below, above = v[slice(*child)], v[slice(*parent)]
            if child == parent:  # a dense network: a pair can be parent and child, and have common children too
                P = edge + jnp.swapaxes(edge, 0, 1) + pairs
                total += 0.5 * jnp.einsum("ir,jr,ijr->r", above, above, P**2)
            else:
                total += jnp.einsum("jr,cr,jcr->r", above, below, edge**2)
                total += 0.5 * jnp.einsum("ir,jr,ijr->r", above, above, pairs**2)
        return jnp.asarray(total)

    def pair_product(self, z, along, common):
        total = jnp.zeros_like(z)
        for edge, pairs, child, parent in zip(along, common, self.child_spans, self.parent_spans, strict=True):
            below, above = z[slice(*child)], z[slice(*parent)]
            up = jnp.einsum("jcr,cr->jr", edge, below) + jnp.einsum("ijr,jr->ir", pairs, above)
            total = total.at[slice(*parent)].add(up)
            total = total.at[slice(*child)].add(jnp.einsum("jcr,jr->cr", edge, above))
        return total


class FanTable(eqx.Module):
    """Which edges, parents and children one fan of a sparse network has."""

    edge: Index  # (positions, columns); the number of edges stands for none
    parent: Index  # (positions, columns)
    child: Index  # (columns,)


class FanTables(eqx.Module):
    """The fans of a sparse network, without weights."""

    tables: tuple[FanTable, ...]
    place: Index  # of every unit in the columns of all fans; behind them where it has no parents
    slot: Index  # of every edge in the tables of all fans
    first: Index  # of every edge as the first and as the second one of a pair: their sum is the place of the pair
    second: Index  # in the tables (positions, positions, columns) of all fans

    def fill(self, by_edge: Float[Array, "edge *rows"]) -> list[Float[Array, "positions columns *rows"]]:
        """From edges to fans, with zero where there is no edge."""
        padded = jnp.concatenate([by_edge, jnp.zeros_like(by_edge[:1])])
        return [padded[table.edge] for table in self.tables]

    def to_edges(self, tables: Sequence[Table]) -> Float[Array, "edge rows"]:
        """From fans to edges."""
        return jnp.concatenate([table.reshape(-1, table.shape[-1]) for table in tables])[self.slot]


class EdgeFans(Fans):
    """The fans of a list of edges."""

    listed: FanTables
    parent: Incidence
    pairs: Any = None  # those of the edges, where they were listed

    def parents(self, z):
        return [z[table.parent] for table in self.listed.tables]

    def children(self, z):
        return [z[table.child] for table in self.listed.tables]

    def to_children(self, columns, otherwise):
        if not columns:
            return otherwise
        found = jnp.concatenate([*columns, jnp.zeros_like(columns[0][:1])])[self.listed.place]
        return jnp.where((self.listed.place < sum(map(len, columns)))[:, None], found, otherwise)

    def to_parents(self, tables):
        return self.parent.collect(self.listed.to_edges(tables))

    def pair_sum(self, v, along, common):
        if not common:  # no edges, no pairs
            return jnp.zeros(v.shape[1], v.dtype)
        q = self.pairs
        flat = jnp.concatenate([table.reshape(-1, table.shape[-1]) for table in common])
        by_child = flat[self.listed.first[q.first] + self.listed.second[q.second]]
        P = jax.ops.segment_sum(self.listed.to_edges(along), q.of_edge, q.low.shape[0])
        P += jax.ops.segment_sum(by_child, q.of_child, q.low.shape[0], indices_are_sorted=True)
        return jnp.sum(v[q.low] * v[q.high] * P**2, axis=0)

    def pair_product(self, z, along, common):
        if not common:
            return jnp.zeros_like(z)
        fans = list(zip(along, common, self.parents(z), self.children(z), strict=True))
        up = [edge * below + jnp.einsum("jlcr,lcr->jcr", pairs, above) for edge, pairs, above, below in fans]
        down = [(edge * above).sum(0) for edge, _, above, _ in fans]
        return self.to_parents(up) + self.to_children(down, jnp.zeros_like(z))


def list_fans(child: np.ndarray, parent: np.ndarray, size: int) -> FanTables:
    """The fans of edges that are sorted by child."""
    counts = np.bincount(child, minlength=size)
    starts = np.cumsum(counts) - counts
    widths = np.array(_widths(int(counts.max(initial=0))))
    group = np.where(counts > 0, np.searchsorted(widths, counts), -1)
    place, (slot, first, second) = np.full(size, -1), np.zeros((3, len(child)), int)
    tables, columns, slots, pairs = [], 0, 0, 0
    for k in np.unique(group[group >= 0]):
        units = np.flatnonzero(group == k)
        position = np.arange(int(widths[k]))[:, None]
        there = position < counts[units]
        edge = np.where(there, starts[units] + position, len(child))
        at = slots + np.arange(edge.size).reshape(edge.shape)
        column = np.broadcast_to(np.arange(len(units)), edge.shape)
        slot[edge[there]] = at[there]
        first[edge[there]] = (pairs + position * edge.size + column)[there]
        second[edge[there]] = (position * len(units) + 0 * column)[there]
        place[units] = columns + np.arange(len(units))
        padded = np.append(parent, 0)
        tables.append(FanTable(*(a.astype(np.int32) for a in (edge, padded[edge], units))))
        columns, slots, pairs = columns + len(units), slots + edge.size, pairs + len(position) * edge.size
    place = np.where(place < 0, columns, place)
    return FanTables(tuple(tables), place.astype(np.int32), slot.astype(np.int32), first, second)


def _widths(most: int) -> list[int]:
    widths: list[int] = list(WIDTHS)
    while widths[-1] < most:
        widths.append(2 * widths[-1])
    return widths
