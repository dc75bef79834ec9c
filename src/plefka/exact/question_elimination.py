"""The rows of a question, eliminated: of belief networks by tables and switches, of machines by couplings."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from plefka.exact.cost import MOST_GIB_OF_MACHINES, QUICK, STEP, STEPS_PER_EDGE, WIDEST_TABLE
from plefka.exact.elimination import EliminationAnswer, EliminationRun, by_rows
from plefka.exact.groups import Cost, Elimination, EliminationGroup
from plefka.exact.log_factors import FactorWriter, LogFactors, Structure, factors_of, grouped, patterns
from plefka.exact.ordering import TooWide, greedy_plan, strip_plan
from plefka.exact.plans import WANTED_FACTORS, Plan
from plefka.networks.edge_list import EdgeList
from plefka.reduction.question import PairModel, Question

Sums = tuple[np.ndarray, np.ndarray, np.ndarray]  # ln Z (rows,), the means and d ln Z / dh of all units (units, rows)


@dataclass(frozen=True, eq=False)
class QuestionElimination(Elimination):
    """The rows of a question."""

    question: Question

    @property
    def num_rows(self) -> int:
        return self.question.num_rows

    @cached_property
    def edges(self) -> EdgeList:
        return EdgeList.of(self.question.storage)

    def sums(self) -> Sums:
        log_z, means = np.zeros(self.num_rows), np.zeros(self.question.free.shape)
        slopes = np.zeros(means.shape)
        for some, found in self.answers():
            log_z[some.rows] = found.log_z
            means[found.units[:, None], some.rows] = found.means
            slopes[:, some.rows] = slopes_of(self.question, some, means[:, some.rows], found)
        return log_z, means, slopes


class BeliefElimination(QuestionElimination):
    """A table for each unit with its parents, or switches for noisy-or units."""

    def patterns(self) -> list[np.ndarray]:
        return patterns(self.question)

    def factors(self, rows: np.ndarray) -> LogFactors:
        return factors_of(self.question, self.edges, rows)

    def groups(self, rows: np.ndarray) -> list[EliminationGroup]:
        """Rows of one pattern: with the edges that any of them has, or those with the same edges together."""
        weight = self.edges.weight
        apart = [rows] if weight.shape[1] == 1 else [rows[some] for some in grouped(weight[:, rows] != 0)]
        if len(apart) > 1:
            seconds = STEP * STEPS_PER_EDGE * np.count_nonzero(weight[:, rows])
            try:
                together = self.group(rows)
            except TooWide:
                together = None
            if together is not None and together.seconds <= seconds and together.order.gib <= self.most_gib:
                return [together]
        return [self.group(some) for some in apart]


class PairElimination(QuestionElimination):
    """A table of four entries for each coupling of a Boltzmann machine."""

    most_gib = MOST_GIB_OF_MACHINES

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
            if plans and Cost.of(plans[0]).seconds(1) <= QUICK:
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

    def pairs(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Rows, children and parents of couplings, and <S_i S_j> (couplings, rows), of some rows after others."""
        for members in self._of_one_form():
            for factors, order, units in members:
                _, tables = by_rows(factors, order, EliminationRun.tables, (*WANTED_FACTORS, "table"))
                ends = units[np.array(factors.structure.tables, int).reshape(-1, 2)]
                both_on = np.array([table[-1] for table in tables]).reshape(-1, len(factors.rows))
                yield factors.rows, ends[:, 0], ends[:, 1], both_on


def slopes_of(
    question: Question, factors: LogFactors | FactorWriter, means: np.ndarray, found: EliminationAnswer | None
) -> np.ndarray:
    """d ln Z / dh of all units of some rows, of which `found` is known, if they were summed over."""
    slopes = np.zeros(means.shape)
    if isinstance(question.model, PairModel) or not question.model.activation.has_linear_log_off:
        return slopes
    counted = question.model.counted[:, factors.rows]
    on = np.where(question.free[:, factors.rows], means, question.values[:, factors.rows])
    x = np.where(factors.fields > 0, factors.fields, np.inf)
    odds = np.exp(-x) / -np.expm1(-x)  # 1 / (exp(x) - 1), which must not overflow
    slopes = np.where(counted, on * odds - (1 - on), 0.0)
    if found is not None:
        slopes[found.switched] = found.leak_slopes
    return slopes
