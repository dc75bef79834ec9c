"""Weights as a list of edges, for sparse networks of any shape.

The products run over lanes (see incidence.py), as fast as a compiled CSR product. The same edges are laid out twice, by
child and by parent, so that the transposed sums, which is what a gradient is made of, run at the same speed.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from jaxtyping import Array, Float, Int

from plefka.errors import MethodDoesNotApply
from plefka.networks.fans import EdgeFans, FanTables, list_fans
from plefka.networks.incidence import Incidence, Index
from plefka.networks.storage import OpenStorage, Products, Storage
from plefka.precision import is_traced

FEW_PAIRS = 2**16
MANY = 2**21  # edges times rows, from which lanes are worth their compilation


class Pairs(eqx.Module):
    """The pairs of units that share an edge or a child, and which edges and children contribute to each."""

    low: Index
    high: Index
    of_edge: Index  # the pair of every edge
    child: Index  # a common child ...
    first: Index  # ... its edge from one unit of the pair
    second: Index  # ... and its edge from the other
    of_child: Index  # the pair of every common child, in increasing order


class Edges(Storage):
    """values[..., e] is the weight from parent.unit[e] to child.unit[e]; sorted by child, then by parent."""

    values: np.ndarray | Array
    child: Incidence
    parent: Incidence
    size: int = eqx.field(static=True)
    pairs: Pairs | None = None
    listed_fans: FanTables | None = None

    @classmethod
    def from_scipy(cls, weights) -> "Edges":
        csr: Any = sp.csr_array(weights, dtype=float, copy=True)
        csr.sum_duplicates()
        csr.eliminate_zeros()
        rows = np.repeat(np.arange(csr.shape[0], dtype=np.int32), np.diff(csr.indptr))
        return cls.from_lists(csr.data, rows, csr.indices, csr.shape[0])

    @classmethod
    def from_scipy_stack(cls, weights: Sequence) -> "Edges":
        """Networks that share their edges: an edge that only some of them have is one of weight 0 in the others."""
        single: list[Any] = [sp.csr_array(W, dtype=float) for W in weights]
        union = cls.from_scipy(sum((abs(W).sign() for W in single), sp.csr_array(single[0].shape)))
        children, parents = np.asarray(union.child.unit), np.asarray(union.parent.unit)
        return union.map_weights(lambda _: np.stack([np.asarray(W[children, parents]).ravel() for W in single]))

    @classmethod
    def from_lists(cls, values, children, parents, size: int) -> "Edges":
        return cls(values=values, child=Incidence.of(children, size), parent=Incidence.of(parents, size), size=size)

    @property
    def stack(self) -> int | None:
        return self.values.shape[0] if self.values.ndim == 2 else None

    @property
    def num_edges(self) -> int:
        return self.values.shape[-1]

    def open(self, degree: int, certain: float, *, pairs: bool = False) -> "OpenEdges":
        w = jnp.asarray(self.values)
        w = jnp.where(jnp.isinf(w), certain, w).T  # edges first, then networks
        child, parent, listed, fans = jax.tree.map(jnp.asarray, (self.child, self.parent, self.pairs, self.listed_fans))
        if pairs and listed is None:
            raise _not_listed("the pairs of units", "G221")
        return OpenEdges(
            w,
            Side(child.lanes(w), child.lanes(parent.unit), child),
            Side(parent.lanes(w), parent.lanes(child.unit), parent),
            listed if pairs else None,
            fans,
        )

    def plain(self, certain: float, rows: int) -> Products:
        if self.num_edges * rows > MANY:
            return self.open(1, certain)
        w = jnp.asarray(self.values)
        child, parent = (jnp.asarray(end.unit) for end in (self.child, self.parent))
        return PlainEdges(jnp.where(jnp.isinf(w), certain, w).T, child, parent, self.size)

    def prepared(self, *, pairs: bool = False, fans: bool = False) -> "Edges":
        if is_traced(self.child.unit):
            return self
        return self._with(
            self.values,
            _remembered(self, _list_pairs) if pairs and self.pairs is None else self.pairs,
            _remembered(self, list_fans) if fans and self.listed_fans is None else self.listed_fans,
        )

    @property
    def fan_shapes(self) -> list[tuple[int, int]]:
        if self.listed_fans is None:
            return self.prepared(fans=True).fan_shapes
        return [(table.edge.shape[0], table.edge.shape[1]) for table in self.listed_fans.tables]

    def num_pairs(self) -> int:
        return int(np.sum(np.bincount(np.asarray(self.child.unit), minlength=self.size).astype(float) ** 2))

    def map_weights(self, function) -> "Edges":
        return self.with_parameters(function(self.values))

    def _with(self, values, pairs: Pairs | None, fans: FanTables | None) -> "Edges":
        return Edges(values=values, child=self.child, parent=self.parent, size=self.size, pairs=pairs, listed_fans=fans)

    @property
    def parameters(self):
        return self.values

    def with_parameters(self, weights) -> "Edges":
        return self._with(weights, self.pairs, self.listed_fans)

    def take(self, networks) -> "Edges":
        return self.map_weights(lambda values: values[networks])

    def extreme_sums(self):
        def total(values):
            sums = [np.bincount(self.child.unit, weights=row, minlength=self.size) for row in np.atleast_2d(values)]
            return np.stack(sums) if self.stack is not None else sums[0]

        return total(np.minimum(self.values, 0)), total(np.maximum(self.values, 0))

    def edge_list(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        child, parent, weights = np.asarray(self.child.unit), np.asarray(self.parent.unit), np.atleast_2d(self.values).T
        there = (weights != 0).any(axis=1)
        return (child, parent, weights) if there.all() else (child[there], parent[there], weights[there])

    def to_sparse(self) -> Any:
        if self.stack is not None:
            return [self.take(k).to_sparse() for k in range(self.stack)]
        return sp.csr_array(
            (np.asarray(self.values), (self.child.unit, self.parent.unit)), shape=(self.size, self.size)
        )

    def union(self) -> sp.csr_array:
        return self.map_weights(lambda values: np.ones(values.shape[-1])).to_sparse()

    def original(self):
        return self.to_sparse()

    def leaves(self):
        return [np.asarray(self.values).ravel()]


class PlainEdges(Products):
    """Edges as they are listed."""

    values: Float[Array, "edge *stack"]
    child: Index
    parent: Index
    size: int = eqx.field(static=True)

    def field_of(self, z):
        return self._collected(_with_rows(self.values) * z[self.parent])

    def map_edges(self, function, children, parents):
        ends = [z[self.child] for z in children] + [z[self.parent] for z in parents]
        return [self._collected(term) for term in function(_with_rows(self.values), *ends)]

    def _collected(self, by_edge):
        return jax.ops.segment_sum(by_edge, self.child, self.size, indices_are_sorted=True)


class Side(eqx.Module):
    """The edges laid out by one of their ends: their weights, and the unit at the other end."""

    weights: tuple[Float[Array, "_ _ ..."], ...]
    others: tuple[Int[Array, "_ _"], ...]
    incidence: Incidence


class OpenEdges(OpenStorage):
    """Edges with their weights in lanes, by child and by parent."""

    values: Float[Array, "edge *stack"]
    by_child: Side
    by_parent: Side
    pairs: Pairs | None
    listed_fans: FanTables | None

    def fans(self):
        if self.listed_fans is None:
            raise _not_listed("the parents of every unit", "G12")
        weights = tuple(map(_with_columns, self.listed_fans.fill(self.values)))
        return EdgeFans(weights, self.listed_fans, self.by_parent.incidence, self.pairs)

    def power_sums(self, *terms):
        return list(_power_sums(self.by_child.weights, self.by_child, self.by_parent, terms))

    def map_edges(self, function, children, parents):
        child, parent = self.by_child.incidence, self.by_parent.incidence
        ends = [child.spread(z) for z in children] + [parent.spread(z) for z in parents]
        return [child.collect(term) for term in function(_with_rows(self.values), *ends)]

    def pair_sum(self, v, a, d, tilt, g):
        w, q = _with_rows(self.values), cast(Pairs, self.pairs)
        i, j = self.by_child.incidence.unit, self.by_parent.incidence.unit
        along = a[i] * w + 0.5 * d[i] * w**2 * tilt[j]
        common = g[q.child] * w[q.first] * w[q.second]
        P = jax.ops.segment_sum(along, q.of_edge, q.low.shape[0])
        P += jax.ops.segment_sum(common, q.of_child, q.low.shape[0], indices_are_sorted=True)
        return jnp.sum(v[q.low] * v[q.high] * P**2, axis=0)


def _with_columns(w):
    return w if w.ndim > 2 else w[:, :, None]


def _with_rows(w):
    return w if w.ndim > 1 else w[:, None]


@jax.custom_vjp
def _power_sums(weights, here: Side, there: Side, terms):
    lanes = [_lane_sums(w, other, terms) for w, other in zip(weights, here.others, strict=True)]
    if not lanes:
        return jax.tree.map(jnp.zeros_like, terms)
    return jax.tree.map(lambda *columns: here.incidence.finish(list(columns)), *lanes)


def _lane_sums(w, other, terms):
    """For every column of a lane and every power k, the sum over its edges of w^k z_k at their other end."""

    def add(position, totals):
        weight = w[position] if w.ndim == 3 else w[position][:, None]
        at, power, out = other[position], weight, []
        for total, z in zip(totals, terms, strict=True):
            out.append(None if z is None else total + power * z.at[at].get(mode="promise_in_bounds"))
            power = power * weight
        return tuple(out)

    start = jax.tree.map(lambda z: jnp.zeros((w.shape[1], z.shape[1]), z.dtype), terms)
    return jax.lax.fori_loop(0, w.shape[0], add, start)


def _forward(weights, here, there, terms):
    return _power_sums(weights, here, there, terms), (weights, here, there, terms)


def _backward(saved, cotangents):
    weights, here, there, terms = saved
    lanes = zip(weights, here.others, here.incidence.owners, strict=True)
    by_weight = tuple(_weight_gradient(w, other, owner, terms, cotangents) for w, other, owner in lanes)
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


_power_sums.defvjp(_forward, _backward)


_LISTED: dict[tuple[int, Callable], tuple[weakref.ref, Any]] = {}


def _remembered(edges: Edges, listing: Callable) -> Any:
    """What depends on the edges alone is listed once for as long as the edges live."""
    key = (id(edges.child.unit), listing)
    known = _LISTED.get(key)
    if known is None or known[0]() is not edges.child.unit:
        watch = weakref.ref(edges.child.unit, lambda _: _LISTED.pop(key, None))
        ends = np.asarray(edges.child.unit), np.asarray(edges.parent.unit)
        known = _LISTED[key] = (watch, listing(*ends, edges.size))
    return known[1]


def _not_listed(what: str, instead: str) -> MethodDoesNotApply:
    return MethodDoesNotApply(
        f"{what} of a sparse network cannot be listed while its edges are traced. "
        f"Close over the network and trace its parameters only (network.with_parameters), or use {instead}."
    )


def _filling(count: int) -> int:
    """How many there are to fill a small number up to a power of two, so that few sizes are compiled."""
    return (1 << max(count - 1, 0).bit_length()) - count if 0 < count <= FEW_PAIRS else 0


def _list_pairs(child: np.ndarray, parent: np.ndarray, size: int) -> Pairs:
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
    return Pairs(*(a.astype(np.int32) for a in arrays))
