"""One network with its evidence, made ready for a free energy: what is free, what is clamped, whose energy counts."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from plefka.activations import CERTAIN_FIELD, Activation, sigmoid
from plefka.networks.arrows import settled_along
from plefka.networks.storage import OpenStorage, Storage
from plefka.reductions import Given, Reduced, reduced

LARGEST_THETA = 700.0  # means stay at least 1e-304 above 0


class Problem(eqx.Module):
    """Arrays are (units, rows): a row of evidence each, or a network of a stack each."""

    weights: OpenStorage
    h: Float[Array, "units #rows"]
    activation: Activation
    free: Bool[Array, "units rows"]  # hidden, and the energy counts
    counted: Float[Array, "units rows"]  # 1 where the energy of the unit counts, else 0
    values: Float[Array, "units rows"]  # what clamped units are, 0 for those summed out, and 1/2 elsewhere
    tilt: Float[Array, "units rows"] | None  # log-odds of soft evidence
    constant: Float[Array, " rows"]  # ln of what was summed out
    summed: Bool[Array, "units rows"]  # summed out: no longer there
    head: int = eqx.field(static=True)  # so many units are searched; those behind them are observed in every row

    @property
    def known(self) -> Bool[Array, "units rows"]:
        """Observed, summed out, or found by the solver; what is not is barren."""
        return self.free | (self.values != 0.5)

    @property
    def reduced(self) -> Reduced:
        """What is left of the network."""
        return Reduced(self.h, self.constant, self.summed, self.counted > 0)

    @property
    def searched(self) -> Bool[Array, "head rows"]:
        """Where the units of the head are free."""
        return self.free[: self.head]

    def means(self, theta: Float[Array, "head rows"]) -> Float[Array, "units rows"]:
        """u_i = sigma(theta_i), or the evidence."""
        return self.complete(jnp.where(self.searched, sigmoid(theta), self.values[: self.head]))

    def offset(self, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        """The energy of what is not the network's: soft evidence, and what was summed out."""
        return -self.constant if self.tilt is None else -self.constant - (self.tilt * u).sum(0)

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
    tilt: Float[Array, "rows units"] | None = None,
    head: int | None = None,
) -> Problem:
    """The problem of finding the hidden units of every row (nan) from the clamped ones.

    `head`: the units from there on are known to be observed in every row, and a solver leaves them alone.
    """
    given = known(storage, bias, activation, rows, tilt)
    left = reduced(given, prune=prune)
    return Problem(
        storage.open(degree, CERTAIN_FIELD, pairs=pairs),
        left.h,
        activation,
        given.hidden & left.counted,
        left.counted.astype(rows.dtype),
        jnp.where(left.summed, 0.0, jnp.where(given.hidden, 0.5, rows.T)),
        given.tilt,
        left.constant,
        left.summed,
        storage.size if head is None else head,
    )


def known(storage: Storage, bias, activation: Activation, rows, tilt=None) -> Given:
    """A network and rows of evidence, with units first."""
    return Given(storage, jnp.atleast_2d(bias).T, activation, rows.T, None if tilt is None else tilt.T)


def head_of(layers: tuple[int, ...] | None, hidden: Bool[np.ndarray, " units"]) -> int:
    """How many units come before a bottom layer without a unit that is hidden in some row; all where there is none."""
    above = len(hidden) - layers[-1] if layers else len(hidden)
    return len(hidden) if above == 0 or hidden[above:].any() else above


def mean_field_chance(problem: Problem, u: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
    """f at the mean field: how probable a unit is when its parents have these means, as the paper would say."""
    f, x = problem.activation, problem.h + problem.weights.field_of(u)
    return f.probability(
        f.clip(jnp.where(problem.known, 1.0, x))
    )  # where f does not matter, no pole of it shall either


def predict(
    problem: Problem,
    u: Float[Array, "units rows"],
    chance: Callable = mean_field_chance,
) -> Float[Array, "units rows"]:
    """The means with barren units predicted forwards from those of their parents; differentiable."""

    def once(arguments, values):
        problem, u = arguments
        return jnp.where(problem.known, u, chance(problem, values))

    def along(problem, u):
        return settled_along(once, (problem, u), jax.lax.stop_gradient(u))

    return jax.lax.cond(jnp.any(~problem.known), along, lambda _, u: u, problem, u)
