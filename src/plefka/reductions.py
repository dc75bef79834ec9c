"""Exact reductions, before any method: units that can be summed out by hand.

Barren units add nothing. An observed "off" noisy-or unit is linear in its parents, and so only moves their log-odds. A
hidden root that then has one child left to speak to, or none, is summed out: 1 - leak' = (1 - leak)(1 - p f) for
noisy-or, after which the child may be such a root itself. Observed parents are part of a unit's bias. All of this is
exact, for ln P(evidence) and for the means: that of a unit r that was summed out is d ln P(evidence) / d (log-odds of
r), which follows from the derivatives by the biases that are left.
"""

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from plefka.activations import Activation, NoisyOr
from plefka.networks.arrows import from_children, relevant, settled_along
from plefka.networks.states import open_for_states
from plefka.networks.storage import Storage

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork


class Reduced(eqx.Module):
    """What is left of a network when units are summed out; arrays are (units, rows).

    A unit that was summed out counts as off from then on, and has no energy.
    """

    h: Float[Array, "units #rows"]
    constant: Float[Array, " rows"]  # ln of the factor that the sums have left behind
    summed: Bool[Array, "units rows"]
    counted: Bool[Array, "units rows"]  # whose energy still counts


class Given(eqx.Module):
    """A network with what is known of its units; arrays are (units, rows)."""

    storage: Storage
    h: Float[Array, "units #rows"]
    activation: Activation
    known: Float[Array, "units rows"]  # nan where hidden
    tilt: Float[Array, "units rows"] | None  # log-odds of soft evidence

    @property
    def hidden(self) -> Bool[Array, "units rows"]:
        """Where a unit is not observed."""
        return jnp.isnan(self.known)

    @property
    def informed(self) -> Bool[Array, "units rows"]:
        """Where something is known of a unit."""
        return ~self.hidden if self.tilt is None else ~self.hidden | (self.tilt != 0)


def sums_out(activation: Activation) -> bool:
    """Whether units may be summed out of networks of this activation."""
    return isinstance(activation, NoisyOr)


def rounds_of(network: "BeliefNetwork") -> int | None:
    """How often what units say must be handed on, at most, where derivatives of derivatives are wanted."""
    return network.storage.depth() + 1 if sums_out(network.activation) else None


def reduced(
    given: Given, *, prune: bool, keep_barren: bool = False, rounds: int | None = None, boost: Any = 0.0
) -> Reduced:
    """The network without the units that can be summed out; all of it where `prune` is False.

    `keep_barren`: barren units stay, and with them all that their means depend on. `boost` is added to the log-odds of
    the units that are summed out. `rounds`: see settled_along.
    """
    rows = given.known.shape[1]
    nothing = jnp.zeros(given.known.shape, bool)
    counted = relevant(given.storage, given.informed) if prune and not keep_barren else ~nothing
    whole = Reduced(given.h, jnp.zeros(rows, given.known.dtype), nothing, counted)
    if not prune or not sums_out(given.activation):
        return whole
    whole = eqx.tree_at(lambda r: r.h, whole, jnp.broadcast_to(given.h, given.known.shape))
    summed = _summed(given, counted)
    # Which units these are is known without derivatives; what they leave behind is differentiated.
    return jax.lax.cond(
        jnp.any(summed),
        lambda given: _without(given, counted, summed, jnp.broadcast_to(boost, summed.shape), rounds),
        lambda given: whole,
        given,
    )


def _summed(given: Given, counted: Bool[Array, "units rows"]) -> Bool[Array, "units rows"]:
    """Hidden roots with one live child at most, and units that become such when their parents are summed out."""
    edges = given.storage.indicator().open(1, 1.0)
    candidate = given.hidden & counted & (from_children(edges, _live(given, counted)) <= 1)

    def step(state):
        summed, _ = state
        waiting = edges.field_of((given.hidden & ~summed).astype(given.known.dtype)) > 0
        more = candidate & ~waiting
        return more, jnp.any(more != summed)

    start = (jnp.zeros_like(candidate), jnp.any(candidate))
    return jax.lax.while_loop(lambda state: state[1], step, start)[0]


def _live(given: Given, counted: Bool[Array, "units rows"]) -> Bool[Array, "units rows"]:
    """Where the energy of a unit is more than linear in its parents."""
    return counted & (given.known != 0)


def _without(given: Given, counted, summed, boost, rounds: int | None) -> Reduced:
    """Leaks and a constant in place of the units that are summed out."""
    live, off = _live(given, counted), counted & (given.known == 0)
    arguments = (given, boost, live, off, summed)
    start = jnp.broadcast_to(jax.lax.stop_gradient(given.h), summed.shape)
    h = settled_along(_leaks, arguments, start, rounds)
    constant = jnp.where(summed, _roots(h, *arguments)[2], 0.0).sum(0)
    return Reduced(h, constant, summed, counted & ~summed)


def _leaks(arguments, h):
    """The biases of all units, from those of the roots above them that are summed out."""
    given, _, live, _, _ = arguments
    log_p, log_not_p, _ = _roots(h, *arguments)
    terms = (live.astype(h.dtype), jnp.exp(log_p), log_p, log_p, log_p, log_not_p)
    return given.h + open_for_states(given.storage).map_edges(_explained, *terms)[0]


def _roots(h, given: Given, boost, live, off, summed):
    """ln p and ln(1 - p) of roots, with what soft evidence and children that are off say, and ln of the sum."""
    weights = open_for_states(given.storage)
    x = h + weights.field_of(jnp.where(given.hidden, 0.0, given.known))
    tilt = boost - from_children(weights, off) + (0.0 if given.tilt is None else given.tilt)
    possible = summed & (x > 0)
    x = jnp.where(possible, x, 1.0)
    log_on = jnp.where(possible, given.activation.log_on(x) + tilt, -jnp.inf)
    log_off = jnp.where(possible, given.activation.log_off(x), 0.0)
    total = jnp.logaddexp(log_on, log_off)
    return log_on - total, log_off - total, total


def _explained(w, live, _, __, p, log_p, log_not_p):
    """-ln(1 - p + p exp(-w)): what a root that is summed out adds to the leak of its child."""
    rare = p < 0.5
    small = jnp.log1p(jnp.where(rare, p, 0.0) * jnp.expm1(-w))
    large = jnp.logaddexp(jnp.where(rare, 0.0, log_not_p), jnp.where(rare, 0.0, log_p) - w)
    return (jnp.where(w == 0, 0.0, -live * jnp.where(rare, small, large)),)  # no edge: not even rounding passes


def recovered(
    given: Given, slope: Float[Array, "units rows"], *, keep_barren: bool = False, rounds: int | None = None
) -> Float[Array, "units rows"]:
    """The means of units that were summed out, from d ln P(evidence) / dh at the biases that were left."""

    def left(boost):
        found = reduced(given, prune=True, keep_barren=keep_barren, rounds=rounds, boost=boost)
        return found.h, found.constant

    (h, constant), pull_back = jax.vjp(left, jnp.zeros(given.known.shape, given.known.dtype))
    means = pull_back((jnp.broadcast_to(slope, h.shape).astype(h.dtype), jnp.ones_like(constant)))[0]
    return jnp.clip(means, 0.0, 1.0)  # by rounding they may be outside
