"""The order in which a sweep visits the units: together where they touch no common factor, one by one elsewhere.

The factor of a unit is shared by the unit and its parents. Units without a common factor, which is a colour of the
moral graph, are independent given all others, and flipping them changes fields of different children: they are visited
in one step. Steps are tables of a few fixed shapes, so that networks of about the same size share a compiled sweep.
"""

from typing import NamedTuple

import numpy as np

from plefka.networks.edge_list import EdgeList
from plefka.reduction.ladder import MANY_ROWS, rung

STEP_COST = 500  # what a step costs by itself, in cells: a child of a visited unit, in one column
VISIT_WIDTHS = (1, 4, 16, 64, 256)  # units that are visited together
FEW_UNITS = 64  # units up to which they are visited one by one, as there is nothing to gain


class Visits(NamedTuple):
    """Steps of one shape: in step g, units[g] are visited, whose children are children[g]; `size` stands for none."""

    units: np.ndarray  # (steps, together)
    children: np.ndarray  # (steps, together, children)
    weights: np.ndarray  # (steps, together, children, rows or 1, 1), the finite ones
    certain: np.ndarray  # the same, 1 for an edge of probability one
    num_steps: int  # steps that are there; the rest is padding


def padded(count: int) -> int:
    """The next of 8, 12, 16, 24, 32, ..."""
    return rung(max(count, 8), MANY_ROWS)


def visits(edges: EdgeList, free: np.ndarray) -> tuple[Visits, ...]:
    """All steps of a sweep over the free units: those with few children, many at once, and then those with many."""
    order, starts = edges.graph.by_parent
    degree = np.diff(starts)
    colour = moral_colours(edges, free)
    largest = padded(int(degree[free].max(initial=0)))
    if len(free) <= FEW_UNITS:
        return (_table(edges, _split(free, colour, 1), largest, order, starts),)
    parts = _cheapest(free, colour, degree, largest)
    return tuple(_table(edges, _split(units, colour, wide), deep, order, starts) for units, wide, deep in parts)


def moral_colours(edges: EdgeList, free: np.ndarray) -> np.ndarray:
    """Greedily, units with many children first: the first colour that none of a unit's factors has yet."""
    order, starts = edges.graph.by_parent
    taken = [0] * edges.size  # the colours of a factor, as bits
    children = edges.child[order]
    colour = np.full(edges.size, -1)
    for unit in free[np.argsort(-np.diff(starts)[free], kind="stable")]:
        factors = [unit, *children[starts[unit] : starts[unit + 1]].tolist()]
        bits = 0
        for factor in factors:
            bits |= taken[factor]
        colour[unit] = (~bits & (bits + 1)).bit_length() - 1
        for factor in factors:
            taken[factor] |= 1 << int(colour[unit])
    return colour


def _split(units: np.ndarray, colour: np.ndarray, wide: int) -> list[np.ndarray]:
    """Groups of at most `wide` units of one colour."""
    units = units[np.argsort(colour[units], kind="stable")]
    same = np.split(units, np.flatnonzero(np.diff(colour[units])) + 1) if len(units) else []
    return [group[k : k + wide] for group in same for k in range(0, len(group), wide)]


def _cheapest(free, colour, degree, largest) -> list[tuple[np.ndarray, int, int]]:
    """Where to cut between few and many children, and how many units to visit together, by counting cells."""
    best, least = [], np.inf
    deep = 1
    while True:
        few = degree[free] <= deep
        parts = [_widest(free[few], colour, deep), _widest(free[~few], colour, largest)]
        cost = sum(part[1] for part in parts)
        if cost < least:
            best, least = [part[0] for part in parts if len(part[0][0])], cost
        if deep >= largest:
            return best
        deep = min(2 * deep, largest)


def _widest(units, colour, deep) -> tuple[tuple[np.ndarray, int, int], float]:
    """The best width for units with at most `deep` children, and its cost."""
    sizes = np.bincount(colour[units]) if len(units) else np.zeros(1)
    costs = [float(np.sum(np.ceil(sizes / wide)) * (STEP_COST + 8 * wide * deep)) for wide in VISIT_WIDTHS]
    return (units, VISIT_WIDTHS[int(np.argmin(costs))], deep), min(costs)


def _table(edges: EdgeList, groups: list[np.ndarray], deep: int, order: np.ndarray, starts: np.ndarray) -> Visits:
    wide = max(map(len, groups), default=1)
    wide = next(width for width in VISIT_WIDTHS if width >= wide)
    steps, none = padded(len(groups)), edges.size
    units = np.full((steps, wide), none)
    for g, group in enumerate(groups):
        units[g, : len(group)] = group
    bounds = np.append(starts, starts[-1])
    at = bounds[units][:, :, None] + np.arange(deep)
    there = at < bounds[units + 1][:, :, None]
    edge = np.append(order, 0)[np.where(there, at, len(order))]
    children = np.where(there, np.append(edges.child, none)[edge], none)
    nothing = np.zeros((1, edges.weight.shape[1]))
    weight = np.where(there[..., None], np.concatenate([edges.weight, nothing])[edge], 0.0)
    certain = np.isinf(weight)
    return Visits(
        units.astype(np.int32), children.astype(np.int32), np.where(certain, 0.0, weight)[..., None],
        (certain * 1.0)[..., None], len(groups),
    )  # fmt: skip
