"""Upper bounds of a sum over states by weighted mini-buckets (Q. Liu and A. Ihler, ICML 2011).

Units are summed over one after another. Where the product of all tables of a unit would have too many axes, the tables
are dealt out to mini-buckets r, each of which is summed over with a weight of its own (Hoelder's inequality):

    sum_x prod_r exp F_r(x, .) <= prod_r (sum_x exp(F_r(x, .) / w_r))^w_r,    w_r > 0,  sum_r w_r = 1

A function of units that two mini-buckets share may be added to one of them and taken from the other: a shift. The bound
holds for all shifts and weights, and is convex in them; their gradients are differences of marginals, and entropies.
With two axes for each mini-bucket this is tree-reweighted belief propagation, with trees along an order of the units.
"""

import heapq
from collections.abc import Sequence
from itertools import combinations, groupby, pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from plefka.exact.log_factors import Structure
from plefka.exact.ordering import PlanWriter, new_pairs

Axes = tuple[int, ...]
TABLE, MESSAGE, SHIFT = "table", "message", "shift"
LEAST_WEIGHT = 1e-6  # of a mini-bucket
FEW_MINI_BUCKETS = 4  # of a unit, each of which has shifts with every other, not with the next alone
MOST_SHIFTED = 10  # axes of a shift
MANY_NEIGHBOURS = 64  # of an axis: pairs of so many are not counted


class OrderWriter(PlanWriter):
    """An order of elimination without a plan, however large its tables are."""

    def __init__(self, scopes: Sequence[Axes]):
        axes = {axis for scope in scopes for axis in scope}
        super().__init__(Structure(1 + max(axes, default=0), tuple(axes), (), (), tuple(scopes), ()))
        self.held: list[int] = []

    def _write(self, axis: int, width: int) -> None:
        """Nothing is planned."""

    def _cost(self, axis: int) -> tuple[int, int]:
        """How many others it connects anew, or of how many, where these are many."""
        near = len(self.near[axis])
        return new_pairs(self, axis) if near <= MANY_NEIGHBOURS else (MANY_NEIGHBOURS**2 + near, near)

    def next(self, cost_of: object = None) -> int | None:
        """The axis that costs least; what it costs may have changed since it was listed."""
        while self.heap:
            cost, axis = heapq.heappop(self.heap)
            if axis in self.left:
                if (now := self._cost(axis)) <= cost:
                    return axis
                heapq.heappush(self.heap, (now, axis))
        return None

    def eliminate(self, axis: int) -> None:
        around = self.near[axis]
        super().eliminate(axis)
        if len(around) <= MANY_NEIGHBOURS:  # those that two of them connect may now connect fewer anew
            for other in around.union(*(self.near[other] for other in around)) & self.left:
                heapq.heappush(self.heap, (self._cost(other), other))

    def written(self, widest: float = np.inf) -> "OrderWriter":
        """All axes as `eliminated`, or `held` where every next table would have more axes than that."""
        while (axis := self.next()) is not None:
            if len(self.near[axis]) < widest:
                self.eliminate(axis)
                continue
            hub = max(self.left, key=lambda axis: (len(self.near[axis]), -axis))
            self.held.append(hub)
            self.left.remove(hub)
            around = self.near.pop(hub)
            for other in around:
                self.near[other].discard(hub)
            for other in (around | {axis}) - {hub}:
                heapq.heappush(self.heap, (self._cost(other), other))
        return self


class Member(NamedTuple):
    """What a mini-bucket is a product of, and both their shapes, in which axes that stay together are one."""

    kind: str
    number: int
    sign: int
    sizes: Axes  # of the mini-bucket
    shape: Axes  # of the member, with 1 for axes that only the mini-bucket has
    missing: Axes  # the places of these

    @classmethod
    def of(cls, kind: str, number: int, axes: Axes, own: Axes, sign: int = 1) -> "Member":
        """A member whose own axes are in the same order as those of the mini-bucket."""
        runs = [(there, 2 ** len(list(run))) for there, run in groupby(axis in own for axis in axes)]
        shape = tuple(size if there else 1 for there, size in runs)
        missing = tuple(place for place, (there, _) in enumerate(runs) if not there)
        return cls(kind, number, sign, tuple(size for _, size in runs), shape, missing)


class BucketBound(NamedTuple):
    """A bound of ln Z, and its gradient."""

    value: float
    gradient: np.ndarray  # with respect to shifts and to the logits of weights
    chances: list[np.ndarray]  # with respect to the entries of each table: what marginals would be
    means: np.ndarray  # of the units, in the order of elimination


