"""What evidence leaves to sum over where every hidden unit that matters is a root.

Units that are observed, or that no evidence depends on, go exactly: what remains is causes that may be on or off, and
findings whose probability is a log-concave function of a field that the causes raise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plefka.activations import NoisyOr, Sigmoid

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork


def log_noisy_or(x):
    """ln(1 - exp(-x))."""
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(-x))


def softplus(y):
    return np.logaddexp(0, y)


@dataclass(frozen=True)
class Family:
    """An activation whose logarithm is concave: `rate` is the derivative of ln f, and `rate_slope` that of the rate."""

    log_on: Callable
    log_off: Callable
    rate: Callable
    rate_slope: Callable
    log_off_is_linear: bool
    lowest: float  # of its fields


def _odds_against(x):
    """1 / (exp(x) - 1), for large fields too."""
    with np.errstate(divide="ignore"):
        return np.exp(-x) / -np.expm1(-x)


NOISY_OR = Family(
    log_on=log_noisy_or,
    log_off=np.negative,
    rate=_odds_against,
    rate_slope=lambda x: -_odds_against(x) * (1 + _odds_against(x)),
    log_off_is_linear=True,
    lowest=0.0,
)
SIGMOID = Family(
    log_on=lambda x: -softplus(-x),
    log_off=lambda x: -softplus(x),
    rate=lambda x: np.exp(-softplus(x)),
    rate_slope=lambda x: -np.exp(-softplus(x) - softplus(-x)),
    log_off_is_linear=False,
    lowest=-np.inf,
)
FAMILIES = {NoisyOr: NOISY_OR, Sigmoid: SIGMOID}


def family_of(network: "BeliefNetwork") -> Family | None:
    return FAMILIES.get(type(network.activation))


class Edges(NamedTuple):
    """Child, parent and weight of every edge, among `size` units."""

    child: np.ndarray
    parent: np.ndarray
    weight: np.ndarray
    size: int

    def take(self, which: np.ndarray) -> "Edges":
        return Edges(self.child[which], self.parent[which], self.weight[which], self.size)

    def below_zero(self) -> "Edges":
        return self._replace(weight=np.minimum(self.weight, 0.0))

    def sum_by_child(self) -> np.ndarray:
        return np.bincount(self.child, self.weight, self.size)

    def sum_by_parent(self) -> np.ndarray:
        return np.bincount(self.parent, self.weight, self.size)

    def renumbered(self, children: np.ndarray, parents: np.ndarray) -> "Edges":
        """Units by their places in these sorted lists."""
        child, parent = np.searchsorted(children, self.child), np.searchsorted(parents, self.parent)
        return Edges(child, parent, self.weight, max(len(children), len(parents)))


@dataclass(frozen=True)
class TwoLayers:
    """ln P(evidence) = constant + ln sum_S exp(sum_j S_j log_on_j + (1 - S_j) log_off_j) prod_i f(x_i).

    x_i = leak_i + sum of the sizes of the weights of those edges of i whose cause is in the state in which it acts: on
    for a positive weight, off for a negative one, so that the leak is the lowest field. An infinite weight is a
    certain edge.
    """

    family: Family
    constant: float
    log_on: np.ndarray
    log_off: np.ndarray
    leak: np.ndarray
    edges: Edges


def relevant_units(network: "BeliefNetwork", row: np.ndarray, tilt: np.ndarray) -> np.ndarray:
    """Which units are observed, tilted, or above one that is: all others sum to one."""
    edges = edges_of(network)
    relevant = ~np.isnan(row) | (tilt != 0)
    while True:
        above = edges.parent[relevant[edges.child] & ~relevant[edges.parent]]
        if above.size == 0:
            return relevant
        relevant[above] = True


def edges_of(network: "BeliefNetwork") -> Edges:
    W = network.storage.to_sparse().tocoo()
    child, parent = W.coords
    return Edges(child, parent, W.data, network.size).take(W.data != 0)


def hidden_child(network: "BeliefNetwork", row: np.ndarray, tilt: np.ndarray) -> int | None:
    """A unit that matters, is hidden and has parents, if there is one."""
    has_parents = np.bincount(edges_of(network).child, minlength=network.size) > 0
    found = np.flatnonzero(relevant_units(network, row, tilt) & np.isnan(row) & has_parents)
    return int(found[0]) if found.size else None


def reduced(network: "BeliefNetwork", row: np.ndarray, tilt: np.ndarray) -> TwoLayers:
    """The evidence as findings that are on: those that are off are folded into the causes, or turned around."""
    family = FAMILIES[type(network.activation)]
    edges, h = edges_of(network), np.asarray(network.bias, float)
    hidden = relevant_units(network, row, tilt) & np.isnan(row)
    log_on, log_off = family.log_on(h) + tilt, family.log_off(h)
    if family.log_off_is_linear:
        folded = (row[edges.child] == 0) & hidden[edges.parent]
        log_on = log_on - edges.take(folded).sum_by_parent()
        edges = edges.take(~folded)
    free = hidden & ~np.isneginf(log_on)
    constant = log_off[hidden & ~free].sum() + tilt[row == 1].sum()
    return _with_findings(TwoLayers(family, float(constant), log_on, log_off, h, edges), row, free)


def _with_findings(all_units: TwoLayers, row: np.ndarray, free: np.ndarray) -> TwoLayers:
    """Only causes that are free and findings that have one: the others are part of the constant."""
    family, edges = all_units.family, all_units.edges
    x = all_units.leak + edges.take(row[edges.parent] == 1).sum_by_child()
    edges = edges.take(free[edges.parent] & ~np.isnan(row[edges.child]) & np.isfinite(x[edges.child]))
    open_ = np.bincount(edges.child, minlength=len(x)) > 0
    settled = np.where(row == 1, family.log_on(x), family.log_off(x))[~np.isnan(row) & ~open_]
    sign = np.where(row == 1, 1.0, -1.0)  # 1 - f(x) is f(-x) where it is not linear
    edges = edges._replace(weight=edges.weight * sign[edges.child])
    leak = np.maximum(sign * x + edges.below_zero().sum_by_child(), family.lowest)
    return TwoLayers(
        family,
        all_units.constant + float(settled.sum()),
        all_units.log_on[free],
        all_units.log_off[free],
        leak[open_],
        edges.renumbered(np.flatnonzero(open_), np.flatnonzero(free)),
    )
