"""In which order axes are summed over, and what that will cost: greedily, the axis next that leaves the smallest table.

A unit that belongs to no table yet, only to edges, is not summed over at once: that waits for the first of its
children to be closed, and is then one sweep over the table that is there. So a two-layer diagnosis network takes one
table over the findings that are open at a time, and a network of many levels a tree of small tables.
"""

import heapq
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from plefka.exact.cost import WIDEST_TABLE
from plefka.exact.log_factors import Structure, Switch
from plefka.exact.plans import ACT, BECOME, MULTIPLY, OBSERVE, SUM, WANTED_FACTORS, AxisLayout, Plan, Word

SEVERAL = 1.5  # a table grows by so much for every axis that two tables switch on together
MOST_THOROUGH = 512  # axes that are compared with each other in each step
SMALL = 256  # edges of a structure whose plan is kept with many others


class TooWide(Exception):
    """An order whose largest table would have more axes than `LARGEST`."""

    def __init__(self, width: int):
        self.width = width


def greedy_plan(structure: Structure) -> Plan:
    """An order of elimination, the same for the same structure; raises `TooWide` where none was found that fits.

    Few large ones are kept: each is some ten thousand values, and Python's garbage collector looks at all that are
    kept, which took up to two seconds.
    """
    return (small_plan if len(structure.switches) <= SMALL else large_plan)(structure)


def planned(structure: Structure, cost: "Callable[[PlanWriter, int], tuple] | None" = None) -> Plan:
    """The axis next that costs least: `cost`, or that leaves the smallest table."""
    writer = PlanWriter(structure)
    while (axis := writer.next(cost)) is not None:
        writer.eliminate(axis)
    return writer.finished()


@lru_cache(maxsize=64)
def thorough_plan(structure: Structure) -> Plan:
    """The cheaper of two orders, one of which takes longer to find: next the axis that connects fewest others anew.

    On a network of 223 units this was 2^18 instead of 2^19 entries at most, and less than half of all entries.
    """
    quick = greedy_plan(structure)
    if len(structure.free) + len(structure.switched) > MOST_THOROUGH:
        return quick
    try:
        return min(quick, planned(structure, new_pairs), key=lambda plan: plan.entries)
    except TooWide:
        return quick


def new_pairs(writer: "PlanWriter", axis: int) -> tuple[int, int]:
    near = writer.near[axis]
    return sum(len(near) - 1 - len(near & writer.near[other]) for other in near), len(near)


@lru_cache(maxsize=16)
def strip_plan(structure: Structure) -> Plan:
    """The order of a strip, for long or square structures that have tables alone; may raise `TooWide`.

    Units enter one after another and leave when all neighbours have: in a grid, a table is over as many units as its
    shorter side has. They enter as they are numbered, or so that neighbours are close to each other.
    """
    units = np.array(structure.free, int)
    number = {unit: k for k, unit in enumerate(units.tolist())}
    ends = [(number[a], number[b]) for table in structure.tables for a in table for b in table]
    rows, columns = np.array(ends, int).reshape(-1, 2).T
    graph = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(units), len(units)))
    orders = np.arange(len(units)), csgraph.reverse_cuthill_mckee(graph, symmetric_mode=True)
    found, wide = [], TooWide(0)
    for entering in orders:
        rank = np.argsort(entering)
        last = rank.copy()  # when the last neighbour has entered
        np.maximum.at(last, rows, rank[columns])
        leaving, axes = np.lexsort((rank, last)), np.argsort(_places(entering, last), kind="stable")
        writer = PlanWriter(structure)
        try:
            for axis in units[leaving].tolist():
                writer.eliminate(axis)
            found.append(writer.finished(units[axes].tolist()))
        except TooWide as error:
            wide = error
    if not found:
        raise wide
    return min(found, key=lambda plan: plan.entries)


