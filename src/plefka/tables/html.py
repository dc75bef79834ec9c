"""What notebooks show of a solution, a check, a series, a network and a fit: small tables that need nothing else.

Colours are those of the page (currentColor on a transparent background), so that light and dark themes both work.
"""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plefka.tables.text import LEGEND, accuracies, doubts, marked, method_and_kind, quantity_of, status_word

if TYPE_CHECKING:
    from plefka.expansion.series import Series
    from plefka.inference.check_verdict import Check
    from plefka.inference.solution import Solution
    from plefka.learning.fitted import Fitted
    from plefka.networks.belief import BeliefNetwork
    from plefka.networks.boltzmann import BoltzmannMachine

HTML_ROWS = 20
TABLE_STYLE = "border-collapse:collapse;background:transparent;color:inherit;margin:.3em 0"
CELL = "padding:.15em .7em;text-align:{};border:0;background:transparent;color:inherit"
HEAD = ";border-bottom:1px solid currentColor;font-weight:600"
BAR = (
    '<span style="display:inline-block;width:6em;height:.65em;border:1px solid currentColor;border-radius:2px;'
    'vertical-align:middle"><span style="display:block;height:100%;width:{:.1f}%;background:currentColor;opacity:.55">'
    "</span></span>"
)


class Markup(str):
    """Text that is HTML already."""


class Content(NamedTuple):
    """A heading, sentences below it, and a table."""

    title: str
    sentences: Sequence[str]
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    total: int  # rows, of which some are shown
    of_what: str = "units"


def bar(probability: float) -> Markup:
    """A bar as long as a probability."""
    share = 100 * min(max(probability, 0.0), 1.0) if np.isfinite(probability) else 0.0
    return Markup(BAR.format(share))


def page(content: Content) -> str:
    """All of it; names and sentences are escaped."""
    more = content.total - len(content.rows)
    parts = [
        f'<div style="font-weight:600">{escape(content.title)}</div>',
        *(f"<div>{escape(sentence)}</div>" for sentence in content.sentences if sentence),
        _table(content.header, content.rows) if content.rows else "",
        f'<div style="opacity:.75">... and {more:,} more {escape(content.of_what)}</div>' if more > 0 else "",
    ]
    return f'<div style="overflow-x:auto">{"".join(parts)}</div>'


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(_cell("th", text, k, HEAD) for k, text in enumerate(header))
    lines = ("".join(_cell("td", text, k) for k, text in enumerate(row)) for row in rows)
    body = "".join(f'<tr style="background:transparent">{line}</tr>' for line in lines)
    return f'<table style="{TABLE_STYLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(tag: str, text: str, column: int, more: str = "") -> str:
    inner = text if isinstance(text, Markup) else escape(text)
    is_number = bool(column) and not isinstance(text, Markup) and text[:1] in "0123456789-+"
    return f'<{tag} style="{CELL.format("right" if is_number else "left")}{more}">{inner}</{tag}>'


# ---- solutions -------------------------------------------------------------------------------------------------------


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
    from plefka.inference.solution_tables import checks_of

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
    from plefka.inference.ranking import ranked

    unit = {name: k for k, name in enumerate(solution.names)}
    return [
        ", ".join(f"{name} {marked(solution, row, unit[name], 3)}" for name, _ in best)
        for row, best in enumerate(ranked(solution, 3, "causes", count))
    ]


def _legend(cells: Sequence[str]) -> str:
    """What the mark of an estimate means, where there is one."""
    return LEGEND if any("~" in cell for cell in cells) else ""


# ---- checks ----------------------------------------------------------------------------------------------------------


def check_html(check: "Check") -> str:
    """The verdict, and where draws and solution differ most."""
    from plefka.inference.check_differences import DIFFERENCE_COLUMNS, differences

    found = differences(check)
    title = "Check: trusted" if check.trusted else "Check: not trusted"
    rows = [each.in_words() for each in found[:HTML_ROWS]]
    return page(Content(title, [check.verdict], DIFFERENCE_COLUMNS, rows, len(found)))


# ---- series ----------------------------------------------------------------------------------------------------------


def series_html(series: "Series") -> str:
    """The verdict, and every order."""
    from plefka.expansion.series_tables import SERIES_COLUMNS, rows_of

    rows = rows_of(series)
    return page(Content(repr(series).strip("<>"), [series.verdict], SERIES_COLUMNS, rows, len(rows), "orders"))


# ---- networks and fits -----------------------------------------------------------------------------------------------


def network_html(network: "BeliefNetwork") -> str:
    """What each unit is; of a stack, its size."""
    from plefka.networks.units import rows_in_words

    title = repr(network).strip("<>")
    rows = [] if network.stack is not None else rows_in_words(network, HTML_ROWS)
    total = 0 if network.stack is not None else network.size
    return page(Content(title, [], ("unit", "kind", "parents", "numbers"), rows, total))


def fitted_html(fitted: "Fitted") -> str:
    """How learning ended, and some of its epochs."""
    about = [fitted.stopped.value, repr(fitted.network).strip("<>"), *(f"warning: {w}" for w in fitted.warnings)]
    shown = np.unique(np.linspace(0, fitted.epochs - 1, min(fitted.epochs, 10)).round().astype(int))
    names = ("epoch", "objective", "log_likelihood", "validation", "seconds")
    known = [name for name in names if name in fitted.history and np.isfinite(fitted.history[name]).any()]
    rows = [tuple(_epoch_text(name, fitted.history[name][k]) for name in known) for k in shown]
    header = [{"log_likelihood": "exact ln P"}.get(name, name) for name in known]
    return page(Content(f"Fitted by {fitted.method}: {fitted.epochs:,} epochs", about, header, rows, len(rows)))


def _epoch_text(name: str, value: np.ndarray) -> str:
    """One number; of a stack the best one."""
    best = float(np.fmax.reduce(np.atleast_1d(value)))
    return f"{best:.0f}" if name == "epoch" else f"{best:.1f}" if name == "seconds" else f"{best:.4f}"


def machine_html(machine: "BoltzmannMachine") -> str:
    """What a Boltzmann machine is, and the biases and neighbours of its first units."""
    rows = [] if machine.stack is not None else machine.rows_in_words(HTML_ROWS)
    return page(Content(repr(machine)[1:-1], (), ("unit", "bias", "coupled to"), rows, len(rows) and machine.size))
