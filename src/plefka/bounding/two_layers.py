"""A question whose free units are all roots: causes that may be on or off, and findings that depend on them.

The probability of a finding is a log-concave function of a field that the causes raise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plefka.activations import Activation, NoisyOr, Sigmoid
from plefka.question import Question
from plefka.reduction.edges import EdgeList
from plefka.reduction.summing import times


class Rate(NamedTuple):
    """The derivative of ln f, which falls with the field, and its own derivative."""

    value: Callable
    slope: Callable


def _odds_against(x):
    """1 / (exp(x) - 1), for large fields too."""
    with np.errstate(divide="ignore"):
        return np.exp(-x) / -np.expm1(-x)


RATES = {
    NoisyOr: Rate(_odds_against, lambda x: -_odds_against(x) * (1 + _odds_against(x))),
    Sigmoid: Rate(lambda x: np.exp(-np.logaddexp(0, x)), lambda x: -np.exp(-np.logaddexp(0, x) - np.logaddexp(0, -x))),
}


@dataclass(frozen=True)
class TwoLayers:
    """ln Z = constant + ln sum_S exp(sum_j S_j log_on_j + (1 - S_j) log_off_j) prod_i f(x_i).

    x_i = leak_i + sum of the sizes of the weights of those edges of i whose cause is in the state in which it acts: on
    for a positive weight, off for a negative one, so that the leak is the lowest field. An infinite weight is a
    certain edge.
    """

    activation: Activation
    constant: float
    log_on: np.ndarray  # of causes
    log_off: np.ndarray
    leak: np.ndarray  # of findings
    finding: np.ndarray  # of edges
    cause: np.ndarray
    weight: np.ndarray

    @property
    def rate(self) -> Rate:
        """How fast ln f grows with the field."""
        return RATES[type(self.activation)]


def is_two_layered(question: Question) -> bool:
    """Whether the free units of a single row have no parents, and ln f is known to be concave."""
    return type(question.model.activation) in RATES and not question.free[EdgeList.of(question.storage).child].any()


def two_layers(question: Question) -> TwoLayers:
    """A single row as findings that are on: those that are off are folded into the causes, or turned around."""
    f, edges = question.model.activation, EdgeList.of(question.storage)
    child, parent, w = edges.child, edges.parent, edges.weight[:, 0]
    free, counted, values, tilt, h = (
        z[:, 0] for z in (question.free, question.model.counted, question.values, question.tilt, question.model.h)
    )
    log_on, log_off = np.asarray(f.log_on(h) + tilt), np.asarray(f.log_off(h))
    observed = counted & ~free
    if f.has_linear_log_off:
        folded = (observed & (values == 0))[child] & free[parent]
        log_on = log_on - np.bincount(parent[folded], times(w[folded]), edges.size)
        child, parent, w = (z[~folded] for z in (child, parent, w))
    known = ~free[parent] & (values[parent] == 1)
    x = h + np.bincount(child[known], w[known], edges.size)
    live = free[parent] & observed[child] & np.isfinite(x[child])
    child, parent, w = (z[live] for z in (child, parent, w))
    findings, causes = np.unique(child), np.flatnonzero(free)
    settled = np.setdiff1d(np.flatnonzero(observed), findings)
    constant = np.where(values == 1, f.log_on(x), f.log_off(x))[settled].sum()
    sign = np.where(values == 1, 1.0, -1.0)  # 1 - f(x) is f(-x) where it is not linear
    w = w * sign[child]
    leak = np.maximum(sign * x + np.bincount(child, np.minimum(w, 0.0), edges.size), f.domain[0])
    place, number = np.searchsorted(findings, child), np.searchsorted(causes, parent)
    return TwoLayers(f, float(constant), log_on[causes], log_off[causes], leak[findings], place, number, w)
