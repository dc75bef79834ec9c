"""Values of units that follow from those of their parents, and the derivatives of these values."""

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

    def is_changing(state):  # no path has more edges than there are units, whatever rounding does
        return state[1] & (state[2] <= len(start))

    return jax.lax.while_loop(is_changing, step, (start, jnp.asarray(True), 0))[0]


def differs(new: Any, old: Any, least: float = 0.0) -> Any:
    """Where something has changed by more than rounding, that of `least` at least; what is not a number stays so."""
    xp = namespace(new, old)
    with np.errstate(invalid="ignore"):
        rounding = ROUNDING_STEPS * jnp.finfo(new.dtype).eps * xp.maximum(xp.maximum(abs(new), abs(old)), least)
        changed = (new != old) & ~(abs(new - old) <= rounding)
    return changed & ~(xp.isnan(new) & xp.isnan(old))
