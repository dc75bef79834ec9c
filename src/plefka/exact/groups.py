"""Rows that are eliminated together: in which groups, and what that costs."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from plefka.errors import MethodDoesNotApply
from plefka.exact import cost
from plefka.exact.elimination import EliminationAnswer, eliminated, log_total
from plefka.exact.enumeration import REFUSED
from plefka.exact.log_factors import LogFactors, Structure, TooManyParents
from plefka.exact.ordering import TooWide, greedy_plan, thorough_plan
from plefka.exact.plans import Plan

FEW_ROWS = 256  # of which all that was planned is kept until it is done
MOST_WAITING, IN_CACHE = 16, 2**15  # orders whose groups wait for others, and numbers of a table of all that waited


class Cost(NamedTuple):
    """What an order of elimination costs."""

    num_steps: int
    entries: float
    stored: float
    width: int
    at_once: int  # rows
    gib: float

    @classmethod
    def of(cls, plan: Plan) -> "Cost":
        at_once = int(
            min(cost.ENTRIES_AT_ONCE // 2**plan.width, cost.MOST_GIB * cost.NUMBERS_PER_GIB // max(plan.peak, 1.0))
        )
        at_once = at_once if at_once >= cost.LEAST_AT_ONCE else 1  # a few take longer together than one by one
        return cls(plan.num_steps, plan.entries, plan.stored, plan.width, at_once, plan.least / cost.NUMBERS_PER_GIB)

    def seconds(self, rows: np.ndarray | int) -> np.ndarray:
        """Of so many rows together."""
        rows = np.asarray(rows)
        entry = np.where(self.stored * np.minimum(rows, self.at_once) <= cost.FEW_NUMBERS, cost.ENTRY, cost.ENTRY_AGAIN)
        return cost.STEP * self.num_steps * np.ceil(rows / self.at_once) + entry * self.entries * rows


class EliminationGroup(NamedTuple):
    """Rows that are eliminated together, and what that costs."""

    rows: np.ndarray
    order: Cost
    planned: "Planned | None"  # None where there are too many groups to keep this

    @property
    def seconds(self) -> float:
        return float(self.order.seconds(len(self.rows)))


class Planned(NamedTuple):
    """Rows of the same form, their order, and which units of the question theirs are."""

    factors: LogFactors
    order: Plan
    units: np.ndarray


class EliminationGroups(NamedTuple):
    """All groups, the rows that are out of reach, and why the first of these is."""

    groups: list[EliminationGroup]
    refused: np.ndarray  # (rows,)
    refusal: str


class Elimination(ABC):
    """Rows in groups of the same structure; or why they cannot be eliminated."""

    most_gib: ClassVar[float] = cost.MOST_GIB

    @property
    @abstractmethod
    def num_rows(self) -> int: ...

    @abstractmethod
    def patterns(self) -> list[np.ndarray]:
        """Rows with the same free units, together."""

    @abstractmethod
    def factors(self, rows: np.ndarray) -> LogFactors:
        """Of rows of one pattern."""

    def groups(self, rows: np.ndarray) -> list[EliminationGroup]:
        """How rows of one pattern are eliminated: all together."""
        return [self.group(rows)]

    def group(self, rows: np.ndarray) -> EliminationGroup:
        """What it costs to eliminate these rows together."""
        planned = self._planned(rows)
        return EliminationGroup(rows, Cost.of(planned.order), planned if self.num_rows <= FEW_ROWS else None)

    def plan(self, structure: Structure) -> Plan:
        """The order in which rows of this structure are eliminated; a good one is looked for where they take long."""
        quick = greedy_plan(structure)
        return quick if Cost.of(quick).seconds(self.num_rows) <= cost.PLANNED_AGAIN else thorough_plan(structure)

    def _planned(self, rows: np.ndarray) -> Planned:
        factors, units = self.factors(rows).numbered()
        return Planned(factors, self.plan(factors.structure), units)

    @cached_property
    def _found(self) -> EliminationGroups:
        groups, refused, refusal = [], np.zeros(self.num_rows, bool), ""
        for rows in self.patterns():
            some, why = self._groups_or_why_not(rows)
            groups += some
            refused[rows], refusal = bool(why), refusal or why
        return EliminationGroups(groups, refused, refusal)

    def _groups_or_why_not(self, rows: np.ndarray) -> tuple[list[EliminationGroup], str]:
        """Of rows of one pattern, or why they are out of reach."""
        try:
            groups = self.groups(rows)
        except TooManyParents as many:
            return [], f"elimination would need a table of 2^{many.parents + 1} entries for the parents of a unit"
        except TooWide as wide:
            return [], f"elimination would need tables of at least 2^{wide.width} entries"
        gib = max((group.order.gib for group in groups), default=0.0)
        if gib > self.most_gib:
            return [], f"elimination would take {gib:.3g} GiB of memory (the limit is {self.most_gib:.3g} GiB)"
        return groups, ""

    @property
    def refusal(self) -> str:
        """Why a row is out of reach; empty where none is."""
        return self._found.refusal

    @property
    def width(self) -> int:
        """Of the largest table, the number of axes."""
        return max((group.order.width for group in self._found.groups), default=0)

    @property
    def seconds(self) -> float:
        """For all rows; infinite where one of them is out of reach."""
        return np.inf if self.refusal else sum(group.seconds for group in self._found.groups)

    def seconds_for(self, count: int) -> float:
        """With so many copies of each row."""
        return np.inf if self.refusal else sum(float(g.order.seconds(count * len(g.rows))) for g in self._found.groups)

    def seconds_by(self, owner: np.ndarray, count: int) -> np.ndarray:
        """(count,): what the rows of each owner would take without the others; infinite where one is out of reach."""
        total = np.zeros(count)
        for group in self._found.groups:
            owned = np.bincount(owner[group.rows], minlength=count)
            total += np.where(owned > 0, group.order.seconds(owned), 0.0)
        total[owner[self._found.refused]] = np.inf
        return total

    @property
    def row_seconds(self) -> np.ndarray:
        """(rows,): what each would take alone."""
        return self.seconds_by(np.arange(self.num_rows), self.num_rows)

    def answers(self) -> Iterator[tuple[LogFactors, EliminationAnswer]]:
        """Of some rows after others."""
        for members in self._of_one_form():
            found, last = eliminated(LogFactors.joined([each.factors for each in members]), members[0].order), 0
            for factors, _, units in members:
                first, last = last, last + len(factors.rows)
                yield factors, found.take(slice(first, last), units)

    def log_totals(self) -> np.ndarray:
        """ln Z (rows,) alone."""
        found = np.zeros(self.num_rows)
        for members in self._of_one_form():
            factors = LogFactors.joined([each.factors for each in members])
            found[factors.rows] = log_total(factors, members[0].order)
        return found

    def _of_one_form(self) -> Iterator[list[Planned]]:
        """Groups with the same order, together, though they are about other units; all rows are in one of them."""
        if self.refusal:
            raise MethodDoesNotApply(REFUSED.format(self.refusal))
        waiting: dict[int, list[Planned]] = {}
        for some, at_once in self._in_chunks():
            members = waiting.setdefault(id(some.order), [])
            if sum(len(each.factors.rows) for each in (*members, some)) > at_once and members:
                yield members
                members = waiting[id(some.order)] = []
            members.append(some)
            if len(waiting) > MOST_WAITING:
                yield waiting.pop(next(iter(waiting)))
        yield from waiting.values()

    def _in_chunks(self) -> Iterator[tuple[Planned, int]]:
        """As many rows of a group as are eliminated at once, and how many it pays to eliminate with others."""
        for group in self._found.groups:
            planned, step = group.planned or self._planned(group.rows), group.order.at_once
            few = min(step, FEW_ROWS, IN_CACHE // 2**group.order.width)
            for first in range(0, len(group.rows), step):
                some = slice(first, first + step)
                yield planned._replace(factors=planned.factors.take(some)) if step < len(group.rows) else planned, few


def elimination_notes(width: int) -> tuple[str, ...]:
    """A sentence for the user, where units with several others were summed over."""
    return (f"summed by elimination, with tables of up to 2^{width} entries",) if width else ()
