"""Sums over nodes with derivatives that are found in the same pass over the nodes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero


def sums_over_nodes(number: int, w, u, h) -> tuple:
    """Zeros to start from: as many of the value, its derivatives by h, and those by u and by w for every edge."""
    column = jnp.zeros((h.shape[0], u.shape[2]), u.dtype)
    edge = jnp.zeros((*w.shape[:2], u.shape[2]), u.dtype)
    return (column, column, edge, edge)[:number]


def with_slopes(sums: Callable) -> Callable:
    """The value that sums(rule, number, w, u, h) begins with, as value(rule, w, u, h) with its derivatives.

    `sums` are the first `number` of the value and its derivatives by h, by u for every edge, and by w for every edge.
    """

    def value(rule: Any, w, u, h):
        return sums(rule, 1, w, u, h)[0]

    def forward(rule: Any, w, u, h):
        one_pass = jax.checkpoint(partial(sums, rule, 4 if w.perturbed else 3))
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
