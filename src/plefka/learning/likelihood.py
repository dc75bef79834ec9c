"""ln P(rows) of a network whose observed units have no children: the sum over all states of its latent units."""

from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from plefka.activations import CERTAIN_FIELD, Activation
from plefka.learning.patterns import Patterns
from plefka.networks.storage import Storage

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

MOST_LATENT = 20
BLOCK = 2**9  # states at once


def applies(network: "BeliefNetwork", patterns: Patterns) -> bool:
    """Whether the units that are observed anywhere have no children, and the others are few."""
    children = np.asarray(network.storage.union().sum(axis=0)).ravel()
    return len(patterns.latent) <= MOST_LATENT and not np.any(children[patterns.units])


def work(network: "BeliefNetwork", patterns: Patterns) -> int:
    """Multiply-adds of the whole sum."""
    per_state = network.num_edges + len(patterns) * len(patterns.units)
    return 2 ** len(patterns.latent) * per_state * (network.stack or 1)


def exact(network: "BeliefNetwork", patterns: Patterns) -> Any:
    """ln P of every pattern, (patterns,), or (networks, patterns) of a stack; call it in a context of float64."""
    on, off = (patterns.values == 1).astype(float), (patterns.values == 0).astype(float)
    stacked = network.stack is not None
    storage = network.storage.take(0) if stacked else network.storage
    arguments = network.activation, on, off, patterns.latent, patterns.units
    return _exact(network.parameters, storage, *arguments, stacked=stacked)


@partial(jax.jit, static_argnames=("stacked",))
def _exact(parameters, storage: Storage, activation: Activation, on, off, latent, units, *, stacked: bool):
    def one(parameters):
        weights, bias = parameters
        return _sum(storage.with_parameters(weights), jnp.asarray(bias), activation, on, off, latent, units)

    return jax.vmap(one)(parameters) if stacked else one(parameters)


def _sum(storage: Storage, bias, activation: Activation, on, off, latent, units):
    edges = storage.open(1, CERTAIN_FIELD)
    width = min(BLOCK, 2 ** len(latent))
    places = jnp.arange(len(latent))

    def block(total, number):
        codes = number * width + jnp.arange(width)
        states = ((codes[None] >> places[:, None]) & 1).astype(bias.dtype)
        S = jnp.zeros((storage.size, width), bias.dtype).at[latent].set(states)
        x = activation.clip(bias[:, None] + edges.field_of(S))
        log_on, log_off = activation.log_on(x), activation.log_off(x)
        prior = jnp.where(states == 1, log_on[latent], log_off[latent]).sum(0)
        joint = prior + on @ _finite(log_on[units]) + off @ _finite(log_off[units])
        return jnp.logaddexp(total, jax.scipy.special.logsumexp(joint, axis=1)), None

    start = jnp.full(len(on), -jnp.inf, bias.dtype)
    return jax.lax.scan(block, start, jnp.arange(2 ** len(latent) // width))[0]


def _finite(logs):
    """0 x -inf would be no number; exp(-1e300) is 0 as well."""
    return jnp.maximum(logs, -1e300)
