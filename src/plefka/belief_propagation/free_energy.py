"""Bethe's estimate of ln P(evidence): sums over factors and units, less what they have in common.

ln Z = sum_factors ln Z_a + sum_units ln Z_i - sum_pairs ln Z_ia does not change where a message is multiplied by a
number. With all messages to a unit i scaled to 1 for the state that it is likelier in, and theta the log-odds of that
state, Z_i = Z_ia = 1 + exp(-theta) for every factor a, and

    ln Z = sum_c ln[(1 - F_c) n_c(0) + F_c n_c(1)] + sum_(k, c) {ln[1 + exp(-cavity_kc)] - ln[1 + exp(-theta_k)]}

with k the parents of c, all in the scaled messages. Nothing is large here unless it is so in ln Z. At a fixed point ln Z
is stationary in the messages: its derivatives are those at fixed messages.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

from plefka.activations import softplus
from plefka.belief_propagation.factors import Factors, Messages, Rows, Units
from plefka.belief_propagation.log_odds import chance


def log_likelihood(factors: Factors, messages: Messages) -> Rows:
    """ln Z at these messages, for every row."""
    problem = factors.problem
    heard = factors.hear(messages)
    theta = heard.total
    on = theta > 0
    cavities = factors.cavities(messages, heard)
    chances = factors.chances([chance(cavity) for cavity in cavities])
    from_below = heard.without(messages.own)
    # of the two, log_sums scales to 1 the larger; here it shall be the state that the unit is likelier in
    scale = jnp.where(on, jnp.minimum(from_below, 0.0), jnp.minimum(-from_below, 0.0))
    total = (factors.log_sums(chances, from_below) - jnp.where(factors.counted, scale, 0.0)).sum(0)
    for cavity, above, is_on in zip(cavities, factors.fans.parents(theta), factors.fans.parents(on), strict=True):
        sign = jnp.where(is_on, -1.0, 1.0)
        total += (softplus(sign * cavity) - softplus(sign * above)).sum((0, 1))
    if problem.tilt is not None:
        total += jnp.where(on & factors.counted, problem.tilt, 0.0).sum(0)
    return total + problem.constant


def slope(factors: Factors, messages: Messages) -> Units:
    """d ln Z / dh at fixed messages."""

    def total(h):
        return log_likelihood(eqx.tree_at(lambda f: f.problem.h, factors, h), messages).sum()

    return jax.grad(total)(factors.problem.h)
