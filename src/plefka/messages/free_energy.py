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
import numpy as np

from plefka.averages.parents import Parents
from plefka.messages.unit_factors import Chances, Messages, Rows, UnitFactors, Units
from plefka.networks.activations import softplus


def log_likelihood(factors: UnitFactors, messages: Messages) -> tuple[Rows, Units | None]:
    """ln Z at these messages, for every row, and d ln Z / dh where units may have been summed out."""
    question, beliefs = factors.question, factors.beliefs(messages)
    cavities = factors.cavities(messages, beliefs)
    parents = [Parents.of_log_odds(cavity) for cavity in cavities]
    factors = _off_poles(factors, parents)
    chances = factors.chances(parents)
    theta, from_below = beliefs.total, beliefs.without(messages.own)
    on = theta > 0
    # log_sums has the larger of n(0) and n(1) scaled to 1; here it shall be that of the likelier state
    scale = jnp.where(factors.counted, jnp.minimum(jnp.where(on, from_below, -from_below), 0.0), 0.0)
    log_sums = factors.log_sums(chances, from_below)
    total = (log_sums - scale).sum(0)
    for cavity, parent, is_on in zip(
        cavities, factors.weights.parents(theta), factors.weights.parents(on), strict=True
    ):
        sign = jnp.where(is_on, -1.0, 1.0)
        total += (softplus(sign * cavity) - softplus(sign * parent)).sum((0, 1))
    total = total + jnp.where(on & factors.counted, question.tilt, 0.0).sum(0)
    linear = question.model.activation.has_linear_log_off
    return total, _bias_slope(chances, from_below, log_sums) if linear else None


def _bias_slope(chances: Chances, from_below: Units, log_sums: Units) -> Units:
    """d/dh of ln[(1 - F) n(0) + F n(1)], where 1 - F falls as exp(-h)."""
    on, off = (jnp.exp(jnp.minimum(sign * from_below, 0.0)) for sign in (1, -1))
    found = (on - off) * jnp.exp(chances.off - log_sums)
    return jax.lax.stop_gradient(jnp.where(jnp.isfinite(found), found, 0.0))


def _off_poles(factors: UnitFactors, parents: list[Parents]) -> UnitFactors:
    """Where a unit cannot be on, ln F has a pole: a field that small changes nothing, and keeps all slopes finite."""
    h, f = factors.question.model.h, factors.question.model.activation
    if np.isinf(f.domain).all():  # there is no pole at any field
        return factors
    excluded = jnp.isneginf(factors.chances(parents).on)
    raised = h + jax.lax.stop_gradient(jnp.where(excluded, f.off_poles(h) - h, 0.0))
    return eqx.tree_at(lambda f: f.question.model.h, factors, raised)
