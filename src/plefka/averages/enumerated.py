"""Averages of any activation as sums over all states of the parents, of which there may be about a dozen.

A function of the field is tabulated over the states of the parents, which does not depend on their means; then the
table is folded, one parent after another: (1 - u) times the half where it is off plus u times the half where it is on.
"""

from collections.abc import Callable
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np

from plefka.activations import Activation, Custom
from plefka.averages.average import Average, message, of_edges, off_diagonal
from plefka.averages.blocks import BLOCK, map_columns

SMALLEST_MEAN = 1e-150  # the product of the inverses of two such is still a number
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
            return average(jnp.concatenate(self._logs_and_poles(x)), u)

        on, off, *poles = over_states(averages, average, w, u, h)
        if not poles:
            return on, off
        return jnp.where(poles[0] > 0, -jnp.inf, on), jnp.where(poles[1] > 0, -jnp.inf, off)

    def chances(self, w, u, h):
        on, off = over_states(lambda x, u: log_average(self._table(x), u), log_average, w, u, h)
        return on, off

    def messages(self, w, u, h, log_ratio):
        def told(w, u, h, log_ratio):
            table = self._table(fields(w, h))
            scale = largest(table, u)
            pairs = jnp.stack(leave_one_out(relative(table, scale), u), axis=2)  # (on or off, state, position, ...)
            (on0, on1), (off0, off1) = jnp.log(pairs) + scale[:, None, None]
            log_on, log_off = jnp.log(mix(u[0], pairs[:, 0, 0], pairs[:, 1, 0])) + scale
            return message((on0, off0), (on1, off1), log_ratio), log_on, log_off

        return map_columns(jax.checkpoint(told), 2 ** len(w) * u.shape[2], w, u, h, log_ratio)

    def curvatures(self, w, u, h, a, b, shared):
        """<T d_j d_l> with T = a log_on + b log_off and d = 1 / u where the parent is on, -1 / (1 - u) where off."""

        def one(w, u, h, a, b):
            u = jnp.clip(of_edges(u, w), SMALLEST_MEAN, 1 - jnp.finfo(u.dtype).epsneg)
            log_on, log_off = self._logs_and_poles(fields(w, h))[0]
            T = a * log_on + b * log_off
            S = np.array(list(product((0, 1), repeat=len(w))))[:, :, None, None]  # the first parent varies slowest
            d = jnp.where(S == 1, 1 / u, -1 / (1 - u))
            return jnp.einsum("scr,sjcr,slcr->jlcr", T * jnp.where(S == 1, u, 1 - u).prod(1), d, d)

        H = off_diagonal(map_columns(one, 2 ** len(w) * len(w) * u.shape[2], w, u, h, a, b))
        return H.sum(2) if shared else H

    def _logs_and_poles(self, x) -> list:
        """log_on and log_off in every state, 0 where they are minus infinity; and where they are that, if anywhere."""
        x = self.activation.off_poles(x)
        table = jnp.stack([self.activation.log_on(x), self.activation.log_off(x)])
        if not isinstance(self.activation, Custom):
            return [table]
        pole = jnp.isneginf(table)
        return [jnp.where(pole, 0.0, table), pole.astype(table.dtype)]

    def _table(self, x):
        """log_on and log_off in every state."""
        x = self.activation.clip(x)
        return jnp.stack([self.activation.log_on(x), self.activation.log_off(x)])


def over_states(averages: Callable, mixture: Callable, w, u, h):
    """averages(fields, u) by blocks of columns, and by blocks of states where there are many for one column."""
    rows = u.shape[2]
    low = min(len(w), max(1, (BLOCK // rows).bit_length() - 1))  # so many parents are averaged over at once
    high = len(w) - low

    def one(w, u, h):
        if not high:
            return averages(fields(w, h), u)
        above = fields(w[:high], h)
        parts = jax.lax.map(jax.checkpoint(lambda h: averages(fields(w[high:], h), u[high:])), above)
        return mixture(jnp.moveaxis(parts, 0, 1), u[:high])

    return map_columns(jax.checkpoint(one), 2**low * rows, w, u, h)


def fields(w, h):
    """The field in every state, (states, columns, rows); the first parent is on in the second half of the states."""
    x = h[None]
    for weight in w[::-1]:
        x = jnp.concatenate([jnp.broadcast_to(x, (x + weight).shape), x + weight])
    return x


def average(table, u):
    """The average of a table (..., states, columns, rows) over the states."""
    return fold(mix, table, u)


def log_average(table, u):
    """ln <exp(table)>, with finite derivatives by u up to 0 and 1."""
    scale = largest(table, u)
    return jnp.log(fold(mix, relative(table, scale), u)) + scale


def largest(table, u):
    """The largest table + ln probability of a state: the scale of <exp(table)>."""
    log_mix = fold(lambda u, off, on: jnp.maximum(jnp.log1p(-u) + off, jnp.log(u) + on), table, u)
    return jax.lax.stop_gradient(jnp.where(jnp.isfinite(log_mix), log_mix, 0.0))


def relative(table, scale):
    """exp(table - scale), also where a state without probability would be far above the scale."""
    gap = LARGEST_GAP if table.dtype == jnp.float64 else LARGEST_GAP_SINGLE
    return jnp.exp(jnp.minimum(table - scale[:, None], gap))


def fold(mixture: Callable, table, u):
    """One parent after another, from the first on: (..., states, columns, rows) to (..., columns, rows)."""
    for mean in u:
        off, on = jnp.split(table, 2, axis=1)  # by slices, XLA's derivatives are wrong
        table = mixture(mean, off, on)
    return jnp.broadcast_to(table[:, 0], (*table.shape[:1], *table.shape[2:-1], u.shape[2]))


def leave_one_out(table, u) -> list:
    """For every parent the averages (..., off and on, columns, rows) over all others.

    One half of the parents is averaged out before the other half is looked at, and so on.
    """
    if len(u) == 1:
        return [jnp.broadcast_to(table, (*table.shape[:-1], u.shape[2]))]
    half = len(u) // 2
    first, second = table, table
    for mean in u[:half]:
        second = mix(mean, *jnp.split(second, 2, axis=1))
    for mean in u[half:][::-1]:
        first = mix(mean, first[:, ::2], first[:, 1::2])
    return leave_one_out(first, u[:half]) + leave_one_out(second, u[half:])


def mix(u, off, on):
    """(1 - u) off + u on."""
    return (1 - u) * off + u * on
