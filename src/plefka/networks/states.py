"""A network in a given state: the fields of its units, and what each adds to ln P(S)."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from plefka.activations import Activation
from plefka.networks.storage import OpenStorage, Storage

CERTAIN_STATE = 1e30  # an infinite weight as a number: no other sum comes near it, and 0 times it is 0


def open_for_states(storage: Storage) -> OpenStorage:
    """Weights that are multiplied with states only, never with means."""
    return storage.open(1, CERTAIN_STATE)


def fields(
    weights: OpenStorage, h: Float[Array, "units #rows"], activation: Activation, S: Float[Array, "units rows"]
) -> Float[Array, "units rows"]:
    """x_i = sum_j w_ij S_j + h_i, for weights that are open for states."""
    return settled(activation, h + weights.field_of(S))


def settled(activation: Activation, x: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
    """The field with infinity where a certain parent is on, and inside its domain."""
    return activation.clip(jnp.where(x > CERTAIN_STATE / 2, jnp.inf, x))


def log_terms(
    activation: Activation, x: Float[Array, "units rows"], S: Float[Array, "units rows"]
) -> Float[Array, "units rows"]:
    """S_i log_on(x_i) + (1 - S_i) log_off(x_i), where the one that does not count has no pole.            (4)"""
    on = S == 1
    return jnp.where(on, activation.log_on(jnp.where(on, x, 1.0)), activation.log_off(jnp.where(on, 1.0, x)))
