"""Beliefs about regions that agree where regions overlap, and minimise Kikuchi's free energy.

With beliefs Q, the logarithms t of the factors, and the counts c_b of inner regions,

    F = sum_a <ln Q_a - t_a> + sum_b c_b <ln Q_b>,    ln Z = -min F

Messages l_ab of inner to outer regions make Q_a = exp(t_a + sum_b l_ab) / Z_a. With n_b outer regions around b, sweeps
move all of them towards what minimises F for b alone:

    ln Q_b = sum_a (ln Q_a(b) - l_ab) / (n_b + c_b),    l_ab <- l_ab + step (ln Q_b - ln Q_a(b))

Where they do not settle, a double loop does: terms with c_b < 0 are concave, and with tangents at the last beliefs
F has a bound that is convex. Its dual grows in every sweep with a step that is small enough, and F falls from bound to
bound (T. Heskes, K. Albers and B. Kappen, UAI 2003).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from plefka.messages.message_sweeps import GROW, SMALLEST_STEP, next_step
from plefka.messages.regions import Regions
from plefka.networks.index_arrays import mask_of

LARGEST_STEP, SWEEPS_WITH_GAIN = 0.5, 200  # of plain sweeps, which after so many must be twice as close as before
FIRST_CHANGE, ROUNDING = 0.1, 1e-12  # by which beliefs of the first bound may be off; of a dual, relative to it
UNDERFLOW = 1e-280  # sums of exponentials below which each has its own largest term


class RegionMessages(NamedTuple):
    """Messages, and how far they got."""

    values: np.ndarray  # (states of pairs, rows)
    residual: np.ndarray  # (rows,): by how much beliefs about the same units differ
    steps: np.ndarray


class RegionGraph:
    """Regions as flat arrays: the states of all outer ones, of all inner ones, and of all pairs (a, b).

    States that are not `possible` (states of outer regions,) are left out, and those that no other region then allows.
    """

    def __init__(self, regions: Regions, possible: np.ndarray):
        pairs = [(a, b) for b, above in enumerate(regions.above) for a in above]
        outer, inner = np.array(pairs, int).reshape(-1, 2).T
        sizes, inner_sizes = (np.array([2 ** len(units) for units in some], int) for some in regions[:2])
        first, inner_first, begins = (np.cumsum([0, *some]) for some in (sizes, inner_sizes, inner_sizes[inner]))
        self.first = first  # state of each outer region, among those of all of them
        row = [begins[k] + states_of(regions.outer[a], regions.inner[b]) for k, (a, b) in enumerate(pairs)]
        column = [first[a] + np.arange(2 ** len(regions.outer[a])) for a, _ in pairs]
        row, column = (np.concatenate([np.zeros(0, int), *some]) for some in (row, column))
        sum_out = sp.csr_array((np.ones(len(row)), (row, column)), shape=(begins[-1], first[-1]))
        place = np.repeat(inner_first[inner] - begins[:-1], inner_sizes[inner]) + np.arange(begins[-1])
        self.kept, allowed = _allowed(sum_out, place, int(inner_first[-1]), possible)
        pair = allowed[place]
        self.sum_out = sum_out[pair][:, self.kept]
        self.spread, self.counts = self.sum_out.T.tocsr(), regions.counts
        self.outer_of = np.repeat(outer, inner_sizes[inner])[pair]  # of each state of a pair
        self.place = (np.cumsum(allowed) - 1)[place[pair]]  # which state of an inner region it is
        self.region_of = np.repeat(np.arange(len(sizes)), sizes)[self.kept]
        self.inner_of = np.repeat(np.arange(len(inner_sizes)), inner_sizes)[allowed]
        ones, shape = np.ones(len(self.place)), (len(self.inner_of), len(self.place))
        self.gather = sp.csr_array((ones, (self.place, np.arange(len(ones)))), shape)
        self.number = np.bincount(inner, minlength=len(inner_sizes)).astype(float)
        self.is_possible = len(np.unique(self.region_of)) == len(sizes)
        inside = np.bincount(outer, minlength=len(sizes))  # inner regions of each outer one
        most = np.array([inside[above].max() for above in regions.above], float)
        self.share = (1 / most)[self.inner_of][self.place, None]  # of a step that all of them take at once

    def swept(self, theta: np.ndarray, messages: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, ...]:
        """ln Z_a, ln Q_a(b) of all pairs, and ln Q_b of all inner regions."""
        logs = theta + self.spread @ messages
        log_z = log_sums(logs, self.region_of)
        sums = self.sum_out @ np.exp(logs - log_z[self.region_of])
        if sums.min(initial=1.0) < UNDERFLOW:
            terms = self.sum_out.indices
            found = log_sums(logs[terms], np.repeat(np.arange(len(sums)), np.diff(self.sum_out.indptr)))
            found -= log_z[self.outer_of]
        else:
            found = np.log(sums)
        wanted = self.gather @ (found - messages) / (self.number + counts)[self.inner_of, None]
        return log_z, found, wanted - log_sums(wanted, self.inner_of)[self.inner_of]

    def log_partition(self, theta: np.ndarray, messages: np.ndarray) -> np.ndarray:
        """ln Z (rows,), whose error is of second order in that of the messages."""
        log_z, _, wanted = self.swept(theta, messages, self.counts)
        held = self.counts[self.inner_of, None] * wanted + self.gather @ messages
        return log_z.sum(axis=0) - (np.exp(wanted) * held).sum(axis=0)

    def dual(self, log_z: np.ndarray, messages: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """What the minimum of a convex free energy is at least, (rows,): that at these messages."""
        total, soft = self.gather @ messages, counts[:, None] > 0
        least = -log_sums(-total / np.where(soft, counts[:, None], 1.0)[self.inner_of], self.inner_of)
        constant = total[np.searchsorted(self.inner_of, np.arange(len(counts)))]  # the same in all states if not soft
        return np.where(soft, counts[:, None] * least, constant).sum(axis=0) - log_z.sum(axis=0)


def log_sums(logs: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """ln sum exp over the entries of each owner; these stand together, in order."""
    if not len(logs):
        return logs
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    top = np.maximum.reduceat(logs, first)
    return top + np.log(np.add.reduceat(np.exp(logs - top[owner]), first))


def states_of(region: tuple[int, ...], units: tuple[int, ...]) -> np.ndarray:
    """Which state of some of its units each state of a region has; the first unit counts most."""
    state, found = np.arange(2 ** len(region)), np.zeros(2 ** len(region), int)
    for unit in units:
        found = 2 * found + (state >> (len(region) - 1 - region.index(unit)) & 1)
    return found


def _allowed(sum_out: sp.csr_array, place: np.ndarray, size: int, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The states of outer and of inner regions that all regions allow."""
    while True:
        inner = ~mask_of(place[sum_out @ kept == 0], size)
        fewer = kept & (sum_out.T @ ~inner[place] == 0)
        if (fewer == kept).all():
            return kept, inner
        kept = fewer


