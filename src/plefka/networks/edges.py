"""Weights as a list of edges, for sparse networks of any shape.

The products run over buckets (see incidence.py), as fast as a compiled CSR product. The same edges are laid out twice,
by child and by parent, so that the transposed sums, which is what a gradient is made of, run at the same speed.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from jaxtyping import Array, Float, Int

from plefka.errors import MethodDoesNotApply
from plefka.networks.incidence import (
    TABLE_WIDTHS,
    EdgeTables,
    Incidence,
    Index,
    UnitPairs,
    flat,
    list_pairs,
    list_tables,
)
from plefka.networks.storage import OpenStorage, Products, Storage
from plefka.runtime.precision import is_traced
from plefka.runtime.value_cache import cached_for

MANY = 2**21  # edges times rows, from which buckets are worth their compilation


# ---- inside a computation --------------------------------------------------------------------------------------------


class ListedEdges(Products):
    """Edges as they are listed."""

    values: Float[Array, "edge *stack"]
    child: Index
    parent: Index
    size: int = eqx.field(static=True)

    def map_edges(self, function, children, parents):
        ends = [z[self.child] for z in children] + [z[self.parent] for z in parents]
        terms = function(_with_rows(self.values), *ends)
        return [jax.ops.segment_sum(term, self.child, self.size, indices_are_sorted=True) for term in terms]


class Side(eqx.Module):
    """The edges laid out by one of their ends: their weights, and the unit at the other end."""

    weights: tuple[Float[Array, "_ _ ..."], ...]
    others: tuple[Int[Array, "_ _"], ...]
    incidence: Incidence

    @classmethod
    def of(cls, incidence: Incidence, values: Float[Array, "edge *stack"], other: Incidence) -> "Side":
        return cls(incidence.in_buckets(values), incidence.in_buckets(jnp.asarray(other.unit)), incidence)


class OpenEdges(OpenStorage):
    """Edges by child and by parent; what is listed of them where it is needed."""

    values: Float[Array, "edge *stack"]
    by_child: Side
    by_parent: Side
    listed_pairs: UnitPairs | None
    listed_tables: EdgeTables | None
    size: int = eqx.field(static=True)

    @property
    def _listed(self) -> EdgeTables:
        if self.listed_tables is None:
            raise not_listed("the parents of every unit", "G12 (of a Boltzmann machine, G1)")
        return self.listed_tables

    @property
    def tables(self):
        return tuple(w if w.ndim > 2 else w[:, :, None] for w in self._listed.fill(self.values))

    def parents(self, z):
        return [z[table.parent] for table in self._listed.tables]

    def children(self, z):
        return [z[table.child] for table in self._listed.tables]

    def to_children(self, columns, otherwise):
        if not columns:
            return otherwise
        place = self._listed.place
        found = jnp.concatenate([*columns, jnp.zeros_like(columns[0][:1])])[place]
        return jnp.where((place < sum(map(len, columns)))[:, None], found, otherwise)

    def to_parents(self, tables):
        if not tables:
            return jnp.zeros((self.size, 1), self.values.dtype)
        return self.by_parent.incidence.collect(self._listed.to_edges(tables))

    def power_sums(self, *terms):
        return list(_power_sums(self.by_child.weights, self.by_child, self.by_parent, terms))

    def map_edges(self, function, children, parents):
        child, parent = self.by_child.incidence, self.by_parent.incidence
        ends = [child.spread(z) for z in children] + [parent.spread(z) for z in parents]
        return [child.collect(term) for term in function(_with_rows(self.values), *ends)]

    def pair_sum(self, v, along, common):
        if not common:  # no edges, no pairs
            return jnp.zeros(v.shape[1], v.dtype)
        listed, q = self._listed, cast(UnitPairs, self.listed_pairs)
        by_child = flat(common)[listed.first[q.first] + listed.second[q.second]]
        return self._squares(v, listed.to_edges(along), by_child)

    def taylor_pair_sum(self, v, a, d, tilt, g):
        w, q = _with_rows(self.values), cast(UnitPairs, self.listed_pairs)
        i, j = self.by_child.incidence.unit, self.by_parent.incidence.unit
        along = a[i] * w + 0.5 * d[i] * w**2 * tilt[j]
        return self._squares(v, along, g[q.child] * w[q.first] * w[q.second])

    def _squares(self, v, along, by_child):
        """sum over pairs of v_i v_j P_ij^2, from what edges and common children add to P."""
        q = cast(UnitPairs, self.listed_pairs)
        P = jax.ops.segment_sum(along, q.of_edge, q.low.shape[0])
        P += jax.ops.segment_sum(by_child, q.of_child, q.low.shape[0], indices_are_sorted=True)
        return jnp.sum(v[q.low] * v[q.high] * P**2, axis=0)


def not_listed(what: str, instead: str) -> MethodDoesNotApply:
    return MethodDoesNotApply(
        f"{what} of a sparse network cannot be listed while its edges are traced. "
        f"Close over the network and trace its parameters only (network.with_parameters), or use {instead}."
    )


def _with_rows(w):
    return w if w.ndim > 1 else w[:, None]


@jax.custom_vjp
def _power_sums(weights, here: Side, there: Side, terms):
    columns = [_bucket_sums(w, other, terms) for w, other in zip(weights, here.others, strict=True)]
    if not columns:
        return jax.tree.map(jnp.zeros_like, terms)
    return jax.tree.map(lambda *parts: here.incidence.finish(list(parts)), *columns)


def _bucket_sums(w, other, terms):
    """For every column of a bucket and every power k, the sum over its edges of w^k z_k at their other end."""

    def add(position, totals):
        weight = w[position] if w.ndim == 3 else w[position][:, None]
        at, power, out = other[position], weight, []
        for total, z in zip(totals, terms, strict=True):
            out.append(None if z is None else total + power * z.at[at].get(mode="promise_in_bounds"))
            power = power * weight
        return tuple(out)

    start = jax.tree.map(lambda z: jnp.zeros((w.shape[1], z.shape[1]), z.dtype), terms)
    return jax.lax.fori_loop(0, w.shape[0], add, start)


def _backward(saved, cotangents):
    weights, here, there, terms = saved
    buckets = zip(weights, here.others, here.incidence.owners, strict=True)
    by_weight = tuple(_weight_gradient(w, other, owner, terms, cotangents) for w, other, owner in buckets)
    return by_weight, None, None, _power_sums(there.weights, there, here, tuple(cotangents))


def _weight_gradient(w, other, owner, terms, cotangents):
    """d/dw of sum_k w^k z_k, edge by edge."""
    total = 0.0
    for k, (z, g) in enumerate(zip(terms, cotangents, strict=True), start=1):
        if z is None:
            continue
        slope = k * w ** (k - 1)
        total = total + (slope if w.ndim == 3 else slope[..., None]) * z[other] * g[owner]
    return total if w.ndim == 3 else jnp.sum(total, axis=-1)


_power_sums.defvjp(lambda *given: (_power_sums(*given), given), _backward)


# ---- as they are kept ------------------------------------------------------------------------------------------------


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
        return union.with_parameters(np.stack([np.asarray(W[union.ends()]).ravel() for W in single]))

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
        (child, parent), weights = self.ends(), np.atleast_2d(self.values).T
        there = (weights != 0).any(axis=1)
        return (child, parent, weights) if there.all() else (child[there], parent[there], weights[there])

    def along(self, function):
        return function(*self.ends())

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(self.child.unit), np.asarray(self.parent.unit)
