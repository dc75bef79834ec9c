"""The most probable states of a row: by enumeration, or by an elimination that takes maxima where others add up.

Further states come from maxima over all states with one unit on, or off, which the way back finds for every unit: the
next best state is the best one in which some unit is in its other state. The states that are left are then split by
that unit, and each part is eliminated again along the same plan (Yanover and Weiss, 2004).
"""

import heapq
from itertools import count as counted
from typing import Any, NamedTuple

import numpy as np

from plefka.exact.elimination import EliminationRun
from plefka.exact.elimination_steps import LOGARITHMS
from plefka.exact.log_factors import LogFactors
from plefka.exact.plans import Plan
from plefka.exact.posterior_draws import EliminationDraws
from plefka.exact.state_terms import StateTerms
from plefka.exact.states import states_in_blocks

MAXIMA = LOGARITHMS._replace(plus=np.maximum)


class BestStates(NamedTuple):
    """States of a row, the most probable first; those of probability zero are left out."""

    states: np.ndarray  # (count, units)
    log_joint: np.ndarray  # (count,)
    bound: np.ndarray  # (count,): what ln P of the state in this place cannot exceed

    @classmethod
    def of(cls, states: Any, log_joint: Any, bound: Any, size: int) -> "BestStates":
        """In order; a later state is no more probable than what bounds an earlier one."""
        states, log_joint = np.asarray(states, float).reshape(len(log_joint), size), np.asarray(log_joint, float)
        order = np.argsort(-log_joint, kind="stable")
        order = order[log_joint[order] > -np.inf]
        bound = np.minimum.accumulate(np.asarray(bound, float))[: len(order)]
        return cls(states[order], log_joint[order], np.maximum(bound, log_joint[order]))


def enumerated(terms: StateTerms, count: int) -> BestStates:
    """By looking at all states."""
    size, parts = len(terms.units), len(terms.units) + len(terms.fields) + len(terms.tables)
    states, logs = np.zeros((size, 0), int), np.zeros(0)
    for block in states_in_blocks(size, parts):
        states, logs = np.concatenate([states, block], axis=1), np.append(logs, terms.log_joint(block))
        best = np.argsort(-logs, kind="stable")[:count]
        states, logs = states[:, best], logs[best]
    return BestStates.of(states.T, logs, logs, size)


def eliminated(factors: LogFactors, plan: Plan, count: int) -> BestStates:
    """By elimination with maxima, of a single row."""
    found, number = [_part(factors, plan, {}, splits=count > 1)], counted()
    waiting = [(-found[0].next_best, next(number), found[0])]
    while len(found) < count and waiting and waiting[0][0] < np.inf:
        part = heapq.heappop(waiting)[-1]
        unit, state = part.next_unit, int(part.state[part.next_unit])
        found.append(_part(factors, plan, {**part.fixed, unit: 1 - state}, splits=True))
        if len(found) < count:
            for new in (found[-1], _part(factors, plan, {**part.fixed, unit: state}, splits=True)):
                heapq.heappush(waiting, (-new.next_best, next(number), new))
    logs = [part.log_joint for part in found]
    return BestStates.of([part.state for part in found], logs, logs, len(factors.structure.free))


class _Part(NamedTuple):
    """All states in which some units are fixed: the best of them, and where the next best differs from it."""

    fixed: dict[int, int]
    state: np.ndarray  # (units,)
    log_joint: float
    next_best: float
    next_unit: int


def _part(factors: LogFactors, plan: Plan, fixed: dict[int, int], *, splits: bool) -> _Part:
    prior = dict(factors.prior)
    for unit, state in fixed.items():
        prior[unit] = np.where(np.arange(2)[:, None] == state, prior[unit], -np.inf)
    factors = factors._replace(prior=prior)
    choice = _BestChoices(factors, plan, MAXIMA, 1, np.random.default_rng(0))
    log_joint, states = float(choice.total()[0]), choice.of_units()
    state = np.array([int(states[unit][0]) for unit in range(len(prior))])
    if not splits:
        return _Part(fixed, state, log_joint, -np.inf, -1)
    run = EliminationRun(factors, plan, MAXIMA)
    run.answer()
    maxima = np.stack([run.weights[unit][:, 0] for unit in range(len(prior))], axis=1)
    with np.errstate(invalid="ignore"):
        other = maxima[1 - state, np.arange(len(state))] - maxima.max(axis=0)
    unit = int(np.argmax(np.nan_to_num(other, nan=-np.inf)))
    return _Part(fixed, state, log_joint, log_joint + other[unit], unit)


class _BestChoices(EliminationDraws):
    """Where a draw would choose in proportion, the larger entry; the state is off where both are the same."""

    def _chance(self, of: np.ndarray, other: np.ndarray) -> np.ndarray:
        return of > other
