"""Weights as dense blocks: one for every two neighbouring layers, or a single one for a dense network."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plefka.networks.storage import OpenStorage, Storage, off_diagonal

Span = tuple[int, int]
SMALL_PAIR_WORK = 4096  # multiply-adds per row up to which all rows are done at once


class Blocks(Storage):
    """Blocks W[child, parent] with the spans of units they connect; a stack has a leading axis of networks."""

    weights: tuple[np.ndarray | Array, ...]
    children: tuple[Span, ...] = eqx.field(static=True)
    parents: tuple[Span, ...] = eqx.field(static=True)
    size: int = eqx.field(static=True)

    @classmethod
    def dense(cls, W) -> "Blocks":
        n = W.shape[-1]
        return cls(weights=(W,), children=((0, n),), parents=((0, n),), size=n)

    @classmethod
    def layered(cls, weights, layers: tuple[int, ...]) -> "Blocks":
        ends = np.cumsum((0, *layers)).tolist()
        spans = tuple(pairwise(ends))
        return cls(weights=tuple(weights), children=spans[1:], parents=spans[:-1], size=ends[-1])

    @property
    def stack(self) -> int | None:
        return self.weights[0].shape[0] if self.weights and self.weights[0].ndim == 3 else None

    @property
    def num_edges(self) -> int:
        return sum(W.shape[-1] * W.shape[-2] for W in self.weights)

    def open(self, degree: int, certain: float, *, pairs: bool = False) -> "OpenBlocks":
        finite = [jnp.where(jnp.isinf(W), certain, W) for W in map(jnp.asarray, self.weights)]
        rows_last = [jnp.moveaxis(W, 0, -1) if W.ndim == 3 else W for W in finite]
        children, parents = self.children, self.parents
        if not rows_last:  # a single layer: nobody has parents
            rows_last, children, parents = [jnp.zeros((self.size, 0))], ((0, self.size),), ((0, 0),)
        powers = tuple(tuple(W**k for W in rows_last) for k in range(1, degree + 1))
        return OpenBlocks(powers=powers, child_spans=children, parent_spans=parents, size=self.size)

    def has_average(self) -> np.ndarray:
        found = np.zeros(self.size, bool)
        for span in self.children:
            found[slice(*span)] = True
        return found

    def most_parents(self) -> int:
        return max((W.shape[-1] for W in self.weights), default=0)

    @property
    def table_shapes(self) -> list[tuple[int, int]]:
        return [(W.shape[-1], W.shape[-2]) for W in self.weights] or [(0, self.size)]

    def num_pairs(self) -> int:
        return sum(_pair_work(W.shape[-2], W.shape[-1]) for W in self.weights)

    @property
    def parameters(self):
        return self.weights

    def with_parameters(self, weights) -> "Blocks":
        return replace(self, weights=tuple(weights))

    def extreme_sums(self):
        def total(part):
            out = np.zeros((*self.weights[0].shape[:-2], self.size)) if self.weights else np.zeros(self.size)
            for W, (first, last) in zip(self.weights, self.children, strict=True):
                out[..., first:last] += part(np.asarray(W), 0).sum(-1)
            return out

        return total(np.minimum), total(np.maximum)

    def product(self, z):
        out = np.zeros((self.size, max(self.stack or 1, z.shape[1])))
        for W, child, parent in zip(map(np.asarray, self.weights), self.children, self.parents, strict=True):
            c, p = slice(*child), slice(*parent)
            if z[p].any():
                out[c] += W @ z[p] if W.ndim == 2 else np.einsum("rcp,pr->cr", W, z[p])
            if z[c].any():
                out[p] += W.T @ z[c] if W.ndim == 2 else np.einsum("rcp,cr->pr", W, z[c])
        return out

    def _listed_edges(self):
        empty, networks = np.zeros(0, np.int32), self.stack or 1
        parts = [(empty, empty, np.zeros((0, networks)))]
        for W, (child, _), (parent, _) in zip(self.weights, self.children, self.parents, strict=True):
            W = np.asarray(W).reshape(networks, *W.shape[-2:])
            i, j = np.nonzero((W != 0).any(axis=0))
            parts.append(((i + child).astype(np.int32), (j + parent).astype(np.int32), W[:, i, j].T))
        child, parent, weight = map(np.concatenate, zip(*parts, strict=True))
        return child, parent, weight

    def along(self, function):
        ends = zip(self.children, self.parents, strict=True)
        return tuple(function(np.arange(*child)[:, None], np.arange(*parent)[None]) for child, parent in ends)

    def original(self):
        return self.weights[0] if self.is_dense else list(self.weights)

    @property
    def is_dense(self) -> bool:
        return self.children == ((0, self.size),) == self.parents


class OpenBlocks(OpenStorage):
    """Blocks and their powers, units first: (child, parent), or (child, parent, network) for a stack."""

    powers: tuple[tuple[Float[Array, "_ _ ..."], ...], ...]
    child_spans: tuple[Span, ...] = eqx.field(static=True)
    parent_spans: tuple[Span, ...] = eqx.field(static=True)
    size: int = eqx.field(static=True)
    parents_are_shared: ClassVar[bool] = True

    @property
    def tables(self):
        return tuple(jnp.swapaxes(W if W.ndim == 3 else W[:, :, None], 0, 1) for W in self.powers[0])

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
        total = self._zeros(tables[0][0])
        for table, span in zip(tables, self.parent_spans, strict=True):
            total = total.at[slice(*span)].add(table.sum(1))
        return total

    def power_sums(self, *terms):
        return [None if z is None else self._sums(blocks, z) for blocks, z in zip(self.powers, terms, strict=False)]

    def linked(self, z):
        return self._sums([jnp.asarray(W != 0, z.dtype) for W in self.powers[0]], z)

    def _sums(self, blocks, z):
        products = [_multiply(W, z[slice(*span)]) for W, span in zip(blocks, self.parent_spans, strict=True)]
        return self.to_children(products, jnp.zeros_like(z))

    def map_edges(self, function, children, parents):
        """As for any tables, in the order in which blocks are kept: on large ones that takes a third less time."""

        def of_block(W, child, parent):
            ends = [z[slice(*child), None] for z in children] + [z[None, slice(*parent)] for z in parents]
            return [term.sum(1) for term in function(W if W.ndim == 3 else W[:, :, None], *ends)]

        sums = map(of_block, self.powers[0], self.child_spans, self.parent_spans)
        return [self.to_children(term, self._zeros(term[0])) for term in zip(*sums, strict=True)]

    def pair_sum(self, v, along, common):
        total = jnp.zeros(v.shape[1], v.dtype)
        for edge, pairs, child, parent in zip(along, common, self.child_spans, self.parent_spans, strict=True):
            pairs, above = pairs[:, :, 0], v[slice(*parent)]
            if child == parent:  # a dense network: a pair can be parent and child, and have common children too
                pairs = pairs + edge + jnp.swapaxes(edge, 0, 1)
            else:
                total += jnp.einsum("jr,cr,jcr->r", above, v[slice(*child)], edge**2)
            total += 0.5 * _squares(above, pairs)
        return total

    def taylor_pair_sum(self, v, a, d, tilt, g):
        total = jnp.zeros(v.shape[1], v.dtype)
        for W, child, parent in zip(self.powers[0], self.child_spans, self.parent_spans, strict=True):
            c, p = slice(*child), slice(*parent)
            energy = _same_span_pairs if child == parent else _two_span_pairs
            total += _by_row(energy, W, v[c], v[p], a[c], d[c], tilt[p], g[c])
        return total


def _multiply(W, z):
    """W z for every row; one row goes through the vector product, which streams W in both directions."""
    if W.ndim == 3:
        return jnp.sum(W * z, axis=1)
    return (W @ z[:, 0])[:, None] if z.shape[1] == 1 else W @ z


def _pair_work(children: int, parents: int) -> int:
    return children * parents * min(children, parents)


def _by_row(energy: Callable, W, *terms):
    """Small blocks: all rows at once, the row axis last. Large ones: row after row, so that memory stays flat."""
    if W.ndim == 3 or _pair_work(*W.shape) <= SMALL_PAIR_WORK:
        return energy(W if W.ndim == 3 else W[:, :, None], *terms)

    def one(row):
        return energy(W[:, :, None], *(z[:, None] for z in row))[0]

    return jax.lax.map(jax.checkpoint(one), tuple(z.T for z in terms))


def _edge_part(W, a, d, tilt):
    return a[:, None] * W + 0.5 * d[:, None] * W**2 * tilt[None]


def _products(A, B):
    """sum_m A_mi B_mj for every row."""
    if A.shape[2] == 1:
        return (A[:, :, 0].T @ B[:, :, 0])[:, :, None]
    return jnp.sum(A[:, :, None] * B[:, None], axis=0)


def _same_span_pairs(W, v, _, a, d, tilt, g):
    """A dense block: a pair can be parent and child, and have common children too."""
    edge = _edge_part(W, a, d, tilt)
    P = edge + jnp.swapaxes(edge, 0, 1) + _products(g[:, None] * W, W)
    return 0.5 * _squares(v, off_diagonal(P))


def _two_span_pairs(W, v_child, v_parent, a, d, tilt, g):
    """A layer and the one above: pairs along an edge, and pairs of parents with common children."""
    along = jnp.sum(v_child * jnp.sum(v_parent[None] * _edge_part(W, a, d, tilt) ** 2, axis=1), axis=0)
    if W.shape[0] < W.shape[1]:  # sum_ij v_i v_j C_ij^2 = sum_mn g_m g_n K_mn^2, whichever matrix is smaller
        K = _products(jnp.swapaxes(v_parent[None] * W, 0, 1), jnp.swapaxes(W, 0, 1))
        diagonal = jnp.sum(g[:, None] * W**2, axis=0)
        square = _squares(g, K) - jnp.sum(v_parent**2 * diagonal**2, axis=0)
    else:
        square = _squares(v_parent, off_diagonal(_products(g[:, None] * W, W)))
    return along + 0.5 * square


def _squares(v, C):
    """sum_ij v_i v_j C_ij^2."""
    return jnp.einsum("ir,jr,ijr->r", v, v, C**2)
