"""Bethe's estimate of ln P(evidence): sums over factors and units, less what they have in common.

ln Z = sum_factors ln Z_a + sum_units ln Z_i - sum_pairs ln Z_ia does not change where a message is multiplied by a
number. With all messages to a unit i scaled to 1 for the state that it is likelier in, and theta the log-odds of that
state, Z_i = Z_ia = 1 + exp(-theta) for every factor a, and

    ln Z = sum_c ln[(1 - F_c) n_c(0) + F_c n_c(1)] + sum_(k, c) {ln[1 + exp(-cavity_kc)] - ln[1 + exp(-theta_k)]}

with k the parents of c, all in the scaled messages. Nothing is large here unless it is so in ln Z. At a fixed point
ln Z is stationary in the messages: its derivatives are those at fixed messages.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

from plefka.activations import softplus
from plefka.averages.parents import Parents
from plefka.belief_propagation.factors import Factors, Messages, Rows, Units


def log_likelihood(factors: Factors, messages: Messages) -> Rows:
    """ln Z at these messages, for every row."""
    problem, factors = factors.problem, _off_poles(factors)
    heard = factors.hear(messages)
    cavities = factors.cavities(messages, heard)
    chances = factors.chances([Parents.of_log_odds(cavity) for cavity in cavities])
    theta, from_below = heard.total, heard.without(messages.own)
    on = theta > 0
    # log_sums has the larger of n(0) and n(1) scaled to 1; here it shall be that of the likelier state
    scale = jnp.where(factors.counted, jnp.minimum(jnp.where(on, from_below, -from_below), 0.0), 0.0)
    total = (factors.log_sums(chances, from_below) - scale).sum(0) + problem.constant
    for cavity, parent, is_on in zip(cavities, factors.fans.parents(theta), factors.fans.parents(on), strict=True):
        sign = jnp.where(is_on, -1.0, 1.0)
        total += (softplus(sign * cavity) - softplus(sign * parent)).sum((0, 1))
    return total if problem.tilt is None else total + jnp.where(on & factors.counted, problem.tilt, 0.0).sum(0)


def _off_poles(factors: Factors) -> Factors:
    """Where a unit cannot be on, ln F has a pole: a field that small changes nothing, and keeps all slopes finite."""
    h = factors.problem.h
    raised = h + jax.lax.stop_gradient(factors.problem.activation.off_poles(h) - h)
    return eqx.tree_at(lambda f: f.problem.h, factors, raised)


def with_slope(factors: Factors, messages: Messages) -> tuple[Rows, Units]:
    """ln Z and d ln Z / dh at fixed messages."""

    def at(h):
        return log_likelihood(eqx.tree_at(lambda f: f.problem.h, factors, h), messages)

    log_z, back = jax.vjp(at, factors.h)
    return log_z, back(jnp.ones_like(log_z))[0]
