"""The direction on a mixture: the natural gradient of its free energy, for the one loop and its policies.

The means of component a and the shares are directioned as in a single mean field, in the metric of alpha_a q_a and of
alpha. The smoothing is directioned to where the means of q, tilted by r_a, are those of q_a.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from plefka.mean_field.smoothing import (
    Variables,
    component_means,
    entropies,
    free_energy,
    log_odds,
    tilted,
    unstacked,
)
from plefka.networks.activations import sigmoid
from plefka.reduction.question import LARGEST_THETA, Question
from plefka.solvers.loop import Point

CLOSE_COMPONENTS = 1e-5  # log-odds whose difference is rounding, in part


def mixture_evaluator(question: Question, energy: Callable, components: int) -> Callable:
    """Stacked variables -> Point, by one evaluation of the components' energies and their gradients."""

    def evaluate(x) -> Point:
        at = unstacked(x, components).inside()
        u, entropy = component_means(question, at.theta), entropies(question, at.theta)

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
        return _point(question, at, target.inside(), G, u, alpha, on, by_phi)

    return evaluate


def _point(question: Question, at: Variables, target: Variables, G, u, alpha, tilted_mean, by_phi) -> Point:
    free = question.searched
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
