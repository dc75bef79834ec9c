"""Averages of any activation: sums over all states of a dozen parents, or with the field of more taken as normal.

A function of the field is tabulated over the states of the parents, which does not depend on their means; then the
table is folded, one parent after another: (1 - u) times the half where it is off plus u times the half where it is on.
Probabilities are relative to the likeliest state; where they differ by more than a number can hold, all is done with
logarithms, which takes ten times as long.
"""

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plefka.averages.average import NUMBERS_PER_BLOCK, Average, map_columns, message, of_edges
from plefka.averages.parents import Parents, log_mix, log_terms
from plefka.networks.activations import Activation, Custom
from plefka.networks.storage import off_diagonal

SMALLEST_MEAN = 1e-150  # the product of the inverses of two such is still a number
LARGEST_GAP = {"float64": 660.0, "float32": 70.0}  # exp of it is a number, and so is the inverse, to all its digits
NODES = 32
SMALLEST_VARIANCE = 1e-14  # keeps the slope of the square root


class Enumerated(Average):
    """Sums over the 2^positions states of the parents."""

    activation: Activation

    def logs(self, w, u, h):
        def averages(x, u):
            return average(jnp.concatenate(self._logs_and_poles(x)), u)

        on, off, *poles = over_states(averages, average, w, u, h)
        if not poles:
            return on, off
        return jnp.where(poles[0] > 0, -jnp.inf, on), jnp.where(poles[1] > 0, -jnp.inf, off)

    def chances(self, w, parents, h):
        on, off = over_states(lambda x, parents: log_average(self._table(x), parents), log_average, w, parents, h)
        return on, off

    def messages(self, w, parents, h, log_ratio):
        def of_columns(w, parents, h, log_ratio):
            table = self._table(fields(w, h))
            pairs = log_of_averages(lambda mixture, table: leave_one_out(mixture, table, parents), table, parents)
            log_on, log_off = log_mix(parents[0], *jnp.moveaxis(pairs[:, :, 0], 1, 0))
            (on0, on1), (off0, off1) = pairs
            return message((on0, off0), (on1, off1), log_ratio), log_on, log_off

        return map_columns(jax.checkpoint(of_columns), 2 ** len(w) * parents.rows, w, parents, h, log_ratio)

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
        return H.sum(2, keepdims=True) if shared else H

    def _logs_and_poles(self, x) -> list:
        """log_on and log_off in every state, 0 where they are minus infinity; and where they are that, if anywhere."""
        x = self.activation.off_poles(x)
        table = jnp.stack(self.activation.finite_logs(x))
        if not isinstance(getattr(self.activation, "of_fields", self.activation), Custom):
            return [table]
        pole = jnp.isneginf(table)
        return [jnp.where(pole, 0.0, table), pole.astype(table.dtype)]

    def _table(self, x):
        """log_on and log_off in every state."""
        x = self.activation.clip(x)
        return jnp.stack([self.activation.log_on(x), self.activation.log_off(x)])


