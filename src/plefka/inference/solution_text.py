"""What `print(solution)` and a notebook show."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from plefka.inference import solution_words as words
from plefka.inference.check_text import DIFFERENCE_COLUMNS, differences
from plefka.inference.ranking import ALL, CAUSES, Units, causes_first, ranked
from plefka.tables.display import HTML_ROWS, PRINTED_ROWS, Content, bar, page, text_page

TableOfText = tuple[tuple[str, ...], list[tuple[str, ...]], int]  # header, rows, and how many there are in all

if TYPE_CHECKING:
    from plefka.inference.check_verdict import Check
    from plefka.inference.solution import Solution


def solution_table(solution: "Solution") -> str:
    """The answer, how it was reached, and the means, causes first."""
    return text_page(_batch_content(solution) if solution.is_batch else _row_content(solution, PRINTED_ROWS, 6))


def _row_content(solution: "Solution", most: int, digits: int) -> Content:
    title, *sentences = [*answer_lines(solution), *observed_lines(solution, most)]
    header, rows, count = probability_table(solution, most, digits=digits)
    return Content(title, sentences, header if rows else (), rows, count)


def answer_lines(solution: "Solution") -> list[str]:
    """ln P(evidence) of a single row, how it was reached, and what speaks against it."""
    summed = words.kind_of(solution) == "exact" and not solution.num_steps
    restarts = f", best of {solution.num_restarts + 1} starts" if solution.num_restarts else ""
    steps = f"{solution.status.value} after {solution.num_steps} steps{restarts}, residual {solution.residual:.1e}"
    low, high = solution.log_partition_interval
    between = [f"95 % interval: {low:.6g} to {high:.6g}"] if -np.inf < low < high < np.inf else []
    how = words.method_and_kind(solution) + (words.frequency(solution) if solution.network.is_normalised else "")
    return [
        f"{words.quantity_of(solution)} = {solution.log_partition:.6f}  by {how}",
        *between,
        *(["summed over all states"] if summed and not solution.notes else [] if summed else [steps]),
        *solution.notes,
        *(f"warning: {doubt}" for doubt in words.doubts(solution)),
    ]


def observed_lines(solution: "Solution", most: int) -> list[str]:
    """'observed: fever=1, cough=0', or with the words of the states; no line where nothing is observed."""
    observed, states = np.flatnonzero(words.seen(solution)), words.given_states(solution)
    shown = [
        f"{solution.names[unit]}={states[unit][int(solution.means[unit] > 0.5)] if states else f'{value:.0f}'}"
        for unit, value in zip(observed[:most].tolist(), solution.magnetisations[observed], strict=False)
    ]
    implied = int(np.sum(solution.observed)) - len(observed) if solution.evidence.intervened is None else 0
    follows = f" ({implied:,} more units follow from these)" if implied else ""
    return [f"observed: {', '.join(shown)}{', ...' if len(observed) > most else ''}{follows}"] if shown else []


def probability_table(solution: "Solution", most: int, units: Units = ALL, digits: int = 6) -> TableOfText:
    """The hidden units, causes first: P(on | evidence), the prior where something is observed, and the accuracy."""
    order, priors = causes_first(solution, units)
    means, accuracy = np.asarray(solution.means), solution.accuracy
    probability = "P(state | evidence)" if words.given_states(solution) else "P(on | evidence)"
    with_prior = bool(np.isfinite(priors[order]).any() and solution.evidence.informed.any())
    rows = [
        (
            unit_and_state(solution, unit),
            words.probability_text(float(means[unit]), digits),
            *([words.probability_text(float(priors[unit]), digits)] if with_prior else []),
            str(accuracy[unit]),
        )
        for unit in order[:most].tolist()
    ]
    return ("unit", probability, *(["prior"] if with_prior else []), "accuracy"), rows, len(order)


def probabilities_by_method(solutions: "Sequence[Solution]", most: int, units: Units = ALL) -> TableOfText:
    """The same by several methods, in the order of the first, with a mark of those that are estimates."""
    first = solutions[0]
    order, _ = causes_first(first, units)
    rows = [
        (unit_and_state(first, unit), *(words.marked(solution, None, unit, 6) for solution in solutions))
        for unit in order[:most].tolist()
    ]
    probability = "P(state | evidence)" if words.given_states(first) else "P(on | evidence)"
    return (probability, *(str(solution.method) for solution in solutions)), rows, len(order)


def unit_and_state(solution: "Solution", unit: int) -> str:
    """A unit and the word for what it is when it is on, 'TnrSpply Low', where its states have words."""
    states = words.given_states(solution)
    return f"{solution.names[unit]} {states[unit][1]}" if states else solution.names[unit]


def _batch_content(solution: "Solution") -> Content:
    count, done = solution.num_rows, int(solution.converged.sum())
    accuracy, estimated = words.accuracies(solution), words.estimates(solution)
    rows = [
        (
            str(k),
            f"{solution.log_partition[k]:.6f}",
            accuracy[k],
            estimated[k],
            words.status_word(solution.status[k]),
            str(solution.num_steps[k]),
            f"{solution.residual[k]:.1e}",
        )
        for k in range(min(count, PRINTED_ROWS))
    ]
    quantity = words.quantity_of(solution)
    return Content(
        f"{count:,} rows by {words.method_and_kind(solution)}: {done:,} converged, "
        f"mean {quantity} = {solution.log_partition.mean():.6f}",
        [*solution.notes, *(f"warning: {doubt}" for doubt in words.doubts(solution))],
        ("row", quantity, "accuracy", "estimates", "status", "steps", "residual"), rows, count, "rows",
    )  # fmt: skip


# ---- What notebooks show of a solution and of its check --------------------------------------------------------------


def solution_html(solution: "Solution") -> str:
    """With bars; of a batch, with the most probable causes of its rows."""
    content = _batch_content(solution) if solution.is_batch else _row_content(solution, HTML_ROWS, 4)
    if solution.is_batch:
        causes = most_probable_units(solution, len(content.rows))
        rows = [(*row, best) for row, best in zip(content.rows, causes, strict=True)]
        header, legend = (*content.header, "most probable causes"), [words.LEGEND if "~" in "".join(causes) else ""]
    else:
        header, rows, legend = *with_bars(content.header, content.rows), []
    return page(
        content._replace(sentences=[*content.sentences, *_checked(solution), *legend], header=header, rows=rows)
    )


def with_bars(header: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """A table of probabilities with a bar behind each."""
    return (*header[:2], "", *header[2:]), [(*row[:2], bar(float(row[1] or "nan")), *row[2:]) for row in rows]


def _checked(solution: "Solution") -> list[str]:
    checks = words.checks_of(solution)
    if not solution.is_batch:
        return [f"check: {check.verdict}" for check in checks]
    return [f"check: {sum(c.trusted for c in checks):,} of {len(checks):,} rows are trusted"] if checks else []


def most_probable_units(solution: "Solution", rows: int, top: int = 3, units: Units = CAUSES) -> list[str]:
    """The most probable causes, or other units, of each of the first rows."""
    unit = {name: k for k, name in enumerate(solution.names)}
    return [
        ", ".join(
            f"{unit_and_state(solution, unit[name])} {words.marked(solution, row, unit[name], 3)}" for name, _ in best
        )
        for row, best in enumerate(ranked(solution, top, units, rows))
    ]


def check_html(check: "Check") -> str:
    """The verdict, and where draws and solution differ most."""
    found = differences(check)
    title = "Check: trusted" if check.trusted else "Check: not trusted"
    rows = [each.in_words() for each in found[:HTML_ROWS]]
    return page(Content(title, [check.verdict], DIFFERENCE_COLUMNS, rows, len(found)))
