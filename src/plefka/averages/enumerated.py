"""Averages of any activation as sums over all states of the parents, of which there may be about a dozen.

A function of the field is tabulated over the states of the parents, which does not depend on their means; then the
table is folded, one parent after another: (1 - u) times the half where it is off plus u times the half where it is on.
For probabilities all of this is done with logarithms, so that nothing is too small for a number.
"""

from collections.abc import Callable
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np

from plefka.activations import Activation
from plefka.averages.average import Average, message, of_edges, off_diagonal
from plefka.averages.blocks import BLOCK, map_columns
from plefka.averages.parents import Parents, log_mix

SMALLEST_MEAN = 1e-150  # the product of the inverses of two such is still a number


class Enumerated(Average):
    """Sums over the 2^positions states of the parents."""

    activation: Activation

    @property
    def is_exact(self):
        return True

    def logs(self, w, u, h):
        def averages(x, u):
            x = self.activation.off_poles(x)
            return average(jnp.stack([self.activation.log_on(x), self.activation.log_off(x)]), u)

        on, off = over_states(averages, average, w, u, h)
        return on, off

    def chances(self, w, parents, h):
        on, off = over_states(lambda x, parents: log_average(self._table(x), parents), log_average, w, parents, h)
        return on, off

    def messages(self, w, parents, h, log_ratio):
        def told(w, parents, h, log_ratio):
            pairs = leave_one_out(self._table(fields(w, h)), parents)
            log_on, log_off = log_mix(parents[0], *jnp.moveaxis(pairs[0], 1, 0))
            (on0, on1), (off0, off1) = jnp.stack(pairs, axis=2)  # (on or off, state, position, ...)
            return message((on0, off0), (on1, off1), log_ratio), log_on, log_off

        return map_columns(jax.checkpoint(told), 2 ** len(w) * parents.rows, w, parents, h, log_ratio)

    def curvatures(self, w, u, h, a, b, shared):
        """<T d_j d_l> with T = a log_on + b log_off and d = 1 / u where the parent is on, -1 / (1 - u) where off."""

        def one(w, u, h, a, b):
            u = jnp.clip(of_edges(u, w), SMALLEST_MEAN, 1 - jnp.finfo(u.dtype).epsneg)
            x = self.activation.off_poles(fields(w, h))
            T = a * self.activation.log_on(x) + b * self.activation.log_off(x)
            S = np.array(list(product((0, 1), repeat=len(w))))[:, :, None, None]  # the first parent varies slowest
            d = jnp.where(S == 1, 1 / u, -1 / (1 - u))
            return jnp.einsum("scr,sjcr,slcr->jlcr", T * jnp.where(S == 1, u, 1 - u).prod(1), d, d)

        H = off_diagonal(map_columns(one, 2 ** len(w) * len(w) * u.shape[2], w, u, h, a, b))
        return H.sum(2) if shared else H

    def _table(self, x):
        """log_on and log_off in every state."""
        x = self.activation.clip(x)
        return jnp.stack([self.activation.log_on(x), self.activation.log_off(x)])


def over_states(averages: Callable, mixture: Callable, w, u, h):
    """averages(fields, u) by blocks of columns, and by blocks of states where there are many for one column.

    `u` are means, or Parents.
    """
    rows = rows_of(u)
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


def log_average(table, parents: Parents):
    """ln <exp(table)>, with finite derivatives by the means up to 0 and 1."""
    return fold(log_mix, table, parents)


def fold(mixture: Callable, table, u):
    """One parent after another, from the first on: (..., states, columns, rows) to (..., columns, rows)."""
    for mean in u:
        off, on = jnp.split(table, 2, axis=1)  # by slices, XLA's derivatives are wrong
        table = mixture(mean, off, on)
    return jnp.broadcast_to(table[:, 0], (*table.shape[:1], *table.shape[2:-1], rows_of(u)))


def leave_one_out(table, parents: Parents) -> list:
    """For every parent ln <exp(table)> (..., off and on, columns, rows) over all others.

    One half of the parents is averaged out before the other half is looked at, and so on.
    """
    if len(parents) == 1:
        return [jnp.broadcast_to(table, (*table.shape[:-1], parents.rows))]
    half = len(parents) // 2
    first, second = table, table
    for parent in parents[:half]:
        second = log_mix(parent, *jnp.split(second, 2, axis=1))
    for parent in parents[half:][::-1]:
        first = log_mix(parent, first[:, ::2], first[:, 1::2])
    return leave_one_out(first, parents[:half]) + leave_one_out(second, parents[half:])


def rows_of(u) -> int:
    return u.rows if isinstance(u, Parents) else u.shape[2]


def mix(u, off, on):
    """(1 - u) off + u on."""
    return (1 - u) * off + u * on
