"""The page of a validation: its tables, and pictures of its calibration."""

from os import PathLike
from pathlib import Path
from typing import Any

from plefka.plots.answers import calibration
from plefka.plots.style import figure_of, to_svg
from plefka.runtime.whole_files import write
from plefka.tables.display import frame_in_words
from plefka.tables.html_page import Figure, Panel, ReportTable, Section, Text, html_page


def write_page(found: Any, path: str | PathLike[str]) -> None:
    """All tables of a `Validation`, and both calibrations as pictures beside theirs."""
    title, *_ = tables = found.tables()
    sections = [
        Section(name, [ReportTable("", *frame_in_words(table))]) for name, table in tables.items() if len(table)
    ]
    bins = {"First cause": found.first_calibration, "All causes": found.calibration}
    panels = [Panel(to_svg(figure_of(calibration(z, title=name))), f"{name}: calibration") for name, z in bins.items()]
    caption = "How often what was predicted came true, with intervals of 95 %; on the diagonal both agree."
    about = Text("Equal posteriors count as in a random order. What failed is a miss in ranks, and has no scores.")
    sections[0] = Section("Measures", [about, *sections[0].parts, Figure("calibration", panels, caption)])
    footer = [f"{name.replace('_', ' ')}: {value}" for name, value in found.about.items() if value]
    write(Path(path), html_page(title, found.notes, sections, footer).encode())
