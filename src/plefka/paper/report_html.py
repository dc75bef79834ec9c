"""A report as one HTML file that needs nothing else: no script, no font, no picture from elsewhere."""

import re
from collections.abc import Sequence
from pathlib import Path

from plefka.errors import MissingExtra
from plefka.paper.drawings import with_variables
from plefka.paper.report import Figure, Panel, ReportTable, Section

try:
    from jinja2 import Environment, FileSystemLoader
    from markupsafe import Markup
except ImportError as error:
    raise MissingExtra("jinja2", "data", "the report of an experiment") from error

HERE = Path(__file__).parent
LONG = 16  # letters, from which on a number with a remark may be broken into lines
WIDE = 6  # inches, from which on a drawing gets more room


def page(title: str, about: Sequence[str], sections: Sequence[Section], footer: Sequence[str]) -> str:
    """The whole file."""
    pages = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    pages.globals.update(column_kinds=_column_kinds, is_wide=_is_wide, drawing=_drawing)
    style = Markup((HERE / "report.css").read_text(encoding="utf-8"))
    return pages.get_template("report.html.jinja").render(
        title=title, style=style, about=about, sections=sections, footer=footer
    )


def _column_kinds(table: ReportTable) -> list[Markup]:
    """The class of every column, for the style sheet."""
    return [_column_kind(column) for column in zip(*table.rows, strict=True)] or [Markup()] * len(table.header)


def _column_kind(column: Sequence[str]) -> Markup:
    if not any(column) or not all(map(_is_number, column)):
        return Markup()
    return Markup(' class="number long"' if max(map(len, column)) > LONG else ' class="number"')


def _is_number(text: str) -> bool:
    return not text or text[0] in "0123456789-\N{MINUS SIGN}"


def _is_wide(figure: Figure) -> bool:
    widths = [re.search(r'viewBox="0 0 ([0-9.]+) ', panel.svg) for panel in figure.panels]
    return any(found is not None and float(found[1]) > 72 * WIDE for found in widths)


def _drawing(panel: Panel, prefix: str) -> Markup:
    """Without a size of its own, which the style sheet decides."""
    svg = with_variables(panel.svg, prefix)
    for _ in ("width", "height"):
        svg = re.sub(r'(<svg [^>]*?) (?:width|height)="[^"]*pt"', r"\1", svg, count=1)
    label = Markup('<svg role="img" aria-label="{}" ').format(panel.alternative)
    return Markup(svg.replace("<svg ", label, 1))
