"""Averages of any activation as sums over all states of the parents, of which there may be about a dozen.

A function of the field is tabulated over the states of the parents, which does not depend on their means; then the
table is folded, one parent after another: (1 - u) times the half where it is off plus u times the half where it is on.
"""

from collections.abc import Callable
from itertools import combinations

import jax
import jax.numpy as jnp

from plefka.activations import Activation
from plefka.averages.average import Average, message, of_edges
from plefka.averages.blocks import BLOCK, map_columns

FEW = 6  # parents whose pairs are looked at one by one
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
            return fold(log_mix, self._table(x), u)

        return over_states(averages, log_mix, w, u, h)

    def messages(self, w, u, h, log_ratio):
        def told(w, u, h, log_ratio):
            table = self._table(fields(w, h))
            pairs = leave_one_out(table, of_edges(u, w))
            off, on = (tuple(jnp.concatenate([pair[s][k] for pair in pairs]) for k in (0, 1)) for s in (0, 1))
            chances = fold(log_mix, tuple(jnp.concatenate(both) for both in zip(*pairs[0], strict=True)), u[:1])
            return message(off, on, log_ratio), *chances

        return map_columns(jax.checkpoint(told), 2 ** len(w) * u.shape[2], w, u, h, log_ratio)

    def curvatures(self, w, u, h, a, b, shared):
        """The second differences of the table, averaged over the states of all other parents."""
        if len(w) > FEW:
            return super().curvatures(w, u, h, a, b, shared)
        x = self.activation.off_poles(fields(w, h))
        table = a * self.activation.log_on(x) + b * self.activation.log_off(x)
        table = table.reshape((2,) * len(w) + table.shape[1:])
        nothing = jnp.zeros(table.shape[-2:], table.dtype)
        H = [[nothing] * len(w) for _ in w]
        for j, k in combinations(range(len(w)), 2):
            H[j][k] = H[k][j] = _second_difference(table, u, j, k)
        found = jnp.stack([jnp.stack(row) for row in H])
        return found.sum(2) if shared else found

    def _table(self, x):
        x = self.activation.clip(x)
        return self.activation.log_on(x), self.activation.log_off(x)


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


def _second_difference(table, u, j: int, k: int):
    """Over parents j and k of a table with an axis for each parent."""
    for parent in reversed(range(len(u))):  # from the last axis on, so that those in front stay where they are
        off, on = jnp.take(table, 0, axis=parent), jnp.take(table, 1, axis=parent)
        table = on - off if parent in (j, k) else mix(u[parent], off, on)
    return table


def fields(w, h):
    """The field in every state, (states, columns, rows); the first parent is on in the second half of the states."""
    x = h[None]
    for weight in w[::-1]:
        x = jnp.concatenate([jnp.broadcast_to(x, (x + weight).shape), x + weight])
    return x


def fold(mixture: Callable, tables: tuple, u) -> tuple:
    """The averages of tables over the states, (columns, rows)."""
    for mean in u:
        tables = tuple(mixture(mean, *jnp.split(x, 2)) for x in tables)  # by slices, XLA's derivatives are wrong
    shape = jnp.broadcast_shapes(tables[0].shape, (1, 1, u.shape[2]))[1:]
    return tuple(jnp.broadcast_to(x[0], shape) for x in tables)


def leave_one_out(tables: tuple, u) -> list[tuple]:
    """For every parent the averages (where it is off, where it is on) over all others, each with one state in front.

    One half of the parents is averaged out before the other half is looked at, and so on.
    """
    if len(u) == 1:
        return [tuple(tuple(x[s : s + 1] for x in tables) for s in (0, 1))]
    half = len(u) // 2
    first, second = tables, tables
    for mean in u[:half]:
        second = tuple(log_mix(mean, *jnp.split(x, 2)) for x in second)
    for mean in u[half:][::-1]:
        first = tuple(log_mix(mean, x[::2], x[1::2]) for x in first)
    return leave_one_out(first, u[:half]) + leave_one_out(second, u[half:])


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