class MiniBuckets:
    """Tables with these axes, in mini-buckets of so many axes at most, or of as many as their largest table has."""

    def __init__(self, scopes: Sequence[Axes], order: Sequence[int], most: int):
        rank = {axis: place for place, axis in enumerate(order)}
        self.transposed = [tuple(np.argsort([rank[axis] for axis in axes]).tolist()) for axes in scopes]
        self.waiting: dict[int, list[tuple[Axes, str, int]]] = {axis: [] for axis in order}
        self.mini_buckets: list[tuple[Axes, list[Member]]] = []  # axes in the order of elimination, and what is inside
        self.shifts: list[int] = []  # how many numbers each is
        self.groups: list[list[int]] = []  # the mini-buckets of each unit
        for number, (axes, places) in enumerate(zip(scopes, self.transposed, strict=True)):
            self.waiting[axes[places[0]]].append((tuple(axes[k] for k in places), TABLE, number))
        for axis in order:
            self._deal_out(axis, rank, most)
        self.split = [group for group in self.groups if len(group) > 1]
        self.num_shifts = sum(self.shifts)
        self.num_parameters = self.num_shifts + sum(map(len, self.split))
        self.num_members = sum(len(members) for _, members in self.mini_buckets)
        self.entries = sum(2.0 ** len(axes) * (4 + len(members)) for axes, members in self.mini_buckets)

    def _deal_out(self, axis: int, rank: dict[int, int], most: int) -> None:
        """Each table and message to the mini-bucket that it shares most axes with, the largest first."""
        some: list[tuple[set[int], list[tuple[Axes, str, int]]]] = []
        for item in sorted(self.waiting.pop(axis), key=lambda item: -len(item[0])):
            own = set(item[0])
            fitting = [each for each in some if len(each[0] | own) <= max(most, len(each[0]))]
            if not fitting:
                fitting = [(set(), [])]
                some.append(fitting[0])
            axes, items = max(fitting, key=lambda each: len(each[0] & own))
            axes |= own
            items.append(item)
        group = [len(self.mini_buckets) + k for k in range(len(some))]
        self.groups.append(group)
        for number, (axes, items) in zip(group, some, strict=True):
            ordered = tuple(sorted(axes, key=rank.__getitem__))
            self.mini_buckets.append((ordered, [Member.of(kind, k, ordered, own) for own, kind, k in items]))
            if len(ordered) > 1:
                self.waiting[ordered[1]].append((ordered[1:], MESSAGE, number))
        for pair in combinations(group, 2) if len(group) <= FEW_MINI_BUCKETS else pairwise(group):
            first, second = (self.mini_buckets[number][0] for number in pair)
            shared = tuple(axis for axis in first if axis in second)[:MOST_SHIFTED]
            for number, sign in zip(pair, (1, -1), strict=True):
                axes, members = self.mini_buckets[number]
                members.append(Member.of(SHIFT, len(self.shifts), axes, shared, sign))
            self.shifts.append(2 ** len(shared))

    def bound(self, logs: Sequence[np.ndarray], parameters: np.ndarray) -> BucketBound:
        """At these tables (2, ..., 2), shifts and logits of weights."""
        shifts, logits = np.split(parameters, [self.num_shifts])
        w, ends = np.ones(len(self.mini_buckets)), np.cumsum([0, *map(len, self.split)])
        for group, (first, last) in zip(self.split, pairwise(ends), strict=True):
            w[group] = LEAST_WEIGHT + (1 - len(group) * LEAST_WEIGHT) * softmax(logits[first:last])
        tables = [log.transpose(places).ravel() for log, places in zip(logs, self.transposed, strict=True)]
        added, value, log_odds = {TABLE: tables, SHIFT: np.split(shifts, np.cumsum(self.shifts)), MESSAGE: []}, 0.0, []
        for (axes, members), weight in zip(self.mini_buckets, w.tolist(), strict=True):
            F = np.zeros(2 ** len(axes))
            for kind, number, sign, sizes, shape, _ in members:
                view = F.reshape(sizes)
                (np.add if sign > 0 else np.subtract)(view, added[kind][number].reshape(shape), out=view)
            off, on = (F / weight).reshape(2, -1)
            message = weight * np.logaddexp(off, on)
            added[MESSAGE].append(message)
            with np.errstate(invalid="ignore"):
                log_odds.append(np.where(np.isneginf(on), on, on - off))
            value += float(message[0]) if len(axes) == 1 else 0.0
        return BucketBound(value, *self._gradients(w, log_odds))

    def _gradients(self, w: np.ndarray, log_odds: list[np.ndarray]) -> tuple[np.ndarray, list, np.ndarray]:
        """Backwards: what is known of a message is shared by the states of the unit that was summed over for it."""
        shifts = [np.zeros(count) for count in self.shifts]
        found: dict[str, list] = {TABLE: [None] * len(self.transposed), MESSAGE: [None] * len(w), SHIFT: shifts}
        entropy, on_chance = np.zeros(len(w)), np.zeros(len(w))
        for number in reversed(range(len(w))):
            axes, members = self.mini_buckets[number]
            after, d = found[MESSAGE][number] if len(axes) > 1 else np.ones(1), log_odds[number]
            low = np.exp(-np.abs(d))
            on = after * np.where(d < 0, low, 1.0) / (1 + low)
            entropy[number] = after @ (np.log1p(low) + low * np.minimum(np.abs(d), 1e3) / (1 + low))
            on_chance[number] = on.sum()
            q = np.concatenate([after - on, on])
            for kind, k, sign, sizes, _, missing in members:
                part = q.reshape(sizes).sum(axis=missing).ravel() if missing else q
                found[kind][k] = part if kind != SHIFT else found[kind][k] + sign * part
        logits = [np.zeros(0)]
        for group in self.split:
            free = w[group] - LEAST_WEIGHT
            logits.append(free * (entropy[group] - free @ entropy[group] / free.sum()))
        for k, (chance, places) in enumerate(zip(found[TABLE], self.transposed, strict=True)):
            found[TABLE][k] = chance.reshape((2,) * len(places)).transpose(np.argsort(places))
        means = np.array([w[group] @ on_chance[group] for group in self.groups])
        return np.concatenate([*found[SHIFT], *logits]), found[TABLE], means
