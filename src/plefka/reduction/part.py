"""Rows that are asked together, and what they leave to be added."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plefka.reduction.question import Question


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that are asked together: a question, and what it leaves to be added to ln P(evidence)."""

    rows: np.ndarray
    question: Question
    constant: Any  # (rows,)
    units: np.ndarray  # which unit of the network each is: (units of the question,) or the same for each row; -1: none
    needs_slope: bool = False  # whether d ln P / dh is wanted for the way back
    named: Any = None  # (units of the network,): those that a method names

    def take(self, rows: np.ndarray) -> "Part":
        """Some of the rows, by their places."""
        units = self.units if self.units.ndim == 1 else self.units[:, rows]
        return replace(
            self, rows=self.rows[rows], question=self.question.take(rows), constant=self.constant[rows], units=units
        )

    def narrowed(self, whole: np.ndarray) -> np.ndarray:
        """From (units of the network, rows) to (units of the question, rows); 0 for units that fill up."""
        if self.units.ndim == 1:
            return np.where(self.units[:, None] >= 0, whole[self.units], 0.0)
        return np.where(self.units >= 0, np.take_along_axis(whole, self.units, axis=0), 0.0)
