"""Where the draws of a check and the solution differ, unit by unit: what `print(check)` shows."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plefka.tables.display import PRINTED_ROWS, text_table

if TYPE_CHECKING:
    from plefka.inference.check_verdict import Check

DIFFERENCE_COLUMNS = ("unit", "by the solution", "by the draws", "standard error", "difference")


class Difference(NamedTuple):
    """P(on | evidence) of a unit by the solution and by the draws."""

    unit: str
    solution: float
    draws: float
    error: float

    @property
    def size(self) -> float:
        """By how much the solution lies above the draws."""
        return self.solution - self.draws

    def in_words(self) -> tuple[str, str, str, str, str]:
        """As a row of a table."""
        size = round(self.size, 4) + 0.0  # no minus before zero
        return self.unit, f"{self.solution:.4f}", f"{self.draws:.4f}", f"{self.error:.1e}", f"{size:+.4f}"


def differences(check: "Check") -> list[Difference]:
    """Of every hidden unit, the largest difference first; none where the check does not know the solution's means."""
    if check.solution is None or check.estimated_means is None:
        return []
    columns = zip(
        check.solution.names, check.estimated_means.tolist(), check.means.tolist(), check.means_error.tolist()
    )
    found = [each for each in map(Difference._make, columns) if _is_hidden(each)]
    return sorted(found, key=lambda each: -abs(each.size) if np.isfinite(each.size) else -np.inf)


def _is_hidden(each: Difference) -> bool:
    """An observed unit is certain in both."""
    return not (each.error == 0 and each.solution == each.draws and each.draws in (0.0, 1.0))


def check_table(check: "Check") -> str:
    """The verdict, and below it the units."""
    found = differences(check)
    lines = [check.verdict]
    if found:
        lines += ["", text_table(DIFFERENCE_COLUMNS, [each.in_words() for each in found[:PRINTED_ROWS]])]
    if len(found) > PRINTED_ROWS:
        lines.append(f"... and {len(found) - PRINTED_ROWS:,} more units, which differ less")
    return "\n".join(lines)
