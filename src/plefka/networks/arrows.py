"""Along the arrows: what follows from parent to child, and who leads to whom."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from plefka.activations import namespace
from plefka.networks.storage import Products, Storage

ROUNDING = 8.0  # in units of the last digit


def relevant(storage: Storage, informed: Bool[Array, "units rows"]) -> Bool[Array, "units rows"]:
    """The units of which something is known, and their ancestors; all others are barren: summed over, they add nothing.

    Something is known of a unit that is observed, or of which there is soft evidence.
    """
    edges = storage.indicator().plain(1.0, informed.shape[1])
    childless = ~parents_of(edges, jnp.ones(informed.shape, bool))
    anything_barren = jnp.any(childless & ~informed)
    return with_ancestors(edges, informed, needed=anything_barren) | ~anything_barren


def with_ancestors(
    edges: Products,
    units: Bool[Array, "units rows"],
    among: Bool[Array, "units rows"] | bool = True,
    needed: Bool[Array, ""] | bool = True,
) -> Bool[Array, "units rows"]:
    """The units, and those that lead to them along edges of positive weight through units among the given ones."""

    def step(state):
        found, _ = state
        more = found | (parents_of(edges, found) & among)
        return more, jnp.any(more != found)

    return jax.lax.while_loop(lambda state: state[1], step, (units, jnp.asarray(needed)))[0]


def parents_of(edges: Products, units: Bool[Array, "units rows"]) -> Bool[Array, "units rows"]:
    """The units with an edge of positive weight to one of the given ones."""
    return from_children(edges, units) > 0


def from_children(edges: Products, values: Array) -> Float[Array, "units rows"]:
    """sum_i w_ij z_i: what a unit has from its children."""
    z = values.astype(jnp.zeros(()).dtype)
    return jax.vjp(edges.field_of, z)[1](z)[0]


def map_edges_up(
    edges: Products, function: Callable, values: Float[Array, "units rows"], parents: tuple
) -> Float[Array, "units rows"]:
    """sum_i z_i function(w_ij, terms of the parent...): what a unit has from the values z of its children."""

    def down(factor):
        return edges.map_edges(lambda w, factor, *ends: (factor * function(w, *ends),), (), (factor, *parents))[0]

    return jax.vjp(down, values)[1](values)[0]


def forwards(
    weights: Products,
    h: Float[Array, "units #rows"],
    rule: Callable,
    start: Float[Array, "units rows"],
    needed: Bool[Array, ""] | bool = True,
) -> Float[Array, "units rows"]:
    """Apply `rule` (from fields to the values of units) along the arrows, from the parents to the children.

    All units are updated together until nothing changes: as many times as the longest path has edges.
    """
    return _settle(lambda values: rule(h + weights.field_of(values)), start, needed)


def settled_along(once: Callable, arguments: Any, start: Float[Array, "units rows"], least: float = 0.0) -> Array:
    """values = once(arguments, values), by repetition, where the values of a unit follow from those of its parents.

    Its reverse derivative is settled in the same way, against the arrows. `least`: see `differs`.
    """

    @jax.custom_vjp
    def settled(arguments, start):
        return _settle(lambda values: once(arguments, values), start, least=least)

    def forward(arguments, start):
        values = settled(arguments, start)
        return values, (arguments, values)

    def backward(saved, by_values):
        def against(arguments, total):
            saved, by_values = arguments
            return by_values + jax.vjp(once, *saved)[1](total)[1]

        total = settled_along(against, (saved, by_values), by_values)
        return jax.vjp(once, *saved)[1](total)[0], jnp.zeros_like(total)

    settled.defvjp(forward, backward)
    return settled(arguments, start)


def _settle(once: Callable, start: Array, needed: Bool[Array, ""] | bool = True, least: float = 0.0) -> Array:
    def step(state):
        values, _, rounds = state
        new = once(values)
        return new, jnp.any(differs(new, values, least)), rounds + 1

    def unsettled(state):  # no path has more edges than there are units, whatever rounding does
        return state[1] & (state[2] <= len(start))

    return jax.lax.while_loop(unsettled, step, (start, jnp.asarray(needed), 0))[0]


def differs(new: Any, old: Any, least: float = 0.0) -> Any:
    """Where something has changed by more than rounding, that of `least` at least; what is not a number stays so."""
    xp = namespace(new, old)
    with np.errstate(invalid="ignore"):
        rounding = ROUNDING * jnp.finfo(new.dtype).eps * xp.maximum(xp.maximum(abs(new), abs(old)), least)
        changed = (new != old) & ~(abs(new - old) <= rounding)
    return changed & ~(xp.isnan(new) & xp.isnan(old))
