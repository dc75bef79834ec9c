"""Weights as one table: a column for each child, a position for each of its parents; for small sparse networks.

All sums are gathers and scatters of one array, so that a program is short, and its shapes can come from a short list:
a position without a parent has weight 0, and columns without a child belong to a unit that nobody asks for.
"""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plefka.networks.incidence import Index
from plefka.networks.storage import OpenStorage, Storage, off_diagonal
from plefka.runtime.plain_module import QuicklyMade


class ParentTable(Storage, metaclass=QuicklyMade):
    """weights (positions, columns), or with a leading axis of networks; `parent` and `child` say of which units."""

    weights: np.ndarray | Array
    parent: Index  # (positions, columns), or with a leading axis where networks differ in their edges
    child: Index  # (columns,)
    size: int = eqx.field(static=True)

    @classmethod
    def of_edges(cls, child, parent, weight, shape: tuple[int, int, int]) -> "ParentTable":
        """Edges (with weights (edges, 1 or rows)) in a table for (units, columns, positions)."""
        size, columns, positions = shape
        children, column, counts = np.unique(child, return_inverse=True, return_counts=True)
        order = np.argsort(column, kind="stable")
        first = np.cumsum(counts) - counts
        position = np.arange(len(child)) - first[column[order]]
        parents, units = np.full((positions, columns), size - 1), np.full(columns, size - 1)
        table = np.zeros((weight.shape[1], positions, columns))
        parents[position, column[order]] = parent[order]
        table[:, position, column[order]] = weight[order].T
        units[: len(children)] = children
        table = table[0] if len(table) == 1 else table
        return cls(weights=table, parent=parents.astype(np.int32), child=units.astype(np.int32), size=size)

    @property
    def stack(self) -> int | None:
        return self.weights.shape[0] if self.weights.ndim == 3 else None

    @property
    def num_edges(self) -> int:
        return self.weights.shape[-1] * self.weights.shape[-2]

    def open(self, degree: int, certain: float, *, pairs: bool = False) -> "OpenTable":
        w = jnp.asarray(self.weights)
        w = jnp.where(jnp.isinf(w), certain, w)
        w = jnp.moveaxis(w, 0, -1) if w.ndim == 3 else w[:, :, None]
        parent = jnp.asarray(self.parent)
        parent = parent if parent.ndim == 2 else jnp.moveaxis(parent, 0, -1)
        return OpenTable(table=w, parent=parent, child=jnp.asarray(self.child), size=self.size)

    @property
    def table_shapes(self) -> list[tuple[int, int]]:
        positions, columns = self.parent.shape[-2:]
        return [(positions, columns)]

    def num_pairs(self) -> int:
        positions, columns = self.parent.shape[-2:]
        return self.size**2 + positions**2 * columns

    def most_parents(self) -> int:
        return self.parent.shape[-2]

    @property
    def parameters(self):
        return self.weights

    def with_parameters(self, weights) -> "ParentTable":
        return replace(self, weights=weights)

    def take(self, networks) -> "ParentTable":
        parent = self.parent if self.parent.ndim == 2 else self.parent[networks]
        return replace(self, weights=self.weights[networks], parent=parent)

    def along(self, function):
        return function(np.broadcast_to(self.child, self.parent.shape), np.asarray(self.parent))

    def _listed_edges(self):
        w = np.asarray(self.weights).reshape(-1, *self.parent.shape[-2:])
        all_parents, all_children = np.asarray(self.parent), np.asarray(self.child)
        if all_parents.ndim == 2:
            position, column = np.nonzero((w != 0).any(axis=0))
            return all_children[column], all_parents[position, column], w[:, position, column].T
        network, position, column = np.nonzero(w)
        ends = all_children[column].astype(int) * self.size + all_parents[network, position, column]
        edges, which = np.unique(ends, return_inverse=True)
        weight = np.zeros((len(edges), len(w)))
        weight[which, network] = w[network, position, column]
        return edges // self.size, edges % self.size, weight

    def extreme_sums(self):
        def total(part):
            sums = part(np.asarray(self.weights), 0).sum(-2)
            out = np.zeros((*sums.shape[:-1], self.size))
            out[..., self.child] = sums  # columns without a child all add nothing to the last unit
            return out

        return total(np.minimum), total(np.maximum)


class OpenTable(OpenStorage):
    """The table with rows behind."""

    table: Float[Array, "positions columns #rows"]
    parent: Index
    child: Index
    size: int = eqx.field(static=True)

    @property
    def tables(self):
        return (self.table,)

    def parents(self, z):
        if self.parent.ndim == 2:
            return [z[self.parent]]
        rows = self.parent.shape[-1]
        z = jnp.broadcast_to(z, (self.size, rows))
        return [jnp.take_along_axis(z, self.parent.reshape(-1, rows), axis=0).reshape(self.parent.shape)]

    def children(self, z):
        return [z[self.child]]

    def to_children(self, columns, otherwise):
        return otherwise.at[self.child].set(jnp.broadcast_to(columns[0], (len(self.child), otherwise.shape[1])))

    def to_parents(self, tables):
        return self._zeros(tables[0][0]).at[self._at_rows(self.parent)].add(tables[0])

    def map_edges(self, function, children, parents):
        ends = [self.children(z)[0][None] for z in children] + [self.parents(z)[0] for z in parents]
        sums = [term.sum(0) for term in function(self.table, *ends)]
        return [self._zeros(columns).at[self.child].add(columns) for columns in sums]  # simpler derivatives than `set`

    def _at_rows(self, *units) -> tuple:
        """Indices into an array with rows behind: the rows as well, where they differ in their edges."""
        return units if self.parent.ndim == 2 else (*units, jnp.arange(self.parent.shape[-1]))

    def taylor_pair_sum(self, v, a, d, tilt, g):
        w, (a, d, g) = self.table, (z[self.child][None] for z in (a, d, g))
        along = a * w + 0.5 * d * w**2 * self.parents(tilt)[0]
        return self.pair_sum(v, [along], [g[:, None] * w[:, None] * w[None]])

    def pair_sum(self, v, along, common):
        """P is made as one half of a symmetric table of all pairs of units; nothing on its diagonal counts."""
        (along,), (common,), parent, child = along, common, self.parent, self.child
        P = jnp.zeros((self.size, self.size, along.shape[2]), along.dtype)
        P = P.at[self._at_rows(parent, child[None] if parent.ndim == 2 else child[None, :, None])].add(along)
        P = off_diagonal(P.at[self._at_rows(parent[:, None], parent[None])].add(0.5 * common))
        return 0.5 * jnp.einsum("ir,jr,ijr->r", v, v, (P + jnp.swapaxes(P, 0, 1)) ** 2)
