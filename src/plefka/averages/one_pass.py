"""Sums over nodes with derivatives that are found in the same pass over the nodes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero


def with_slopes(value: Callable, value_and_slopes: Callable) -> Callable:
    """value(rule, w, u, h), differentiated by value_and_slopes(rule, by_w, w, u, h).

    That is the value with its derivatives by h, by u for every edge, and by w for every edge where `by_w` is True.
    """

    def forward(rule: Any, w, u, h):
        one_pass = jax.checkpoint(partial(value_and_slopes, rule, w.perturbed))
        found, by_h, by_u, *by_w = one_pass(w.value, u.value, h.value)
        return found, (by_w[0] if by_w else None, by_u, by_h, w.value, u.value, h.value)

    def backward(_: Any, residuals, slope):
        by_w, by_u, by_h, w, u, h = residuals
        if isinstance(slope, SymbolicZero):
            return jnp.zeros_like(w), jnp.zeros_like(u), jnp.zeros_like(h)
        return (
            jnp.zeros_like(w) if by_w is None else _sum_to(w.shape, by_w * slope),
            _sum_to(u.shape, by_u * slope),
            _sum_to(h.shape, by_h * slope),
        )

    function = jax.custom_vjp(value, nondiff_argnums=(0,))
    function.defvjp(forward, backward, symbolic_zeros=True)
    return function


def _sum_to(shape: tuple[int, ...], x):
    """The sums over the axes along which an array of this shape was repeated."""
    repeated = tuple(axis for axis, size in enumerate(shape) if size != x.shape[axis])
    return x.sum(repeated, keepdims=True)
