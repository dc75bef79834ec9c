"""From a network of which units are summed out to the part that is left to be solved, and back.

Observed units whose parents are all known are part of a constant, and so are noisy-or units that are off: they are
linear in their parents, and move the log-odds of those that are free. A parent that is observed in every row is part of
the bias of its children. What remains are the free units and the observed ones that depend on them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plefka.networks.activations import Activation
from plefka.networks.edge_list import EdgeList
from plefka.reduction.compact_storage import LARGE, StorageLayout, lay_out
from plefka.reduction.question import BeliefModel, Question
from plefka.reduction.summing import LEAST, Given, Reduced, log_sums, times

WORTH = 2  # a large network is stored anew only where so many times fewer edges are left
FILLER_BIAS = 1.0  # of units that fill up: a usual field


@dataclass(frozen=True, eq=False)
class Remains:
    """What is left of every row, before it is laid out; arrays are (units, rows)."""

    edges: EdgeList
    h: np.ndarray  # with all that known parents add
    free: np.ndarray
    findings: np.ndarray  # observed, and with a free parent
    values: np.ndarray
    tilt: np.ndarray
    constant: np.ndarray  # (rows,): ln of all that was taken out
    slope: np.ndarray  # d ln P / dh of observed units that are part of the constant

    @property
    def kept(self) -> np.ndarray:
        return self.free | self.findings


def remains(given: Given, left: Reduced, *, each_is_a_row: bool = False) -> Remains:
    """Constants, log-odds and biases in the place of all that is known.

    `each_is_a_row`: units belong to different rows, and the constant of each is wanted, (units,).
    """
    edges, f, known = given.edges, given.activation, given.known
    free = given.hidden & left.counted
    observed = left.counted & ~given.hidden
    on = np.where(given.hidden, 0.0, known)
    tilt = given.tilt
    off = given.off(left.counted) if f.has_linear_log_off else np.zeros(known.shape)
    tilt = np.maximum(tilt - edges.up(times, off), LEAST) if off.any() else tilt
    depends = edges.children_of(free)
    whole = _fields(given, left, on)
    findings = observed & depends & (off == 0) & np.isfinite(whole)  # else it is on whatever its other parents do
    fixed = ~np.isnan(known).any(axis=1, keepdims=True) | ~findings  # parents whose state is part of the bias
    settled = observed & ~findings & (off == 0)
    states = np.where(fixed, on, 0.0)
    x = whole if np.array_equal(states, on) else _fields(given, left, states)
    logs, slope = np.zeros(known.shape), np.zeros(known.shape)
    if len(units := np.flatnonzero(settled.any(axis=1))):
        logs[units], slope[units] = _of_known_parents(f, whole[units], known[units] == 1, settled[units])
    terms = logs - off * left.h + np.where(given.hidden, 0.0, tilt * on)
    constant = (terms + log_sums(given, left))[:, 0] if each_is_a_row else left.constant + terms.sum(0)
    kept = free | findings
    there = kept.any(axis=1)
    inside = there[edges.child] & there[edges.parent] & np.isnan(known).any(axis=1)[edges.parent]
    values = np.where(free, 0.5, np.where(findings, known, 0.0))
    return Remains(edges.take(inside), x, free, findings, values, np.where(free, tilt, 0.0), constant, slope)


def _of_known_parents(f: Activation, x: np.ndarray, is_on: np.ndarray, settled: np.ndarray) -> tuple[Any, Any]:
    """ln P of units whose parents are all known, and its derivative by their biases."""
    x = np.where(settled, x, 1.0)
    with np.errstate(divide="ignore", over="ignore"):
        logs = np.where(settled, np.where(is_on, f.log_on(x), f.log_off(x)), 0.0)
        linear = settled & is_on & f.is_linear_off(x)
        slope = np.where(linear, 1 / np.expm1(np.where(linear, x, 1.0)), 0.0) if f.has_linear_log_off else 0.0
    return logs, slope


def _fields(given: Given, left: Reduced, states: np.ndarray) -> np.ndarray:
    """The fields of units whose parents have these states; infinite where an edge of probability one is on."""
    x = left.h + given.edges.down(lambda w, on: times(w) * on, (), (states,))
    return given.activation.clip(np.where(x > -LEAST, np.inf, x))


@dataclass(frozen=True, eq=False)
class Cut:
    """A question, and where its units are in the network."""

    question: Question
    units: np.ndarray  # of the network
    place: np.ndarray  # the same units in the question

    def widened(self, found: np.ndarray, whole: np.ndarray) -> np.ndarray:
        """`whole` (units, rows) with what was found (units of the question, rows) in its place."""
        whole = whole.copy()
        whole[self.units] = found[self.place]
        return whole


def cut(given: Given, rest: Remains, layers: np.ndarray | None) -> Cut:
    """The units that are kept in some row, laid out for computing."""
    units = np.flatnonzero(rest.kept.any(axis=1))
    own_layers = None if layers is None else layers[units]
    ever_free = np.asarray(rest.free[units].any(axis=1))
    layout = lay_out(rest.edges.between(units), ever_free, own_layers, rest.free.shape[1], given.activation)
    return Cut(_question(given, rest, layout, units), units, layout.place)


def _question(given: Given, rest: Remains, layout: StorageLayout, units: np.ndarray) -> Question:
    def filled(z: np.ndarray, filler: float | bool) -> np.ndarray:
        out = np.full((layout.size, z.shape[1]), filler, z.dtype)
        out[layout.place] = z[units]
        return out

    inhibited = rest.edges.down(lambda w: np.minimum(w, 0.0)) if given.activation.has_linear_log_off else 0.0
    h = np.where(rest.kept, rest.h, FILLER_BIAS - inhibited)  # a unit that is no part of a row has a field all the same
    model = BeliefModel(layout.storage, filled(h, FILLER_BIAS), given.activation, filled(rest.kept, False))
    return Question(
        model, filled(rest.free, False), filled(rest.values, 0.0), filled(rest.tilt, 0.0), layout.num_searched
    )


def is_worth_it(given: Given, rest: Remains) -> bool:
    """Whether what is left is small, or much smaller than the network."""
    edges = len(rest.edges.child)
    return edges <= LARGE or WORTH * edges < len(given.edges.child)
