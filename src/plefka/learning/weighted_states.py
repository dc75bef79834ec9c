"""States drawn from factorial distributions, weighted by what the network says of them, inside a trace.

With states S of the hidden units drawn from q, the mean of P(S, row) / q(S) is an estimate of P(row) without bias, and
its logarithm one of ln P(row) that is too low on average. The gradient of that logarithm is the average of the gradient
of ln P(S, row) under the normalised weights (the wake phase of reweighted wake-sleep, Bornschein and Bengio, 2015).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from plefka.networks.activations import Activation
from plefka.networks.edge_list import CERTAIN_WEIGHT
from plefka.networks.fields import field_in_domain, log_terms
from plefka.reduction.question import Question

MOVED = 0.02  # how far means move to 1/2 before states are drawn, so that no state is left out
WHOLE = 2**32  # of random numbers, which travel as whole ones
LOG_ZERO = -1e30  # stands for ln 0, in single precision too


class MeanWeight(NamedTuple):
    """The weights of draws, and the states that have them."""

    value: Any  # ln of the mean weight, (rows,); -inf where no draw is possible
    shares: Any  # normalised weights, (draws, rows)
    states: Any  # of the units that are drawn, (draws, units, rows)


def log_mean_weight(question: Question, means: Any, drawn: Any, noise: Any, *, in_single: bool = False) -> MeanWeight:
    """ln of the mean of weight(S) / q(S), a function of the question's numbers; q has these means, a little wider.

    `drawn`: which units are drawn wherever they are free; `noise`: whole numbers below 2^32, (rows, draws, units).
    """
    dtype = jnp.float32 if in_single else means.dtype
    question = jax.tree.map(lambda z: z.astype(dtype) if jnp.issubdtype(z.dtype, jnp.floating) else z, question)
    question = question.opened(certain=CERTAIN_WEIGHT)
    free = question.free[drawn]
    u = jnp.where(free, (1 - MOVED) * means[drawn] + MOVED / 2, 0.5).astype(dtype)
    on = jnp.moveaxis(noise, 0, -1).astype(dtype) / WHOLE < u
    states = jnp.where(free, on, question.values[drawn]).astype(dtype)
    log_q = jnp.where(free, jnp.where(on, jnp.log(u), jnp.log1p(-u)), 0.0).sum(1)
    whole = jnp.broadcast_to(question.values, (len(states), *question.values.shape)).at[:, drawn].set(states)
    log_weights = jax.vmap(lambda S: log_weight(question, S))(whole) - log_q
    possible = log_weights > LOG_ZERO / 2
    value = jax.nn.logsumexp(log_weights, axis=0) - jnp.log(len(states))
    value = jnp.where(possible.any(0), value, -jnp.inf)
    shares = jnp.where(possible, jax.nn.softmax(log_weights, axis=0), 0.0)
    return MeanWeight(value.astype(means.dtype), *jax.lax.stop_gradient((shares, states)))


def log_weight(question: Question, S: Any) -> Any:
    """ln weight of states (units, rows) that need not be possible; far below `LOG_ZERO` / 2 where they are not."""
    model = question.model
    x = field_in_domain(model.activation, model.h + model.weights.field_of(S))
    terms = jnp.where(model.counted, log_terms_or_zero(model.activation, x, S), 0.0)
    return terms.sum(0) + (question.tilt * S).sum(0)


def log_terms_or_zero(f: Activation, x: Any, S: Any) -> Any:
    """ln P of each unit's state, with a slope of 0 where it is certain or impossible."""
    held = jax.lax.stop_gradient(x)
    if f.has_linear_log_odds and not f.allows_certain_states:
        inside = jnp.isfinite(held)
        value = jnp.where((held > 0) == S, 0.0, LOG_ZERO)
        x = jnp.where(inside, x, 1.0)
        return jnp.where(inside, S * x + f.log_off(x), value)
    value = jnp.maximum(log_terms(f, held, S), LOG_ZERO)
    inside = jnp.isfinite(held) & (value > LOG_ZERO)
    return jnp.where(inside, log_terms(f, jnp.where(inside, x, 1.0), S), value)
