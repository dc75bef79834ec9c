"""Causes and findings in one Excel file with a sheet for each; docs/formats.md has their columns."""

import io
from collections.abc import Iterator
from typing import Any

from plefka.errors import InvalidFile, InvalidInput, listed
from plefka.files.excel_archive import check_archive
from plefka.files.probability_tables import CAUSES, FINDINGS, check_activation, frames_of
from plefka.files.stored import GivenActivation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.diagnosis import diagnosis
from plefka.networks.probabilities import ProbabilityFrame
from plefka.runtime.extras import openpyxl, pandas

EXCEL_ROWS = 2**20 - 1  # that a sheet holds below its header
MOST_COLUMNS = 50


def loads(content: bytes, activation: GivenActivation = None) -> BeliefNetwork:
    """The network in a file."""
    check_activation(activation)
    sheets = _sheets(content)
    return diagnosis(BeliefNetwork, *(_table(sheets, name) for name in (CAUSES, FINDINGS)))


def dumps(network: BeliefNetwork) -> bytes:
    """The file of a network."""
    frames = frames_of(network)
    if len(frames[FINDINGS]) > EXCEL_ROWS:
        raise InvalidInput(
            f"an Excel sheet has at most {EXCEL_ROWS:,} rows; this network has {len(frames[FINDINGS]):,} edges. "
            "Save it as .csv or .npz."
        )
    book = openpyxl().Workbook(write_only=True)
    for name, frame in frames.items():
        sheet = book.create_sheet(name)
        sheet.append(list(frame.columns))
        for row in frame.itertuples(index=False, name=None):
            sheet.append([None if value != value else value for value in row])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _sheets(content: bytes) -> dict[str, Any]:
    """The two sheets by their names in small letters; of others only the names."""
    reader = openpyxl()
    try:
        check_archive(content)
        book = reader.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheets = {sheet.title.strip().lower(): sheet for sheet in book.worksheets}
        return {name: list(_rows(sheet)) if name in (CAUSES, FINDINGS) else [] for name, sheet in sheets.items()}
    except InvalidFile:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise InvalidFile(f"cannot be read as an Excel file: {type(error).__name__}: {error}.") from error


def _rows(sheet: Any) -> Iterator[tuple]:
    """The rows of a sheet, as wide as the first one; what it says of its own size is not believed."""
    sheet.reset_dimensions()
    width = 0
    for number, row in enumerate(sheet.iter_rows(max_col=MOST_COLUMNS + 1, values_only=True)):
        if number == 0:
            width = max((k + 1 for k, word in enumerate(row) if word is not None), default=0)
        if number > EXCEL_ROWS or width > MOST_COLUMNS:
            raise InvalidFile(
                f"sheet {sheet.title!r} must have at most {EXCEL_ROWS:,} rows and {MOST_COLUMNS} columns; got more. "
                "Delete what is not part of the table."
            )
        yield row[:width]


def _table(sheets: dict[str, Any], name: str) -> ProbabilityFrame:
    if name not in sheets:
        there = listed(map(repr, sheets)) or "none"
        raise InvalidFile(f"there must be a sheet {name!r}; got {there}. Rename one.")
    header, *rows = sheets[name] or [()]
    frame = pandas().DataFrame(rows, columns=["" if word is None else str(word) for word in header], dtype=object)
    return ProbabilityFrame(frame, f"sheet {name}", row="row", first=2)
