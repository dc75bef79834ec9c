"""From rows to the report. Nothing is computed here but means, and JAX is not needed."""

from collections.abc import Callable, Mapping
from pathlib import Path

from plefka.errors import InvalidInput
from plefka.paper import claims, error_and_time, figure_10, radius, studies, tables_and_figures
from plefka.paper.beside_printed import paper
from plefka.paper.plan import quick_label
from plefka.paper.report import FOLDER, drawing_names, markdown_page
from plefka.paper.store import StoredRows
from plefka.runtime import whole_files
from plefka.tables.html_page import Figure, Section, html_page

TITLE = "The paper again"
XML_HEADER = '<?xml version="1.0" encoding="utf-8"?>\n'
WHITE = '<rect width="100%" height="100%" fill="#ffffff"/>'

# Each section and the experiments of which it needs one at least.
SECTIONS: tuple[tuple[tuple[str, ...], Callable[[Mapping[str, StoredRows]], Section]], ...] = (
    (("table1", "table2", "learning"), claims.render),
    (("table1",), tables_and_figures.table1),
    (("table2",), tables_and_figures.table2),
    (("table1", "table2"), tables_and_figures.figures),
    (("learning",), figure_10.render),
    (("misprints",), studies.render_misprints),
    (("policies",), studies.render_policies),
    (("variants",), studies.render_variants),
    (("radius",), radius.render),
    (("methods",), error_and_time.render),
)


def sections(everything: Mapping[str, StoredRows]) -> list[Section]:
    """All that the rows allow."""
    return [render(everything) for needed, render in SECTIONS if any(name in everything for name in needed)]


def write(everything: Mapping[str, StoredRows], folder: Path, found: list[Section] | None = None) -> list[Path]:
    """report.html, which needs nothing else, and report.md with its drawings."""
    if not everything:
        raise InvalidInput(f"{folder}: there are no rows to draw. Run plefka reproduce --out {folder} first.")
    found = sections(everything) if found is None else found
    folder.mkdir(parents=True, exist_ok=True)
    quick = quick_label(everything)
    title, about = (f"{TITLE}: a quick run", [quick]) if quick else (TITLE, [])
    about += [
        "This report shows every table and figure of the experiments in section 4 of the paper, recomputed by plefka, "
        "next to the printed values. It also shows the correct second order and the effect of the misprints.",
        f"The paper: {paper()['title']}.",
    ]
    arguments = (title, about, found, [_origin_of(rows) for rows in everything.values()])
    for figure in (part for section in found for part in section.parts if isinstance(part, Figure)):
        write_drawings(figure, folder / FOLDER)
    paths = [folder / "report.html", folder / "report.md"]
    for path, make in zip(paths, (html_page, markdown_page), strict=True):
        whole_files.write(path, make(*arguments).encode())
    return paths


def write_drawings(figure: Figure, folder: Path) -> None:
    """A file for each panel, on white paper, as in a file a drawing does not know the colours around it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, panel in zip(drawing_names(figure), figure.panels, strict=True):
        end = panel.svg.index(">", panel.svg.index("<svg")) + 1
        text = f"{XML_HEADER}{panel.svg[:end]}{WHITE}{panel.svg[end:]}\n"
        whole_files.write(folder / name, text.encode())


def _origin_of(rows: StoredRows) -> str:
    about, where = rows.provenance, rows.provenance["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in where["packages"].items())
    state = "" if rows.complete else " Some blocks are still missing."
    return (
        f"{rows.name}: {len(next(iter(rows.columns.values()))):,} rows, seed {rows.settings['seed']}, settings "
        f"{about['hash']}, plefka {about['version']}, {about['last']}, {about['seconds']:.0f} s on "
        f"{where['processor']}, {where['cores']} cores, {where['system']}, Python {where['python']}, {packages}.{state}"
    )
