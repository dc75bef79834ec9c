"""A report as one HTML file that needs nothing else: no script, no font, no picture from elsewhere."""

import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from plefka.experiments.drawing import with_variables
from plefka.experiments.report import Figure, Section, Table, Text

WIDE = 6  # inches, from which on a drawing gets more room


def page(title: str, about: Sequence[str], sections: Sequence[Section], footer: Sequence[str]) -> str:
    """The whole file."""
    style = files("plefka.experiments").joinpath("report.css").read_text(encoding="utf-8")
    links = "".join(f'<li><a href="#{section.anchor}">{escape(section.title)}</a></li>' for section in sections)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            f"<header><h1>{escape(title)}</h1>",
            *(f'<p class="about">{escape(line)}</p>' for line in about),
            f'<nav aria-label="Sections"><ul>{links}</ul></nav></header>',
            "<main>",
            *(_section(section) for section in sections),
            "</main>",
            "<footer>",
            *(f"<p>{escape(line)}</p>" for line in footer),
            "</footer>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _section(section: Section) -> str:
    parts = "\n".join(_PARTS[type(part)](part) for part in section.parts)
    return f'<section id="{section.anchor}">\n<h2>{escape(section.title)}</h2>\n{parts}\n</section>'


def _text(text: Text) -> str:
    return f"<p>{escape(text.words)}</p>" if text.words else ""


def _table(table: Table) -> str:
    """With roles, since on a phone its rows are drawn as cards, and then browsers forget what it was."""
    numeric = [
        all(_is_number(row[column]) for row in table.rows) and any(row[column] for row in table.rows)
        for column in range(len(table.header))
    ]
    head = "".join(
        f'<th scope="col" role="columnheader"{_kind(number)}>{escape(name)}</th>'
        for name, number in zip(table.header, numeric, strict=True)
    )
    body = "\n".join(_row(table.header, row, numeric) for row in table.rows)
    return (
        f'<table role="table">\n<caption>{escape(table.caption)}</caption>\n'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead>\n'
        f'<tbody role="rowgroup">\n{body}\n</tbody>\n</table>'
    )


def _row(header: Sequence[str], row: Sequence[str], numeric: Sequence[bool]) -> str:
    first = f'<th scope="row" role="rowheader">{escape(row[0])}</th>'
    rest = "".join(
        f'<td role="cell" data-name="{escape(name)}"{_kind(number)}>{escape(value)}</td>'
        for name, value, number in list(zip(header, row, numeric, strict=True))[1:]
    )
    return f'<tr role="row">{first}{rest}</tr>'


def _kind(number: bool) -> str:
    return ' class="number"' if number else ""


def _is_number(text: str) -> bool:
    return not text or text[0] in "0123456789-\N{MINUS SIGN}"


def _figure(figure: Figure) -> str:
    drawings = [
        _drawing(panel.svg, f"{figure.name}-{number}", panel.alternative) for number, panel in enumerate(figure.panels)
    ]
    wide = " wide" if any(_width(panel.svg) > 72 * WIDE for panel in figure.panels) else ""
    caption = f"<figcaption>{escape(figure.caption)}</figcaption>"
    return f'<figure>\n<div class="panels{wide}">\n' + "\n".join(drawings) + f"\n</div>\n{caption}\n</figure>"


def _width(svg: str) -> float:
    found = re.search(r'viewBox="0 0 ([0-9.]+) ', svg)
    return float(found[1]) if found else 0.0


def _drawing(svg: str, prefix: str, alternative: str) -> str:
    svg = with_variables(svg, prefix)
    svg = re.sub(r'(<svg [^>]*?) (?:width|height)="[^"]*pt"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg [^>]*?) (?:width|height)="[^"]*pt"', r"\1", svg, count=1)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(alternative)}" ', 1)


_PARTS = {Text: _text, Table: _table, Figure: _figure}
