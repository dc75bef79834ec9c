"""One unit at a time: every mean follows from the newest means of all others, unit by unit in the network's order.

The other policies move all units at once. Where units that are coupled would overshoot together, one at a time often
settles (Gauss and Seidel). It does not always: a scheme's target for a unit may depend on the mean of that unit itself,
and then nothing keeps the free energy from rising.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from plefka.solvers.loop import Point, Policy


class Sequential(Policy):
    """A step is a sweep: u_i <- sigma(target_i(u)) for one unit after another, with an evaluation after each."""

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
