"""The free energy of a mixture of factorial distributions, with smoothing distributions for its mutual information.

For q(S) = sum_a alpha_a q_a(S), by Bishop, Lawrence, Jaakkola and Jordan (1998),

    G = sum_a alpha_a G1[q_a] - I,    I = sum_a alpha_a <ln(q_a / q)>_a  >=  sum_a alpha_a [ <ln r_a>_a - ln <r_a>_q ]

for any r_a(S) > 0, as -ln x >= -lambda x + ln lambda + 1: x is r_a q / (alpha_a q_a), and the best lambda_a is
alpha_a / <r_a>_q. With r_a(S) = exp(rho_a S) everything is a product over units, and each bracket is concave in rho_a.
So G stays an upper bound of -ln P(evidence).

`mixture_evaluator` has its natural gradient, for the one loop and its policies. The means of component a and the shares
are directed as in a single mean field, in the metric of alpha_a q_a and of alpha. The smoothing is directed to where
the means of q, tilted by r_a, are those of q_a.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plefka.methods.posterior import normalised
from plefka.networks.activations import log_one_plus, namespace, sigmoid
from plefka.reduction.question import LARGEST_THETA, Question
from plefka.solvers.loop import Point

CLOSE_COMPONENTS = 1e-5  # log-odds whose difference is rounding, in part
LOWEST_LOG_WEIGHT = -30.0  # of a component, relative to the largest one

Tables = Float[Array | np.ndarray, "components searched rows"]
Weights = Float[Array | np.ndarray, "components rows"]


class Variables(eqx.Module):
    """What is searched: every component's natural parameters, its smoothing, and its weight."""

    theta: Tables
    rho: Tables
    phi: Weights  # ln alpha, up to a constant

    def stacked(self) -> Float[Array | np.ndarray, "variables rows"]:
        """All of them as one column for each row."""
        rows = self.phi.shape[1]
        return namespace(self.phi).concatenate([self.theta.reshape(-1, rows), self.rho.reshape(-1, rows), self.phi])

    def inside(self) -> "Variables":
        """The variables within the range of floating-point numbers; the largest weight of a row becomes 1."""
        xp, largest = namespace(self.phi), -0.5 * np.log(jnp.finfo(self.rho.dtype).eps)
        theta = xp.clip(self.theta, -LARGEST_THETA, LARGEST_THETA)
        phi = xp.maximum(self.phi - self.phi.max(0), LOWEST_LOG_WEIGHT)
        return Variables(theta, xp.clip(self.rho, -largest, largest), phi)


def unstacked(x: Float[Array | np.ndarray, "variables rows"], components: int) -> Variables:
    """The variables of one column for each row."""
    tables = x[:-components].reshape(2, components, -1, x.shape[1])
    return Variables(tables[0], tables[1], x[-components:])


def started(free: Any, u: Any, phi: Any) -> Variables:
    """From means and weights (NumPy's), with smoothing as if q were factorial: rho_ai = ln of q_a / q for unit i."""
    weight = normalised(phi, axis=0)[:, None]
    theta = np.where(free, log_odds(u, 1 - u), 0.0)
    rho = np.where(free, theta - log_odds((weight * u).sum(0), (weight * (1 - u)).sum(0)), 0.0)
    return Variables(theta, rho, phi).inside()


def log_odds(on, off):
    """ln on - ln off, finite also where one of them is 0."""
    xp, tiny = namespace(on, off), jnp.finfo(on.dtype).tiny
    return xp.log(xp.maximum(on, tiny)) - xp.log(xp.maximum(off, tiny))


def log_smoothed(u: Tables, rho: Tables) -> Float[Array, "components components rows"]:
    """ln <r_a>_b for all a and b."""
    return jnp.log1p(u * jnp.expm1(rho)[:, None]).sum(2)


def information(u: Tables, rho: Tables, log_alpha: Weights) -> Float[Array, " rows"]:
    """The lower bound of the mutual information between components and states."""
    log_mean = jax.nn.logsumexp(log_alpha + log_smoothed(u, rho), axis=1)  # ln <r_a>_q
    return (jnp.exp(log_alpha) * ((rho * u).sum(1) - log_mean)).sum(0)


