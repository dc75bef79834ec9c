"""Along the arrows: what follows from parent to child."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plefka.networks.activations import namespace
from plefka.networks.storage import Products

ROUNDING_STEPS = 8.0  # in units of the last digit


def map_edges_up(
    edges: Products, function: Callable, values: Float[Array, "units rows"], parents: tuple
) -> Float[Array, "units rows"]:
    """sum_i z_i function(w_ij, terms of the parent...): what a unit has from the values z of its children."""

    def down(factor):
        return edges.map_edges(lambda w, factor, *ends: (factor * function(w, *ends),), (), (factor, *parents))[0]

    return jax.vjp(down, values)[1](values)[0]


def settled_along(once: Callable, arguments: Any, start: Float[Array, "units rows"], least: float = 0.0) -> Array:
    """values = once(arguments, values), by repetition, where the values of a unit follow from those of its parents.

    Its reverse derivative is settled in the same way, against the arrows. `least`: see `differs`.
    """

    @jax.custom_vjp
    def settled(arguments, start):
        return _settle(lambda values: once(arguments, values), start, least)

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


def _settle(once: Callable, start: Array, least: float) -> Array:
    def step(state):
        values, _, rounds = state
        new = once(values)
        return new, jnp.any(differs(new, values, least)), rounds + 1

    def unsettled(state):  # no path has more edges than there are units, whatever rounding does
        return state[1] & (state[2] <= len(start))

    return jax.lax.while_loop(unsettled, step, (start, jnp.asarray(True), 0))[0]


def differs(new: Any, old: Any, least: float = 0.0) -> Any:
    """Where something has changed by more than rounding, that of `least` at least; what is not a number stays so."""
    xp = namespace(new, old)
    with np.errstate(invalid="ignore"):
        rounding = ROUNDING_STEPS * jnp.finfo(new.dtype).eps * xp.maximum(xp.maximum(abs(new), abs(old)), least)
        changed = (new != old) & ~(abs(new - old) <= rounding)
    return changed & ~(xp.isnan(new) & xp.isnan(old))