def difference(new: np.ndarray, old: np.ndarray) -> np.ndarray:
    """(rows,): the largest difference of the logarithms of beliefs, as a change of a mean.

    A difference d of logarithms x counts as d / 4, and for large |x| as d / 4 |x|: unlikely states count as well.
    """
    return (np.abs(new - old) / (4 * np.maximum(np.abs(new), 1.0))).max(axis=0, initial=0.0)


def plain_sweeps(graph: RegionGraph, theta: np.ndarray, tol: float, max_steps: int) -> RegionMessages:
    """Sweeps of all rows; the step of each adapts, and is smaller where messages turn back."""
    rows = theta.shape[1]
    messages = before = np.zeros((len(graph.place), rows))
    step, steps, best, residual = np.full(rows, LARGEST_STEP), np.zeros(rows, int), np.inf, np.full(rows, np.inf)
    running = np.full(rows, bool((graph.number + graph.counts > 0).all()))
    for sweep in range(max_steps):
        _, found, wanted = graph.swept(theta, messages, graph.counts)
        residual = np.where(running, difference(wanted[graph.place], found), residual)
        if sweep % SWEEPS_WITH_GAIN == 0:
            running, best = running & (residual < best / 2), np.minimum(best, residual)
        running &= residual > tol  # nan has ended
        if not running.any():
            break
        change = np.where(running, wanted[graph.place] - found, 0.0)
        step = next_step(np, step, before, change, sweep, LARGEST_STEP)
        messages, before, steps = messages + step * change, change, steps + running
    return RegionMessages(messages, residual, steps)


def minima_of_bounds(
    graph: RegionGraph, theta: np.ndarray, tol: float, max_steps: int, within: float = np.inf
) -> Iterator[RegionMessages]:
    """The minimum of one bound of F after another, of a single row, until beliefs change by `tol` at most.

    `within`: how far from the minimum of a bound sweeps may end, at most; the change from the last bound is enough.
    """
    convex = np.maximum(graph.counts, 0.0)
    linear = ((convex - graph.counts) / graph.number)[graph.inner_of][graph.place, None]
    messages, sweeps, change, moved = np.zeros((len(graph.place), 1)), 0, 0.0, FIRST_CHANGE
    step = largest = 1 / graph.share.min(initial=1.0)
    beliefs = graph.swept(theta, messages, convex)[-1]
    while sweeps < max_steps:
        tangent = linear * beliefs[graph.place]
        bound, previous, best = theta + graph.spread @ tangent, messages, -np.inf
        within = max(min(within, moved), tol / 2)
        while True:
            (log_z, found, wanted), sweeps = graph.swept(bound, messages, convex), sweeps + 1
            dual = graph.dual(log_z, messages, convex)[0]
            if dual < best - ROUNDING * abs(best) and step > SMALLEST_STEP:
                step, messages = step / 2, previous + np.minimum(step / 2 * graph.share, 1.0) * change
                continue
            residual = difference(wanted[graph.place], found)[0]
            if not residual > within or sweeps >= max_steps:
                break
            best, step, previous, change = dual, min(step * (1 + GROW), largest), messages, wanted[graph.place] - found
            messages = messages + np.minimum(step * graph.share, 1.0) * change
        moved, beliefs = difference(wanted, beliefs)[0], wanted
        yield RegionMessages(messages + tangent, np.array([max(moved, residual)]), np.array([sweeps]))
        if max(moved, residual) <= tol:
            return
