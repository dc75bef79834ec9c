"""Sums over the states of a Boltzmann machine, of which only some units need be enumerated.

Units no two of which are coupled are independent given all others, so that only these others are enumerated:

    ln Z = ln sum_c exp(-E(c)) prod_i (1 + exp(h_i + sum_j W_ij c_j))

In a restricted machine these are the units of the smaller layer. States go in blocks: those of the last few units are
the same in every block, in which the other units have one state each. All of it is NumPy's; inside a user's trace all
states are held at once, with derivatives of any kind.
"""

from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from plefka.errors import MethodDoesNotApply
from plefka.exact.cost import MACHINE_ROW, MACHINE_STATE
from plefka.exact.log_factors import grouped
from plefka.exact.states import MOST_FOLLOWED, StateSums
from plefka.methods.posterior import CONVERGED, NOT_FINITE, Posterior
from plefka.networks.activations import sigmoid, softplus
from plefka.networks.edge_list import EdgeList
from plefka.networks.fields import bits
from plefka.networks.storage import Storage
from plefka.progress import progress
from plefka.reduction.question import Question
from plefka.runtime.cores import on_all_cores
from plefka.runtime.precision import is_traced

if TYPE_CHECKING:
    from plefka.reduction.traced_reductions import TracedPairs

MOST_SUMMED_UNITS = 4096  # of which a matrix is made
INNER = 12  # bits of the states of a block
TRACED_AT_ONCE = 2**22  # numbers that are held for several rows; more rows go one after another


class Enumeration(NamedTuple):
    """Rows with the same free units and couplings between them, as a dense symmetric matrix."""

    rows: np.ndarray
    units: np.ndarray  # of the question
    W: np.ndarray
    cover: np.ndarray  # of these units, those that are enumerated: every coupling has one of them

    @property
    def num_bits(self) -> int:
        return int(self.cover.sum())

    @property
    def seconds(self) -> float:
        return len(self.rows) * (
            MACHINE_ROW + 2.0**self.num_bits * MACHINE_STATE * (3 + len(self.units) - self.num_bits)
        )


def enumerations(question: Question) -> list[Enumeration]:
    """Rows grouped by their free units; those of a stack one by one."""
    edges = EdgeList.of(question.storage)
    together = (
        grouped(question.free) if edges.weight.shape[1] == 1 else [np.array([k]) for k in range(question.num_rows)]
    )
    return [_enumeration(question, edges.of_rows(rows[:1]), rows) for rows in together]


def _enumeration(question: Question, edges: EdgeList, rows: np.ndarray) -> Enumeration:
    units = np.flatnonzero(question.free[:, rows[0]])
    if len(units) > MOST_SUMMED_UNITS:
        return Enumeration(rows, units, np.zeros((0, 0)), np.ones(len(units), bool))
    inside, W = edges.between(units), np.zeros((len(units), len(units)))
    W[inside.child, inside.parent] = W[inside.parent, inside.child] = inside.weight[:, 0]
    return Enumeration(rows, units, W, vertex_cover(W != 0))


def vertex_cover(coupled: np.ndarray) -> np.ndarray:
    """Few units such that every coupling has one of them: the one with most couplings left, again and again.

    Or the smaller side of every part in which units fall into two sides, where that is fewer.
    """
    left, cover = coupled.copy(), np.zeros(len(coupled), bool)
    degree = left.sum(axis=1)
    while degree.any():
        unit = int(degree.argmax())
        cover[unit] = True
        degree -= left[unit]
        left[unit], left[:, unit] = False, False
        degree[unit] = 0
    sides = _smaller_sides(coupled)
    return sides if sides is not None and sides.sum() < cover.sum() else cover


