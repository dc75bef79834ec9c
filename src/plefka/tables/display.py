"""Small tables as plain text, and as HTML for notebooks, which need nothing else.

Colours are those of the page (currentColor on a transparent background), so that light and dark themes both work.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

PRINTED_ROWS = 20
HTML_ROWS = 20
TABLE_STYLE = "border-collapse:collapse;background:transparent;color:inherit;margin:.3em 0"
CELL = "padding:.15em .7em;text-align:{};border:0;background:transparent;color:inherit"
HEAD = ";border-bottom:1px solid currentColor;font-weight:600"
BAR = (
    '<span style="display:inline-block;width:6em;height:.65em;border:1px solid currentColor;border-radius:2px;'
    'vertical-align:middle"><span style="display:block;height:100%;width:{:.1f}%;background:currentColor;opacity:.55">'
    "</span></span>"
)


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned: the first to the left, the others to the right."""
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    template = "  ".join(f"{{:{'>' if k else '<'}{width}}}" for k, width in enumerate(widths))
    first, *others = (template.format(*line).rstrip() for line in lines)
    return "\n".join([first, "-" * len(template.format(*header)), *others])


def frame_in_words(frame: Any) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a DataFrame as text."""
    rows = frame.to_numpy(object)
    return list(frame.columns), [[f"{z:.5g}" if isinstance(z, float) else str(z) for z in row] for row in rows]


def rows_by_sentence(sentences: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    """Every sentence once, with the rows that it is about."""
    found: dict[str, list[int]] = {}
    for row, some in enumerate(sentences):
        for sentence in some:
            found.setdefault(sentence, []).append(row)
    return found


# ---- HTML ------------------------------------------------------------------------------------------------------------


class Markup(str):
    """Text that is HTML already, to templates too."""

    def __html__(self) -> str:
        return self


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
    share = 100 * min(max(probability, 0.0), 1.0) if math.isfinite(probability) else 0.0
    return Markup(BAR.format(share))


def text_page(content: Content) -> str:
    """All of it as plain text."""
    more = content.total - len(content.rows)
    table = ["", text_table(content.header, content.rows)] if content.header else []
    end = [f"... and {more:,} more {content.of_what}"] if more > 0 else []
    return "\n".join([content.title, *content.sentences, *table, *end])


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


class ShownAnswer(ABC):
    """An answer that `print` and notebooks show as a title, sentences and a table."""

    @abstractmethod
    def _content(self) -> Content:
        """What both show."""

    def __str__(self) -> str:
        return text_page(self._content())

    def _repr_html_(self) -> str:
        return page(self._content())


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(_cell("th", text, k, HEAD) for k, text in enumerate(header))
    lines = ("".join(_cell("td", text, k) for k, text in enumerate(row)) for row in rows)
    body = "".join(f'<tr style="background:transparent">{line}</tr>' for line in lines)
    return f'<table style="{TABLE_STYLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(tag: str, text: str, column: int, more: str = "") -> str:
    inner = text if isinstance(text, Markup) else escape(text)
    is_number = bool(column) and not isinstance(text, Markup) and text[:1] in "0123456789-+"
    return f'<{tag} style="{CELL.format("right" if is_number else "left")}{more}">{inner}</{tag}>'