def over_states(averages: Callable, mixture: Callable, w, u, h):
    """averages(fields, u) by blocks of columns, and by blocks of states where there are many for one column.

    `u` are means, or Parents.
    """
    rows = rows_of(u)
    low = min(len(w), max(1, (NUMBERS_PER_BLOCK // rows).bit_length() - 1))  # so many parents are averaged over at once
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
    return log_of_averages(lambda mixture, table: fold(mixture, table, parents), table, parents)


def log_of_averages(averages: Callable, table, parents: Parents):
    """ln of averages(mix, exp(table)), or averages(log_mix, table) where that has too many orders of magnitude."""
    scale = log_scale(table, parents)
    relative = table - scale[:, None]
    gap = LARGEST_GAP[str(table.dtype)]

    def with_numbers(relative):
        found = jnp.log(averages(mix, jnp.exp(jnp.minimum(relative, gap))))
        return found + jnp.expand_dims(scale, range(1, 1 + found.ndim - scale.ndim))

    def with_logs(relative):
        return averages(log_mix, relative + scale[:, None])

    too_wide = [jnp.any(jnp.isfinite(x) & (jnp.abs(x) > gap)) for x in (relative, parents.log_odds)]
    return jax.lax.cond(too_wide[0] | too_wide[1], with_logs, with_numbers, relative)


def log_scale(table, parents: Parents):
    """The largest table + ln probability of a state: the scale of <exp(table)>."""
    largest = fold(lambda *terms: jnp.maximum(*log_terms(*terms)), table, parents)
    return jax.lax.stop_gradient(jnp.where(jnp.isfinite(largest), largest, 0.0))


def fold(mixture: Callable, table, u):
    """One parent after another, from the first on: (..., states, columns, rows) to (..., columns, rows)."""
    for mean in u:
        off, on = jnp.split(table, 2, axis=1)  # with slices, derivatives that XLA compiled on a CPU came out wrong
        table = mixture(mean, off, on)
    return jnp.broadcast_to(table[:, 0], (*table.shape[:1], *table.shape[2:-1], rows_of(u)))


def leave_one_out(mixture: Callable, table, parents: Parents):
    """For every parent the averages (..., off and on, position, columns, rows) over all others.

    One half of the parents is averaged out before the other half is looked at, and so on.
    """
    if len(parents) == 1:
        return jnp.broadcast_to(table, (*table.shape[:-1], parents.rows))[:, :, None]
    half = len(parents) // 2
    first, second = table, table
    for parent in parents[:half]:
        second = mixture(parent, *jnp.split(second, 2, axis=1))
    for parent in parents[half:][::-1]:
        first = mixture(parent, first[:, ::2], first[:, 1::2])
    parts = leave_one_out(mixture, first, parents[:half]), leave_one_out(mixture, second, parents[half:])
    return jnp.concatenate(parts, axis=2)


def rows_of(u) -> int:
    return u.rows if isinstance(u, Parents) else u.shape[2]


def mix(u, off, on):
    """(1 - u) off + u on, for a mean or for one of Parents."""
    return u.off * off + u.on * on if isinstance(u, Parents) else (1 - u) * off + u * on


# ---- the normal distribution of a field of many parents --------------------------------------------------------------


@cache
def hermite_nodes() -> tuple[np.ndarray, np.ndarray]:
    """Points and probabilities of the standard normal distribution."""
    points, masses = np.polynomial.hermite_e.hermegauss(NODES)
    return points, masses / masses.sum()


class GaussHermite(Average):
    """<g(x)> ~ sum_k p_k g(m + s xi_k), with m and s^2 the mean and the variance of the field."""

    is_exact = False

    activation: Activation

    def logs(self, w, u, h):
        def add(total, mass, log):
            return total + mass * log

        return self._over_nodes(*moments(w, Parents.of_means(u), h), self.activation.off_poles, add, 0.0)

    def chances(self, w, parents, h):
        return self._log_averages(*moments(w, parents, h))

    def messages(self, w, parents, h, log_ratio):
        def of_columns(w, parents, h, log_ratio):
            parents = of_edges(parents, w)
            m, variance = moments(w, parents, h)
            m, variance = m - w * parents.on, variance - w**2 * parents.on * parents.off
            return message(self._log_averages(m, variance), self._log_averages(m + w, variance), log_ratio)

        found = map_columns(jax.checkpoint(of_columns), len(w) * parents.rows, w, parents, h, log_ratio)
        return found, *self.chances(w, parents, h)

    def _log_averages(self, m, variance):
        def add(total, mass, log):
            return jnp.logaddexp(total, jnp.log(mass) + log)

        return self._over_nodes(m, variance, self.activation.clip, add, -jnp.inf)

    def _over_nodes(self, m, variance, inside: Callable, add: Callable, start: float) -> tuple[Any, Any]:
        """Both logarithms, added up over the nodes; `inside` moves a field into the domain."""
        f = self.activation

        def step(total, node):
            xi, mass = node
            x = inside(m + deviation * xi)
            return (add(total[0], mass, f.log_on(x)), add(total[1], mass, f.log_off(x))), None

        deviation = jnp.sqrt(jnp.maximum(variance, 0.0) + SMALLEST_VARIANCE)
        nodes = tuple(jnp.asarray(x, m.dtype) for x in hermite_nodes())
        nothing = jnp.full_like(m, start)
        return jax.lax.scan(jax.checkpoint(step), (nothing, nothing), nodes)[0]


def moments(w, parents: Parents, h):
    """Mean and variance of the field."""
    return h + jnp.sum(w * parents.on, axis=0), jnp.sum(w**2 * (parents.on * parents.off), axis=0)
