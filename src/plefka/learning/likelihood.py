"""ln P(rows) of a network whose observed units have no children: the sum over all states of its latent units."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plefka.learning.patterns import Data, Patterns, filled_size
from plefka.networks.activations import Activation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.fields import bits, fields, open_for_states
from plefka.networks.storage import Storage
from plefka.runtime.programs import Program

MOST_LATENT = 20
PATTERNS_PER_BLOCK = 2**9  # states at once
SUMMED_NUMBERS = 2**22  # patterns times states at once
LIKELIHOOD_WORK = 2**25  # multiply-adds of what is computed after every epoch
LEAST = -1e300  # for ln 0


def affordable(network: BeliefNetwork, data: Data, most: int = LIKELIHOOD_WORK) -> Patterns | None:
    """The patterns, if what is observed anywhere has no children, and the sum takes so many multiply-adds at most."""
    if not isinstance(data, Patterns) or len(data.latent) > MOST_LATENT:
        return None
    if np.any(network.storage.num_children()[data.units]):
        return None
    per_state = network.num_edges + len(data) * len(data.units)
    return data if 2 ** len(data.latent) * per_state * (network.stack or 1) <= most else None


def exact(network: BeliefNetwork, patterns: Patterns) -> np.ndarray:
    """ln P of every pattern, (patterns,), or (networks, patterns) of a stack."""
    stacked = network.stack is not None
    storage = network.storage.take(0) if stacked else network.storage
    width = min(PATTERNS_PER_BLOCK, 2 ** len(patterns.latent)) * (network.stack or 1)
    size = min(filled_size(len(patterns)), max(1, SUMMED_NUMBERS // width))
    parts, given = [], (network.parameters, storage, network.activation)
    for first in range(0, len(patterns), size):
        observed = Observed.of(patterns, np.minimum(np.arange(first, first + size), len(patterns) - 1))
        parts.append(_summed(*given, observed, stacked=stacked, work=size * len(patterns.units) * width))
    found = np.concatenate(parts, axis=-1)[..., : len(patterns)]
    return np.where(found < LEAST / 2, -np.inf, found)


class Observed(NamedTuple):
    """Which units are on and off in each of some patterns, (patterns, columns), and which units are observed at all."""

    on: Any
    off: Any
    units: Any
    latent: Any

    @classmethod
    def of(cls, patterns: Patterns, index: Any = slice(None)) -> "Observed":
        """Some of the patterns."""
        values = patterns.values[index]
        return cls((values == 1) * 1.0, (values == 0) * 1.0, patterns.units, patterns.latent)


def summed(parameters: Any, storage: Storage, f: Activation, observed: Observed, *, stacked: bool) -> Any:
    """ln P of patterns as a function of the parameters, of a stack with a leading axis; inside a trace."""

    def of_one(parameters: Any) -> Any:
        weights, bias = parameters
        return _sum(storage.with_parameters(weights), jnp.asarray(bias), f, observed)

    return jax.vmap(of_one)(parameters) if stacked else of_one(parameters)


_summed = Program(summed)


def _sum(storage: Storage, bias: Any, f: Activation, observed: Observed) -> Any:
    edges, latent = open_for_states(storage), observed.latent
    width = min(PATTERNS_PER_BLOCK, 2 ** len(latent))

    def block(total, number):
        states = bits(number * width + jnp.arange(width), jnp.arange(len(latent))).astype(bias.dtype)
        S = jnp.zeros((storage.size, width), bias.dtype).at[latent].set(states)
        x = fields(edges, bias[:, None], f, S)
        log_on, log_off = f.log_on(x), f.log_off(x)
        prior = jnp.where(states == 1, log_on[latent], log_off[latent]).sum(0)
        joint = prior + observed.on @ _finite(log_on[observed.units]) + observed.off @ _finite(log_off[observed.units])
        return jnp.logaddexp(total, jax.scipy.special.logsumexp(joint, axis=1)), None

    start = jnp.full(len(observed.on), -jnp.inf, bias.dtype)
    return jax.lax.scan(block, start, jnp.arange(2 ** len(latent) // width))[0]


def _finite(logs):
    """0 x -inf would be no number, and exp(LEAST) is 0 as well."""
    return jnp.maximum(logs, LEAST)
