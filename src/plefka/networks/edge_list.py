"""The edges of a network as reductions use them: sums over the parents, and over the children, of every unit.

Arrays are (units, rows). `EdgeList` is NumPy's, for numbers that can be looked at; `TracedEdges` is JAX's, for
numbers inside a user's trace, with derivatives.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from jaxtyping import Array, Float

from plefka.networks.activations import AnyArray, namespace
from plefka.networks.graph import Graph
from plefka.networks.index_arrays import places_of
from plefka.networks.storage import Products, Storage
from plefka.runtime.value_cache import cached_for

CHILD, PARENT = 0, 1  # ends of an edge
CERTAIN_WEIGHT = 1e30  # an infinite weight as a number: no other sum comes near it, and 0 times it is 0
ROUNDING_STEPS = 8.0  # in units of the last digit


@dataclass(frozen=True, eq=False)
class EdgeList:
    """weight[e] (or weight[e, row]) leads from parent[e] to child[e]; edges without weight are not listed."""

    child: np.ndarray
    parent: np.ndarray
    weight: np.ndarray  # (edges, 1 or rows)
    size: int

    @property
    def xp(self):
        """The array namespace that goes with these edges."""
        return np

    @classmethod
    def of(cls, storage: Storage) -> "EdgeList":
        """All edges of a network, or of the networks of a stack, each of which is a row; listed and ordered once."""
        return cached_for(storage, cls, lambda: cls(*storage.edge_list(), storage.size))

    def take(self, edges: AnyArray) -> "EdgeList":
        """Some of the edges."""
        return EdgeList(self.child[edges], self.parent[edges], self.weight[edges], self.size)

    def between(self, units: np.ndarray) -> "EdgeList":
        """The edges between some units, which are numbered anew in this order."""
        number = places_of(units, self.size)
        child, parent = number[self.child], number[self.parent]
        inside = (child >= 0) & (parent >= 0)
        return EdgeList(child[inside], parent[inside], self.weight[inside], len(units))

    def of_rows(self, rows: Any) -> "EdgeList":
        """All edges with the weights of some rows only, where each row has its own."""
        if self.weight.shape[1] == 1:
            return self
        return EdgeList(self.child, self.parent, self.weight[:, rows], self.size)

    def down(self, function: Callable, children: tuple = (), parents: tuple = ()) -> np.ndarray:
        """sum_j function(w_ij, terms of child i..., terms of parent j...) for every unit i."""
        ends = [z[self.child] for z in children] + [z[self.parent] for z in parents]
        return self._summed(function(self.weight, *ends), self.child, CHILD)

    def up(self, function: Callable, values: np.ndarray, parents: tuple = ()) -> np.ndarray:
        """sum_i z_i function(w_ij, terms of parent j...) for every unit j."""
        terms = values[self.child] * function(self.weight, *(z[self.parent] for z in parents))
        return self._summed(terms, self.parent, PARENT)

    def _summed(self, by_edge: np.ndarray, unit: np.ndarray, end: int) -> np.ndarray:
        if by_edge.shape[1] == 1:
            return np.bincount(unit, by_edge[:, 0], self.size)[:, None]
        return self._collects[end] @ by_edge

    @cached_property
    def _collects(self) -> tuple[sp.csr_array, sp.csr_array]:
        """The matrices that sum over the edges of every child, and of every parent."""
        count = len(self.child)
        ones, edge = np.ones(count), np.arange(count)
        by_child, by_parent = (
            sp.csr_array((ones, (unit, edge)), shape=(self.size, count)) for unit in (self.child, self.parent)
        )
        return by_child, by_parent

    @cached_property
    def graph(self) -> Graph:
        """The edges without their weights."""
        return Graph(self.child, self.parent, self.size)

    def with_ancestors(self, units: np.ndarray) -> np.ndarray:
        """A mask (units, rows) of these units, of which there is a mask, and of all above them."""
        if self._is_one_graph and _rows_agree(units):
            return np.broadcast_to(self.graph.with_ancestors(units[:, 0])[:, None], units.shape)
        return self.ascend(_edge, _is_reached, (units * 1.0,)) > 0

    def children_of(self, units: np.ndarray) -> np.ndarray:
        """(units, rows): which ones have a parent among these, of which there is a mask."""
        if self._is_one_graph and _rows_agree(units):
            return np.broadcast_to(self.graph.children_of(units[:, 0])[:, None], units.shape)
        return self.down(lambda w, above: (w != 0) * above, (), (units * 1.0,)) > 0

    @cached_property
    def _is_one_graph(self) -> bool:
        """Whether all rows have the same edges."""
        return bool(np.all(self.weight != 0))

    def descend(self, edge: Callable, unit: Callable, parents: tuple = (), own: tuple = ()) -> np.ndarray:
        """values_i = unit(xp, sums over the parents j of edge(xp, w_ij, values_j, terms of j...), own terms of i...).

        `edge` gives a tuple of terms, of which each has a sum of its own.
        """
        return self.graph.downwards.follow(edge, unit, self.weight, parents, own)

    def ascend(self, coefficient: Callable, unit: Callable, own: tuple = ()) -> np.ndarray:
        """values_j = unit(xp, sum over the children i of values_i coefficient(xp, w_ij, own terms of j...), own...)."""
        factor = np.asarray(coefficient(np, self.weight, *(z[self.parent] for z in own)), float)
        return self.graph.upwards.follow(lambda _, factor, value: (factor * value,), unit, factor, (), own)

    def retried_without_failures(self, attempt: Callable, fails: Callable, nothing: np.ndarray) -> Any:
        """attempt(without) with as much left out, from nothing on, as is needed for fails(attempt) to be empty."""
        while (failing := fails(found := attempt(nothing))).any():
            nothing = nothing | failing
        return found

    def where_any(self, mask: np.ndarray, function: Callable, otherwise: Any) -> Any:
        """function() where the mask is set anywhere."""
        return function() if mask.any() else otherwise


class TracedEdges(eqx.Module):
    """Sums over parents and children for weights or evidence inside a trace, by the methods of `EdgeList`."""

    weights: Products
    size: int = eqx.field(static=True)

    @classmethod
    def of(cls, storage: Storage, rows: int) -> "TracedEdges":
        return cls(storage.open_for_reduction(CERTAIN_WEIGHT, rows), storage.size)

    @property
    def xp(self):
        return jnp

    def down(self, function: Callable, children: tuple = (), parents: tuple = ()) -> Any:
        return self.weights.map_edges(lambda *terms: (function(*terms),), children, parents)[0]

    def up(self, function: Callable, values: Any, parents: tuple = ()) -> Any:
        """What a unit has from the values of its children: the transpose of what these have from it."""

        def down(factor):
            return self.down(lambda w, factor, *ends: factor * function(w, *ends), (), (factor, *parents))

        return jax.vjp(down, values)[1](values)[0]

    def descend(self, edge: Callable, unit: Callable, parents: tuple = (), own: tuple = ()) -> Any:
        def update(arguments, values):
            edges, parents, own = arguments
            sums = edges.weights.map_edges(lambda *ends: edge(jnp, *ends), (), (values, *parents))
            return unit(jnp, *sums, *own)

        return self._fixed_point(update, (self, parents, own))

    def ascend(self, coefficient: Callable, unit: Callable, own: tuple = ()) -> Any:
        def update(arguments, values):
            edges, own = arguments
            return unit(jnp, edges.up(lambda w, *ends: coefficient(jnp, w, *ends), values, own), *own)

        return self._fixed_point(update, (self, own))

    def with_ancestors(self, units: Any) -> Any:
        def update(arguments, reached):
            edges, units = arguments
            return _is_reached(jnp, jax.vjp(edges.weights.linked, reached)[1](reached)[0], units)

        return self._fixed_point(update, (self, units * 1.0)) > 0

    def _fixed_point(self, update: Callable, arguments: Any) -> Any:
        """values = update(arguments, values), by repetition."""
        like = max(jax.tree.leaves(arguments[1:]), key=lambda z: z.size)
        return fixed_point_along_edges(update, arguments, jnp.zeros(like.shape, jnp.zeros(()).dtype))

    def retried_without_failures(self, attempt: Callable, fails: Callable, nothing: Any) -> Any:
        def once(state):
            without = state[0] | state[1]
            return without, fails(attempt(without))

        without, _ = jax.lax.while_loop(lambda state: jnp.any(state[1]), once, once((nothing, nothing)))
        return attempt(jax.lax.stop_gradient(without))

    def where_any(self, mask: Any, function: Callable, otherwise: Any) -> Any:
        return jax.lax.cond(jnp.any(mask), function, lambda: otherwise)


AnyEdges = EdgeList | TracedEdges


def _rows_agree(mask: np.ndarray) -> bool:
    return mask.shape[1] == 1 or bool((mask == mask[:, :1]).all())


def _edge(xp: Any, w: Any, *_: Any) -> Any:
    return xp.where(w != 0, 1.0, 0.0)


def _is_reached(xp: Any, neighbours: Any, own: Any) -> Any:
    return xp.where(neighbours + own > 0, 1.0, 0.0)


# ---- values that follow from those of the parents, inside a trace ----------------------------------------------------


def fixed_point_along_edges(
    update: Callable, arguments: Any, start: Float[Array, "units rows"], least: float = 0.0
) -> Array:
    """values = update(arguments, values), by repetition, where the values of a unit follow from those of its parents.

    Its reverse derivative is found in the same way, from child to parent. `least`: see `differs`.
    """

    @jax.custom_vjp
    def fixed_point(arguments, start):
        return _repeated_until_unchanged(lambda values: update(arguments, values), start, least)

    def forward(arguments, start):
        values = fixed_point(arguments, start)
        return values, (arguments, values)

    def backward(saved, by_values):
        def against(arguments, total):
            saved, by_values = arguments
            return by_values + jax.vjp(update, *saved)[1](total)[1]

        total = fixed_point_along_edges(against, (saved, by_values), by_values)
        return jax.vjp(update, *saved)[1](total)[0], jnp.zeros_like(total)

    fixed_point.defvjp(forward, backward)
    return fixed_point(arguments, start)


def _repeated_until_unchanged(update: Callable, start: Array, least: float) -> Array:
    def step(state):
        values, _, rounds = state
        new = update(values)
        return new, jnp.any(differs(new, values, least)), rounds + 1

    # No path has more edges than there are units, whatever rounding does.
    return jax.lax.while_loop(lambda s: s[1] & (s[2] <= len(start)), step, (start, jnp.asarray(True), 0))[0]


def differs(new: Any, old: Any, least: float = 0.0) -> Any:
    """Where something has changed by more than rounding, that of `least` at least; what is not a number stays so."""
    xp = namespace(new, old)
    with np.errstate(invalid="ignore"):
        rounding = ROUNDING_STEPS * jnp.finfo(new.dtype).eps * xp.maximum(xp.maximum(abs(new), abs(old)), least)
        changed = (new != old) & ~(abs(new - old) <= rounding)
    return changed & ~(xp.isnan(new) & xp.isnan(old))
