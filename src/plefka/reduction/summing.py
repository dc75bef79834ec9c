"""Exact reductions, before any method: units that can be summed out by hand.

Barren units add nothing. An observed "off" noisy-or unit is linear in its parents, and so only moves their log-odds. A
hidden root that then has one child left to speak to, or none, is summed out: 1 - leak' = (1 - leak)(1 - p f) for
noisy-or, after which the child may be such a root itself. Observed parents are part of a unit's bias. All of this is
exact, for ln P(evidence) and for the means: that of a unit that was summed out follows from d ln P(evidence) / dh of
its child (see `recovered`).
"""

from typing import Any

import equinox as eqx

from plefka.activations import Activation, AnyArray, namespace
from plefka.plain_module import PlainModule
from plefka.reduction.edges import CERTAIN_WEIGHT, alike

LOWEST_WEIGHT = -700.0  # exp of minus it is a number; of a table, into which no root is summed, weights may be lower
STEEPEST = 1e100  # a slope beyond it belongs to evidence that is next to impossible


class Reduced(PlainModule):
    """What is left of a network when units are summed out; arrays are (units, rows).

    A unit that was summed out counts as off from then on, and has no energy.
    """

    h: AnyArray  # (units, 1 or rows)
    constant: AnyArray  # (rows,): ln of the factor that the sums have left behind
    summed: AnyArray
    counted: AnyArray  # whose energy still counts


class Given(PlainModule):
    """A network with what is known of its units; arrays are (units, rows), of the namespace of the edges."""

    edges: Any  # EdgeList, or TracedEdges inside a trace
    h: AnyArray  # (units, 1 or rows)
    activation: Activation
    known: AnyArray  # nan where hidden
    tilt: AnyArray  # log-odds of soft evidence
    absent: Any = False  # (units, rows): units that are no part of a row, and known to be 0

    @property
    def xp(self) -> Any:
        return self.edges.xp

    @property
    def hidden(self) -> AnyArray:
        """Where a unit is not observed."""
        return self.xp.isnan(self.known)

    @property
    def informed(self) -> AnyArray:
        """Where something is known of a unit."""
        return (~self.hidden | (self.tilt != 0)) & ~self.xp.asarray(self.absent)

    @property
    def linear(self) -> AnyArray:
        """The units whose energy is linear in their parents where they are off."""
        return self.activation.is_linear_off(self.h)

    def has_nonlinear_energy(self, counted: AnyArray) -> AnyArray:
        """Where the energy of a unit is more than linear in its parents."""
        return counted & ((self.known != 0) | ~self.linear)

    def off(self, counted: AnyArray) -> AnyArray:
        """1 where a unit that counts was observed off."""
        return (counted & (self.known == 0) & self.linear) * 1.0


def reduced(given: Given, *, keep_barren: bool = False, kept: Any = False) -> Reduced:
    """The network without the units that can be summed out.

    `keep_barren`: barren units stay, and with them all that their means depend on. `kept`: units that stay in any case.
    """
    nothing = given.hidden & False
    counted = ~nothing if keep_barren else relevant(given.edges, given.informed | kept)
    counted = counted & ~given.xp.asarray(given.absent)
    whole = Reduced(given.h + nothing * 0.0, nothing[0] * 0.0, nothing, counted)
    if not given.activation.has_linear_log_off:
        return whole
    summed = _summed(given, counted, kept)
    # Which units these are is known without derivatives; what they leave behind is differentiated.
    return given.edges.where_any(summed, lambda: _without(given, counted, summed), whole)


def relevant(edges: Any, informed: AnyArray) -> AnyArray:
    """The units of which something is known, and their ancestors; all others are barren: summed over, they add nothing.

    Something is known of a unit that is observed, or of which there is soft evidence.
    """

    def once(edges, found):
        return edges.xp.minimum(found + edges.up(is_edge, found), 1.0)

    return alike(lambda edges, informed: edges.settled(once, edges, informed * 1.0) > 0, edges, informed)


def is_edge(w, *_) -> Any:
    """1, or 0 where there is no edge."""
    return (w != 0) * 1.0


def _summed(given: Given, counted: AnyArray, kept: Any) -> AnyArray:
    """Hidden roots with one live child at most, and units that become such when their parents are summed out."""
    xp = given.xp
    children = given.edges.up(is_edge, given.has_nonlinear_energy(counted) * 1.0)
    candidate = given.hidden & counted & (children <= 1) & ~xp.asarray(kept)
    if given.activation.mixes_kinds:  # a table is not summed out, nor into
        candidate = candidate & given.linear & (given.edges.up(is_edge, (counted & ~given.linear) * 1.0) == 0)

    def once(arguments, summed):
        edges, hidden, candidate = arguments
        waiting = edges.down(lambda w, hidden: is_edge(w) * hidden, (), (hidden * (1 - summed),)) > 0
        return candidate * (~waiting * 1.0)

    arguments = given.edges, given.hidden * 1.0, candidate * 1.0
    return given.edges.settled(once, arguments, candidate * 0.0) > 0


def _without(given: Given, counted, summed) -> Reduced:
    """Leaks and a constant in place of the units that are summed out."""
    h = given.edges.settled(_leaks, (given, counted, summed), given.h + summed * 0.0)
    found = Reduced(h, h[0] * 0.0, summed, counted & ~summed)
    return eqx.tree_at(lambda r: r.constant, found, log_sums(given, found).sum(0))


