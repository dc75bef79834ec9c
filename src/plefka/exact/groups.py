"""Rows that are eliminated together: in which groups, and what that costs."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from plefka.exact.elimination import Answer, eliminated
from plefka.exact.factors import Factors, TooManyParents
from plefka.exact.ordering import TooWide, plan
from plefka.exact.steps import Plan

STEP, ENTRY = 3e-5, 2e-8  # seconds of a step of an elimination, there and back, and of an entry of its tables
AT_ONCE = 2**22  # numbers of the largest table of all rows that are eliminated together
MOST_GIB = 1.0  # of memory
FEW_ROWS = 256  # of which all that was planned is kept until it is done


class Group(NamedTuple):
    """Rows that are eliminated together, and what that costs."""

    rows: np.ndarray
    seconds: float
    gib: float
    width: int
    planned: tuple[Factors, Plan] | None  # None where there are too many groups to keep this


class Elimination(ABC):
    """Rows in groups of the same structure; or why they cannot be eliminated."""

    @property
    def most_gib(self) -> float:
        """The limit, in memory."""
        return MOST_GIB

    @property
    @abstractmethod
    def num_rows(self) -> int: ...

    @abstractmethod
    def patterns(self) -> list[np.ndarray]:
        """Rows with the same free units, together."""

    @abstractmethod
    def factors(self, rows: np.ndarray) -> Factors:
        """Of rows of one pattern."""

    def groups(self, rows: np.ndarray) -> list[Group]:
        """How rows of one pattern are eliminated: all together."""
        return [self.group(rows)]

    def group(self, rows: np.ndarray) -> Group:
        """What it costs to eliminate these rows together."""
        planned = self._planned(rows)
        order = planned[1]
        chunks = -(-len(rows) // _rows_at_once(order))
        seconds = STEP * order.num_steps * chunks + ENTRY * order.entries * len(rows)
        kept = planned if self.num_rows <= FEW_ROWS else None
        return Group(rows, seconds, order.peak / 2**27, order.width, kept)

    def _planned(self, rows: np.ndarray) -> tuple[Factors, Plan]:
        factors = self.factors(rows)
        return factors, plan(factors.structure)

    @cached_property
    def _found(self) -> tuple[list[Group], str]:
        """All groups, or why it is out of reach."""
        try:
            groups = [group for rows in self.patterns() for group in self.groups(rows)]
        except TooManyParents as many:
            return [], f"elimination would need a table of 2^{many.parents + 1} entries for the parents of a unit"
        except TooWide as wide:
            return [], f"elimination would need tables of at least 2^{wide.width} entries"
        gib = max((group.gib for group in groups), default=0.0)
        if gib > self.most_gib:
            return [], f"elimination would take {gib:.3g} GiB of memory (the limit is {self.most_gib:.3g} GiB)"
        return groups, ""

    @property
    def refusal(self) -> str:
        """Why it is out of reach; empty where it is not."""
        return self._found[1]

    @property
    def width(self) -> int:
        """Of the largest table, the number of axes."""
        return max((group.width for group in self._found[0]), default=0)

    @property
    def seconds(self) -> float:
        """For all rows; infinite where it is out of reach."""
        return np.inf if self.refusal else sum(group.seconds for group in self._found[0])

    @property
    def row_seconds(self) -> float:
        """What the dearest row would take alone, at most; infinite where one of them is out of reach."""
        return np.inf if self.refusal else max((group.seconds for group in self._found[0]), default=0.0)

    def answers(self) -> Iterator[tuple[Factors, Answer]]:
        """Of some rows after others."""
        for group in self._found[0]:
            factors, order = group.planned or self._planned(group.rows)
            step = _rows_at_once(order)
            for first in range(0, len(factors.rows), step):
                some = factors.take(slice(first, first + step)) if step < len(factors.rows) else factors
                yield some, eliminated(some, order)


def _rows_at_once(plan: Plan) -> int:
    return int(max(1, min(AT_ONCE // 2**plan.width, MOST_GIB * 2**27 // max(plan.peak, 1.0))))
