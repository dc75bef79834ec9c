"""Barren units, after the others were sampled: drawn from the parents to the children, and averaged before the draw."""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from plefka.free_energies.problem import forwards
from plefka.networks.states import fields, open_for_states, settled

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

MOST_DRAWS, FEWEST_DRAWS = 4096, 1024
MOST_NUMBERS = 2**22  # in one array


def num_draws(size: int) -> int:
    """How many states to predict from: many of a small network, and enough of a large one."""
    return MOST_DRAWS if MOST_DRAWS * size <= MOST_NUMBERS else FEWEST_DRAWS


def predicted(network: "BeliefNetwork", known: np.ndarray, seed) -> tuple[np.ndarray, np.ndarray]:
    """The mean of P(on | parents) over states (draws, n) of one network, nan where barren, and its standard error."""
    rng = np.random.default_rng(seed)
    piece = 1
    while 2 * piece * network.size <= MOST_NUMBERS and 2 * piece <= len(known):
        piece *= 2
    total, squares = np.zeros(network.size), np.zeros(network.size)
    count = len(known) // piece * piece
    for first in range(0, count, piece):
        part = known[first : first + piece]
        p = np.asarray(
            _compiled(network.storage, network.bias, network.activation, part, rng.random(part.shape))
        )
        total, squares = total + p.sum(0), squares + (p**2).sum(0)
    mean = total / count
    return mean, np.sqrt(np.maximum(squares / count - mean**2, 0) / count)


@jax.jit
def _compiled(storage, bias, activation, known, chance):
    weights, h = open_for_states(storage), jnp.asarray(bias)[:, None]
    known, chance = known.T, chance.T

    def rule(x):
        on = chance < activation.probability(settled(activation, x))
        return jnp.where(jnp.isnan(known), on * 1.0, known)

    S = forwards(weights, h, rule, jnp.zeros(known.shape))
    return activation.probability(fields(weights, h, activation, S)).T
