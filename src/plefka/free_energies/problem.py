"""One network with its evidence, made ready for a free energy: what is free, what is clamped, whose energy counts."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from plefka.activations import CERTAIN_FIELD, Activation, sigmoid
from plefka.networks.storage import OpenStorage, Storage

LARGEST_THETA = 700.0  # means stay within 1e-304 of 0 and 1


class Problem(eqx.Module):
    """Arrays are (units, rows): a row of evidence each, or a network of a stack each."""

    weights: OpenStorage
    h: Float[Array, "units #rows"]
    activation: Activation
    free: Bool[Array, "units rows"]  # hidden, and the energy counts
    counted: Float[Array, "units rows"]  # 1 where the energy of the unit counts, else 0
    values: Float[Array, "units rows"]  # what clamped units are, and 1/2 elsewhere

    @property
    def known(self) -> Bool[Array, "units rows"]:
        """Observed, or found by the solver; what is not is barren."""
        return self.free | (self.values != 0.5)

    def means(self, theta: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
        """u_i = sigma(theta_i), or the evidence."""
        return jnp.where(self.free, sigmoid(theta), self.values)


def pose(
    storage: Storage,
    bias: Float[Array, "*stack units"],
    activation: Activation,
    rows: Float[Array, "rows units"],
    degree: int,
    *,
    pairs: bool,
    prune: bool,
) -> Problem:
    """The problem of finding the hidden units of every row (nan) from the clamped ones."""
    hidden = jnp.isnan(rows).T
    counted = relevant(storage, ~hidden) if prune else jnp.ones_like(hidden)
    return Problem(
        storage.open(degree, CERTAIN_FIELD, pairs=pairs),
        jnp.atleast_2d(bias).T,
        activation,
        hidden & counted,
        counted.astype(rows.dtype),
        jnp.where(hidden, 0.5, rows.T),
    )


def relevant(storage: Storage, observed: Bool[Array, "units rows"]) -> Bool[Array, "units rows"]:
    """The observed units and their ancestors; all others are barren: summed over, they add nothing."""
    edges = storage.indicator().open(1, 1.0)
    dtype = jnp.zeros(()).dtype

    def parents(units):
        return jax.vjp(edges.field_of, units)[1](units)[0]

    def with_parents(state):
        found, _ = state
        more = found | (parents(found.astype(dtype)) > 0)
        return more, jnp.any(more != found)

    childless = parents(jnp.ones(observed.shape, dtype)) == 0
    anything_barren = jnp.any(childless & ~observed)
    found, _ = jax.lax.while_loop(lambda state: state[1], with_parents, (observed, anything_barren))
    return found | ~anything_barren


def forwards(
    weights: OpenStorage,
    h: Float[Array, "units #rows"],
    rule: Callable,
    start: Float[Array, "units rows"],
    needed: Bool[Array, ""] | bool = True,
) -> Float[Array, "units rows"]:
    """Apply `rule` (from fields to the values of units) along the arrows, from the parents to the children.

    All units are updated together until nothing changes: as many times as the longest path has edges.
    """

    def step(state):
        values, _ = state
        new = rule(h + weights.field_of(values))
        return new, jnp.any(new != values)

    return jax.lax.while_loop(lambda state: state[1], step, (start, jnp.asarray(needed)))[0]


def prediction(problem: Problem, u: Float[Array, "units rows"]) -> Callable:
    """The rule by which a barren unit follows from its field, f(x); all others keep their means u."""
    activation = problem.activation
    return lambda x: jnp.where(problem.known, u, activation.probability(activation.clip(x)))


def predict(problem: Problem, u: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
    """The means with barren units predicted forwards from those of their parents."""
    return forwards(problem.weights, problem.h, prediction(problem, u), u, jnp.any(~problem.known))
