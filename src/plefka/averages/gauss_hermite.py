"""Averages of any activation with the field taken as normal: for more parents than can be enumerated."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from plefka.activations import Activation
from plefka.averages.average import Average, message, of_edges
from plefka.averages.blocks import map_columns
from plefka.averages.parents import Parents

NODES = 32
SMALLEST_VARIANCE = 1e-14  # keeps the slope of the square root


@cache
def hermite_nodes() -> tuple[np.ndarray, np.ndarray]:
    """Points and probabilities of the standard normal distribution."""
    points, masses = np.polynomial.hermite_e.hermegauss(NODES)
    return points, masses / masses.sum()


class GaussHermite(Average):
    """<g(x)> ~ sum_k p_k g(m + s xi_k), with m and s^2 the mean and the variance of the field."""

    activation: Activation

    @property
    def is_exact(self):
        return False

    def logs(self, w, u, h):
        f = self.activation
        m, variance = moments(w, Parents.of_means(u), h)

        def step(total, node):
            xi, mass = node
            x = f.off_poles(m + deviation(variance) * xi)
            return (total[0] + mass * f.log_on(x), total[1] + mass * f.log_off(x)), None

        return jax.lax.scan(jax.checkpoint(step), (jnp.zeros_like(m), jnp.zeros_like(m)), hermite_nodes_of(m))[0]

    def chances(self, w, parents, h):
        return self._log_averages(*moments(w, parents, h))

    def messages(self, w, parents, h, log_ratio):
        def told(w, parents, h, log_ratio):
            parents = of_edges(parents, w)
            m, variance = moments(w, parents, h)
            m, variance = m - w * parents.on, variance - w**2 * parents.on * parents.off
            return message(self._log_averages(m, variance), self._log_averages(m + w, variance), log_ratio)

        told = jax.checkpoint(told)
        return map_columns(told, len(w) * parents.rows, w, parents, h, log_ratio), *self.chances(w, parents, h)

    def _log_averages(self, m, variance):
        f = self.activation

        def step(total, node):
            xi, log_mass = node
            x = f.clip(m + deviation(variance) * xi)
            return (
                jnp.logaddexp(total[0], log_mass + f.log_on(x)),
                jnp.logaddexp(total[1], log_mass + f.log_off(x)),
            ), None

        xi, mass = hermite_nodes_of(m)
        nothing = jnp.full_like(m, -jnp.inf)
        return jax.lax.scan(jax.checkpoint(step), (nothing, nothing), (xi, jnp.log(mass)))[0]


def hermite_nodes_of(like):
    return tuple(jnp.asarray(x, like.dtype) for x in hermite_nodes())


def moments(w, parents: Parents, h):
    """Mean and variance of the field."""
    return h + jnp.sum(w * parents.on, axis=0), jnp.sum(w**2 * (parents.on * parents.off), axis=0)


def deviation(variance):
    return jnp.sqrt(jnp.maximum(variance, 0.0) + SMALLEST_VARIANCE)
