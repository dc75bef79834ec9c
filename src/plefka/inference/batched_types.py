"""Types of what a solution has once for a single row of evidence, and once for each row of a batch.

Which of them it is depends on the evidence, and no type checker can know that. To a type checker these are therefore
both at once, so that neither `solution.log_likelihood < -3` of one row nor `solution.log_likelihood[0]` of a batch
needs a cast; while the program runs they are what their names say: `float | np.ndarray`, and so on.
"""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from plefka.inference.check_verdict import Check

    class NumberByRow(np.ndarray, float):  # pyright: ignore
        """A float, or an array with one for each row."""

    class Counts(np.ndarray, int):  # pyright: ignore
        """A whole number, or an array with one for each row."""

    class Flags(np.ndarray):
        """True or False, or an array with one for each row."""

    class Statuses(np.ndarray):
        """A `Status`, or an array with one for each row."""

        name: str
        value: str

    class Checks(Check, list[Check]):  # pyright: ignore
        """A `Check`, or a list with one for each row."""
else:
    NumberByRow, Counts, Flags = float | np.ndarray, int | np.ndarray, bool | np.ndarray
    Statuses, Checks = "Status | np.ndarray", "Check | list[Check]"
