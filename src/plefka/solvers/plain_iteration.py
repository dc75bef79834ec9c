"""The paper's own policy: plain iteration of the fixed point equations, with its rule for order-2 cycles.

That is section 4.1 of the paper: when the means go back and forth between two points, the iteration starts again from
the best point on the segment between them. "Best" is the lowest free energy here, as the true ln Z is not known.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from plefka.networks.activations import sigmoid
from plefka.solvers.loop import Point, Policy

SAME_MEANS = 1e-6  # means this close to those of two steps ago have come back
GRID = 33  # points of the segment that are tried


class Paper(Policy):
    """u <- sigma(target(u)), and out of every order-2 cycle by a search between its ends."""

    def step(self, point: Point, trial: Point, memory: Int[Array, " rows"], evaluate):
        next_theta = trial.theta + trial.direction
        back = jnp.abs(sigmoid(next_theta) - sigmoid(point.theta)).max(0) < SAME_MEANS
        cycle = back & (trial.residual > SAME_MEANS)
        ends = (point.theta, trial.theta)
        between = jax.lax.cond(jnp.any(cycle), partial(_best_between, evaluate), lambda *_: next_theta, *ends)
        theta = jnp.where(cycle, between, next_theta)
        return trial, theta, memory + cycle


def _best_between(evaluate, theta1, theta2):
    """The point with the lowest free energy among points evenly spaced between two vectors of means."""
    u1, u2 = sigmoid(theta1), sigmoid(theta2)

    def at(fraction):
        limits = jnp.finfo(u1.dtype)
        u = jnp.clip(u1 + fraction * (u2 - u1), limits.tiny, 1 - limits.epsneg)
        theta = jnp.log(u) - jnp.log1p(-u)
        return theta, evaluate(theta).G

    thetas, G = jax.lax.map(at, jnp.linspace(0.0, 1.0, GRID + 2)[1:-1].astype(theta1.dtype))
    best = jnp.argmin(jnp.where(jnp.isfinite(G), G, jnp.inf), axis=0)
    return jnp.take_along_axis(thetas, best[None, None], axis=0)[0]
