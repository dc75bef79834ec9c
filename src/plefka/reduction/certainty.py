"""What is certain in a network: units that can only be on or off, and evidence that cannot be.

An edge of probability one switches its child on, so that a child that is off has no such parent that is on; and a unit
without leak is on only if a parent is. What follows from that is known as well as if it had been observed.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from plefka.networks.activations import Activation, Mixed
from plefka.networks.edge_list import EdgeList


class Certain(NamedTuple):
    """What follows from the evidence, (units, rows)."""

    known: Float[np.ndarray, "units rows"]  # the evidence with all that follows from it
    unexplained: Bool[np.ndarray, "units rows"]  # observed on, though nothing can switch it on
    contradicted: Bool[np.ndarray, "units rows"]  # observed off, though a parent switches it on
    deterministic: Bool[np.ndarray, "units rows"]  # certain given their parents, in some state of hidden units

    @property
    def impossible(self) -> Bool[np.ndarray, " rows"]:
        """The rows that are seen to have probability zero."""
        return np.asarray((self.unexplained | self.contradicted).any(axis=0))


def certain(
    edges: EdgeList, h: np.ndarray, activation: Activation, known: np.ndarray, absent: np.ndarray | np.bool_ = np.False_
) -> Certain:
    """What follows from the evidence; nothing does without a unit that has no leak or an edge that is certain.

    `absent`: (units, rows), units that are no part of a row. These are known to be 0, which says nothing of parents.
    """
    linear, deterministic = activation.is_linear_off(h), _deterministic_tables(edges, h, activation, known)
    if not (linear & (h == 0)).any() and not np.isinf(edges.weight).any():
        nothing = np.zeros(known.shape, bool)
        return Certain(known, nothing, nothing, nothing | deterministic)
    alone = (h > 0) | ~linear  # what may be on without a cause; of a table nothing is concluded
    sure, causes = edges.take(np.isinf(edges.weight).any(axis=1)), edges.take((edges.weight > 0).any(axis=1))

    def parents(edges: EdgeList, is_one: Callable, on: np.ndarray) -> np.ndarray:
        """Whether a parent is on whose edge is such."""
        return edges.down(lambda w, on: is_one(w) * on, (), (on * 1.0,)) > 0

    def off(xp, children, known, hidden):
        return xp.where((known == 0) | ((hidden > 0) & (children > 0)), 1.0, 0.0)

    def possibly_on(xp, causes, known, alone):
        return xp.where(known != known, xp.where((alone > 0) | (causes > 0), 1.0, 0.0), known)

    def surely_on(xp, switches, known):
        return xp.where(known != known, xp.where(switches > 0, 1.0, 0.0), known)

    hidden, seen = np.isnan(known), np.where(absent, np.nan, known)
    switched_off = sure.ascend(lambda xp, w, *_: np.isinf(w) * 1.0, off, (seen, hidden * 1.0))
    with_off = np.where(switched_off > 0, 0.0, known)
    own = with_off, np.broadcast_to(alone, known.shape) * 1.0
    may_be_on = causes.descend(lambda xp, w, on: (xp.where(w > 0, on, 0.0),), possibly_on, (), own)
    must_be_on = sure.descend(lambda xp, w, on: (xp.where(w == xp.inf, on, 0.0),), surely_on, (), (known,))
    found = np.where(np.isnan(with_off) & (may_be_on == 0), 0.0, with_off)
    found = np.where(np.isnan(found) & (must_be_on == 1), 1.0, found)
    unexplained = (known == 1) & ~(alone | parents(causes, lambda w: w > 0, may_be_on))
    contradicted = (seen == 0) & parents(sure, np.isinf, must_be_on)
    open_ = np.isnan(found)
    return Certain(found, unexplained, contradicted, deterministic | (open_ & parents(sure, np.isinf, open_)))


def _deterministic_tables(
    edges: EdgeList, h: np.ndarray, activation: Activation, known: np.ndarray
) -> np.ndarray | np.bool_:
    """Hidden units, and children of hidden units, whose table rules a state out."""
    if not isinstance(activation, Mixed):
        return np.False_
    hidden = np.isnan(known)
    last = h + edges.down(lambda w: np.minimum(w, 0.0))
    open_ = hidden | (edges.down(lambda w, hidden: (w != 0) * hidden, (), (hidden * 1.0,)) > 0)
    return open_ & activation.has_certain_rows(h, last)


def impossibilities(found: Certain) -> Iterator[tuple[np.ndarray, str, str]]:
    """Which units of which rows are impossible, why, and what to do."""
    why = "observed on, but has no leak and no cause that could be on"
    yield found.unexplained, why, "Give it a leak (a positive bias) or a possible cause"
    why = "observed off, but a cause that switches it on for certain is observed on"
    yield found.contradicted, why, "Correct the evidence or make the edge less than certain"
