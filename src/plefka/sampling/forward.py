"""Barren units, after the others were sampled: drawn from the parents to the children, and averaged before the draw."""

from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from plefka.networks.arrows import forwards
from plefka.networks.states import fields, open_for_states, settled

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

MOST_DRAWS, FEWEST_DRAWS = 4096, 512
MOST_NUMBERS = 2**22  # in one array


def num_draws(size: int) -> int:
    """How many states to predict from: many of a small network, and enough of a large one."""
    return MOST_DRAWS if MOST_DRAWS * size <= MOST_NUMBERS else FEWEST_DRAWS


def predicted(network: "BeliefNetwork", known: np.ndarray, seed) -> tuple[np.ndarray, np.ndarray]:
    """The mean of P(on | parents) over states (draws, n) of one network, nan where barren, and its standard error."""
    rng = np.random.default_rng(seed)
    passed_on = bool(network.storage.num_children()[np.isnan(known[0])].any())
    piece = 1
    while 2 * piece * network.size <= MOST_NUMBERS and 2 * piece <= len(known):
        piece *= 2
    total, squares = np.zeros(network.size), np.zeros(network.size)
    count = len(known) // piece * piece
    for first in range(0, count, piece):
        part = known[first : first + piece]
        chance = rng.random(part.shape) if passed_on else part
        p = np.asarray(_compiled(network.storage, network.bias, network.activation, part, chance, passed_on=passed_on))
        total, squares = total + p.sum(0), squares + (p**2).sum(0)
    mean = total / count
    return mean, np.sqrt(np.maximum(squares / count - mean**2, 0) / count)


@partial(jax.jit, static_argnames=("passed_on",))
def _compiled(storage, bias, activation, known, chance, *, passed_on: bool):
    """`passed_on`: whether a barren unit has children; otherwise none needs to be drawn."""
    weights, h = open_for_states(storage), jnp.asarray(bias)[:, None]
    known, chance = known.T, chance.T

    def rule(x):
        on = chance < activation.probability(settled(activation, x))
        return jnp.where(jnp.isnan(known), on * 1.0, known)

    start = jnp.nan_to_num(known)
    S = forwards(weights, h, rule, start) if passed_on else start
    return activation.probability(fields(weights, h, activation, S)).T
