"""ln P(rows) of a network whose observed units have no children: the sum over all states of its latent units."""

from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from plefka.activations import Activation
from plefka.learning.patterns import Patterns
from plefka.networks.states import fields, open_for_states
from plefka.networks.storage import Storage

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

MOST_LATENT = 20
BLOCK = 2**9  # states at once
MOST_NUMBERS = 2**22  # patterns times states at once
LEAST = -1e300  # for ln 0


def applies(network: "BeliefNetwork", patterns: Patterns) -> bool:
    """Whether the units that are observed anywhere have no children, and the others are few."""
    return len(patterns.latent) <= MOST_LATENT and not np.any(network.storage.num_children()[patterns.units])


def work(network: "BeliefNetwork", patterns: Patterns) -> int:
    """Multiply-adds of the whole sum."""
    per_state = network.num_edges + len(patterns) * len(patterns.units)
    return 2 ** len(patterns.latent) * per_state * (network.stack or 1)


def exact(network: "BeliefNetwork", patterns: Patterns) -> np.ndarray:
    """ln P of every pattern, (patterns,), or (networks, patterns) of a stack; call it in a context of float64."""
    width = min(BLOCK, 2 ** len(patterns.latent)) * (network.stack or 1)
    size = min(len(patterns), max(1, MOST_NUMBERS // width))
    pieces = [np.arange(first, first + size) for first in range(0, len(patterns), size)]
    found = [_of_some(network, patterns, np.minimum(piece, len(patterns) - 1)) for piece in pieces]
    return np.concatenate(found, axis=-1)[..., : len(patterns)]


def _of_some(network: "BeliefNetwork", patterns: Patterns, index: np.ndarray) -> np.ndarray:
    values = patterns.values[index]
    stacked = network.stack is not None
    storage = network.storage.take(0) if stacked else network.storage
    arguments = (values == 1) * 1.0, (values == 0) * 1.0, patterns.latent, patterns.units
    found = np.asarray(summed(network.parameters, storage, network.activation, *arguments, stacked=stacked))
    return np.where(found < LEAST / 2, -np.inf, found)


@partial(jax.jit, static_argnames=("stacked",))
def summed(parameters, storage: Storage, activation: Activation, on, off, latent, units, *, stacked: bool):
    """ln P of patterns by the units that are on and off in each, as a function of the parameters."""

    def one(parameters):
        weights, bias = parameters
        return _sum(storage.with_parameters(weights), jnp.asarray(bias), activation, on, off, latent, units)

    return jax.vmap(one)(parameters) if stacked else one(parameters)


def _sum(storage: Storage, bias, activation: Activation, on, off, latent, units):
    edges = open_for_states(storage)
    width = min(BLOCK, 2 ** len(latent))
    places = jnp.arange(len(latent))

    def block(total, number):
        codes = number * width + jnp.arange(width)
        states = ((codes[None] >> places[:, None]) & 1).astype(bias.dtype)
        S = jnp.zeros((storage.size, width), bias.dtype).at[latent].set(states)
        x = fields(edges, bias[:, None], activation, S)
        log_on, log_off = activation.log_on(x), activation.log_off(x)
        prior = jnp.where(states == 1, log_on[latent], log_off[latent]).sum(0)
        joint = prior + on @ _finite(log_on[units]) + off @ _finite(log_off[units])
        return jnp.logaddexp(total, jax.scipy.special.logsumexp(joint, axis=1)), None

    start = jnp.full(len(on), -jnp.inf, bias.dtype)
    return jax.lax.scan(block, start, jnp.arange(2 ** len(latent) // width))[0]


def _finite(logs):
    """0 x -inf would be no number, and exp(LEAST) is 0 as well."""
    return jnp.maximum(logs, LEAST)
