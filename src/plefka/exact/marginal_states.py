"""The most probable states of some units where others are summed out, by branch and bound.

Sums must be taken before maxima. An elimination that takes some maxima before sums, to keep its tables small, has a
result that is never too low: a bound of all states in which some units are fixed, and the truth where none of those
units is left. States are fixed unit by unit, where the bound is highest first (Park and Darwiche, 2003).
"""

import heapq
from functools import lru_cache, partial
from itertools import count as counted
from typing import Any

import numpy as np

from plefka.exact.best_states import BestStates
from plefka.exact.cost import ENTRIES_AT_ONCE, ENTRY, ONE_WAY, STEP
from plefka.exact.elimination import EliminationRun, log_total
from plefka.exact.elimination_steps import Sum
from plefka.exact.log_factors import LogFactors, Structure
from plefka.exact.ordering import PlanWriter, TooWide, planned
from plefka.exact.plans import Cluster, Plan

WIDEST = 15  # axes that a table may have so that sums come before maxima
SEARCH_SECONDS = 2.0  # of a search, predicted from its tables


@lru_cache(maxsize=16)
def _late(structure: Structure, late: frozenset[int]) -> Plan:
    """An order that takes some units after all others, while the tables of these have few axes."""

    def cost(writer: PlanWriter, axis: int) -> tuple:
        near = len(writer.near[axis])
        return near > WIDEST, axis in late, near

    return planned(structure, cost)


class _MixedRun(EliminationRun):
    """Sums over units, and maxima over those that are chosen."""

    goes_back = False

    def __init__(self, chosen: frozenset[int], *others: Any):
        super().__init__(*others)
        self.chosen = chosen

    def forwards(self, cluster: Cluster) -> tuple[np.ndarray, list]:
        own, last = self.a, cluster.steps[-1]
        self.a = own._replace(plus=np.maximum) if isinstance(last, Sum) and last.unit in self.chosen else own
        found = super().forwards(cluster)
        self.a = own
        return found


class MarginalSearch:
    """States of the chosen units of a row; may raise `TooWide` where no order has tables that fit."""

    def __init__(self, factors: LogFactors, chosen: np.ndarray):
        self.factors, self.chosen = factors, chosen
        try:
            self.plan = _late(factors.structure, frozenset(chosen.tolist()))
        except TooWide:  # any order, and bounds that are less tight
            self.plan = _late(factors.structure, frozenset())
        self.row_seconds = ENTRY * self.plan.entries + STEP * ONE_WAY * self.plan.num_steps
        place = {unit: k for k, unit in enumerate(chosen.tolist())}
        sums = (step.unit for cluster in self.plan.clusters for step in cluster.steps if isinstance(step, Sum))
        self.order = [place[unit] for unit in sums if unit in place]  # in which units are fixed

    def log_joint(self, states: np.ndarray) -> np.ndarray:
        """(rows,) of states (rows, chosen units), nan for units that are not fixed: there, a bound of all of them."""
        rows, logs, step = len(states), self.factors, max(1, ENTRIES_AT_ONCE // 2 ** (self.plan.width + 2))
        if rows > step:
            return np.concatenate([self.log_joint(states[k : k + step]) for k in range(0, rows, step)])
        prior = {unit: np.repeat(log, rows, axis=1) for unit, log in logs.prior.items()}
        for unit, state in zip(self.chosen.tolist(), states.T, strict=True):
            prior[unit][0, state == 1], prior[unit][1, state == 0] = -np.inf, -np.inf
        constant = np.repeat(logs.constant, rows)
        logs = logs._replace(rows=np.arange(rows), prior=prior, constant=constant, fields=np.zeros((0, rows)))
        return log_total(logs, self.plan, partial(_MixedRun, frozenset(self.chosen.tolist())))

    def best(self, count: int) -> tuple[BestStates, float]:
        """States that are proven to be the best, in order, and a bound of all others; fewer where it takes long."""
        size, number = len(self.chosen), counted()
        start = np.full((1, size), np.nan)
        waiting = [(-float(self.log_joint(start)[0]), next(number), start[0])]
        states, logs, left = [], [], SEARCH_SECONDS
        while waiting and len(states) < count and left > 0 and waiting[0][0] < np.inf:
            bound, _, state = heapq.heappop(waiting)
            free = [unit for unit in self.order if np.isnan(state[unit])]
            if not free:
                states.append(state)
                logs.append(-bound)
                continue
            two = np.repeat(state[None], 2, axis=0)
            two[:, free[0]] = 0, 1
            left -= 2 * self.row_seconds
            for log, each in zip(self.log_joint(two).tolist(), two, strict=True):
                heapq.heappush(waiting, (-log, next(number), each))
        rest = -waiting[0][0] if waiting else -np.inf
        return BestStates.of(states, logs, logs, size), rest
