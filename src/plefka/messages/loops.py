"""`loops`: generalised belief propagation on short loops, in Boltzmann machines and in belief networks of small tables.

Rows that leave the same units free share their regions. All of them are swept together first; where that does not
settle, the double loop follows row by row (`region_beliefs`).
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from plefka.exact.cost import ENTRY_BUILT, REGION_BUILT, REGION_ENTRY, REGION_ROUND, REGION_SWEEPS
from plefka.exact.log_factors import LogFactors, TooManyParents, factors_of, grouped, patterns
from plefka.exact.ordering import TooWide
from plefka.exact.question_elimination import PairElimination
from plefka.messages.message_methods import Loops
from plefka.messages.region_beliefs import (
    RegionGraph,
    RegionMessages,
    log_sums,
    minima_of_bounds,
    plain_sweeps,
    states_of,
)
from plefka.messages.regions import Regions, TooManyRegions
from plefka.methods.method import does_not_apply
from plefka.methods.posterior import CONVERGED, IMPOSSIBLE, NOT_FINITE, OUT_OF_STEPS, Posterior
from plefka.networks.edge_list import EdgeList
from plefka.reduction.question import PairModel, Part, Question
from plefka.runtime.value_cache import cached_for

ENTRIES_SWEPT = 2**21  # of regions times rows that are swept together
MOST_HIDDEN_PARENTS = 14  # of a unit whose table is part of a region
PLAIN = 0.3  # of all sweeps, at most, before the double loop


def posterior(method: Loops, part: Part, *, dtype: str) -> Posterior:
    """Beliefs and Kikuchi's ln Z of every row."""
    question, rows = part.question, part.question.num_rows
    means, log_z, residual = np.where(question.free, np.nan, question.values), np.zeros(rows), np.zeros(rows)
    status, steps = np.full(rows, CONVERGED), np.zeros(rows, int)
    try:
        groups = region_groups(method, question)
    except TooManyRegions as many:
        smaller = "loops[joined=no], smc or bethe" if method.joined else "smc or bethe"
        raise does_not_apply(method, str(many), smaller) from None
    for factors, regions in groups:
        log_z[factors.rows] = factors.constant
        if not regions.outer:
            continue
        theta, at_once = _theta(factors, regions), max(1, ENTRIES_SWEPT // regions.entries)
        alike = grouped(np.isneginf(theta))
        for some in (places[k : k + at_once] for places in alike for k in range(0, len(places), at_once)):
            these, graph = factors.rows[some], RegionGraph(regions, ~np.isneginf(theta[:, some[0]]))
            if not graph.is_possible:
                log_z[these] = -np.inf
                continue
            found = _settled(method, graph, theta[:, some][graph.kept])
            log_z[these] += graph.log_partition(theta[:, some][graph.kept], found.values)
            units, on = _means(regions, graph, theta[:, some], found.values)
            means[units[:, None], these], residual[these], steps[these] = on, found.residual, found.steps
            status[these] = np.where(found.residual <= method.tol, CONVERGED, OUT_OF_STEPS)
    status = np.where(np.isneginf(log_z), IMPOSSIBLE, status)
    wrong = (status != IMPOSSIBLE) & (np.isnan(means).any(axis=0) | ~np.isfinite(log_z))
    status, free_energy = np.where(wrong, NOT_FINITE, status), -log_z.astype(dtype)
    return Posterior(means.astype(dtype), free_energy, status, steps, np.zeros_like(steps), residual)


def seconds(method: Loops, question: Question) -> float:
    """What an answer will take, about; infinite where there are too many regions."""
    try:
        groups = region_groups(method, question)
    except TooManyRegions:
        return np.inf
    sweeps = sum(len(factors.rows) * REGION_ENTRY * each.entries + REGION_ROUND for factors, each in groups)
    built = sum(REGION_BUILT * len(each.outer) + ENTRY_BUILT * each.entries for _, each in groups)
    return REGION_SWEEPS * sweeps + built


def region_groups(method: Loops, question: Question) -> list[tuple[LogFactors, Regions]]:
    """Rows with the same free units, and their regions; found once for a question."""
    form = (method.name, method.length, method.joined)
    return cached_for(question, form, lambda: list(_found_groups(method, question)))


def _found_groups(method: Loops, question: Question) -> Iterator[tuple[LogFactors, Regions]]:
    is_machine, edges = isinstance(question.model, PairModel), EdgeList.of(question.storage)
    there = question.free[edges.parent].any(axis=1) & (edges.weight != 0).any(axis=1)
    if not is_machine and np.bincount(edges.child[there], minlength=1).max() > MOST_HIDDEN_PARENTS:
        raise TooManyRegions(f"units have more than {MOST_HIDDEN_PARENTS} hidden parents")
    read = PairElimination(question).factors if is_machine else partial(factors_of, question, edges)
    for rows in grouped(question.free) if is_machine else patterns(question):
        try:
            factors = read(rows)
        except (TooManyParents, TooWide):
            raise TooManyRegions("units have too many neighbours") from None
        units, tables = factors.structure.free, factors.structure.tables
        yield factors, Regions.of(units, tables, method.length, joined=method.joined)


def _theta(factors: LogFactors, regions: Regions) -> np.ndarray:
    """ln of all factors, divided among the outer regions that contain their units, (states, rows).

    What the table of several units says of each alone, on average, is said once: the first messages then are better.
    """
    pieces = [np.zeros((2 ** len(region), len(factors.rows))) for region in regions.outer]
    alone = {unit: np.array(np.broadcast_to(log, (2, len(factors.rows)))) for unit, log in factors.prior.items()}
    tables: list[tuple[tuple[int, ...], np.ndarray]] = []
    for units, log in zip(factors.structure.tables, factors.tables, strict=True):
        for axis, unit in enumerate(units if np.isfinite(log).all() else ()):
            off, on = np.moveaxis(log, axis, 0)
            half = (on - off).mean(axis=tuple(range(log.ndim - 2))) / 2
            sign = np.array([-1.0, 1.0]).reshape(2, *(1,) * (log.ndim - 1 - axis))
            log = log - sign * half
            alone[unit] += sign.reshape(2, 1) * half
        tables.append((units, log))
    for units, log in (*(((unit,), log) for unit, log in alone.items()), *tables):
        among = set.intersection(*(regions.around[unit] for unit in units))
        for region in among:
            pieces[region] += log.reshape(2 ** len(units), -1)[states_of(regions.outer[region], units)] / len(among)
    return np.concatenate(pieces)


def _settled(method: Loops, graph: RegionGraph, theta: np.ndarray) -> RegionMessages:
    """Sweeps of all rows, and where these do not settle the double loop."""
    with np.errstate(all="ignore"):  # where sweeps diverge
        found = plain_sweeps(graph, theta, method.tol, max(1, int(PLAIN * method.max_steps)))
    for row in np.flatnonzero(~(found.residual <= method.tol)):
        left = max(1, method.max_steps - int(found.steps[row]))
        *_, last = minima_of_bounds(graph, theta[:, [row]], method.tol, left)
        found.values[:, row], found.residual[row] = last.values[:, 0], last.residual[0]
        found.steps[row] += last.steps[0]
    return found


def _means(regions: Regions, graph: RegionGraph, theta: np.ndarray, messages: np.ndarray) -> tuple[np.ndarray, ...]:
    """Units, and their beliefs (units, rows), each in the first outer region that contains it."""
    logs = theta[graph.kept] + graph.spread @ messages
    beliefs = np.zeros(theta.shape)
    beliefs[graph.kept] = np.exp(logs - log_sums(logs, graph.region_of)[graph.region_of])
    found = []
    for unit, numbers in regions.around.items():
        number = min(numbers)
        on = states_of(regions.outer[number], (unit,)) == 1
        found.append(beliefs[graph.first[number] : graph.first[number + 1]][on].sum(axis=0))
    return np.array([*regions.around], int), np.array(found)
