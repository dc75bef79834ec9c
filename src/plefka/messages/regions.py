"""Regions of units for belief propagation on short loops: which there are, and how often each counts.

Outer regions are short loops of the graph, and all factors that are in none of them. Inner regions are intersections of
these. An inner region counts 1 - (sum of the counts of all regions that contain it) times, so that every unit and every
factor counts once.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

MOST_PATHS, MOST_CYCLES = 4_000_000, 100_000  # that are looked at; of pairs of regions as many as of paths
MOST_ENTRIES = 8_000_000  # of the tables of a sweep
MOST_JOINED = 10  # units of loops around one that are joined
Region = frozenset[int]


class TooManyRegions(Exception):
    """More loops or larger tables than can be afforded."""


class Regions(NamedTuple):
    """Outer and inner regions as sorted units, and how often inner ones count; outer ones count once."""

    outer: list[tuple[int, ...]]
    inner: list[tuple[int, ...]]
    counts: np.ndarray
    above: list[list[int]]  # of each inner region, the outer ones that contain it
    around: dict[int, set[int]]  # of each unit, the outer regions that contain it

    @classmethod
    def of(
        cls, units: Iterable[int], factors: Iterable[tuple[int, ...]], length: int, *, joined: bool = False
    ) -> "Regions":
        """Of free units and the units of all factors; `joined`: all loops around a unit are a region."""
        neighbours: dict[int, set[int]] = {unit: set() for unit in units}
        for one, other in (pair for factor in factors for pair in permutations(factor, 2)):
            neighbours[one].add(other)
        loops = {*map(frozenset, independent_cycles(short_cycles(neighbours, length), factors))}
        blocks: dict[int, Region] = {}
        for loop in loops if joined else ():
            blocks |= {unit: blocks.get(unit, loop) | loop for unit in loop}
        loops |= {block for block in blocks.values() if len(block) <= MOST_JOINED}
        outer, around = _maximal({*map(frozenset, factors), *(frozenset([unit]) for unit in neighbours), *loops})
        counts = _counted(_intersections(outer, around), around)
        above = [sorted(set.intersection(*(around[unit] for unit in region))) for region in counts]
        outer, inner = ([tuple(sorted(region)) for region in some] for some in (outer, counts))
        found = cls(outer, inner, np.array(list(counts.values()), float), above, around)
        if found.entries > MOST_ENTRIES:
            raise TooManyRegions(f"the tables of its {len(outer):,} regions have {found.entries:,} entries")
        return found

    @property
    def entries(self) -> int:
        """The work of a sweep: the states of the outer regions above every inner one."""
        return sum(2 ** len(self.outer[k]) for above in (*self.above, range(len(self.outer))) for k in above)


def short_cycles(neighbours: dict[int, set[int]], length: int) -> list[tuple[int, ...]]:
    """All cycles of 3 to `length` units without a chord, as paths from their smallest unit; short ones first."""
    found: list[tuple[int, ...]] = []
    degrees = [len(some) for some in neighbours.values()]
    if sum(degrees) * max(1, max(degrees, default=0) - 1) ** (length - 2) > MOST_PATHS:
        raise TooManyRegions(f"the graph is too dense to look for loops of up to {length} units")
    for first in neighbours if length > 2 else ():
        paths: list[tuple[int, ...]] = [(first,)]
        while paths:
            path = paths.pop()
            for unit in neighbours[path[-1]]:
                if unit <= first or any(unit in neighbours[other] for other in path[1:-1]):
                    continue
                if len(path) == 1 or first not in neighbours[unit]:
                    paths += [(*path, unit)] if len(path) + 1 < length else []
                elif path[1] < unit:
                    found.append((*path, unit))
        if len(found) > MOST_CYCLES:
            raise TooManyRegions(f"there are more than {MOST_CYCLES:,} loops of up to {length} units")
    return sorted(found, key=lambda cycle: (len(cycle), sorted(cycle)))


def independent_cycles(cycles: list[tuple[int, ...]], factors: Iterable[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Those that are no sum (of edges, modulo 2) of earlier ones or of cycles within factors.

    More of them would count the same dependence twice: then beliefs are worse. The faces of a planar graph are such.
    """
    bit: dict[frozenset[int], int] = {}
    basis: dict[int, int] = {}

    def is_new(cycle: tuple[int, ...]) -> bool:
        edges = (frozenset(ends) for ends in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
        rest = sum(1 << bit.setdefault(edge, len(bit)) for edge in edges)
        while rest and rest.bit_length() in basis:
            rest ^= basis[rest.bit_length()]
        basis.setdefault(rest.bit_length(), rest)
        return rest > 0

    for factor in factors:
        for pair in combinations(factor[1:], 2):
            is_new((factor[0], *pair))
    return filter(is_new, cycles)


def _maximal(regions: set[Region]) -> tuple[list[Region], dict[int, set[int]]]:
    """Regions in no other one, and for each unit the numbers of those that contain it."""
    found: list[Region] = []
    around: dict[int, set[int]] = {unit: set() for region in regions for unit in region}
    for region in sorted(regions, key=lambda region: (-len(region), sorted(region))):
        if not set.intersection(*(around[unit] for unit in region)):
            for unit in region:
                around[unit].add(len(found))
            found.append(region)
    return found, around


def _intersections(outer: list[Region], around: dict[int, set[int]]) -> list[Region]:
    """All intersections of outer regions and of these, large ones first."""
    found, work = set[Region](), 0
    containing: dict[int, set[Region]] = {unit: set() for unit in around}
    new = {outer[a] & outer[b] for numbers in around.values() for a, b in combinations(sorted(numbers), 2)}
    while new:
        found |= new
        for region in new:
            for unit in region:
                containing[unit].add(region)
        work += sum(len(containing[unit]) for region in new for unit in region)
        if work > MOST_PATHS:
            raise TooManyRegions("its loops and tables overlap in too many ways")
        new = {region & other for region in new for unit in region for other in containing[unit]} - found
    return sorted(found, key=lambda region: (-len(region), sorted(region)))


def _counted(inner: list[Region], around: dict[int, set[int]]) -> dict[Region, int]:
    """How often each counts, large regions first; without those that count 0 times and on which others agree anyway."""
    counts: dict[Region, int] = {}
    containing: dict[int, list[Region]] = {unit: [] for unit in around}
    for region in inner:
        above = set.intersection(*(around[unit] for unit in region))
        larger = [other for other in containing[min(region)] if region < other]
        count = 1 - len(above) - sum(counts[other] for other in larger)
        linked, links = {min(above)}, [set.intersection(*(around[unit] for unit in other)) for other in larger]
        while count == 0 and (more := set[int]().union(*(link for link in links if link & linked)) - linked):
            linked |= more
        if count or linked != above:
            counts[region] = count
            for unit in region:
                containing[unit].append(region)
    return counts
