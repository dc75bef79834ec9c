"""What `print(solution)` and a notebook show."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from plefka.inference.check_text import DIFFERENCE_COLUMNS, differences
from plefka.inference.ranking import ranked
from plefka.inference.solution_words import (
    LEGEND,
    accuracies,
    checks_of,
    doubts,
    estimates,
    kind_of,
    marked,
    method_and_kind,
    quantity_of,
    status_word,
)
from plefka.tables.display import HTML_ROWS, PRINTED_ROWS, Content, bar, page, text_table

if TYPE_CHECKING:
    from plefka.inference.check_verdict import Check
    from plefka.inference.solution import Solution


def solution_table(solution: "Solution") -> str:
    """The answer, how it was reached, and the means, most probable first."""
    return _batch_table(solution) if solution.is_batch else _single_table(solution)


def _single_table(solution: "Solution") -> str:
    lines = [
        f"{quantity_of(solution)} = {solution.log_partition:.6f}  by {method_and_kind(solution)}",
        _status_line(solution),
        *solution.notes,
        *(f"warning: {doubt}" for doubt in doubts(solution)),
    ]
    states = _states(solution)
    accuracy = dict(zip(solution.names, solution.accuracy, strict=True))
    hidden = [
        (f"{name}={states[name][1]}" if states else name, f"{mean:.6f}", str(accuracy[name]))
        for name, mean in solution.ranking(None, units="all")
    ]
    shown = hidden[:PRINTED_ROWS]
    observed = [
        f"{name}={states[name][round(solution.means[unit])] if states else f'{solution.magnetisations[unit]:.0f}'}"
        for unit, name in enumerate(solution.names)
        if solution.observed[unit]
    ]
    if observed:
        lines.append(f"observed: {', '.join(observed[:PRINTED_ROWS])}{', ...' if len(observed) > PRINTED_ROWS else ''}")
    if hidden:
        lines += ["", text_table(("unit", "P(state | evidence)" if states else "P(on | evidence)", "accuracy"), shown)]
    if len(hidden) > len(shown):
        lines.append(f"... and {len(hidden) - len(shown):,} more")
    return "\n".join(lines)


def _states(solution: "Solution") -> dict[str, tuple[str, str]]:
    """What off and on are called in each unit, where they have words."""
    given = getattr(solution.network, "given_states", None)
    return dict(zip(solution.names, given, strict=True)) if given else {}


def _status_line(solution: "Solution") -> str:
    if kind_of(solution) == "exact" and not solution.num_steps:
        return "summed over all states"
    restarts = f", best of {solution.num_restarts + 1} starts" if solution.num_restarts else ""
    return f"{solution.status.value} after {solution.num_steps} steps{restarts}, residual {solution.residual:.1e}"


def _batch_table(solution: "Solution") -> str:
    count = solution.num_rows
    shown = range(min(count, PRINTED_ROWS))
    accuracy, estimated = accuracies(solution), estimates(solution)
    rows = [
        (
            str(k),
            f"{solution.log_partition[k]:.6f}",
            accuracy[k],
            estimated[k],
            status_word(solution.status[k]),
            str(solution.num_steps[k]),
            f"{solution.residual[k]:.1e}",
        )
        for k in shown
    ]
    done = int(solution.converged.sum())
    lines = [
        f"{count:,} rows by {method_and_kind(solution)}: {done:,} converged, "
        f"mean {quantity_of(solution)} = {solution.log_partition.mean():.6f}",
        *solution.notes,
        *(f"warning: {doubt}" for doubt in doubts(solution)),
        "",
        text_table(("row", quantity_of(solution), "accuracy", "estimates", "status", "steps", "residual"), rows),
    ]
    return "\n".join([*lines, f"... and {count - len(rows):,} more"] if count > len(rows) else lines)


# ---- What notebooks show of a solution and of its check --------------------------------------------------------------


def solution_html(solution: "Solution") -> str:
    """The answer, how it was reached, and the most probable hidden units; of a batch, its rows."""
    return page(_of_batch(solution) if solution.is_batch else _of_row(solution))


def _of_row(solution: "Solution") -> Content:
    hidden = solution.ranking(None, units="all")
    observed = np.flatnonzero(solution.observed)
    states = [
        f"{solution.names[unit]} {'on' if solution.means[unit] > 0.5 else 'off'}" for unit in observed[:HTML_ROWS]
    ]
    given = f"observed: {', '.join(states)}{', ...' if len(observed) > HTML_ROWS else ''}" if states else ""
    accuracy = dict(zip(solution.names, map(str, solution.accuracy), strict=True))
    rows = [(name, f"{mean:.4f}", bar(mean), accuracy[name]) for name, mean in hidden[:HTML_ROWS]]
    warnings = [f"warning: {doubt}" for doubt in doubts(solution)]
    return Content(
        f"{quantity_of(solution)} = {solution.log_partition:.4f} by {method_and_kind(solution)}",
        [given, _status_text(solution), *solution.notes, *_checked(solution), *warnings],
        ("hidden unit", "P(on | evidence)", "", "accuracy"), rows, len(hidden),
    )  # fmt: skip


def _status_text(solution: "Solution") -> str:
    (status,) = np.atleast_1d(np.asarray(solution.status, object))
    return "" if solution.converged else f"not converged: {status.value}"


def _checked(solution: "Solution") -> list[str]:
    checks = checks_of(solution)
    if not solution.is_batch:
        return [f"check: {check.verdict}" for check in checks]
    return [f"check: {sum(c.trusted for c in checks):,} of {len(checks):,} rows are trusted"] if checks else []


def _of_batch(solution: "Solution") -> Content:
    log_partition, status = np.asarray(solution.log_partition), np.asarray(solution.status, object)
    count, done = len(log_partition), int(np.sum(solution.converged))
    shown = range(min(count, HTML_ROWS))
    best = _most_probable(solution, len(shown))
    accuracy = accuracies(solution)
    rows = [(str(k), f"{log_partition[k]:.4f}", accuracy[k], status_word(status[k]), best[k]) for k in shown]
    return Content(
        f"{count:,} rows by {method_and_kind(solution)}: {done:,} converged",
        [*solution.notes, *_checked(solution), *(f"warning: {doubt}" for doubt in doubts(solution)), _legend(best)],
        ("row", quantity_of(solution), "accuracy", "status", "most probable causes"), rows, count, "rows",
    )  # fmt: skip


def _most_probable(solution: "Solution", count: int) -> list[str]:
    """The three most probable causes of each of the first rows."""
    unit = {name: k for k, name in enumerate(solution.names)}
    return [
        ", ".join(f"{name} {marked(solution, row, unit[name], 3)}" for name, _ in best)
        for row, best in enumerate(ranked(solution, 3, "causes", count))
    ]


def _legend(cells: Sequence[str]) -> str:
    """What the mark of an estimate means, where there is one."""
    return LEGEND if any("~" in cell for cell in cells) else ""


def check_html(check: "Check") -> str:
    """The verdict, and where draws and solution differ most."""
    found = differences(check)
    title = "Check: trusted" if check.trusted else "Check: not trusted"
    rows = [each.in_words() for each in found[:HTML_ROWS]]
    return page(Content(title, [check.verdict], DIFFERENCE_COLUMNS, rows, len(found)))
