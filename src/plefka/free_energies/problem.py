"""One network with its evidence, made ready for a free energy: what is free, what is clamped, whose energy counts."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from plefka.activations import CERTAIN_FIELD, Activation, sigmoid
from plefka.networks.storage import OpenStorage, Storage

LARGEST_THETA = 700.0  # means stay at least 1e-304 above 0


class Problem(eqx.Module):
    """Arrays are (units, rows): a row of evidence each, or a network of a stack each."""

    weights: OpenStorage
    h: Float[Array, "units #rows"]
    activation: Activation
    free: Bool[Array, "units rows"]  # hidden, and the energy counts
    counted: Float[Array, "units rows"]  # 1 where the energy of the unit counts, else 0
    values: Float[Array, "units rows"]  # what clamped units are, and 1/2 elsewhere
    head: int = eqx.field(static=True)  # so many units are searched; those behind them are observed in every row

    @property
    def known(self) -> Bool[Array, "units rows"]:
        """Observed, or found by the solver; what is not is barren."""
        return self.free | (self.values != 0.5)

    @property
    def searched(self) -> Bool[Array, "head rows"]:
        """Where the units of the head are free."""
        return self.free[: self.head]

    def means(self, theta: Float[Array, "head rows"]) -> Float[Array, "units rows"]:
        """u_i = sigma(theta_i), or the evidence."""
        return self.complete(jnp.where(self.searched, sigmoid(theta), self.values[: self.head]))

    def complete(self, u: Float[Array, "head rows"]) -> Float[Array, "units rows"]:
        """The means of the head, and the evidence behind it."""
        return jnp.concatenate([u, self.values[self.head :]]) if self.head < len(self.values) else u


def pose(
    storage: Storage,
    bias: Float[Array, "*stack units"],
    activation: Activation,
    rows: Float[Array, "rows units"],
    degree: int,
    *,
    pairs: bool,
    prune: bool,
    head: int | None = None,
) -> Problem:
    """The problem of finding the hidden units of every row (nan) from the clamped ones.

    `head`: the units from there on are known to be observed in every row, and a solver leaves them alone.
    """
    hidden = jnp.isnan(rows).T
    counted = relevant(storage, ~hidden) if prune else jnp.ones_like(hidden)
    return Problem(
        storage.open(degree, CERTAIN_FIELD, pairs=pairs),
        jnp.atleast_2d(bias).T,
        activation,
        hidden & counted,
        counted.astype(rows.dtype),
        jnp.where(hidden, 0.5, rows.T),
        storage.size if head is None else head,
    )


def head_of(layers: tuple[int, ...] | None, hidden: Bool[np.ndarray, " units"]) -> int:
    """How many units come before a bottom layer without a unit that is hidden in some row; all where there is none."""
    above = len(hidden) - layers[-1] if layers else len(hidden)
    return len(hidden) if above == 0 or hidden[above:].any() else above


def relevant(storage: Storage, observed: Bool[Array, "units rows"]) -> Bool[Array, "units rows"]:
    """The observed units and their ancestors; all others are barren: summed over, they add nothing."""
    edges = storage.indicator().open(1, 1.0)
    childless = ~_parents(edges, jnp.ones(observed.shape, bool))
    anything_barren = jnp.any(childless & ~observed)
    return with_ancestors(edges, observed, needed=anything_barren) | ~anything_barren


def with_ancestors(
    edges: OpenStorage,
    units: Bool[Array, "units rows"],
    among: Bool[Array, "units rows"] | bool = True,
    needed: Bool[Array, ""] | bool = True,
) -> Bool[Array, "units rows"]:
    """The units, and those that lead to them along edges of positive weight through units among the given ones."""

    def step(state):
        found, _ = state
        more = found | (_parents(edges, found) & among)
        return more, jnp.any(more != found)

    return jax.lax.while_loop(lambda state: state[1], step, (units, jnp.asarray(needed)))[0]


def _parents(edges: OpenStorage, units: Bool[Array, "units rows"]) -> Bool[Array, "units rows"]:
    z = units.astype(jnp.zeros(()).dtype)
    return jax.vjp(edges.field_of, z)[1](z)[0] > 0


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
        return new, jnp.any(differs(new, values))

    return jax.lax.while_loop(lambda state: state[1], step, (start, jnp.asarray(needed)))[0]


def differs(new: Float[Array, "units rows"], old: Float[Array, "units rows"]) -> Bool[Array, "units rows"]:
    """Where something has changed; what is not a number stays so."""
    return (new != old) & ~(jnp.isnan(new) & jnp.isnan(old))


def prediction(problem: Problem, u: Float[Array, "units rows"]) -> Callable:
    """The rule by which a barren unit follows from its field, f(x); all others keep their means u."""
    activation, known = problem.activation, problem.known

    def rule(x):
        x = jnp.where(known, 1.0, x)  # where f does not matter, no pole of it shall either
        return jnp.where(known, u, activation.probability(activation.clip(x)))

    return rule


def predict(problem: Problem, u: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
    """The means with barren units predicted forwards from those of their parents."""
    return forwards(problem.weights, problem.h, prediction(problem, u), u, jnp.any(~problem.known))
