"""Exact inference in Boltzmann machines: by enumeration of some units, or by elimination.

Units no two of which are coupled are independent given all others, so that only these others are enumerated:

    ln Z = ln sum_c exp(-E(c)) prod_i (1 + exp(h_i + sum_j W_ij c_j))

In a restricted machine these are the units of the smaller layer. States go in blocks: those of the last few units are
the same in every block, in which the other units have one state each. All of it is NumPy's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from plefka.exact.elimination import table_probabilities
from plefka.exact.elimination_steps import Plan
from plefka.exact.groups import Cost, Elimination
from plefka.exact.log_factors import LogFactors, Structure, grouped
from plefka.exact.ordering import WIDEST_TABLE, TooWide, greedy_plan, strip_plan
from plefka.exact.state_sum import StateSum
from plefka.exact.states import MOST_SUMMED, StateSums
from plefka.methods.posterior import About, Posterior
from plefka.methods.status import CONVERGED
from plefka.networks.edge_list import EdgeList
from plefka.networks.fields import bits
from plefka.progress import progress
from plefka.reduction.question import Part, Question
from plefka.runtime.cores import on_all_cores

MOST_SUMMED_UNITS = 4096  # of which a matrix is made
INNER = 12  # bits of the states of a block
QUICK_SECONDS = 0.3  # seconds of an elimination for which no other order is looked for
SECONDS = 2e-8  # of a state, for each unit that is summed over in closed form


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
        return len(self.rows) * (1e-4 + 2.0**self.num_bits * SECONDS * (3 + len(self.units) - self.num_bits))


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
    number = np.full(edges.size, -1)
    number[units] = np.arange(len(units))
    child, parent = number[edges.child], number[edges.parent]
    there = (child >= 0) & (parent >= 0) & (edges.weight[:, 0] != 0)
    W = np.zeros((len(units), len(units)))
    W[child[there], parent[there]] = W[parent[there], child[there]] = edges.weight[there, 0]
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
    pairs: np.ndarray | None


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
    products = _as_matrix(averages[len(order) :].reshape(len(order), len(chosen)), chosen, others) if pairs else None
    return RowSum(float(total.log_total), means, products)


def _as_matrix(pairs: np.ndarray, cover: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Symmetric, of all units; no two of the others are coupled, and they have 0."""
    found = np.zeros((len(cover) + len(others),) * 2)
    found[np.ix_(np.concatenate([cover, others]), cover)] = pairs
    found[np.ix_(cover, others)] = found[np.ix_(others, cover)].T
    return found


