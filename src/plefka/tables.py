"""Plain text tables: what `print(solution)` shows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from plefka.errors import listed

if TYPE_CHECKING:
    from plefka.solution import Solution

MOST_ROWS = 20
SENTENCES = {"exact": "exact", "lower bound": "a lower bound", "estimate": "an estimate, not a bound"}


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned: the first to the left, the others to the right."""
    lines = [list(header), *[list(row) for row in rows]]
    widths = [max(len(line[k]) for line in lines) for k in range(len(header))]

    def format_line(line):
        first, *rest = (
            cell.rjust(width) if k else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        return "  ".join([first, *rest]).rstrip()

    return "\n".join(
        [format_line(lines[0]), "-" * len(format_line(["-" * w for w in widths])), *map(format_line, lines[1:])]
    )


def solution_table(solution: "Solution") -> str:
    """The answer, how it was reached, and the means, most probable first."""
    return _batch_table(solution) if solution.is_batch else _single_table(solution)


def kind_of(solution: "Solution") -> str:
    """'exact', 'lower bound' or 'estimate'."""
    if solution.is_exact:
        return "exact"
    return "lower bound" if solution.is_bound else "estimate"


def doubts(solution: "Solution") -> list[str]:
    """Every warning once; of a batch, with the rows that it is about."""
    if not solution.is_batch:
        return solution.warnings
    rows: dict[str, list[int]] = {}
    for row, warnings in enumerate(solution.warnings):
        for warning in warnings:
            rows.setdefault(warning, []).append(row)
    return [f"{warning} ({'row' if len(at) == 1 else 'rows'} {listed(at)})" for warning, at in rows.items()]


def _single_table(solution: "Solution") -> str:
    lines = [
        f"ln P(evidence) = {solution.log_likelihood:.6f}  ({solution.method}: {SENTENCES[kind_of(solution)]})",
        _status_line(solution),
        *solution.notes,
        *(f"warning: {doubt}" for doubt in doubts(solution)),
    ]
    hidden = [(name, f"{mean:.6f}") for name, mean in solution.ranking()]
    shown = hidden[:MOST_ROWS]
    observed = [
        f"{name}={solution.means[unit]:.0f}" for unit, name in enumerate(solution.names) if solution.observed[unit]
    ]
    if observed:
        lines.append(f"observed: {', '.join(observed[:MOST_ROWS])}{', ...' if len(observed) > MOST_ROWS else ''}")
    if hidden:
        lines += ["", text_table(("unit", "P(on | evidence)"), shown)]
    if len(hidden) > len(shown):
        lines.append(f"... and {len(hidden) - len(shown):,} more")
    return "\n".join(lines)


def _status_line(solution: "Solution") -> str:
    if solution.is_exact:
        return "summed over all states"
    restarts = f", best of {solution.num_restarts + 1} starts" if solution.num_restarts else ""
    return f"{solution.status.value} after {solution.num_steps} steps{restarts}, residual {solution.residual:.1e}"


def _batch_table(solution: "Solution") -> str:
    count = len(solution.log_likelihood)
    shown = range(min(count, MOST_ROWS))
    rows = [
        (
            str(k),
            f"{solution.log_likelihood[k]:.6f}",
            solution.status[k].name.lower().replace("_", " "),
            str(solution.num_steps[k]),
            f"{solution.residual[k]:.1e}",
        )
        for k in shown
    ]
    done = int(np.sum(solution.converged))
    lines = [
        f"{count:,} rows by {solution.method} ({SENTENCES[kind_of(solution)]}): {done:,} converged, "
        f"mean ln P(evidence) = {np.mean(solution.log_likelihood):.6f}",
        *solution.notes,
        *(f"warning: {doubt}" for doubt in doubts(solution)),
        "",
        text_table(("row", "ln P(evidence)", "status", "steps", "residual"), rows),
    ]
    return "\n".join([*lines, f"... and {count - len(rows):,} more"] if count > len(rows) else lines)
