"""Numbers in other pages, written from the rows: `python -m plefka.paper.pages RESULTS PAGE...`.

A page says `<!-- rows: NAME -->` and `<!-- end of rows -->`, and what stands between is replaced. Drawings that
it shows are written into the folder `figures` beside it.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from plefka.errors import InvalidInput
from plefka.paper import claims, error_and_time, figure_10, radius, render, store, studies, tables_and_figures
from plefka.paper.beside_printed import Cell, cells_by_column, decimals
from plefka.paper.report import FOLDER, captioned, markdown_figure, markdown_table
from plefka.paper.store import StoredRows
from plefka.paper.summary import percent, signed, wide
from plefka.runtime import whole_files
from plefka.tables.html_page import Figure, ReportTable, Section

FIGURES: dict[str, Callable[[Mapping[str, StoredRows]], Figure]] = {
    "methods figure": lambda everything: error_and_time.figure(everything["methods"]),
    "radius figure": lambda everything: radius.figure(everything["radius"]),
}
MARKED = re.compile(r"(<!-- rows: (?P<name>[\w ]+) -->\n).*?(\n<!-- end of rows -->)", flags=re.DOTALL)


def filled(text: str, everything: Mapping[str, StoredRows]) -> str:
    """The page with the numbers that the rows have now."""

    def replaced(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in CONTENT:
            raise InvalidInput(f"rows must be one of {', '.join(CONTENT)}; got {name!r}.")
        return f"{match[1]}\n{CONTENT[name](everything)}\n{match[3]}"

    return MARKED.sub(replaced, text)


def means(everything: Mapping[str, StoredRows]) -> str:
    """Both tables in one: ours, both ways of averaging where not all solves converged, and the paper's in brackets."""
    schemes = tables_and_figures.SIGMOID_METHODS
    rows = [
        (name, *(_mean(column[scheme]) if scheme in column else "" for scheme in schemes))
        for table in ("table1", "table2")
        for name, column in cells_by_column(everything[table]).items()
    ]
    table = markdown_table(ReportTable("", ("networks", *(f"`{scheme}`" for scheme in schemes)), rows))
    given = everything["table1"].settings
    about = (
        f"Means are over {given['networks']:,} networks of each kind, each solved from one start with at most "
        f"{given['max_steps']:,} evaluations. Where not all solves converged, both the mean over those that did and "
        "the mean over all are given, the latter with each search where it ended."
    )
    return f"{table}\n\n{about}"


def _mean(cell: Cell) -> str:
    digits, share = decimals(cell.table), percent(cell.ours.converged)
    every = f" over the {share} that converged, {wide(cell.ours.mean_of_all, digits)} over all"
    theirs = "" if cell.printed is None else f" ({signed(cell.printed, digits)})"
    return signed(cell.ours.mean, digits) + ("" if cell.ours.converged == 1 else every) + theirs


def second_order(everything: Mapping[str, StoredRows]) -> str:
    """Where G221 is closer to the truth than the other schemes, on the noisy-or networks of table 2."""
    parts = []
    for name, column in cells_by_column(everything["table2"]).items():
        found = {method: cell.ours for method, cell in column.items()}
        is_smallest = all(found["G221"].size < ours.size for method, ours in found.items() if method != "G221")
        sizes = ", ".join(
            f"`{method}` {ours.size:.5f}" + ("" if ours.converged == 1 else f" over {percent(ours.converged)}")
            for method, ours in found.items()
        )
        parts.append(f"- {name}: {'smallest' if is_smallest else 'not smallest'} for `G221` ({sizes})")
    networks = everything["table2"].settings["networks"]
    return (
        f"The mean of |𝓔| on {networks:,} noisy-or networks of each kind, over those on which a scheme converged (all, "
        "unless a share is given), is:\n\n" + "\n".join(parts)
    )


def _tables(section: Section) -> str:
    return "\n\n".join(captioned(part) for part in section.parts if isinstance(part, ReportTable))


def origin(everything: Mapping[str, StoredRows]) -> str:
    """Which run it is."""
    rows = everything["table1"]
    seconds = sum(each.provenance["seconds"] for each in everything.values())
    where = rows.provenance["machine"]
    return (
        f"Seed {rows.settings['seed']}, plefka {rows.provenance['version']}, {rows.provenance['last'][:10]}; "
        f"{seconds / 60:.0f} minutes in all on {where['cores']} cores ({where['processor']})."
    )


CONTENT: dict[str, Callable[[Mapping[str, StoredRows]], str]] = {
    "means": means,
    "claims": lambda everything: _tables(claims.render(everything)),
    "table1": lambda everything: _tables(tables_and_figures.table1(everything)),
    "table2": lambda everything: _tables(tables_and_figures.table2(everything)),
    "learning": lambda everything: _tables(figure_10.render(everything)),
    "verdict": lambda everything: figure_10.verdict(everything["learning"]),
    "verdict in short": lambda everything: figure_10.verdict(everything["learning"], ["objective"]),
    "step sizes": lambda everything: captioned(list(figure_10.tables(everything["learning"], "sigmoid"))[1]),
    "solves": lambda everything: figure_10.solves(everything["learning"]),
    "second order": second_order,
    "misprints": lambda everything: _tables(studies.render_misprints(everything)),
    "policies": lambda everything: _tables(studies.render_policies(everything)),
    "sequential": lambda everything: studies.one_at_a_time(everything["sequential"]),
    "origin": origin,
    "methods errors": lambda everything: error_and_time.means_table(everything, "size"),  # of |E|
    "methods means": lambda everything: error_and_time.means_table(everything, "means"),  # off by, of hidden units
    "methods times": error_and_time.times_table,
    "methods origin": error_and_time.origin,
    "radius": lambda everything: radius.answer(everything),
    "radius tables": lambda everything: _tables(radius.render(everything)),
    **{name: lambda everything, figure=figure: markdown_figure(figure(everything)) for name, figure in FIGURES.items()},
}


def main(arguments: Sequence[str]) -> int:
    folder, *pages = map(Path, arguments)
    everything = store.read(folder)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        whole_files.write(page, filled(text, everything).encode())
        for name, figure in FIGURES.items():
            if f"rows: {name} " in text:
                render.write_drawings(figure(everything), page.parent / FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
