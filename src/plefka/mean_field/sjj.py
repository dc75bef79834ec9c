"""The bound of Saul, Jaakkola and Jordan (1996) for sigmoid networks: section 3.2.1 of the paper, (25), (61)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from plefka.averages.parents import Parents, log_odds, log_tilt, tilted_mean
from plefka.networks.activations import sigmoid
from plefka.reduction.question import Question
from plefka.solvers.functional import Functional

XI_TOLERANCE = 1e-6  # Newton's last step; its error is the square of that
XI_GAIN = 1e-13  # what the rest of the bracket could still gain
XI_STEPS = 60


class SaulJaakkolaJordan(Functional):
    """-ln Z <= G_0 - sum_i u_i x_i + sum_i min_xi { xi x_i + ln <exp(-xi x_i) + exp((1 - xi) x_i)> }."""

    @property
    def is_bound(self) -> bool:
        return True

    def network_energy(self, question: Question, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        x = question.model.h + question.model.weights.field_of(u)
        return _bound(question, u, x, jax.lax.stop_gradient(best_xi(question, u, x)))  # dG / dxi = 0 there

    def smooth_network_energy(self, question: Question, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        """The bound with derivatives of the best xi, which one Newton step adds: its second derivatives are right."""
        x = question.model.h + question.model.weights.field_of(u)
        xi = jax.lax.stop_gradient(best_xi(question, u, x))
        slope, curve = slope_and_curve(question, u, x, xi)
        return _bound(question, u, x, xi - slope / jax.lax.stop_gradient(jnp.where(curve > 0, curve, jnp.inf)))


def _bound(question: Question, u, x, xi):
    normaliser = jnp.logaddexp(tilted(question, u, -xi)[0], tilted(question, u, 1 - xi)[0])
    return (question.model.counted * ((xi - u) * x + normaliser)).sum(0)


def tilted(question: Question, u, a):
    """ln <exp(a x)> = a h + sum_j ln(1 - u_j + u_j exp(a w_ij)) with its first and second derivative by a.

    These are the field's cumulants under tilted means.
    """

    def terms(w, a, u, theta):
        parents = Parents(u, 1 - u, theta)
        p = tilted_mean(a * w, parents)
        return log_tilt(a * w, parents), w * p, w**2 * p * (1 - p)

    value, slope, curvature = question.model.weights.map_edges(terms, (a,), (u, log_odds(u)))
    return a * question.model.h + value, question.model.h + slope, curvature


def slope_and_curve(question: Question, u, x, xi):
    """First and second derivative by xi of { xi x + ln <exp(-xi x) + exp((1 - xi) x)> }."""
    value0, slope0, curve0 = tilted(question, u, -xi)
    value1, slope1, curve1 = tilted(question, u, 1 - xi)
    p = sigmoid(value1 - value0)
    slope = x - (1 - p) * slope0 - p * slope1
    return slope, (1 - p) * curve0 + p * curve1 + p * (1 - p) * (slope0 - slope1) ** 2


def best_xi(question: Question, u, x):
    """The minimum over xi in [0, 1], convex in each: Newton's method inside a shrinking bracket."""

    def step(state):
        xi, low, high, _, count = state
        slope, curve = slope_and_curve(question, u, x, xi)
        low, high = jnp.where(slope < 0, xi, low), jnp.where(slope > 0, xi, high)
        newton = xi - slope / jnp.where(curve > 0, curve, 1.0)
        inside = (newton >= low) & (newton <= high)
        worth_it = jnp.abs(slope) * (high - low) > XI_GAIN  # else the slope is rounding, and so is its sign: stay
        new = jnp.where(worth_it, jnp.where(inside, newton, (low + high) / 2), xi)
        unsettled = jnp.abs(new - xi) > XI_TOLERANCE
        return new, low, high, jnp.any(unsettled), count + 1

    xi = sigmoid(x) + jnp.zeros_like(u)
    start = (xi, jnp.zeros_like(xi), jnp.ones_like(xi), jnp.array(True), 0)
    return jax.lax.while_loop(lambda state: state[3] & (state[4] < XI_STEPS), step, jax.lax.stop_gradient(start))[0]
