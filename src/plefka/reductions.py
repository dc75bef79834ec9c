"""Exact reductions, before any method: units that can be summed out by hand.

Barren units add nothing. An observed "off" noisy-or unit is linear in its parents, and so only moves their log-odds. A
hidden root that then has one child left to speak to, or none, is summed out: 1 - leak' = (1 - leak)(1 - p f) for
noisy-or, after which the child may be such a root itself. Observed parents are part of a unit's bias. All of this is
exact, for ln P(evidence) and for the means: that of a unit that was summed out follows from d ln P(evidence) / dh of
its child (see `recovered`).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from plefka.activations import Activation, NoisyOr
from plefka.networks.arrows import from_children, map_edges_up, relevant, settled_along
from plefka.networks.states import CERTAIN_STATE
from plefka.networks.storage import Products, Storage


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

    @property
    def weights(self) -> Products:
        """Ready for products with states, and for the few that are needed here."""
        return self.storage.plain(CERTAIN_STATE, self.known.shape[1])

    def live(self, counted: Bool[Array, "units rows"]) -> Bool[Array, "units rows"]:
        """Where the energy of a unit is more than linear in its parents."""
        return counted & (self.known != 0)


def sums_out(activation: Activation) -> bool:
    """Whether units may be summed out of networks of this activation."""
    return isinstance(activation, NoisyOr)


def reduced(given: Given, *, prune: bool, keep_barren: bool = False) -> Reduced:
    """The network without the units that can be summed out; all of it where `prune` is False.

    `keep_barren`: barren units stay, and with them all that their means depend on.
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
        lambda given: _without(given, counted, summed),
        lambda given: whole,
        given,
    )


def _summed(given: Given, counted: Bool[Array, "units rows"]) -> Bool[Array, "units rows"]:
    """Hidden roots with one live child at most, and units that become such when their parents are summed out."""
    edges = given.storage.indicator().plain(1.0, counted.shape[1])
    candidate = given.hidden & counted & (from_children(edges, given.live(counted)) <= 1)

    def step(state):
        summed, _ = state
        waiting = edges.field_of((given.hidden & ~summed).astype(given.known.dtype)) > 0
        more = candidate & ~waiting
        return more, jnp.any(more != summed)

    start = (jnp.zeros_like(candidate), jnp.any(candidate))
    return jax.lax.while_loop(lambda state: state[1], step, start)[0]


def _without(given: Given, counted, summed) -> Reduced:
    """Leaks and a constant in place of the units that are summed out."""
    h = settled_along(_leaks, (given, counted, summed), jax.lax.stop_gradient(jnp.broadcast_to(given.h, summed.shape)))
    constant = jnp.where(summed, Roots.at(h, given, counted, summed).log_sum, 0.0).sum(0)
    return Reduced(h, constant, summed, counted & ~summed)


def _leaks(arguments, h):
    """The biases of all units, from those of the roots above them that are summed out."""
    given, counted, _ = arguments
    roots, live = Roots.at(h, *arguments), given.live(counted).astype(h.dtype)
    return given.h + given.weights.map_edges(_explained, (live,), (roots.p, roots.log_p, roots.log_not_p))[0]


def _explained(w, live, p, log_p, log_not_p):
    """-ln(1 - p + p exp(-w)): what a root that is summed out adds to the leak of its child."""
    rare = p < 0.5
    small = jnp.log1p(jnp.where(rare, p, 0.0) * jnp.expm1(-w))
    large = jnp.logaddexp(jnp.where(rare, 0.0, log_not_p), jnp.where(rare, 0.0, log_p) - w)
    return (jnp.where(w == 0, 0.0, -live * jnp.where(rare, small, large)),)  # no edge: not even rounding passes


class Roots(eqx.Module):
    """Units that are summed out, as they are without their live child; all others are off."""

    x: Float[Array, "units rows"]  # 1 where a unit cannot be on
    log_p: Float[Array, "units rows"]
    log_not_p: Float[Array, "units rows"]
    log_sum: Float[Array, "units rows"]  # ln of the sum over both states

    @classmethod
    def at(cls, h, given: Given, counted, summed) -> "Roots":
        """With what soft evidence and children that are off say."""
        weights, off = given.weights, counted & (given.known == 0)
        x = h + weights.field_of(jnp.where(given.hidden, 0.0, given.known))
        tilt = (0.0 if given.tilt is None else given.tilt) - from_children(weights, off)
        possible = summed & (x > 0)
        x = jnp.where(possible, x, 1.0)
        log_on = jnp.where(possible, given.activation.log_on(x) + tilt, -jnp.inf)
        log_off = jnp.where(possible, given.activation.log_off(x), 0.0)
        total = jnp.logaddexp(log_on, log_off)
        return cls(x, log_on - total, log_off - total, total)

    @property
    def p(self) -> Float[Array, "units rows"]:
        return jnp.exp(self.log_p)


def recovered(given: Given, left: Reduced, slope: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
    """The means of units that were summed out, from d ln P(evidence) / dh at the biases that were left.

    That of a unit is d ln P / d (its log-odds) = p + sum over its children of d ln P / dh times p (1 - p) (1 - exp(-w))
    / (1 - p + p exp(-w)). Its own d ln P / dh, which its parents need, is the average of log_on' and log_off'.
    """
    counted, summed = left.counted | left.summed, left.summed
    arguments = given, Roots.at(left.h, given, counted, summed), counted, summed, slope
    start = jnp.where(summed, jax.lax.stop_gradient(arguments[1].p), slope)
    slope = settled_along(_slopes, arguments, start)
    return jnp.clip(_means(arguments, slope), 0.0, 1.0)  # by rounding they may be outside


def _slopes(arguments, slope):
    """d ln P / dh of units that were summed out, from that of their children; of all others it is known."""
    _, roots, _, summed, known = arguments
    m = _means(arguments, slope)
    return jnp.where(summed, m / jnp.expm1(roots.x) - (1 - m), known)


def _means(arguments, slope):
    given, roots, counted, _, _ = arguments
    ends = roots.p, jnp.exp(roots.log_not_p)
    return ends[0] + map_edges_up(given.weights, _answer, jnp.where(given.live(counted), slope, 0.0), ends)


def _answer(w, p, q):
    """p q (1 - exp(-w)) / (q + p exp(-w)), q = 1 - p: how the leak of a child follows the log-odds of a root."""
    below = q + p * jnp.exp(-w)
    return jnp.where(below > 0, -p * q * jnp.expm1(-w) / jnp.where(below > 0, below, 1.0), 0.0)
