"""How P(evidence) follows every number of a belief network, exactly, from one elimination there and back.

P is linear in a prior, in the probability of a link or a leak of a noisy-or unit, and in an entry of a table:
P(q') / P(q) = q' if_on + (1 - q') if_off + untouched, and nothing is divided by q, which may be 0 or 1. Weights and
biases of other units are no such lines: P is evaluated at both ends, from what all else says of a unit and its parents.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from plefka.exact.outside import ParameterElimination
from plefka.networks.activations import AnyArray, NoisyOr

NOTHING = -np.inf  # as a logarithm
NOISY_OR = NoisyOr()


class NetworkNumbers(NamedTuple):
    """Numbers of a network, (numbers,), and what P(evidence) makes of them in every row, (numbers, rows)."""

    kind: np.ndarray  # "prior", "leak", "link", "entry" (of a table), "bias" or "weight"
    child: np.ndarray
    parent: np.ndarray  # -1 where there is none
    entry: np.ndarray  # of a table, by the states of all parents, of which the first varies slowest; -1 elsewhere
    log_on: np.ndarray  # of a probability: its logarithm, and that of 1 minus it; nan elsewhere
    log_off: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    slope: np.ndarray  # d ln P / d value, multiplied by what was asked for
    at_low: np.ndarray  # P with the number at its lower end, divided by P
    at_high: np.ndarray
    share_on: np.ndarray  # of P(q') / P(q) = q' / q share_on + (1 - q') / (1 - q) share_off; nan where P is no line
    share_off: np.ndarray
    always: np.ndarray  # (numbers,): whether these have all their digits, and no difference is part of them

    @property
    def is_linear(self) -> np.ndarray:
        """The probabilities, which P is linear in."""
        return (self.kind != "bias") & (self.kind != "weight")


class Lines(NamedTuple):
    """Numbers that P is linear in: logarithms of their probabilities, and of what P makes of both outcomes."""

    kind: AnyArray
    child: AnyArray
    parent: AnyArray
    entry: AnyArray
    log_on: AnyArray  # (numbers,)
    log_off: AnyArray
    if_on: AnyArray  # (numbers, rows), divided by P
    if_off: AnyArray
    always: AnyArray  # (numbers,): whether one of both has a part in every term of P, so that nothing is untouched

    def moved(self, factor: float, log_scale: float) -> NetworkNumbers:
        """With odds that are divided and multiplied by the factor; those of 0 and of 1 stay."""
        on, off, rows = np.exp(self.log_on), np.exp(self.log_off), (slice(None), None)
        slope = np.exp(self.if_on + log_scale) - np.exp(self.if_off + log_scale)
        part_on, part_off = np.exp(self.if_on + self.log_on[rows]), np.exp(self.if_off + self.log_off[rows])
        untouched = np.where(self.always[rows], 0.0, np.maximum(1 - part_on - part_off, 0.0))
        share_on, share_off = part_on + on[rows] * untouched, part_off + off[rows] * untouched

        def at(ratio: float) -> tuple[np.ndarray, np.ndarray]:
            total = ratio * on + off
            return ratio * on / total, share_on * (ratio / total)[rows] + share_off / total[rows]

        (low, at_low), (high, at_high) = at(1 / factor), at(factor)
        return NetworkNumbers(*self[:6], on, low, high, slope, at_low, at_high, share_on, share_off, self.always)


class NoisyOrNumbers:
    """Leaks, links and priors of a network's noisy-or units. A link of negative weight acts where its parent is off."""

    def __init__(self, elimination: ParameterElimination):
        question, edges, self.outside = elimination.question, elimination.edges, elimination.outside()
        self.seconds = elimination.seconds  # that were predicted
        self.f, self.shape = question.model.activation, (question.size, len(self.outside.log_z))
        self.child, self.parent, self.w = edges.child, edges.parent, edges.weight[:, 0]
        self.h, self.tilt = question.model.h[:, 0], np.array(question.tilt, float)
        self.linear = np.broadcast_to(self.f.is_linear_off(self.h), self.h.shape)  # noisy-or units that have fields
        self.free, self.counted = question.free[:, 0], question.model.counted[:, 0]
        self.values = np.where(self.counted & ~self.free, question.values[:, 0], np.nan)
        child, parent, size, links = self.child, self.parent, abs(self.w), self.linear[edges.child]
        over_edges = partial(np.bincount, child, minlength=len(self.h))
        self.acts = (self.values[parent] == (self.w > 0)) & links & self.counted[child]  # for certain
        self.base = self.h + over_edges(np.where(links, np.minimum(self.w, 0.0), 0.0))
        self.certain = np.isinf(size)
        self.finite = np.where(self.certain, 0.0, size)
        self.field, self.blocked = (over_edges(self.acts * z) for z in (self.finite, self.certain))  # by acts
        self.has_free_parents = over_edges(self.free[parent]) > 0
        # Of a noisy-or unit that is off, an edge from a free parent is about this parent alone.
        self.folded = np.flatnonzero(self.free[parent] & links & (self.values[child] == 0))
        self.excluded = np.bincount(parent[self.folded], self.certain[self.folded], len(self.h))  # from being on
        np.subtract.at(self.tilt, parent[self.folded], (self.finite * np.sign(self.w))[self.folded, None])
        self.beside = np.stack([np.zeros(self.shape), self.tilt])  # in the factor of a free unit, but not of its family
        elimination.restrict(lambda unit: self.beside[:, unit])
        self.prior = np.full(self.beside.shape, NOTHING)
        for unit, outside in self.outside.prior.items():
            self.prior[:, unit] = outside
        known = self.f.clip(self.h + over_edges(np.where(self.values[parent] == 1, self.w, 0.0)))
        self.acting = np.where(self.blocked > 0, np.inf, self.field)
        x = np.where(self.linear, self.base + self.acting, known)
        with np.errstate(divide="ignore"):  # of every unit, of its leak and known parents alone
            self.logs = np.stack([self.f.log_off(x), self.f.log_on(x)])
        self.entries = self._entries()
        key = child.astype(np.int64) * len(self.h) + parent
        ends = np.array(list(self.outside.strength), np.int64).reshape(-1, 3)
        order = np.argsort(key)  # the edges of which the sum has said something, and what, (3, edges, rows)
        self.switches = order[np.searchsorted(key, ends[:, 1] * len(self.h) + ends[:, 0], sorter=order)]
        said = np.array(list(self.outside.strength.values())).reshape(-1, 3, self.shape[1])
        self.switched = said.swapaxes(0, 1)

    def _entries(self) -> np.ndarray:
        """ln of what all else says of a unit's being off and on, (2, units, rows), at the states of known parents.

        Of a noisy-or unit with free parents: that its leak and known parents fail, and that one of these does not.
        """
        found = self.prior + self.beside
        found[1, self.excluded > 0] = NOTHING
        for state in (0, 1):
            seen = self.values == state
            found[:, seen] = NOTHING
            found[state, seen] = -self.logs[state, seen][:, None]
        for unit, outside in self.outside.leak.items():
            found[:, unit] = outside
        return found

    def leaks(self) -> Lines:
        """Priors of units without parents, and leaks of the others."""
        units = np.flatnonzero(self.linear)
        kind = np.where(np.bincount(self.child, minlength=len(self.h))[units] > 0, "leak", "prior")
        (off, on), base, none = self.entries[:, units], self.base[units], np.full(len(units), -1)
        if_off = self.if_off(off, on, self.acting[units])
        return Lines(kind, units, none, none, NOISY_OR.log_on(base), -base, on, if_off, self.counted[units])

    def links(self) -> Lines:
        """The probabilities with which single parents switch units on."""
        child, acts = self.child, np.flatnonzero(self.acts)
        if_on, if_off = np.full((2, len(child), self.shape[1]), NOTHING)
        off, on = self.entries[:, child[acts]]
        field, blocked = self.field[child] - self.finite, self.blocked[child] - self.certain  # by all others that act
        rest = (self.base[child] + np.where(blocked > 0, np.inf, field))[acts]
        if_on[acts], if_off[acts] = on, self.if_off(off, on, rest)
        if_off[self.switches], if_on[self.switches] = self.switched[:2]
        parent, state, certain = (z[self.folded] for z in (self.parent, (self.w > 0) * 1, self.certain))
        own = np.where(self.has_free_parents[parent], 0.0, self.logs[state, parent]) + self.finite[self.folded]
        own[(state == 1) & (self.excluded[parent] > certain)] = NOTHING
        if_off[self.folded] = self.prior[state, parent] + self.beside[state, parent] + own[:, None]
        kind, none, size = np.full(len(child), "link"), np.full(len(child), -1), abs(self.w)
        fields = (kind, child, self.parent, none, NOISY_OR.log_on(size), -size, if_on, if_off, self.acts)
        return Lines(*(z[self.linear[child]] for z in fields))

    def if_alone(self) -> np.ndarray:
        """ln P(evidence without the child, parent acts) / P(evidence), (edges, rows), of children that are on."""
        found = np.full((len(self.child), self.shape[1]), NOTHING)
        found[self.acts] = self.entries[1, self.child[self.acts]]
        found[self.switches] = np.logaddexp(*self.switched[1:])
        return found

    @staticmethod
    def if_off(off: np.ndarray, on: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """ln of what P makes of a leak or link that fails: all others of this field fail as well, or one does not."""
        return np.logaddexp(off - rest[..., None], on + NOISY_OR.log_on(rest)[..., None])
