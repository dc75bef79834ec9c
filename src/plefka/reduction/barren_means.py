"""Barren units: their means follow from those of their parents, along the arrows."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp

from plefka.averages.choice import rounded_range
from plefka.averages.parents import Parents
from plefka.networks.activations import CERTAIN_FIELD, Activation, Mixed
from plefka.networks.edge_list import EdgeList, fixed_point_along_edges
from plefka.networks.incidence import SUMMED_WIDTHS
from plefka.networks.index_arrays import places_of
from plefka.reduction.ladder import rows_for, rung
from plefka.reduction.question import Question
from plefka.runtime.cores import on_all_cores
from plefka.runtime.programs import Program

EDGES_AT_ONCE = 2**20  # edges times rows that are worked on at once
FEW_STATES = 2**16  # of the parents of all units, in all rows, over which NumPy sums sooner than a program is compiled


def predicted(
    edges: EdgeList, h: np.ndarray, activation: Activation, means: np.ndarray, barren: np.ndarray, *, by_field: bool
) -> np.ndarray:
    """The means (units, rows), those of barren units predicted.

    `by_field`: with f at the mean field, as the paper would say; otherwise with <f> over independent parents.
    """
    if not barren.any():
        return means
    if not activation.mixes_kinds and (by_field or activation.has_linear_log_off):
        return _along_edges(edges, h, activation, means, barren, by_field=by_field)
    means = means.copy(order="K")
    np.copyto(means, 0.5, where=barren)
    by_child = edges.take(np.argsort(edges.child, kind="stable"))
    ends = np.searchsorted(by_child.child, np.arange(edges.size + 1)).tolist()
    for units, kind in _by_kind(edges.graph.groups(np.asarray(barren.any(axis=1))), h, activation):
        is_sum = by_field or (kind.has_linear_log_off and not kind.mixes_kinds)
        rule = partial(_by_sums, by_field=by_field) if is_sum else _by_averages
        place = places_of(units, edges.size)
        inner = by_child.take(np.concatenate([np.arange(ends[unit], ends[unit + 1]) for unit in units.tolist()]))
        local = EdgeList(place[inner.child], inner.parent, inner.weight, len(units))
        step = max(1, EDGES_AT_ONCE // max(len(inner.child), 1))
        chunks = [slice(first, first + step) for first in range(0, means.shape[1], step)]

        def predict(some: slice, units=units, local=local, rule=rule, kind=kind) -> None:
            bias = h[units] if h.shape[1] == 1 else h[units, some]
            found = rule(local.of_rows(some), bias, kind, means[:, some])
            means[units, some] = np.where(barren[units, some], found, means[units, some])

        on_all_cores(predict, chunks)
    return means


def _along_edges(
    edges: EdgeList, h: np.ndarray, f: Activation, means: np.ndarray, barren: np.ndarray, *, by_field: bool
) -> np.ndarray:
    """Each unit after its parents."""

    def term(xp, w, u):
        return (_added(xp, w, u, by_field=by_field),)

    def mean(xp, terms, h, known, barren):
        x = h + terms
        return xp.where(barren > 0, f.probability(f.clip(x)) if by_field else -xp.expm1(-x), known)

    found = np.empty(means.shape)
    step = max(1, EDGES_AT_ONCE // max(len(edges.child), 1))

    def predict(some: slice) -> None:
        own = h if h.shape[1] == 1 else h[:, some], means[:, some], barren[:, some] * 1.0
        found[:, some] = edges.of_rows(some).descend(term, mean, (), own)

    on_all_cores(predict, [slice(first, first + step) for first in range(0, means.shape[1], step)])
    return found


def _by_kind(
    groups: list[np.ndarray], h: np.ndarray, activation: Activation
) -> Iterator[tuple[np.ndarray, Activation]]:
    """The groups, with tables apart from units that have a field."""
    for units in groups:
        if not isinstance(activation, Mixed):
            yield units, activation
            continue
        has_field = np.asarray(activation.has_field(h[units, 0]))
        for some, kind in ((units[has_field], activation.of_fields), (units[~has_field], activation)):
            if len(some):
                yield some, kind


def _sums(edges: EdgeList, terms: np.ndarray) -> np.ndarray:
    """Over the edges of every child."""
    ends = edges.child, np.arange(len(terms))
    return sp.csr_array((np.ones(len(terms)), ends), shape=(edges.size, len(terms))) @ terms


def _added(xp, w, u, *, by_field: bool):
    """To h, for f at the mean field, or for 1 - exp(-h) prod_j (1 - u_j + u_j exp(-w_j)) of noisy-or."""
    return xp.minimum(w, CERTAIN_FIELD) * u if by_field else -xp.log1p(u * xp.expm1(-w))


def _by_sums(edges: EdgeList, h, activation: Activation, means: np.ndarray, *, by_field: bool) -> np.ndarray:
    with np.errstate(divide="ignore"):
        x = h + _sums(edges, _added(np, edges.weight, means[edges.parent], by_field=by_field))
    return activation.probability(activation.clip(x))


def _by_averages(edges: EdgeList, h, activation: Activation, means: np.ndarray) -> np.ndarray:
    """<f(x)> in a table of parents, compiled for a few sizes."""
    rows = rows_for(means.shape[1])
    found = np.empty((edges.size, means.shape[1]))
    counts = np.bincount(edges.child, minlength=edges.size)
    most = int(counts.max(initial=1))
    if 2**most * found.size <= FEW_STATES:
        return _over_states(edges, h, activation, means)
    shape = SUMMED_WIDTHS[bisect_left(SUMMED_WIDTHS, most)] if activation.mixes_kinds else rung(most), rung(edges.size)
    order = np.argsort(edges.child, kind="stable")
    position = np.arange(len(order)) - (np.cumsum(counts) - counts)[edges.child[order]]
    at = (position, edges.child[order])
    low, high = (h + _sums(edges, part(edges.weight, 0.0)) for part in (np.minimum, np.maximum))
    average = rounded_range(low, high, np.inf).average(activation, shape[0])
    for first in range(0, means.shape[1], rows):
        some = np.minimum(np.arange(first, first + rows), means.shape[1] - 1)
        w = np.zeros((*shape, rows if edges.weight.shape[1] > 1 else 1))
        w[at] = edges.weight[order][:, some if edges.weight.shape[1] > 1 else [0]]
        u, bias = np.full((*shape, rows), 0.5), np.zeros((shape[1], rows))
        u[at] = means[edges.parent[order]][:, some]
        bias[: edges.size] = np.broadcast_to(h, found.shape)[:, some]
        part = np.exp(_program(average, w, u, bias, work=w.size * u.shape[2]))[: edges.size]
        found[:, first : first + rows] = part[:, : means.shape[1] - first]
    return found


def _over_states(edges: EdgeList, h, activation: Activation, means: np.ndarray) -> np.ndarray:
    """<f(x)> as the sum over all states of the parents, one parent of each unit after another."""
    counts = np.bincount(edges.child, minlength=edges.size)
    x = np.broadcast_to(h, (edges.size, means.shape[1]))[None]  # (states, units, rows)
    chance = np.ones_like(x)
    for which in range(int(counts.max(initial=0))):
        w, u = np.zeros(x.shape[1:]), np.zeros(x.shape[1:])
        for unit in np.flatnonzero(counts > which):
            edge = np.flatnonzero(edges.child == unit)[which]
            w[unit], u[unit] = edges.weight[edge], means[edges.parent[edge]]
        x, chance = np.concatenate([x, x + w]), np.concatenate([chance * (1 - u), chance * u])
    return (chance * activation.probability(activation.clip(x))).sum(axis=0)


def _log_chances(average: Any, w, u, h):
    return average.chances(w, Parents.of_means(u), h)[0]


_program = Program(_log_chances)


def predict_traced(question: Question, u: Any, chance: Callable) -> Any:
    """The means inside a trace, where those of barren units follow from their parents' by chance(question, means)."""

    def once(arguments, values):
        question, u = arguments
        return jnp.where(question.barren, chance(question, values), u)

    def along(question, u):
        return fixed_point_along_edges(once, (question, u), jax.lax.stop_gradient(u))

    return jax.lax.cond(jnp.any(question.barren), along, lambda _, u: u, question, u)
