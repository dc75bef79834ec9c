"""Barren units from draws of the posterior: the average of f over states of their parents, which are drawn together.

A state of a question lacks the units that were summed out. Such a unit has one child to speak to at most: it is drawn
given the state of that child, after it, so that states of all units that are not barren are draws of the posterior.
Barren units that others depend on are then drawn given their parents. Arrays are (units, rows, draws).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from plefka.methods.posterior import JointDraws
from plefka.networks.activations import Activation
from plefka.networks.edge_list import EdgeList
from plefka.networks.fields import StateFields
from plefka.reduction.summing import Given, Reduced, Roots, times

DRAWS_AT_ONCE = 2**22  # numbers


class Uniforms:
    """Random numbers of every unit of a network, the same in all rows: a row has its answer in any batch.

    They are evenly spread, so that a unit is on in as many draws as its probability says.
    """

    def __init__(self, draws: JointDraws):
        self.seed, self.count = draws.seed, len(draws.states)
        self.some = slice(None)
        self._known: dict[int, np.ndarray] = {}

    def __getitem__(self, unit: int) -> np.ndarray:
        if unit not in self._known:
            rng = np.random.default_rng((self.seed, unit))
            self._known[unit] = (rng.permutation(self.count) + rng.random()) / self.count
        return self._known[unit][self.some]

    def chunks(self, numbers: int) -> Iterator[slice]:
        """Draws that are worked on at once, where each has so many numbers."""
        step = max(1, DRAWS_AT_ONCE // max(1, numbers))
        for first in range(0, self.count, step):
            self.some = slice(first, first + step)
            yield self.some


class Averages(NamedTuple):
    """Over draws: of P(on | parents) of barren units (units, rows), of its square, and of the states of all units."""

    chances: np.ndarray
    squares: np.ndarray
    states: np.ndarray

    @classmethod
    def over(cls, sums: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]], count: int) -> "Averages":
        """From the sums over some of the draws, and over others."""
        return cls(*(np.asarray(sum(each) / count) for each in zip(*sums, strict=True)))

    def errors(self, count: int) -> np.ndarray:
        """The standard errors of the first, for so many draws."""
        return np.sqrt(np.maximum(self.squares - self.chances**2, 0.0) / count)


def with_summed(
    given: Given, left: Reduced, S: np.ndarray, uniforms: Uniforms, units: np.ndarray | None = None
) -> np.ndarray:
    """The states with those of units that were summed out; `units` has their numbers in the network, if they differ."""
    if not left.summed.any():
        return S
    edges, binds = given.edges, given.has_nonlinear_energy(left.counted | left.summed)
    roots = Roots.of(given, left)
    live = edges.take(binds[edges.child].any(axis=1))
    live = live.take((left.summed[live.parent] & binds[live.child]).any(axis=1))
    fields = StateFields(edges, left.h, given.activation).of(np.nan_to_num(S))  # with the average of the summed parents
    children = np.split(np.argsort(live.parent, kind="stable"), np.cumsum(np.bincount(live.parent, minlength=len(S))))
    for group in reversed(edges.graph.groups(np.asarray(left.summed.any(axis=1)))):
        for unit in group.tolist():
            uniform = uniforms[unit if units is None else int(units[unit])]
            _draw(unit, left.summed, binds, roots, (S, fields), live.take(children[unit]), uniform)
    return S


def _draw(unit, summed, binds, roots: Roots, drawn: tuple, edges: EdgeList, uniform: np.ndarray) -> None:
    """The states of one unit, given those of its child; and then the field of the child, given these."""
    (S, fields), rows = drawn, np.flatnonzero(summed[unit])
    on, off = (np.broadcast_to(z[unit], summed.shape[1:])[rows, None] for z in (roots.log_p, roots.log_not_p))
    log_odds, found = on - off + np.zeros((len(rows), len(uniform))), {}
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for child, weight in zip(edges.child.tolist(), times(edges.weight), strict=True):
            w = np.broadcast_to(weight, summed.shape[1:])[rows, None]
            without = np.maximum(fields[child, rows] + np.logaddexp(off, on - w), 0.0)
            change = np.where(S[child, rows] == 1, _log_on(without + w) - _log_on(without), -w)
            log_odds = log_odds + np.where(binds[child, rows][:, None] & (w != 0), change, 0.0)
            found[child] = without, w
        S[unit, rows] = uniform < 1 / (1 + np.exp(-log_odds))
    for child, (without, w) in found.items():
        fields[child, rows] = without + w * S[unit, rows]


def _log_on(x: np.ndarray) -> np.ndarray:
    """Of noisy-or units, which alone are summed into."""
    return np.log(-np.expm1(-np.maximum(x, np.finfo(float).tiny)))


def chances(
    edges: EdgeList, h: np.ndarray, activation: Activation, S: np.ndarray, barren: np.ndarray, uniforms: Uniforms
) -> tuple[np.ndarray, np.ndarray]:
    """Sums over the draws of P(on | parents) of barren units (units, rows) and of its square, 0 for all others."""
    fields = StateFields(edges, h, activation)
    units = np.flatnonzero(barren.any(axis=1))
    above = np.isin(np.arange(len(S)), edges.parent[np.isin(edges.child, units)]) & barren.any(axis=1)
    S = np.nan_to_num(S)
    for group in edges.graph.groups(above) if above.any() else ():
        p = np.asarray(activation.probability(fields.of(S, group)))
        drawn = np.stack([uniforms[unit] for unit in group.tolist()])[:, None] < p
        S[group] = np.where(barren[group][:, :, None], drawn, S[group])
    p, sums = np.asarray(activation.probability(fields.of(S, units))), np.zeros((2, *barren.shape))
    sums[:, units] = p.sum(axis=2), (p**2).sum(axis=2)
    return np.where(barren, sums[0], 0.0), np.where(barren, sums[1], 0.0)
