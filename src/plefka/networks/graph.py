"""The directed graph of a network: levels and orders of its units, ancestors, descendants, components, and cycles.

Only NumPy, and the ends of the edges: what numbers do along the edges is in `topological_sweep`.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from plefka.networks.index_arrays import mask_of, ranges
from plefka.networks.topological_sweep import DEEP, Sweep

LONGEST_PATH = 20  # units of a cycle that are printed


class EdgesByUnit(NamedTuple):
    """edges[starts[i] : starts[i + 1]] are those of unit i."""

    edges: np.ndarray
    starts: np.ndarray  # (units + 1,)

    def of(self, units: np.ndarray) -> np.ndarray:
        """The edges of some units, one unit after another."""
        first = self.starts[units]
        counts = self.starts[units + 1] - first
        return self.edges[np.repeat(first, counts) + ranges(counts)]

    @property
    def counts(self) -> np.ndarray:
        return np.diff(self.starts)


class AncestorsByRow(NamedTuple):
    """A graph of its own for every row: some units with all of their ancestors, numbered through."""

    row: np.ndarray
    unit: np.ndarray
    edge: np.ndarray  # of the network
    child: np.ndarray  # of that edge, as the units are numbered here
    parent: np.ndarray


class Graph:
    """Edges that lead from parent[e] to child[e]; of a stack, those of all of its networks together."""

    def __init__(self, child: np.ndarray, parent: np.ndarray, size: int):
        self.child, self.parent, self.size = child, parent, size

    @classmethod
    def of_parents(cls, parents: Sequence[Sequence[int]]) -> "Graph":
        """From the parents of every unit."""
        children = np.repeat(np.arange(len(parents)), [len(some) for some in parents])
        return cls(children, np.array([parent for some in parents for parent in some], int), len(parents))

    @cached_property
    def reversed(self) -> "Graph":
        """These units with all edges turned around."""
        return Graph(self.parent, self.child, self.size)

    @cached_property
    def by_child(self) -> EdgesByUnit:
        """The edges that lead to every unit."""
        counts = np.bincount(self.child, minlength=self.size)
        return EdgesByUnit(np.argsort(self.child, kind="stable"), np.concatenate([[0], np.cumsum(counts)]))

    @property
    def by_parent(self) -> EdgesByUnit:
        """The edges that lead from every unit."""
        return self.reversed.by_child

    # ---- ancestors and descendants -----------------------------------------------------------------------------------

    def children_of(self, units: np.ndarray) -> np.ndarray:
        """(units,): which ones have a parent among these, of which there is a mask."""
        return mask_of(self.child[units[self.parent]], self.size)

    def with_ancestors(self, units: np.ndarray) -> np.ndarray:
        """A mask of these units, of which there is a mask, and of all from which a path leads to one of them."""
        found, newest = units.copy(), np.flatnonzero(units)
        for _ in range(DEEP):
            if not newest.size:
                return found
            new = mask_of(self.parent[self.by_child.of(newest)], self.size)
            newest = np.flatnonzero(new & ~found)
            found |= new
        return self._with_further_ancestors(found, newest)

    def _with_further_ancestors(self, found: np.ndarray, newest: np.ndarray) -> np.ndarray:
        """Along paths so long that NumPy would have little to do in each step."""
        edges, starts = self.by_child
        parents, starts, reached, todo = (z.tolist() for z in (self.parent[edges], starts, found, newest))
        for unit in todo:
            for parent in parents[starts[unit] : starts[unit + 1]]:
                if not reached[parent]:
                    reached[parent] = True
                    todo.append(parent)
        return np.array(reached)

    def with_descendants(self, units: np.ndarray) -> np.ndarray:
        """A mask of these units, of which there is a mask, and of all to which a path leads from one of them."""
        return self.reversed.with_ancestors(units)

    def ancestors_by_row(self, units: np.ndarray) -> AncestorsByRow:
        """`with_ancestors` of every row of a mask (rows, units), in memory and time for what is found alone."""
        keys = newest = np.flatnonzero(units)  # row * size + unit, in order
        found = [np.zeros((2, 0), int)]
        while newest.size:
            unit = newest % self.size
            edge, child = self.by_child.of(unit), np.repeat(newest, self.by_child.counts[unit])
            found.append(np.stack([edge, child]))
            newest = _new(child - child % self.size + self.parent[edge], keys)
            keys = np.sort(np.concatenate([keys, newest]))
        edge, child = np.concatenate(found, axis=1)
        parent = child - child % self.size + self.parent[edge]
        row, unit = np.divmod(keys, self.size)
        return AncestorsByRow(row, unit, edge, np.searchsorted(keys, child), np.searchsorted(keys, parent))

    # ---- orders ------------------------------------------------------------------------------------------------------

    @cached_property
    def levels(self) -> np.ndarray | None:
        """(units,): how many edges the longest path to each unit has; None where there is a cycle."""
        waiting = self.by_child.counts
        level, last, ready, done = np.zeros(self.size, int), np.zeros(self.size, int), np.flatnonzero(waiting == 0), 0
        for number in range(DEEP):
            if not len(ready):
                break
            level[ready], done = number, done + len(ready)
            reached = self.child[self.by_parent.of(ready)]
            np.subtract.at(waiting, reached, 1)
            last[reached] = np.arange(len(reached))
            ready = reached[(waiting[reached] == 0) & (last[reached] == np.arange(len(reached)))]  # each of them once
        else:
            edges, starts = self.by_parent
            return _levels_one_by_one(level, ready, waiting, self.child[edges], starts, self.size - done)
        return level if done == self.size else None

    @cached_property
    def downwards(self) -> Sweep:
        """From parents to children."""
        return Sweep.of(self.parent, self.child, self.levels, self.size)

    @property
    def upwards(self) -> Sweep:
        """From children to parents."""
        return self.reversed.downwards

    def groups(self, some: np.ndarray) -> list[np.ndarray]:
        """Some of the units in groups, each after those of their parents that are among them."""
        inner = some[self.child] & some[self.parent]
        units, level = np.flatnonzero(some), Graph(self.child[inner], self.parent[inner], self.size).levels
        if level is None:
            return [units] * len(units)
        units = units[np.argsort(level[units], kind="stable")]
        return np.split(units, np.flatnonzero(np.diff(level[units])) + 1)

    def depth_first(self, some: np.ndarray) -> np.ndarray:
        """Some of the units, each after its parents among them, and close to what depends on the same ones."""
        inner = some[self.child] & some[self.parent]
        children: dict[int, list[int]] = {}
        for parent, child in zip(self.parent[inner].tolist(), self.child[inner].tolist(), strict=True):
            children.setdefault(parent, []).append(child)
        order, seen = [], set()
        for root in np.flatnonzero(some).tolist():
            path = [(root, iter(children.get(root, ())))] if root not in seen else []
            seen.add(root)
            while path:
                below = next((unit for unit in path[-1][1] if unit not in seen), None)
                if below is None:
                    order.append(path.pop()[0])
                else:
                    seen.add(below)
                    path.append((below, iter(children.get(below, ()))))
        return np.array(order[::-1], int)

    # ---- components and cycles ---------------------------------------------------------------------------------------

    def components(self, connection: str = "weak") -> tuple[int, np.ndarray]:
        """How many there are, and (units,): the number of that of each unit; directions count in "strong" ones."""
        from scipy.sparse.csgraph import connected_components  # takes 0.1 s to import

        return connected_components(self._matrix(), directed=True, connection=connection)

    def _matrix(self) -> sp.csr_array:
        """1 at [parent, child]."""
        return sp.csr_array((np.ones(len(self.child)), (self.parent, self.child)), shape=(self.size, self.size))

    def cycle(self) -> list[int] | None:
        """The units of a directed cycle, parent before child, or None where there is none."""
        child, parent = self.child, self.parent
        if np.all(child > parent) or np.all(child < parent):  # as most networks are numbered
            return None
        if (loops := child[child == parent]).size:
            return [int(loops.min())]
        count, component = self.components("strong")
        if count == self.size:
            return None
        inside = component[child] == component[parent]
        start = int(np.flatnonzero(np.bincount(component)[component] > 1)[0])
        return Graph(child[inside], parent[inside], self.size)._shortest_cycle_through(start)

    def _shortest_cycle_through(self, start: int) -> list[int]:
        """Breadth first from `start` until an edge leads back to it."""
        from scipy.sparse.csgraph import breadth_first_order

        order, before = breadth_first_order(self._matrix(), start, directed=True)
        back = set(self.parent[self.child == start].tolist())
        path = [next(int(unit) for unit in order if int(unit) in back)]
        while path[-1] != start:
            path.append(int(before[path[-1]]))
        return path[::-1]


def cycle_text(names: Sequence[str], cycle: list[int]) -> str:
    """'a -> b -> a', with the middle of a long cycle left out."""
    path = [names[unit] for unit in (*cycle, cycle[0])]
    left_out = path[LONGEST_PATH // 2 : -LONGEST_PATH // 2]
    if len(left_out) > 1:
        path[LONGEST_PATH // 2 : -LONGEST_PATH // 2] = [f"... {len(left_out)} more ..."]
    return " -> ".join(path)


def _new(found: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Those that are not among the keys, each once and in order."""
    found = np.sort(found)
    found = found[np.diff(found, prepend=-1) > 0]
    at = np.minimum(np.searchsorted(keys, found), len(keys) - 1)
    return found[keys[at] != found]


def _levels_one_by_one(level, ready, waiting, targets, starts, left: int) -> np.ndarray | None:
    """The levels behind the first ones, where there are many."""
    level[ready] = DEEP
    found, waiting, targets, starts, queue = (z.tolist() for z in (level, waiting, targets, starts, ready))
    for unit in queue:
        for other in targets[starts[unit] : starts[unit + 1]]:
            waiting[other] -= 1
            if not waiting[other]:
                found[other] = found[unit] + 1
                queue.append(other)
    return np.array(found) if len(queue) == left else None