def log_sums(given: Given, left: Reduced) -> Any:
    """What each unit that was summed out has left behind, (units, rows)."""
    roots = Roots.at(left.h, given, left.counted | left.summed, left.summed)
    return given.xp.where(left.summed, roots.log_sum, 0.0)


def _leaks(arguments, h):
    """The biases of all units, from those of the roots above them that are summed out."""
    given, counted, _ = arguments
    xp, roots, live = given.xp, Roots.at(h, *arguments), given.has_nonlinear_energy(counted) * 1.0
    ends = (roots.p, roots.log_p, roots.log_not_p)
    lowest = given.h + given.edges.down(lambda *terms: _inhibited(xp, *terms), (live,), ends[:1])
    return lowest + given.edges.down(lambda *terms: _explained(xp, *terms), (live,), ends)


def _inhibited(xp, w, live, p):
    """What a root takes from the leak of its child when it is on."""
    return live * xp.where((w < 0) & (p > 0), w, 0.0)


def _explained(xp, w, live, p, log_p, log_not_p):
    """-ln(1 - a + a exp(-|w|)): what a root that is summed out, and acts with chance a, adds to the leak of its child.

    A root with a negative weight acts when it is off: from the lowest leak upwards, so that nothing cancels.
    """
    acts_on, w = w > 0, abs(w)
    log_a, log_not_a = (xp.where(acts_on, *ends) for ends in ((log_p, log_not_p), (log_not_p, log_p)))
    a = xp.where(acts_on, p, xp.exp(log_not_p))
    rare = a < 0.5
    small = xp.log1p(xp.where(rare, a, 0.0) * xp.expm1(-w))
    large = xp.logaddexp(xp.where(rare, 0.0, log_not_a), xp.where(rare, 0.0, log_a) - w)
    none = (w == 0) | (p == 0)  # not even rounding passes
    return xp.where(none, 0.0, -live * xp.where(none | rare, small, large))


class Roots(PlainModule):
    """Units that are summed out, as they are without their live child; all others are off."""

    x: AnyArray  # 1 where a unit cannot be on
    log_p: AnyArray
    log_not_p: AnyArray
    log_sum: AnyArray  # ln of the sum over both states

    @classmethod
    def at(cls, h, given: Given, counted, summed) -> "Roots":
        """With what soft evidence and children that are off say."""
        xp, edges = given.xp, given.edges
        x = h + edges.down(times, (), (xp.where(given.hidden, 0.0, given.known),))
        tilt = given.tilt - edges.up(times, given.off(counted))
        possible = summed & (x > 0)
        x = xp.where(possible, x, 1.0)
        log_on = xp.where(possible, given.activation.log_on(x) + tilt, -xp.inf)
        log_off = xp.where(possible, given.activation.log_off(x), 0.0)
        total = xp.logaddexp(log_on, log_off)
        return cls(x, log_on - total, log_off - total, total)

    @property
    def p(self) -> AnyArray:
        return namespace(self.log_p).exp(self.log_p)


def times(w, value=1.0) -> Any:
    """w times a value that is a state: a certain edge counts as a number that no other sum comes near."""
    return namespace(w).minimum(w, CERTAIN_WEIGHT) * value


def recovered(given: Given, left: Reduced, slope: Any) -> tuple[Any, Any]:
    """The means of units that were summed out, from d ln P(evidence) / dh at the biases that are left; and their own.

    The mean of a unit is d ln P / d (its log-odds) = p + sum over its children of d ln P / dh times p (1 - p)
    (1 - exp(-w)) / (1 - p + p exp(-w)). Its d ln P / dh, which its parents need, averages log_on' and log_off'.
    """
    counted, summed = left.counted | left.summed, left.summed
    slope = given.xp.clip(given.xp.nan_to_num(slope), -STEEPEST, STEEPEST)
    arguments = given, Roots.at(left.h, given, counted, summed), counted, summed, slope
    slope = given.edges.settled(_slopes, arguments, given.xp.where(summed, arguments[1].p, slope))
    return given.xp.clip(_means(arguments, slope), 0.0, 1.0), slope  # by rounding means may be outside


def _slopes(arguments, slope):
    """d ln P / dh of units that were summed out, from that of their children; of all others it is known."""
    given, roots, _, summed, known = arguments
    m = _means(arguments, slope)
    return given.xp.where(summed, given.xp.minimum(m / given.xp.expm1(roots.x), STEEPEST) - (1 - m), known)


def _means(arguments, slope):
    given, roots, counted, _, _ = arguments
    xp, ends = given.xp, (roots.p, given.xp.exp(roots.log_not_p))
    live = xp.where(given.has_nonlinear_energy(counted), slope, 0.0)
    return ends[0] + given.edges.up(lambda *terms: _answer(xp, *terms), live, ends)


def _answer(xp, w, p, q):
    """p q (1 - exp(-w)) / (q + p exp(-w)), q = 1 - p: how the leak of a child follows the log-odds of a root."""
    w = xp.maximum(w, LOWEST_WEIGHT)
    below = q + p * xp.exp(-w)
    return xp.where(below > 0, -p * q * xp.expm1(-w) / xp.where(below > 0, below, 1.0), 0.0)