def tilted(u: Tables, rho: Tables, log_alpha: Weights) -> tuple[Tables, Tables]:
    """How probable units are to be on, and off, under q r_a / <r_a>_q; at the best rho_a, as probable as under q_a."""
    weight = jax.nn.softmax(log_alpha + log_smoothed(u, rho), axis=1)[:, :, None]
    weight = weight / (1 + u * jnp.expm1(rho)[:, None])
    return jnp.exp(rho) * (weight * u).sum(1), (weight * (1 - u)).sum(1)


def entropies(question: Question, theta: Tables) -> Weights:
    """The entropy of every component."""
    e = jnp.exp(-jnp.abs(theta))
    return jnp.where(question.searched, log_one_plus(theta) + jnp.abs(theta) * e / (1 + e), 0.0).sum(1)


def free_energy(question: Question, energy: Callable, u: Tables, entropy: Weights, rho: Tables, phi: Weights):
    """G of every row; the entropy of the components is given beside their means."""
    log_alpha = jax.nn.log_softmax(phi, axis=0)
    R = jax.vmap(lambda u: energy(question, question.complete(u)))(u)
    return (jnp.exp(log_alpha) * (R - entropy)).sum(0) - information(u, rho, log_alpha)


def mixture_evaluator(question: Question, energy: Callable, components: int) -> Callable:
    """Stacked variables -> Point, by one evaluation of the components' energies and their gradients."""

    def evaluate(x) -> Point:
        at = unstacked(x, components).inside()
        u = jnp.where(question.searched, sigmoid(at.theta), question.values[: question.num_searched])
        entropy = entropies(question, at.theta)

        def summed(u, phi):
            G = free_energy(question, energy, u, entropy, at.rho, phi)
            return G.sum(), G

        (by_u, by_phi), G = jax.grad(summed, (0, 1), has_aux=True)(u, at.phi)
        log_alpha = jax.nn.log_softmax(at.phi, axis=0)
        alpha = jnp.exp(log_alpha)[:, None]
        on, off = tilted(u, at.rho, log_alpha)
        target = Variables(
            jnp.clip(-by_u / alpha, -LARGEST_THETA, LARGEST_THETA),
            at.rho + log_odds(u, 1 - u) - log_odds(on, off),
            at.phi - by_phi / alpha[:, 0],
        )
        return _point(question, at, target.inside(), G, u, on, by_phi)

    return evaluate


def _point(question: Question, at: Variables, target: Variables, G, u, tilted_mean, by_phi) -> Point:
    free, alpha = question.searched, jax.nn.softmax(at.phi, axis=0)[:, None]
    theta, rho = (jnp.where(free, new - old, 0.0) for new, old in ((target.theta, at.theta), (target.rho, at.rho)))
    phi = target.phi - at.phi
    direction = Variables(theta, rho, phi - (alpha[:, 0] * phi).sum(0))  # a common factor of the shares is no change
    v = u * (1 - u)
    metric = Variables(alpha * v, alpha * _between(u - tilted_mean, rho, v), alpha[:, 0])
    x, direction, metric = at.stacked(), direction.stacked(), metric.stacked()
    change = jnp.sqrt(metric) * direction
    moved = jnp.where(free, alpha * jnp.abs(sigmoid(target.theta) - u), 0.0).sum(0).max(0)
    smoothed = jnp.where(free, alpha * jnp.abs(u - tilted_mean), 0.0).sum(0).max(0)
    residual = jnp.maximum(jnp.maximum(moved, smoothed), jnp.abs(by_phi).max(0))
    return Point(x, G, direction, (change**2).sum(0), change, residual)


def _between(difference, direction, v):
    """The variance of a unit between two means whose log-odds differ by the direction."""
    apart = jnp.abs(direction) > CLOSE_COMPONENTS
    return jnp.where(apart, jnp.maximum(difference / jnp.where(apart, direction, 1.0), 0.0), v)
