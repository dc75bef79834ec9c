"""Averages for noisy-or: log_on as a sum of exponentials of the field, whose averages are products over the parents.

log_off(x) = -x is linear, and 1 - f(x) = exp(-x) is such a product itself. For log_on,

    -ln(1 - exp(-x)) ~ sum_k c_k exp(-t_k x)   for x >= leak,
    <exp(-t x)> = exp(-t h) prod_j (1 - u_j + u_j exp(-t w_j))
"""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from plefka.averages import node_sums
from plefka.averages.average import Average, map_columns, mean_field, message, of_edges
from plefka.averages.parents import Parents, log_tilt
from plefka.networks.activations import log_noisy_or

FIRST, RATIO, LAST = 10, 1.44, 30.0  # t = 1, 2, ..., FIRST, then by RATIO up to LAST / leak: within 2e-10
SMALLEST_LEAK = 1e-12


@cache
def exponentials(leak: float) -> tuple[np.ndarray, np.ndarray]:
    """The t_k and c_k: least squares on a logarithmic grid, with rates as dense as the digits ask for."""
    leak = min(max(leak, SMALLEST_LEAK), 1.0)
    octaves = int(np.ceil(np.log(LAST / leak / FIRST) / np.log(RATIO)))
    t = np.r_[np.arange(1.0, FIRST), np.geomspace(FIRST, LAST / leak, octaves + 1)]
    x = np.geomspace(leak, 45.0, 12 * len(t))
    c = np.linalg.lstsq(np.exp(-np.outer(x, t)), -np.log(-np.expm1(-x)), rcond=1e-15)[0]
    return t, c


class Exponentials(Average):
    """Sums of products, for fields of at least `leak`."""

    leak: float = eqx.field(static=True, converter=float)

    def logs(self, w, u, h):
        found = map_columns(partial(minus_log_on, self.leak), len(w) * u.shape[2], w, u, h)
        return -found, -mean_field(w, u, h)

    def covers(self, w, h):
        if self.leak == 0:  # no fit is asked for: products are right everywhere
            return super().covers(w, h)
        return h + jnp.minimum(w, 0.0).sum(0) >= self.leak

    def chances(self, w, parents, h):
        lowest, terms = above_lowest(w, parents, h)
        x = lowest + jnp.sum(terms, axis=0)
        return log_noisy_or(x), -x

    def messages(self, w, parents, h, log_ratio):
        """All terms are positive, so that nothing cancels where one of them is left out of a sum."""
        lowest, terms = above_lowest(w, of_edges(parents, w), h)
        others = lowest + node_sums.all_but_one(terms)
        off, on = others + jnp.where(w < 0, -w, 0.0), others + jnp.where(w < 0, 0.0, w)
        x = lowest + terms.sum(0)
        return message((log_noisy_or(off), -off), (log_noisy_or(on), -on), log_ratio), log_noisy_or(x), -x

    def curvatures(self, w, u, h, a, b, shared):
        return node_sums.curvatures_by_columns(partial(curvatures, self.leak, shared), shared, w, u, h, a)

    def slopes(self, w, u, h):
        return w - map_columns(lambda *table: sums(self.leak, 3, *table)[2], len(w) * u.shape[2], w, u, h)


def above_lowest(w, parents: Parents, h):
    """The lowest field, with all inhibitors on and all else off, and by how much each parent raises it, never below 0.

    An inhibitor raises the field by being off. Where the lowest field is 0, f is as small as the chance of leaving it:
    a sum of terms with both signs would round to either side of 0.
    """
    inhibits = w < 0
    lowest = h + jnp.where(inhibits, w, 0.0).sum(0)
    on, off = (jnp.where(inhibits, *pair) for pair in ((parents.off, parents.on), (parents.on, parents.off)))
    raising = Parents(on, off, jnp.where(inhibits, -parents.log_odds, parents.log_odds))
    return jnp.where(lowest < 0, 0.0, lowest), equivalent(jnp.where(inhibits, -w, w), raising)


def equivalent(w, parents: Parents):
    """-ln(1 - u + u exp(-w)): the weight of a parent that is always on and does the same to <1 - f>."""
    gain = parents.on * jnp.expm1(-w)
    mild = gain > -0.5  # else log1p would lose the digits of 1 - u, and of a large w where u = 1
    return -jnp.where(mild, jnp.log1p(jnp.where(mild, gain, 0.0)), log_tilt(-w, parents))


class ExponentialNode(NamedTuple):
    """The factors f = (1 - u) off + u on, P = <exp(-t x)>, and P without each of its factors.

    on / off is exp(-t w); neither is above 1, as P starts from the lowest field.
    """

    on: jax.Array
    change: jax.Array  # on - off
    f: jax.Array
    P: jax.Array
    without: jax.Array


def walk(leak: float, visit: Callable, total, w, u, h):
    """total = visit(total, node, t, c), over all nodes."""
    t, c = exponentials(leak)
    inhibits = w < 0
    lowest = h + jnp.where(inhibits, w, 0.0).sum(0)
    smallest = jnp.finfo(u.dtype).tiny ** (1 / 3)  # so that a factor can be taken out of a product again

    def step(total, weights):
        t, c = weights
        z = jnp.exp(-t * jnp.where(inhibits, -w, w))
        on, off = jnp.where(inhibits, 1.0, z), jnp.where(inhibits, z, 1.0)
        f = off + u * (on - off)
        f = f + jax.lax.stop_gradient(jnp.maximum(smallest - f, 0.0))
        alone = jnp.exp(-t * lowest)
        (P,), (L,) = node_sums.products(node_sums.REAL, (f,))
        return visit(total, ExponentialNode(on, on - off, f, alone * P, alone * L), t, c), None

    return jax.lax.scan(step, total, tuple(jnp.asarray(x, u.dtype) for x in (t, c)))[0]


def sums(leak: float, number: int, w, u, h):
    """<-ln(1 - exp(-x))> = sum_k c_k P_k, and its derivatives in the same pass: a factor is taken out by division."""

    def visit(totals, node, t, c):
        terms = (c * node.P, -c * t * node.P, c * node.without * node.change, -c * t * u * node.without * node.on)
        return tuple(total + term for total, term in zip(totals, terms, strict=False))

    return walk(leak, visit, node_sums.sums_over_nodes(number, w, u, h), w, u, h)


minus_log_on = node_sums.with_slopes(sums)


def curvatures(leak: float, shared: bool, w, u, h, a):
    def visit(total, node, t, c):
        r = node.change / node.f
        return total - node_sums.products_of_pairs(shared, r, c * a * node.P * r)

    return walk(leak, visit, node_sums.no_curvatures(shared, w, u), w, u, h)
