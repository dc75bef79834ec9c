"""Averages of any activation as sums over all states of the parents, of which there may be about a dozen.

A function of the field is tabulated over the states of the parents, which does not depend on their means; then the
table is folded, one parent after another: (1 - u) times the half where it is off plus u times the half where it is on.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from plefka.activations import Activation
from plefka.averages.average import Average, message, of_edges
from plefka.averages.blocks import BLOCK, map_columns

LARGEST_GAP = 690.0  # exp of this is still a number
LARGEST_GAP_SINGLE = 80.0


class Enumerated(Average):
    """Sums over the 2^positions states of the parents."""

    activation: Activation

    @property
    def is_exact(self):
        return True

    def logs(self, w, u, h):
        def averages(x, u):
            x = self.activation.off_poles(x)
            return fold(mix, (self.activation.log_on(x), self.activation.log_off(x)), u)

        return over_states(averages, mix, w, u, h)

    def chances(self, w, u, h):
        def averages(x, u):
            P, top = self._table(x, u)
            return tuple(logarithm(fold(weigh, (P,), u)[0]) + top)

        return over_states(averages, log_mix, w, u, h)

    def messages(self, w, u, h, log_ratio):
        def told(w, u, h, log_ratio):
            u = of_edges(u, w)
            P, top = self._table(fields(w, h), u)
            halves = jnp.stack(leave_one_out(P, u), axis=1)  # where the parent is off and on, parents, f and 1 - f
            off, on = logarithm(halves) + top
            chances = logarithm(weigh(u[0], halves[0, 0], halves[1, 0])) + top
            return message((off[:, 0], off[:, 1]), (on[:, 0], on[:, 1]), log_ratio), *chances

        return map_columns(jax.checkpoint(told), 2 ** len(w) * u.shape[2], w, u, h, log_ratio)

    def _table(self, x, u):
        """f and 1 - f in every state, divided by exp(top), the largest that counts; (states, 2, columns, rows)."""
        inside = self.activation.clip(x)
        impossible = jnp.isneginf(jnp.stack([self.activation.log_on(inside), self.activation.log_off(inside)], axis=1))
        x = self.activation.off_poles(x)
        logs = jnp.stack([self.activation.log_on(x), self.activation.log_off(x)], axis=1)
        top = jax.lax.stop_gradient(fold(likelier, (jnp.where(impossible, -jnp.inf, logs),), u)[0])
        top = jnp.where(jnp.isfinite(top), top, 0.0)
        P = jnp.exp(jnp.minimum(logs - top, LARGEST_GAP if u.dtype == jnp.float64 else LARGEST_GAP_SINGLE))
        return P - jax.lax.stop_gradient(jnp.where(impossible, P, 0.0)), top  # zero, with the slope of f


def over_states(averages: Callable, mixture: Callable, w, u, h):
    """averages(fields, u) by blocks of columns, and by blocks of states where there are many for one column."""
    rows = u.shape[2]
    low = min(len(w), max(1, (BLOCK // rows).bit_length() - 1))  # so many parents are folded at once
    high = len(w) - low

    def one(w, u, h):
        if not high:
            return averages(fields(w, h), u)
        above = fields(w[:high], h)
        parts = jax.lax.map(jax.checkpoint(lambda h: averages(fields(w[high:], h), u[high:])), above)
        return fold(mixture, parts, u[:high])

    return map_columns(jax.checkpoint(one), 2**low * rows, w, u, h)


def fields(w, h):
    """The field in every state, (states, columns, rows); the first parent is on in the second half of the states."""
    x = h[None]
    for weight in w[::-1]:
        x = jnp.concatenate([jnp.broadcast_to(x, (x + weight).shape), x + weight])
    return x


def fold(mixture: Callable, tables: tuple, u) -> tuple:
    """The averages of tables over the states, (..., columns, rows)."""
    for mean in u:
        half = tables[0].shape[0] // 2
        tables = tuple(mixture(mean, x[:half], x[half:]) for x in tables)
    shape = (*tables[0].shape[1:-1], max(tables[0].shape[-1], u.shape[2]))
    return tuple(jnp.broadcast_to(x[0], shape) for x in tables)


def leave_one_out(table, u) -> list:
    """For every parent the averages over all others, with two states in front: where it is off and where it is on.

    One half of the parents is averaged out before the other half is looked at, and so on.
    """
    if len(u) == 1:
        return [table]
    half = len(u) // 2
    first, second = table, table
    for mean in u[:half]:
        second = weigh(mean, *jnp.split(second, 2))
    for mean in u[half:][::-1]:
        first = weigh(mean, first[::2], first[1::2])
    return leave_one_out(first, u[:half]) + leave_one_out(second, u[half:])


def weigh(u, off, on):
    """(1 - u) off + u on, in which nothing cancels."""
    return (1 - u) * off + u * on


def likelier(u, off, on):
    """The larger of ln[(1 - u) exp(off)] and ln[u exp(on)]."""
    return jnp.maximum(jnp.log1p(-u) + off, jnp.log(u) + on)


def logarithm(P):
    """ln P, with a slope of zero where P is zero."""
    possible = P > 0
    return jnp.where(possible, jnp.log(jnp.where(possible, P, 1.0)), -jnp.inf)


def mix(u, off, on):
    """(1 - u) off + u on."""
    return off + u * (on - off)


def log_mix(u, off, on):
    """ln[(1 - u) exp(off) + u exp(on)], for u up to 0 and 1, with finite derivatives by u."""
    gap = LARGEST_GAP if u.dtype == jnp.float64 else LARGEST_GAP_SINGLE
    scale = jax.lax.stop_gradient(jnp.logaddexp(jnp.log1p(-u) + off, jnp.log(u) + on))
    scale = jnp.where(jnp.isfinite(scale), scale, 0.0)
    total = (1 - u) * jnp.exp(jnp.minimum(off - scale, gap)) + u * jnp.exp(jnp.minimum(on - scale, gap))
    possible = total > 0
    return jnp.where(possible, scale + jnp.log(jnp.where(possible, total, 1.0)), -jnp.inf)
