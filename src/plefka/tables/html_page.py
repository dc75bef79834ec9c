"""One page of HTML that needs nothing else: text, tables and drawings in sections, on a screen, a phone and on paper.

All text is escaped, so that the names of units may be anything; a `Markup` alone stands as it is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from plefka.errors import MissingExtra
from plefka.tables.display import Content, Markup

try:
    from jinja2 import Environment, FileSystemLoader
    from markupsafe import escape
except ImportError as error:
    raise MissingExtra("jinja2", "data", "a page of HTML") from error

HERE = Path(__file__).parent
STYLE = (HERE / "html_page.css").read_text(encoding="utf-8")
LONG = 16  # letters, from which on a number with a remark may be broken into lines
WIDE = 6  # inches, from which on a drawing gets more room
# The colours on white paper, which drawings have, by their variables on the page.
VARIABLES = {colour: name for name, colour in re.findall(r"(--\w+): (#\w+)", STYLE.split("}")[0]) if name != "--paper"}


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    words: str


@dataclass(frozen=True)
class ReportTable:
    """Rows under a header; the first column names the row, the last one may explain it."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Panel:
    """A drawing, and the words for those who do not see it."""

    svg: str
    alternative: str


@dataclass(frozen=True)
class Figure:
    """Panels side by side, or below each other where there is no room."""

    name: str  # for files
    panels: Sequence[Panel]
    caption: str


@dataclass(frozen=True)
class Section:
    """A part of the page; a `Content` is what an answer of the library shows."""

    title: str
    parts: Sequence[Text | ReportTable | Content | Figure] = field(default_factory=tuple)


def html_page(title: str, about: Sequence[str], sections: Sequence[Section], footer: Sequence[str]) -> str:
    """The whole file; `about` and `footer` are the paragraphs before and after the sections."""
    pages = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    pages.globals.update(column_kinds=_column_kinds, is_wide=_is_wide, drawing=_drawing)
    return pages.get_template("html_page.html.jinja").render(
        title=title, style=Markup(STYLE), about=about, sections=sections, footer=footer
    )


def _column_kinds(table: ReportTable | Content) -> list[Markup]:
    """The class of every column, for the style sheet."""
    kinds = []
    for column in zip(*table.rows, strict=True):
        is_number = any(column) and all(not text or text[0] in "0123456789+-~\N{MINUS SIGN}" for text in column)
        long = " long" if max(map(len, column)) > LONG else ""
        kinds.append(Markup(f' class="number{long}"' if is_number else ""))
    return kinds or [Markup()] * len(table.header)


def _is_wide(figure: Figure) -> bool:
    widths = [re.search(r'viewBox="0 0 ([0-9.]+) ', panel.svg) for panel in figure.panels]
    return any(found is not None and float(found[1]) > 72 * WIDE for found in widths)


def _drawing(panel: Panel, prefix: str) -> Markup:
    """Without a size of its own, which the style sheet decides, and in its colours; no two parts share a name."""
    svg = panel.svg
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    for _ in ("width", "height"):
        svg = re.sub(r'(<svg\b[^>]*?) (?:width|height)="[^"]*pt"', r"\1", svg, count=1)
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{escape(panel.alternative)}"', 1))