def _smaller_sides(coupled: np.ndarray) -> np.ndarray | None:
    """None where units do not fall into two sides."""
    graph = sp.csr_array(coupled)
    _, part = csgraph.connected_components(graph, directed=False)
    side, found = np.zeros(len(coupled), bool), np.zeros(len(coupled), bool)
    for first in np.unique(part, return_index=True)[1]:
        order, before = csgraph.breadth_first_order(graph, first, directed=False)
        for unit in order[1:]:
            side[unit] = ~side[before[unit]]
        ones = order[side[order]]
        found[ones if 2 * len(ones) <= len(order) else order[~side[order]]] = True
    return None if (coupled & (side[:, None] == side)).any() else found


class _Block(NamedTuple):
    """All states of the units that differ inside a block, and what they say alone."""

    S: np.ndarray  # (units, states)
    log_weight: np.ndarray  # (states,), of their couplings
    fields: np.ndarray  # (other units, states): what they add

    def sums(
        self, h_inner: np.ndarray, h_others: np.ndarray, log_outer: float, outer: np.ndarray, *, pairs: bool
    ) -> StateSums:
        """Over its states, where the outer units of the cover have one state: of all units, and of products of two."""
        x = self.fields + h_others[:, None]
        e = np.exp(-np.abs(x))
        log_weight = self.log_weight + h_inner @ self.S + (np.maximum(x, 0.0) + np.log1p(e)).sum(axis=0) + log_outer
        chance = np.where(x >= 0, 1.0, e) / (1 + e)

        def values(w: np.ndarray) -> np.ndarray:
            means = np.concatenate([self.S @ w, outer * w.sum(), chance @ w])
            return np.concatenate([means, self._pairs(w, chance, outer, means).ravel()]) if pairs else means

        return StateSums.of(log_weight, values)

    def _pairs(self, w: np.ndarray, chance: np.ndarray, outer: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Products of all units (cover, then others) with those of the cover: inner ones, and then outer ones."""
        with_inner = np.concatenate([self.S, chance]) @ (self.S * w).T
        with_inner = np.insert(with_inner, [len(self.S)] * len(outer), np.outer(outer, self.S @ w), axis=0)
        return np.concatenate([with_inner, np.outer(means, outer)], axis=1)


class RowSum(NamedTuple):
    """Of one row: ln Z, the means of all units and, where asked for, <S_i S_j> of units that may be coupled."""

    log_z: float
    means: np.ndarray
    pairs: np.ndarray  # empty where they are not asked for


def sum_row(W: np.ndarray, cover: np.ndarray, h: np.ndarray, *, pairs: bool = False) -> RowSum:
    """The sums over all states of one row."""
    chosen, others = np.flatnonzero(cover), np.flatnonzero(~cover)
    inner, outer = chosen[:INNER], chosen[INNER:]
    S = bits(np.arange(2 ** len(inner)), np.arange(len(inner))).astype(float)
    block = _Block(S, (S * (W[np.ix_(inner, inner)] @ S)).sum(axis=0) / 2, W[np.ix_(others, inner)] @ S)

    def of_outer(number: int) -> StateSums:
        s = bits(np.array([number]), np.arange(len(outer)))[:, 0].astype(float)
        log_outer = float(s @ (h[outer] + W[np.ix_(outer, outer)] @ s / 2))
        return block.sums(
            h[inner] + W[np.ix_(inner, outer)] @ s, h[others] + W[np.ix_(others, outer)] @ s, log_outer, s,
            pairs=pairs,
        )  # fmt: skip

    def of_some(numbers: np.ndarray) -> StateSums:
        return reduce(StateSums.joined, map(of_outer, numbers.tolist()))

    count = 2 ** len(outer)
    pieces = np.array_split(np.arange(count), min(count, 16))
    steps = [pieces[k : k + 2] for k in range(0, len(pieces), 2)]
    shown = progress(steps, f"enumerating {2 ** len(chosen):,} states") if count > 1 else steps
    total = reduce(StateSums.joined, (part for step in shown for part in on_all_cores(of_some, list(step))))
    averages, order = total.values / total.total, np.concatenate([chosen, others])
    means = np.zeros(len(cover))
    means[order] = averages[: len(order)]
    products = (
        _as_matrix(averages[len(order) :].reshape(len(order), len(chosen)), chosen, others) if pairs else np.zeros(0)
    )
    return RowSum(float(total.log_total), means, products)


def _as_matrix(pairs: np.ndarray, cover: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Symmetric, of all units; no two of the others are coupled, and they have 0."""
    found = np.zeros((len(cover) + len(others),) * 2)
    found[np.ix_(np.concatenate([cover, others]), cover)] = pairs
    found[np.ix_(cover, others)] = found[np.ix_(others, cover)].T
    return found


def summed_in_trace(reduction: "TracedPairs") -> Posterior:
    """ln Z and the means of all rows."""
    question, storage = reduction.question, reduction.question.storage
    cover = _enumerated(reduction)
    inner, others = np.flatnonzero(cover), np.flatnonzero(~cover)
    S = np.zeros((question.size, 2 ** len(inner)))
    S[inner] = bits(np.arange(S.shape[1]), np.arange(len(inner)))

    def of_row(weights: Any, h: Any, free: Any) -> tuple[Any, Any]:
        states = jnp.asarray(S, h.dtype)
        x = storage.with_parameters(weights).neighbour_sums(jnp)(states)
        field = h[others, None] + x[others]
        alone = jnp.where(free[others, None], softplus(field), 0.0).sum(0)
        fits = ~((S[inner] == 1) & ~free[inner, None]).any(0)  # units that are known are 0
        log_weight = jnp.where(fits, (states * x).sum(0) / 2 + h @ states + alone, -jnp.inf)
        values = states.at[others].set(sigmoid(field))
        sums = StateSums.of(log_weight, lambda weight: values @ weight)
        return sums.log_total, sums.values / sums.total

    log_z, means = _by_row(of_row, storage, question, S.shape[1] * (2 + len(others)))
    found = Posterior.of(reduction.restored(means.T, None), log_z, is_exact=True, is_bound=True)
    return found._replace(status=jnp.where(jnp.isnan(log_z), NOT_FINITE, CONVERGED))


def _by_row(function: Any, storage: Storage, question: Any, work: int) -> tuple[Any, Any]:
    """function(weights, h, free) of every row: all at once, or one after another where that holds too much."""
    stacked, h, free = storage.stack is not None, question.model.h.T, question.free.T
    if work * question.num_rows <= TRACED_AT_ONCE:
        return jax.vmap(function, in_axes=(0 if stacked else None, 0, 0))(storage.parameters, h, free)
    one = jax.checkpoint(lambda row: function(row[0] if stacked else storage.parameters, *row[1:]))
    return jax.lax.map(one, (storage.parameters if stacked else h, h, free))


def _enumerated(reduction: "TracedPairs") -> np.ndarray:
    """The units (units,) whose states are enumerated, or a refusal where these are too many."""
    cover = free = reduction.may_be_free
    if len(free) <= MOST_SUMMED_UNITS:  # of which a matrix is made
        cover = vertex_cover(_may_be_coupled(reduction.couplings) & free & free[:, None])
    if (count := int(cover.sum())) > MOST_FOLLOWED:
        raise MethodDoesNotApply(
            f"exact does not apply: inside a trace of JAX it would sum over 2^{count} states (the limit is "
            f"2^{MOST_FOLLOWED}). Use bethe or G2 instead, or infer outside of the trace."
        )
    return cover


def _may_be_coupled(storage: Storage) -> np.ndarray:
    """(units, units): where a coupling is, or may be where its number belongs to the trace."""
    if is_traced(storage.parameters):
        storage = storage.map_weights(lambda w: np.ones(w.shape))
    if is_traced(storage):  # the edges of a sparse machine too
        return ~np.eye(storage.size, dtype=bool)
    half = storage.union().toarray() != 0
    return (half | half.T) & ~np.eye(storage.size, dtype=bool)
