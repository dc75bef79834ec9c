"""Averages of any activation with the field taken as normal: for more parents than can be enumerated."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plefka.averages.average import Average, message, of_edges
from plefka.averages.column_blocks import map_columns
from plefka.averages.parents import Parents
from plefka.networks.activations import Activation

NODES = 32
SMALLEST_VARIANCE = 1e-14  # keeps the slope of the square root


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
            x = inside(m + deviation(variance) * xi)
            return (add(total[0], mass, f.log_on(x)), add(total[1], mass, f.log_off(x))), None

        nodes = tuple(jnp.asarray(x, m.dtype) for x in hermite_nodes())
        nothing = jnp.full_like(m, start)
        return jax.lax.scan(jax.checkpoint(step), (nothing, nothing), nodes)[0]


def moments(w, parents: Parents, h):
    """Mean and variance of the field."""
    return h + jnp.sum(w * parents.on, axis=0), jnp.sum(w**2 * (parents.on * parents.off), axis=0)


def deviation(variance):
    return jnp.sqrt(jnp.maximum(variance, 0.0) + SMALLEST_VARIANCE)
