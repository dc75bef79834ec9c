"""Exact reductions, before any method: units that can be summed out by hand.

Barren units add nothing. An observed "off" noisy-or unit is linear in its parents, and so only moves their log-odds. A
hidden root that then has one child left to speak to, or none, is summed out: 1 - leak' = (1 - leak)(1 - p f) for
noisy-or, after which the child may be such a root itself. Observed parents are part of a unit's bias. All of this is
exact, for ln P(evidence) and for the means: that of a unit that was summed out follows from d ln P(evidence) / dh of
its child (see `recovered`).
"""

from typing import Any, NamedTuple

from plefka.networks.activations import Activation, AnyArray, namespace
from plefka.networks.edge_list import CERTAIN_WEIGHT

LEAST = -1e10  # stands for ln 0: exp of it is 0, and differences of two of them are numbers
FAINT = 1e-30  # a field below it, which float32 has as well, is left to the sums, as these are in logarithms
CANCELLED = 1e-6  # and so is one of which inhibiting parents may leave less than this part, as rounding is all there is


class Reduced(NamedTuple):
    """What is left of a network when units are summed out; arrays are (units, rows).

    A unit that was summed out counts as off from then on, and has no energy.
    """

    h: AnyArray  # (units, 1 or rows)
    constant: AnyArray  # (rows,): ln of the factor that the sums have left behind
    summed: AnyArray
    counted: AnyArray  # whose energy still counts


class Given(NamedTuple):
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


def whole(given: Given) -> Reduced:
    """Nothing summed out, and every unit counted."""
    nothing = given.hidden & False
    return Reduced(given.h + nothing * 0.0, nothing[0] * 0.0, nothing, ~nothing)


class KnownNeighbours(NamedTuple):
    """What known units say of each unit, whichever are summed out."""

    shift: AnyArray  # what known parents add to its field
    tilt: AnyArray  # what soft evidence and children that are off add to its log-odds


def reduced(given: Given, *, keep_barren: bool = False, kept: Any = False) -> Reduced:
    """The network without the units that can be summed out.

    `keep_barren`: barren units stay, and with them all that their means depend on. `kept`: units that stay in any case.
    """
    everything = whole(given)
    counted = everything.counted if keep_barren else given.edges.with_ancestors(given.informed | kept)
    counted = counted & ~given.xp.asarray(given.absent)
    as_it_is = everything._replace(counted=counted)
    if not given.activation.has_linear_log_off:
        return as_it_is
    kept = given.xp.asarray(kept) | everything.summed
    candidate = _candidates(given, counted) & ~kept
    # Which units these are is known without derivatives; what they leave behind is differentiated.
    return given.edges.where_any(candidate, lambda: _without(given, counted, candidate), as_it_is)


def is_edge(w, *_) -> Any:
    """1, or 0 where there is no edge."""
    return (w != 0) * 1.0


def _candidates(given: Given, counted: AnyArray) -> AnyArray:
    """Hidden units with one live child at most."""
    children = given.edges.up(is_edge, given.has_nonlinear_energy(counted) * 1.0)
    found = given.hidden & counted & (children <= 1)
    if given.activation.mixes_kinds:  # a table is not summed out, nor into
        found = found & given.linear & (given.edges.up(is_edge, (counted & ~given.linear) * 1.0) == 0)
    return found


def _summed(given: Given, candidate: AnyArray) -> AnyArray:
    """Candidates that are roots, and those that become roots when their parents are summed out."""

    def waits_for(xp, w, summed, hidden):
        return (is_edge(w) * hidden * (1 - summed),)

    def unit(xp, waiting, candidate):
        return xp.where(waiting > 0, 0.0, candidate)

    return given.edges.descend(waits_for, unit, (given.hidden * 1.0,), (candidate * 1.0,)) > 0


