"""Two layers of sigmoid units: findings that were observed, on or off, and hidden causes without parents."""

import numpy as np

from plefka.networks.activations import Sigmoid
from plefka.networks.edge_list import EdgeList
from plefka.reduction.question import Question
from plefka.sampling.findings.problem import FindingsProblem


def is_two_layered(question: Question) -> bool:
    """Whether the free units of a single row are roots, and all units sigmoid ones."""
    roots = not question.free[EdgeList.of(question.storage).child].any()
    return isinstance(question.model.activation, Sigmoid) and roots


def two_layers(question: Question) -> FindingsProblem:
    """A single row as findings that are on: those that are off are turned around, as 1 - f(x) is f(-x)."""
    f, edges = question.model.activation, EdgeList.of(question.storage)
    child, parent, w = edges.child, edges.parent, edges.weight[:, 0]
    free, counted, values, tilt, h = (
        z[:, 0] for z in (question.free, question.model.counted, question.values, question.tilt, question.model.h)
    )
    log_on, log_off = np.asarray(f.log_on(h) + tilt), np.asarray(f.log_off(h))
    observed, known = counted & ~free, ~free[parent] & (values[parent] == 1)
    x = h + np.bincount(child[known], w[known], edges.size)
    live = free[parent] & observed[child]
    child, parent, w = (z[live] for z in (child, parent, w))
    findings, causes = np.unique(child), np.flatnonzero(free)
    settled = np.setdiff1d(np.flatnonzero(observed), findings)
    constant = np.where(values == 1, f.log_on(x), f.log_off(x))[settled].sum()
    sign = np.where(values == 1, 1.0, -1.0)
    w = w * sign[child]
    leak = sign * x + np.bincount(child, np.minimum(w, 0.0), edges.size)
    place, number = np.searchsorted(findings, child), np.searchsorted(causes, parent)
    return FindingsProblem(
        f, float(constant), log_on[causes], log_off[causes], leak[findings], place, number, w, causes, findings
    )
