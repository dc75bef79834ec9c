"""Weights as a list of edges, for sparse networks of any shape.

The products run over buckets (see incidence.py), as fast as a compiled CSR product. The same edges are laid out twice,
by child and by parent, so that the transposed sums, which is what a gradient is made of, run at the same speed.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from jaxtyping import Array

from plefka.networks.edge_tables import TABLE_WIDTHS, EdgeTables, UnitPairs, list_pairs, list_tables
from plefka.networks.incidence import Incidence
from plefka.networks.open_edges import ListedEdges, OpenEdges, Side, not_listed
from plefka.networks.storage import Products, Storage
from plefka.runtime.precision import is_traced
from plefka.runtime.value_cache import cached_for

MANY = 2**21  # edges times rows, from which buckets are worth their compilation


class Edges(Storage):
    """values[..., e] is the weight from parent.unit[e] to child.unit[e]; sorted by child, then by parent."""

    values: np.ndarray | Array
    child: Incidence
    parent: Incidence
    size: int = eqx.field(static=True)
    listed_pairs: UnitPairs | None = None
    listed_tables: EdgeTables | None = None
    widths: tuple[int, ...] = eqx.field(static=True, default=TABLE_WIDTHS)  # of the tables of parents

    @classmethod
    def from_scipy(cls, weights, widths: tuple[int, ...] = TABLE_WIDTHS) -> "Edges":
        csr: Any = sp.csr_array(weights, dtype=float, copy=True)
        csr.sum_duplicates()
        csr.eliminate_zeros()
        rows = np.repeat(np.arange(csr.shape[0], dtype=np.int32), np.diff(csr.indptr))
        return cls.from_lists(csr.data, rows, csr.indices, csr.shape[0], widths)

    @classmethod
    def from_scipy_stack(cls, weights: Sequence) -> "Edges":
        """Networks that share their edges: an edge that only some of them have is one of weight 0 in the others."""
        single: list[Any] = [sp.csr_array(W, dtype=float) for W in weights]
        union = cls.from_scipy(sum((abs(W).sign() for W in single), sp.csr_array(single[0].shape)))
        children, parents = np.asarray(union.child.unit), np.asarray(union.parent.unit)
        return union.with_parameters(np.stack([np.asarray(W[children, parents]).ravel() for W in single]))

    @classmethod
    def from_lists(cls, values, children, parents, size: int, widths: tuple[int, ...] = TABLE_WIDTHS) -> "Edges":
        child, parent = Incidence.of(children, size), Incidence.of(parents, size)
        return cls(values=values, child=child, parent=parent, size=size, widths=widths)

    @property
    def stack(self) -> int | None:
        return self.values.shape[0] if self.values.ndim == 2 else None

    @property
    def num_edges(self) -> int:
        return self.values.shape[-1]

    def open(self, degree: int, certain: float, *, pairs: bool = False) -> OpenEdges:
        child, parent, listed, tables = jax.tree.map(
            jnp.asarray, (self.child, self.parent, self.listed_pairs, self.listed_tables)
        )
        if pairs and listed is None:
            raise not_listed("the pairs of units", "G221")
        w = self._rows_last(certain)
        return OpenEdges(
            values=w, by_child=Side.of(child, w, parent), by_parent=Side.of(parent, w, child),
            listed_pairs=listed if pairs else None, listed_tables=tables, size=self.size,
        )  # fmt: skip

    def open_for_reduction(self, certain: float, rows: int) -> Products:
        if self.num_edges * rows > MANY:
            return self.open(1, certain)
        child, parent = (jnp.asarray(end.unit) for end in (self.child, self.parent))
        return ListedEdges(self._rows_last(certain), child, parent, self.size)

    def _rows_last(self, certain: float) -> Array:
        w = jnp.asarray(self.values)
        return jnp.where(jnp.isinf(w), certain, w).T  # edges first, then networks

    def prepared(self, *, pairs: bool = False, tables: bool = False) -> "Edges":
        if is_traced(self.child.unit):
            return self
        owner, edges = self.child.unit, (*self.ends(), self.size)
        if pairs and self.listed_pairs is None:
            self = replace(self, listed_pairs=cached_for(owner, list_pairs, lambda: list_pairs(*edges)))
        if tables and self.listed_tables is None:
            listed = cached_for(owner, (list_tables, self.widths), lambda: list_tables(*edges, self.widths))
            self = replace(self, listed_tables=listed)
        return self

    @property
    def table_shapes(self) -> list[tuple[int, int]]:
        if self.listed_tables is None:
            return self.prepared(tables=True).table_shapes
        return [(table.edge.shape[0], table.edge.shape[1]) for table in self.listed_tables.tables]

    def num_pairs(self) -> int:
        return int(np.sum(np.bincount(np.asarray(self.child.unit), minlength=self.size).astype(float) ** 2))

    @property
    def parameters(self):
        return self.values

    def with_parameters(self, weights) -> "Edges":
        return replace(self, values=weights)

    def extreme_sums(self):
        def total(values):
            sums = [np.bincount(self.child.unit, weights=row, minlength=self.size) for row in np.atleast_2d(values)]
            return np.stack(sums) if self.stack is not None else sums[0]

        return total(np.minimum(self.values, 0)), total(np.maximum(self.values, 0))

    def _listed_edges(self):
        if is_traced(self.values):  # any of them may have a weight
            return self.child.unit, self.parent.unit, jnp.atleast_2d(self.values).T
        child, parent, weights = np.asarray(self.child.unit), np.asarray(self.parent.unit), np.atleast_2d(self.values).T
        there = (weights != 0).any(axis=1)
        return (child, parent, weights) if there.all() else (child[there], parent[there], weights[there])

    def along(self, function):
        return function(np.asarray(self.child.unit), np.asarray(self.parent.unit))

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(self.child.unit), np.asarray(self.parent.unit)
