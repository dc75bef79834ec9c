"""Exact inference in long or square machines: units enter one after another, and leave when all neighbours have.

One table holds the weights of all states of the units that are in: in a grid, of as many as its shorter side has. This
is elimination in the order of a strip. Its tables are all about as large, so that few of them are kept on the way
there, and those between two of these are computed again on the way back, where the means are found. Numbers are plain
ones, scaled; where one is too small or too large for floating point, logarithms take their place.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from plefka.exact.elimination import LOGARITHMS, PLAIN_NUMBERS, Arithmetic
from plefka.exact.groups import MOST_GIB
from plefka.networks.edge_list import EdgeList
from plefka.progress import progress
from plefka.reduction.question import Question

WIDEST = 23  # units that are in at a time
ENTRY = 4e-9  # seconds for each entry of a table, there and back
LARGEST_LOG = 700.0  # of a factor that is a plain number


class Step(NamedTuple):
    """A unit enters, in front of those that are in, and some leave."""

    unit: int
    neighbours: tuple[tuple[int, int], ...]  # place among those that were in before, and which coupling
    before: int  # how many were in
    leaving: tuple[int, ...]  # places among those that are then in


class Strip(NamedTuple):
    """An order of units."""

    steps: tuple[Step, ...]

    @property
    def width(self) -> int:
        """How many units are in at a time, at most."""
        return max((step.before + 1 for step in self.steps), default=0)

    @property
    def kept(self) -> int:
        """Every so many tables one is kept."""
        return max(1, round(np.sqrt(len(self.steps))))

    @property
    def gib(self) -> float:
        return (2 * self.kept + 6) * 2.0**self.width / 2**27

    @property
    def seconds(self) -> float:
        """There and back; infinite where it is too wide."""
        if self.width > WIDEST:
            return np.inf
        return ENTRY * sum(2.0 ** (step.before + 1) * (3 + len(step.neighbours)) for step in self.steps)


def strip_of(units: np.ndarray, edges: EdgeList, there: np.ndarray) -> Strip:
    """The narrower of two orders: as units are numbered, or so that neighbours are close to each other."""
    number = np.full(edges.size, -1)
    number[units] = np.arange(len(units))
    ends = number[edges.child[there]], number[edges.parent[there]]
    graph = sp.csr_array((np.flatnonzero(there) + 1.0, ends), shape=(len(units), len(units)))
    graph = sp.csr_array(graph + graph.T)
    orders = np.arange(len(units)), csgraph.reverse_cuthill_mckee(graph, symmetric_mode=True)
    return min((_in_order(units, graph, order) for order in orders), key=lambda strip: (strip.seconds, strip.width))


def _in_order(units: np.ndarray, graph: sp.csr_array, order: np.ndarray) -> Strip:
    rank = np.empty(len(order), int)
    rank[order] = np.arange(len(order))
    last = rank.copy()
    child = np.repeat(np.arange(len(order)), np.diff(graph.indptr))
    np.maximum.at(last, child, rank[graph.indices])
    inside: list[int] = []
    steps = []
    for at, unit in enumerate(order.tolist()):
        here = slice(graph.indptr[unit], graph.indptr[unit + 1])
        coupling = dict(zip(graph.indices[here].tolist(), (graph.data[here] - 1).astype(int).tolist(), strict=True))
        neighbours = tuple((place, coupling[other]) for place, other in enumerate(inside) if other in coupling)
        now = [unit, *inside]
        leaving = tuple(place for place, other in enumerate(now) if last[other] <= at)
        steps.append(Step(int(units[unit]), neighbours, len(inside), leaving))
        inside = [other for other in now if last[other] > at]
    return Strip(tuple(steps))


class StripRun:
    """One row, by one arithmetic."""

    def __init__(self, strip: Strip, weight: np.ndarray, h: np.ndarray, arithmetic: Arithmetic):
        self.strip, self.weight, self.h, self.a = strip, weight, h, arithmetic
        self.log_weights: dict[int, tuple[float, float]] = {}  # of the two states of each unit

    def total(self) -> float:
        """ln Z, and on the way back the weights of the states of all units."""
        kept, steps = self.strip.kept, self.strip.steps
        there, log_z = self._start(), 0.0
        marks = []
        for first in progress(range(0, len(steps), kept), "eliminating units"):
            marks.append(there)
            for step in steps[first : first + kept]:
                there, log = self._scaled(self._left(step, self._entered(step, there)))
                log_z += log
        log_z += float(self.a.to_log(there)[0])
        back = self._start()
        for number in progress(range(len(marks) - 1, -1, -1), "finding means"):
            some, tables = steps[number * kept : (number + 1) * kept], [marks.pop()]
            for step in some[:-1]:
                tables.append(self._scaled(self._left(step, self._entered(step, tables[-1])))[0])
            for step in reversed(some):
                back, _ = self._scaled(self._back(step, tables.pop(), back))
        return log_z

    def _start(self) -> np.ndarray:
        return self.a.from_log(np.zeros(1))

    def _scaled(self, table: np.ndarray) -> tuple[np.ndarray, float]:
        log = float(self.a.to_log(table.max()))
        return self.a.times(table, self.a.from_log(np.array(-log))), log

    def _entered(self, step: Step, table: np.ndarray) -> np.ndarray:
        """The states of those that were in, with the unit off and on."""
        both = np.empty((2, len(table)))
        both[0] = table
        both[1] = self.a.times(table, self.a.from_log(np.array(self.h[step.unit])))
        self._couple(step, both[1])
        return both.ravel()

    def _couple(self, step: Step, on: np.ndarray) -> None:
        for place, coupling in step.neighbours:
            seen = on.reshape(2**place, 2, -1)[:, 1]
            seen[...] = self.a.times(seen, self.a.from_log(np.array(self.weight[coupling])))

    def _left(self, step: Step, table: np.ndarray) -> np.ndarray:
        for gone, place in enumerate(step.leaving):
            seen = table.reshape(2 ** (place - gone), 2, -1)
            table = self.a.plus(seen[:, 0], seen[:, 1]).ravel()
        return table

    def _returned(self, step: Step, table: np.ndarray) -> np.ndarray:
        """With those that left in every state."""
        for place in step.leaving:
            table = np.repeat(table.reshape(2**place, 1, -1), 2, axis=1).ravel()
        return table

    def _back(self, step: Step, there: np.ndarray, back: np.ndarray) -> np.ndarray:
        """What is yet to come says of those that were in before the unit; and its mean."""
        off, on = self._returned(step, back).reshape(2, -1)
        on = self.a.times(on, self.a.from_log(np.array(self.h[step.unit])))
        self._couple(step, on)
        with_off, with_on = (float(self._total(self.a.times(there, side))) for side in (off, on))
        self.log_weights[step.unit] = with_off, with_on
        return self.a.plus(off, on)

    def _total(self, table: np.ndarray) -> Any:
        top = float(self.a.to_log(table.max()))
        if not np.isfinite(top):
            return -np.inf
        return (
            top + np.log(np.sum(np.exp(self.a.to_log(table) - top)))
            if self.a is LOGARITHMS
            else self.a.to_log(table.sum())
        )


@dataclass(frozen=True, eq=False)
class StripElimination:
    """The rows of a question about a Boltzmann machine, one after another."""

    question: Question

    @cached_property
    def strips(self) -> list[Strip]:
        edges, free = EdgeList.of(self.question.storage), self.question.free
        found: dict[bytes, Strip] = {}
        strips = []
        for row in range(self.question.num_rows):
            weight = edges.of_rows([row]).weight[:, 0]
            there = free[edges.child, row] & free[edges.parent, row] & (weight != 0)
            key = np.packbits(np.concatenate([free[:, row], there])).tobytes()
            if key not in found:
                found[key] = strip_of(np.flatnonzero(free[:, row]), edges, there)
            strips.append(found[key])
        return strips

    @property
    def width(self) -> int:
        return max((strip.width for strip in self.strips), default=0)

    @property
    def refusal(self) -> str:
        """Why it is out of reach; empty where it is not."""
        if self.width > WIDEST:
            return f"elimination would need tables of at least 2^{self.width} entries"
        gib = max((strip.gib for strip in self.strips), default=0.0)
        return (
            f"elimination would take {gib:.3g} GiB of memory (the limit is {MOST_GIB:.3g} GiB)"
            if gib > MOST_GIB
            else ""
        )

    @property
    def seconds(self) -> float:
        return np.inf if self.refusal else sum(strip.seconds for strip in self.strips)

    def seconds_by(self, owner: np.ndarray, count: int) -> np.ndarray:
        """(count,): what the rows of each owner would take; infinite where it is out of reach."""
        seconds = [np.inf if self.refusal else strip.seconds for strip in self.strips]
        return np.bincount(owner, weights=seconds, minlength=count)

    def sums(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """ln Z (rows,), and the means of all units, (units, rows)."""
        question, edges = self.question, EdgeList.of(self.question.storage)
        log_z, means = np.zeros(question.num_rows), np.zeros(question.free.shape)
        h = np.broadcast_to(question.model.h, question.free.shape) + question.tilt
        for row, strip in enumerate(self.strips):
            log_z[row], found = solved(strip, edges.of_rows([row]).weight[:, 0], h[:, row])
            means[list(found), row] = list(found.values())
        return log_z, means, np.zeros(means.shape)


def solved(strip: Strip, weight: np.ndarray, h: np.ndarray) -> tuple[float, dict[int, float]]:
    """ln Z and the means, by plain numbers where each of them can be one."""
    lost = [] if max(np.abs(weight).max(initial=0.0), np.abs(h).max(initial=0.0)) < LARGEST_LOG else ["overflow"]
    run = StripRun(strip, weight, h, LOGARITHMS if lost else PLAIN_NUMBERS)
    with np.errstate(under="call", over="call", invalid="ignore", call=lambda what, _: lost.append(what)):
        log_z = run.total()
    if lost and run.a is PLAIN_NUMBERS:
        run = StripRun(strip, weight, h, LOGARITHMS)
        log_z = run.total()
    off, on = np.array(list(run.log_weights.values())).reshape(-1, 2).T
    return log_z, dict(zip(run.log_weights, np.exp(on - np.logaddexp(off, on)).tolist(), strict=True))