def _without(given: Given, counted, candidate) -> Reduced:
    """Leaks and a constant in the place of the units that are summed out."""
    around = _known_neighbours(given, counted)

    def without(kept):
        summed = _summed(given, candidate & ~kept)
        h = _leaks(given, counted, summed, around)
        return h, summed, Roots.at(h, given, around, summed)

    def fails(found):
        return _summed_into_faint_fields(given, counted, around, *found)

    h, summed, roots = given.edges.retried_without_failures(without, fails, candidate & False)
    return Reduced(h, given.xp.where(summed, roots.log_sum, 0.0).sum(0), summed, counted & ~summed)


def _summed_into_faint_fields(given: Given, counted, around: KnownNeighbours, h, summed, roots: "Roots") -> AnyArray:
    """Units that were summed into a child whose field is then too small, for some states of its other parents."""
    xp, edges = given.xp, given.edges
    states = xp.where(given.hidden, 0.0, given.known)
    free = (given.hidden & ~summed) * 1.0
    inhibited = edges.down(lambda w, on: xp.minimum(times(w), 0.0) * on, (), (xp.maximum(states, given.hidden * 1.0),))
    lowest = h + around.shift + edges.down(lambda w, free: xp.minimum(w, 0.0) * free, (), (free,))
    faint = (lowest < FAINT) | (lowest < -CANCELLED * inhibited)
    live = given.has_nonlinear_energy(counted) & faint
    return summed & (roots.log_p > LEAST) & (edges.up(is_edge, live * 1.0) > 0)


def log_sums(given: Given, left: Reduced) -> Any:
    """What each unit that was summed out has left behind, (units, rows)."""
    return given.xp.where(left.summed, Roots.of(given, left).log_sum, 0.0)


def _leaks(given: Given, counted, summed, around: KnownNeighbours) -> AnyArray:
    """The biases of all units, with what the roots above them that are summed out add."""

    def added(xp, w, h, shift, tilt, summed):
        log_p, log_not_p, _ = _root(xp, h + shift, tilt, summed)
        inhibited = xp.where((w < 0) & (log_p > -xp.inf), w, 0.0)  # what a root that is on takes from the leak
        return inhibited, explained(xp, w, log_p, log_not_p)

    def bias(xp, inhibited, explained, h, live):
        return (h + live * inhibited) + live * explained  # from the lowest upwards, so that nothing cancels

    live = given.has_nonlinear_energy(counted) * 1.0
    return given.edges.descend(added, bias, (*around, summed * 1.0), (given.h, live))


def explained(xp, w, log_p, log_not_p):
    """-ln(1 - a + a exp(-|w|)): what a root that is summed out, and acts with chance a, adds to the leak of its child.

    A root with a negative weight acts when it is off. Where little is added, the sum of two numbers near 1/2 would
    cancel; where much is, the small difference to 1 would (MATH 14).
    """
    log_a, log_not_a = xp.where(w > 0, log_p, log_not_p), xp.where(w > 0, log_not_p, log_p)
    w = abs(w)
    none = (w == 0) | (log_p == -xp.inf)  # not even rounding passes
    lost = -xp.exp(log_a) * xp.expm1(-w)
    much = lost >= 0.5
    little = -xp.log1p(-xp.where(much, 0.0, lost))
    large = -xp.logaddexp(xp.where(much, log_not_a, 0.0), xp.where(much, log_a - w, 0.0))
    return xp.where(none, 0.0, xp.where(much, large, little))


def _known_neighbours(given: Given, counted) -> KnownNeighbours:
    states = given.xp.where(given.hidden, 0.0, given.known)
    return KnownNeighbours(
        given.edges.down(times, (), (states,)), given.tilt - given.edges.up(times, given.off(counted))
    )


def _root(xp, x, tilt, summed):
    """ln of the chances to be on and off of a unit without its live child, and of the sum over both states."""
    possible = (summed > 0) & (x > 0)
    x = xp.where(possible, x, 1.0)
    log_on = xp.where(possible, _log_on(xp, x) + tilt, -xp.inf)
    log_off = xp.where(possible, -x, 0.0)
    total = xp.logaddexp(log_on, log_off)
    return log_on - total, log_off - total, total