@dataclass(frozen=True, eq=False)
class PairElimination(Elimination):
    """The rows of a question about a Boltzmann machine: a table of four entries for each coupling."""

    question: Question

    @property
    def most_gib(self) -> float:
        return 2.0

    @property
    def num_rows(self) -> int:
        return self.question.num_rows

    @cached_property
    def edges(self) -> EdgeList:
        return EdgeList.of(self.question.storage)

    def patterns(self) -> list[np.ndarray]:
        return grouped(self.question.free)

    def plan(self, structure: Structure) -> Plan:
        """Tables are joined as the couplings ask for, or in the order of a strip where that takes less time."""
        plans, refusal = [], None
        for order in (greedy_plan, strip_plan):
            try:
                plans.append(order(structure))
            except TooWide as wide:
                refusal = refusal or wide
            if plans and Cost.of(plans[0]).seconds(1) <= QUICK_SECONDS:
                break
        if not plans:
            raise refusal or TooWide(0)
        return min(plans, key=lambda plan: Cost.of(plan).seconds(1) if Cost.of(plan).gib <= self.most_gib else np.inf)

    def factors(self, rows: np.ndarray) -> LogFactors:
        question, edges = self.question, self.edges.of_rows(rows)
        free = question.free[:, rows[0]]
        h = (np.broadcast_to(question.model.h, question.free.shape) + question.tilt)[:, rows]
        units = np.flatnonzero(free).tolist()
        prior = {unit: np.stack([np.zeros(len(rows)), h[unit]]) for unit in units}
        there = free[edges.child] & free[edges.parent] & (edges.weight != 0).any(axis=1)
        width = int(there.sum()) // max(1, len(units))  # no graph of so many couplings has a smaller one
        if width > WIDEST_TABLE:
            raise TooWide(width)
        tables = {}
        for child, parent, weight in zip(edges.child[there], edges.parent[there], edges.weight[there], strict=True):
            table = np.zeros((2, 2, len(weight)))
            table[1, 1] = weight
            tables[int(child), int(parent)] = table
        structure = Structure(question.size, tuple(units), (), (), tuple(tables), tuple(prior))
        return LogFactors(rows, structure, prior, {}, {}, tuple(tables.values()), np.zeros(len(rows)), h)

    def sums(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        log_z, means = np.zeros(self.num_rows), np.zeros(self.question.free.shape)
        for some, found in self.answers():
            log_z[some.rows] = found.log_z
            means[found.units[:, None], some.rows] = found.means
        return log_z, means, np.zeros(means.shape)

    def pairs(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Rows, children and parents of couplings, and <S_i S_j> (couplings, rows), of some rows after others."""
        for members in self._of_one_form():
            for factors, order, units in members:
                tables = table_probabilities(factors, order)
                ends = units[np.array(factors.structure.tables, int).reshape(-1, 2)]
                both_on = np.array([table[-1] for table in tables]).reshape(-1, len(factors.rows))
                yield factors.rows, ends[:, 0], ends[:, 1], both_on


class MachineStateSum(StateSum):
    """A question about a Boltzmann machine, and what its exact answer will cost."""

    @cached_property
    def groups(self) -> list[Enumeration]:
        return enumerations(self.question)

    @cached_property
    def bits(self) -> int:
        return max((group.num_bits for group in self.groups), default=0)

    @cached_property
    def enumeration_seconds(self) -> float:
        return np.inf if self.bits > MOST_SUMMED else sum(group.seconds for group in self.groups)

    @cached_property
    def elimination(self) -> PairElimination:
        return PairElimination(self.question)

    def _fewest_steps(self) -> float:
        return float(sum(1 + len(group.units) for group in self.groups))

    def _compiling(self) -> float:
        return 0.0

    def _enumerated(self, dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        log_z, means = np.zeros(self.question.num_rows), np.zeros(self.question.free.shape)
        h = np.broadcast_to(self.question.model.h, means.shape) + self.question.tilt
        for group in self.groups:
            solve = partial(sum_row, group.W, group.cover)
            for row in group.rows:
                log_z[row], means[group.units, row], _ = solve(h[group.units, row])
        return log_z, means, np.zeros(means.shape)


class StateMoments(NamedTuple):
    """The sums over all states of every row, products of units included."""

    posterior: Posterior
    groups: list[tuple[Enumeration, list[np.ndarray]]]  # of each row of a group, <S_i S_j>

    def covariances(self, weights: np.ndarray) -> np.ndarray:
        """The weighted sum over rows of <S_i S_j> - <S_i> <S_j>, of units that are coupled."""
        means = self.posterior.means
        K = np.zeros((len(means), len(means)))
        for group, pairs in self.groups:
            for row, found in zip(group.rows, pairs, strict=True):
                u = means[group.units, row]
                K[np.ix_(group.units, group.units)] += weights[row] * np.where(group.W != 0, found - np.outer(u, u), 0)
        return K


def state_moments(part: Part) -> StateMoments | None:
    """By enumeration, or None where an elimination is quicker, or nothing else possible."""
    question = part.question
    exact = MachineStateSum(question)
    seconds = exact.enumeration_seconds
    if np.isinf(seconds) or seconds > max(QUICK_SECONDS, PairElimination(question).seconds):
        return None
    rows, h = question.num_rows, np.broadcast_to(question.model.h, question.free.shape) + question.tilt
    log_z, means, groups = np.zeros(rows), np.zeros(question.free.shape), []
    for group in exact.groups:
        found = [sum_row(group.W, group.cover, h[group.units, row], pairs=True) for row in group.rows]
        for row, each in zip(group.rows, found, strict=True):
            log_z[row], means[group.units, row] = each.log_z, each.means
        groups.append((group, [each.pairs for each in found]))
    steps = np.zeros(rows, int)
    about = About(is_bound=True, exact_rows=lambda: np.ones(rows, bool))
    return StateMoments(Posterior(means, -log_z, steps + CONVERGED, steps, steps, np.zeros(rows), about=about), groups)
