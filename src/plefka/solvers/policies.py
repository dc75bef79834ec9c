"""The policies of the solver by name: `monotone`, which has a module of its own, `paper` and `sequential`."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from plefka.methods.registry import POLICY_NAMES, REGISTRABLE
from plefka.networks.activations import sigmoid
from plefka.solvers.loop import Point
from plefka.solvers.loop import Policy as Policy
from plefka.solvers.monotone import Monotone

SAME_MEANS = 1e-6  # means this close to those of two steps ago have come back
GRID = 33  # points of the segment that are tried


class Paper(Policy):
    """u <- sigma(target(u)), and out of every order-2 cycle by a search between its ends.

    That is section 4.1 of the paper: when the means go back and forth between two points, the iteration starts again
    from the best point on the segment between them. "Best" is the lowest free energy here, as the true ln Z is not
    known.
    """

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


class Sequential(Policy):
    """A step is a sweep: u_i <- sigma(target_i(u)) for one unit after another, with an evaluation after each.

    The other policies move all units at once. Where units that are coupled would overshoot together, one at a time
    often settles (Gauss and Seidel). It does not always: a scheme's target for a unit may depend on the mean of that
    unit itself, and then nothing keeps the free energy from rising.
    """

    def step(self, point: Point, trial: Point, memory: Int[Array, " rows"], evaluate):
        units = jnp.arange(len(trial.theta))

        def moved(at: tuple) -> tuple:
            unit, theta, direction = at
            theta = jnp.where(units[:, None] == unit, theta + direction, theta)
            direction = evaluate(theta).direction
            return _following(direction, unit), theta, direction

        first = (_following(trial.direction, -1), trial.theta, trial.direction)
        theta = jax.lax.while_loop(lambda at: at[0] < len(units), moved, first)[1]
        return trial, theta, memory


def _following(direction: Float[Array | np.ndarray, "searched rows"], unit: Any) -> Int[Array, ""]:
    """The next unit that moves in some row, so that units that are known or only fill up cost nothing; or the end."""
    moves = (direction != 0).any(axis=1) & (jnp.arange(len(direction)) > unit)
    return jnp.where(moves.any(), jnp.argmax(moves), len(direction))


POLICIES: dict[str, Policy] = {"monotone": Monotone(), "paper": Paper(), "sequential": Sequential()}


def _entries(policy: Any, name: str) -> list[tuple[dict, Any]]:
    """Where `pf.register` puts a policy of a user's own."""
    return [(POLICY_NAMES, type(policy).__doc__ or ""), (POLICIES, policy)]


REGISTRABLE[Policy] = _entries