def _log_on(xp, x):
    """ln(1 - exp(-x)), of noisy-or units, which alone are summed out."""
    small = x < 0.7
    near = xp.log(-xp.expm1(-xp.where(small, x, 1.0)))
    return xp.where(small, near, xp.log1p(-xp.exp(-xp.where(small, 1.0, x))))


class Roots(NamedTuple):
    """Units that are summed out, as they are without their live child; all others are off."""

    x: AnyArray  # 1 where a unit cannot be on
    log_p: AnyArray
    log_not_p: AnyArray
    log_sum: AnyArray  # ln of the sum over both states

    @classmethod
    def of(cls, given: Given, left: Reduced) -> "Roots":
        """Those of a network that was reduced."""
        return cls.at(left.h, given, _known_neighbours(given, left.counted | left.summed), left.summed)

    @classmethod
    def at(cls, h, given: Given, around: KnownNeighbours, summed) -> "Roots":
        """With what soft evidence and children that are off say."""
        x = h + around.shift
        return cls(given.xp.where(summed & (x > 0), x, 1.0), *_root(given.xp, x, around.tilt, summed))


def times(w, value=1.0) -> Any:
    """w times a value that is a state: a certain edge counts as a number that no other sum comes near."""
    return namespace(w).minimum(w, CERTAIN_WEIGHT) * value


def recovered(given: Given, left: Reduced, slope: Any) -> tuple[Any, Any]:
    """The means of units that were summed out, from d ln P(evidence) / dh at the biases that are left; and their own.

    The mean of a unit is d ln P / d (its log-odds) = p + sum over its children of d ln P / dh times p (1 - p)
    (1 - exp(-w)) / (1 - p + p exp(-w)). Its d ln P / dh, which its parents need, averages log_on' and log_off'. No
    field into which a unit was summed is below FAINT, so that a slope is a number.
    """
    xp, summed = given.xp, left.summed
    counted = left.counted | summed
    roots = Roots.of(given, left)
    known = xp.where(xp.isfinite(slope) & ~summed, slope, 0.0)
    live = given.has_nonlinear_energy(counted) * 1.0
    p = xp.exp(roots.log_p)
    x = xp.maximum(roots.x, FAINT)  # below it, nobody asks
    odds_against = xp.where(roots.x < FAINT, 0.0, xp.exp(-x) / -xp.expm1(-x))

    def coefficient(xp, w, log_p, log_not_p, *_):
        return _answer(xp, w, log_p, log_not_p)

    def to_parents(xp, answered, log_p, log_not_p, p, odds_against, live, known, summed):
        mean = xp.minimum(xp.maximum(p + answered, 0.0), 1.0)  # by rounding it may be outside
        return live * xp.where(summed > 0, mean * odds_against - (1 - mean), known)

    ends = roots.log_p, roots.log_not_p
    own = (*ends, p, odds_against, live, known, summed * 1.0)
    slopes = given.edges.ascend(coefficient, to_parents, own)
    answered = given.edges.up(lambda w, *ends: _answer(xp, w, *ends), slopes, ends)
    mean = xp.clip(p + answered, 0.0, 1.0)
    return mean, xp.where(summed, mean * odds_against - (1 - mean), slope)


def _answer(xp, w, log_p, log_q):
    """p q (1 - exp(-w)) / (q + p exp(-w)), q = 1 - p: how the leak of a child follows the log-odds of a root."""
    near, far = xp.where(w > 0, log_q, log_p), xp.where(w > 0, log_p, log_q)
    none = (w == 0) | (near == -xp.inf) | (far == -xp.inf)
    size = xp.where(none, 1.0, abs(w))
    near, far = xp.where(none, 0.0, near), xp.where(none, 0.0, far)
    found = xp.exp(near + far + xp.log(-xp.expm1(-size)) - xp.logaddexp(near, far - size))
    return xp.where(none, 0.0, xp.where(w > 0, found, -found))
