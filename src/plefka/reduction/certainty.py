"""What is certain in a network: units that can only be on or off, and evidence that cannot be.

An edge of probability one switches its child on, so that a child that is off has no such parent that is on; and a unit
without leak is on only if a parent is. What follows from that is known as well as if it had been observed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from plefka.networks.activations import Activation, Mixed
from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList
from plefka.networks.fields import bits
from plefka.networks.index_arrays import mask_of


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


# ---- which states units may still have, one unit and its parents at a time -------------------------------------------


MOST_TABLE_PARENTS = 16  # of a unit whose states are all looked at


@dataclass(frozen=True, eq=False)
class TableRule:
    """A unit and its parents by all their states, (2, ..., 2): which of them are possible."""

    units: np.ndarray  # the unit, then its parents
    support: np.ndarray

    def narrow(self, may: np.ndarray) -> None:
        """Take from `may` (units, 2) what is possible in no state of the others."""
        left, axes = self.support, range(len(self.units))
        for axis, unit in enumerate(self.units):
            if not may[unit].all():
                left = left & may[unit].reshape([2 if k == axis else 1 for k in axes])
        for axis, unit in enumerate(self.units):
            may[unit] = left.any(axis=tuple(k for k in axes if k != axis))

    def allows(self, state: np.ndarray) -> bool:
        """Whether a state of the units is possible."""
        return bool(self.support[tuple(state)])


@dataclass(frozen=True, eq=False)
class NoisyOrRule:
    """A noisy-or unit that its parents switch on, some of them for certain."""

    units: np.ndarray
    certain: np.ndarray  # which parents switch it on for certain
    has_leak: bool

    def narrow(self, may: np.ndarray) -> None:
        """Take from `may` (units, 2) what is impossible, without listing the states of the parents."""
        unit, parents = self.units[0], self.units[1:]
        sure = parents[self.certain]
        may[unit, 0] &= may[sure, 0].all()
        if not may[unit, 1]:
            may[sure, 1] = False
        if self.has_leak:
            return
        causes = parents[may[parents, 1]]
        may[unit, 1] &= causes.size > 0
        if not may[unit, 0] and causes.size == 1:
            may[causes[0], 0] = False

    def allows(self, state: np.ndarray) -> bool:
        """Whether a state of the units is possible."""
        own, causes = state[0], state[1:]
        return bool(self.has_leak or causes.any()) if own else not causes[self.certain].any()


Rule = TableRule | NoisyOrRule


class Possible:
    """What units that are observed, and all above them, rule out; of one network, not of a stack."""

    def __init__(self, network: BeliefNetwork, observed: Iterable[int]):
        self.size, self.activation = network.size, network.activation
        edges = EdgeList.of(network.storage)
        order, self._starts = edges.graph.by_child
        self._parent, self._weight = edges.parent[order], edges.weight[order, 0]
        self._h = np.asarray(network.bias, float)
        self._linear = np.broadcast_to(self.activation.is_linear_off(self._h), self._h.shape)
        self._is_complete = True
        above = np.flatnonzero(edges.graph.with_ancestors(mask_of(list(observed), network.size))).tolist()
        self._rules = [rule for unit in above if (rule := self._rule(unit)) is not None]
        self._around: dict[int, list[int]] = {}  # the rules that a unit is part of
        for number, rule in enumerate(self._rules):
            for unit in rule.units.tolist():
                self._around.setdefault(unit, []).append(number)

    @cached_property
    def before(self) -> np.ndarray:
        """What units may be (units, 2) when nothing is observed."""
        may = np.ones((self.size, 2), bool)
        self._narrowed(may, range(len(self._rules)))
        return may

    def is_ruled_out(self, units: np.ndarray, states: np.ndarray) -> bool | None:
        """Whether units, (some of) which are observed, cannot have these states; None where that is not seen."""
        may = self.before.copy()
        may[units, 1 - states] = False
        if not _either(may[units]).all() or not self._narrowed(may, self._of_units(units)):
            return True
        examples = (np.where(may[:, 0] & may[:, 1], otherwise, may[:, 1]) for otherwise in (1, 0))
        allowed = (all(rule.allows(state[rule.units].astype(int)) for rule in self._rules) for state in examples)
        return False if self._is_complete and any(allowed) else None

    def _of_units(self, units: np.ndarray) -> list[int]:
        """The rules that any of these units is part of."""
        number, unit = self._parts
        return np.flatnonzero(np.bincount(number, mask_of(units, self.size)[unit])).tolist()

    @cached_property
    def _parts(self) -> tuple[np.ndarray, np.ndarray]:
        """(number of a rule, unit that is part of it), of all rules."""
        numbers = np.repeat(np.arange(len(self._rules)), [len(rule.units) for rule in self._rules])
        return numbers, np.concatenate([np.zeros(0, int), *(rule.units for rule in self._rules)])

    def _narrowed(self, may: np.ndarray, first: Iterable[int]) -> bool:
        """Take from `may` what cannot be, from these rules on, until none takes more; False where no state is left."""
        waiting = dict.fromkeys(first)
        while waiting:
            rule = self._rules[waiting.popitem()[0]]
            before = may[rule.units]
            rule.narrow(may)
            after = may[rule.units]
            if not _either(after).all():
                return False
            for unit in rule.units[_either(after != before)].tolist():
                waiting |= dict.fromkeys(self._around[unit])
        return True

    def _of(self, unit: int, by_edge: np.ndarray) -> np.ndarray:
        return by_edge[self._starts[unit] : self._starts[unit + 1]]

    def _rule(self, unit: int) -> Rule | None:
        """None where a unit rules nothing out, or has too many parents to see it."""
        parents, weight, h = self._of(unit, self._parent), self._of(unit, self._weight), self._h[unit]
        units = np.concatenate([[unit], parents])
        if self._linear[unit] and (weight >= 0).all():
            certain = np.isinf(weight)
            return NoisyOrRule(units, certain, bool(h > 0)) if certain.any() or h <= 0 else None
        if len(parents) > MOST_TABLE_PARENTS:
            self._is_complete = False
            return None
        support = _support(self.activation, h, weight)
        return None if support.all() else TableRule(units, support)


def _either(pairs: np.ndarray) -> np.ndarray:
    """Of (units, 2), which units have one: far quicker than a sum over an axis of two."""
    return pairs[:, 0] | pairs[:, 1]


def _support(activation: Activation, h: float, weight: np.ndarray) -> np.ndarray:
    """(2, ..., 2): which states of a unit and its parents have a probability above zero."""
    m = len(weight)
    on = bits(np.arange(2**m), np.arange(m)[::-1]) == 1
    x = activation.clip(h + np.where(on, weight[:, None], 0.0).sum(axis=0))
    logs = np.stack([np.asarray(log(x)) for log in (activation.log_off, activation.log_on)])
    return ~np.isneginf(logs).reshape((2,) * (m + 1))