def _places(entering: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The axis of each unit: that of one that has left, so that units enter and leave all along a table."""
    places, vacant = np.zeros(len(entering), int), list(range(len(entering)))
    leaving: dict[int, list[int]] = {}
    for at, unit in enumerate(entering.tolist()):
        places[unit] = heapq.heappop(vacant)
        leaving.setdefault(int(last[unit]), []).append(unit)
        for left in leaving.pop(at, ()):
            heapq.heappush(vacant, int(places[left]))
    return places


small_plan, large_plan = lru_cache(maxsize=256)(planned), lru_cache(maxsize=4)(planned)


class PlanWriter:
    """Keeps track of which factors are left, by their axes."""

    def __init__(self, structure: Structure):
        self.s = structure
        self.switches: dict[int, list[Switch]] = {}  # by either axis that they belong to
        for switch in structure.switches:
            for axis in (switch.parent, structure.waiting(switch.child)):
                self.switches.setdefault(axis, []).append(switch)
        self.tables: dict[tuple, tuple[int, ...]] = {}  # factors that were not multiplied in yet, and their axes
        self.touching: dict[int, set[tuple]] = {}  # the same by axis
        for k, axes in enumerate(structure.tables):
            self._add(("table", k), axes)
        self.single: dict[int, tuple] = {unit: ("prior", unit) for unit in structure.priors}  # of one axis each
        self.single |= {structure.waiting(unit): ("leak", unit) for unit in structure.switched}
        self.delayed: set[int] = set()  # units that are summed over when the first of their children is closed
        self.free, switched = set(structure.free), set(structure.switched)
        axes = self.free | {structure.waiting(unit) for unit in switched}
        self.near: dict[int, set[int]] = {axis: set() for axis in axes}  # the axes that an axis shares factors with
        for axes in structure.tables:
            self._connect(set(axes))
        for switch in structure.switches:
            self._connect({switch.parent, structure.waiting(switch.child)})
        self.left = (self.free - switched) | {structure.waiting(unit) for unit in switched}
        self.heap = [(self._cost(axis), axis) for axis in self.left]
        heapq.heapify(self.heap)
        self.clusters: list[tuple[list[Word], float]] = []  # steps, and numbers that the way back needs of them
        self.eliminated: list[int] = []
        self.width, self.entries, self.stored, self.peak = 0, 0.0, 0.0, 0.0

    def _connect(self, axes: set[int]) -> None:
        for axis in axes:
            self.near[axis] |= axes
            self.near[axis].discard(axis)

    def _add(self, name: tuple, axes: tuple[int, ...]) -> None:
        self.tables[name] = axes
        for axis in axes:
            self.touching.setdefault(axis, set()).add(name)

    def _remove(self, name: tuple) -> tuple[int, ...]:
        axes = self.tables.pop(name)
        for axis in axes:
            self.touching[axis].discard(name)
        return axes

    def _cost(self, axis: int) -> tuple[int, int]:
        """How many axes are left of the table, and of how many tables it is the product."""
        return len(self.near[axis]), len(self.touching.get(axis, ()))

    def next(self, cost_of: "Callable[[PlanWriter, int], tuple] | None") -> int | None:
        """The axis that costs least; unless told otherwise, the one that leaves the smallest table."""
        if cost_of is not None:
            return min(self.left, key=lambda axis: (cost_of(self, axis), axis), default=None)
        while self.heap:
            cost, axis = heapq.heappop(self.heap)
            if axis in self.left and cost == self._cost(axis):
                return axis
        return None

    def eliminate(self, axis: int) -> None:
        self.left.remove(axis)
        self.eliminated.append(axis)
        scope = self.near.pop(axis)
        if axis < self.s.size and not self.touching.get(axis) and self.switches.get(axis):
            self.delayed.add(axis)
        else:
            self._write(axis, len(scope) + 1)
        for other in scope:
            self.near[other].discard(axis)
        if (unit := axis - self.s.size) in self.free:  # all that its parents have left it in is now in its state
            scope.add(unit)
            self.left.add(unit)
        self._connect(scope)
        for other in scope & self.left:
            heapq.heappush(self.heap, (self._cost(other), other))

    def _write(self, axis: int, width: int) -> None:
        if width > WIDEST_TABLE:
            raise TooWide(width)
        table, self.stored = _Table(self), 0.0
        if axis in self.single:
            table.open(axis)
        for name in sorted(self.touching.get(axis, ()), key=lambda name: (len(self.tables[name]), name)):
            table.multiply(name, self._remove(name))  # the largest last, so that few products are as large
        table.open(axis)
        for switch in [s for s in self.switches.get(axis, ()) if s.parent not in self.delayed]:
            table.act(switch)
        ready = {switch.parent for switch in self.switches.get(axis, ())}
        for unit in sorted(ready, key=lambda unit: (len(self.switches[unit]), unit)):
            for switch in list(self.switches[unit]):
                table.act(switch)
            table.sum(unit)
        unit = axis - self.s.size
        if unit < 0:
            table.sum(axis)
        elif unit in self.free:
            table.become(axis, unit)
        else:
            table.close(OBSERVE, axis)
        if table.axes:
            self._add(("message", len(self.clusters)), tuple(table.axes))
        self.clusters.append((table.words, self.stored))
        self.peak = max(self.peak, self.stored + 2.0 ** (width + 1)) + 2.0 ** len(table.axes)

    def finished(self, axes: list[int] | None = None) -> Plan:
        """All steps, on arrays with axes in this order, or in the order in which they are summed over."""
        layout = AxisLayout(self.s.size, self.eliminated if axes is None else axes)
        clusters = tuple(layout.cluster(words, stored) for words, stored in self.clusters)
        return Plan.of(clusters, self.width, self.entries, self.peak)

    def count(self, axes: int, together: int = 0, *, kept: bool = False) -> None:
        self.width = max(self.width, axes)
        self.entries += 2.0**axes * SEVERAL**together
        self.stored += 2.0**axes * kept


class _Table:
    """The steps of a cluster, and the axes of its table after them."""

    def __init__(self, writer: PlanWriter):
        self.writer = writer
        self.axes: set[int] = set()
        self.words: list[Word] = []

    def multiply(self, name: tuple, axes: tuple[int, ...]) -> None:
        size = self.writer.s.size
        together = sum(axis >= size and axis in self.axes for axis in axes)
        self.writer.count(len(self.axes), kept=name[0] in WANTED_FACTORS)
        self.axes.update(axes)
        self.words.append((MULTIPLY, name, axes))
        self.writer.count(len(self.axes), together)

    def open(self, axis: int) -> None:
        """The table has this axis, with the factor that is its own."""
        own = self.writer.single.pop(axis, None)
        if own is not None:
            self.multiply(own, (axis,))
        elif axis not in self.axes:
            self.multiply(("nothing" if axis >= self.writer.s.size else "any",), (axis,))

    def act(self, switch: Switch) -> None:
        for axis in (self.writer.s.waiting(switch.child), switch.parent):
            self.open(axis)
            self.writer.switches[axis].remove(switch)  # which need not be looked at again
        self.words.append((ACT, switch, None))
        self.writer.count(len(self.axes) - 1)

    def sum(self, unit: int) -> None:
        self.open(unit)
        self.close(SUM, unit, kept=True)

    def close(self, what: str, axis: int, *, kept: bool = False) -> None:
        self.words.append((what, axis, None))
        self.writer.count(len(self.axes), kept=kept)
        self.axes.remove(axis)

    def become(self, axis: int, unit: int) -> None:
        """A unit that all of its parents have acted on has its state."""
        self.words.append((BECOME, axis, unit in self.axes))
        self.writer.count(len(self.axes))
        self.axes.remove(axis)
        self.axes.add(unit)
        self.open(unit)
