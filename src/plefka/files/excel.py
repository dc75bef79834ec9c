"""Causes and findings in one Excel file with a sheet for each; docs/formats.md has their columns.

A file is a zip archive of XML, and may promise anything, so what it unpacks to is looked at before it is read: openpyxl
reads a sheet row by row, but each row as a whole, and the list of all texts as a whole.
"""

import io
import zipfile
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

from plefka.errors import InvalidFile, InvalidInput, listed
from plefka.files.probability_tables import CAUSES, FINDINGS, check_activation, frames_of
from plefka.files.stored import GivenActivation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.diagnosis import diagnosis
from plefka.networks.probabilities import ProbabilityFrame
from plefka.runtime.extras import openpyxl, pandas

EXCEL_ROWS = 2**20 - 1  # that a sheet holds below its header
MOST_COLUMNS = 50
MOST_BYTES = 2**28  # of all parts of a file, unpacked
MOST_TEXT = 2**26  # of any part that is not a sheet
FEW_BYTES = 2**22  # a part that is no larger takes little memory whatever is in it
MOST_ELEMENTS = 10**5  # of one row, or of one text
PIECE = 2**16


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
        _check_archive(content)
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


def _check_archive(content: bytes) -> None:
    """Refuse a file that would take much memory, by the sizes that it promises and by a look at large parts."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
        size = sum(part.file_size for part in parts)
        if size > MOST_BYTES or len({part.filename for part in parts}) < len(parts):
            raise InvalidFile(
                f"an Excel file must have at most {MOST_BYTES:,} bytes unpacked, and every part once; got {size:,}. "
                "Save it as .csv."
            )
        for part in parts:
            if part.file_size > FEW_BYTES:
                _check_part(archive, part)


def _check_part(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    if not part.filename.lower().endswith((".xml", ".rels")):  # it may be named as a sheet all the same
        raise InvalidFile(
            f"pictures and the like must have at most {FEW_BYTES:,} bytes; got {part.file_size:,} in "
            f"{part.filename!r}. Remove it from the file, or save the sheets as .csv."
        )
    if part.file_size > MOST_TEXT and "sheets/" not in part.filename:
        raise InvalidFile(f"its part {part.filename!r} must have at most {MOST_TEXT:,} bytes; got {part.file_size:,}.")
    parser, count = expat.ParserCreate(), 0

    def start(name: str, _: object) -> None:
        nonlocal count
        count = 0 if name.rpartition(":")[2] in ("row", "si") else count + 1
        if count > MOST_ELEMENTS:
            raise InvalidFile(f"a row must have at most {MOST_ELEMENTS:,} cells; got more in {part.filename!r}.")

    parser.StartElementHandler = start
    with archive.open(part) as file:  # gives no more bytes than were promised
        while piece := file.read(PIECE):
            parser.Parse(piece, False)
    parser.Parse(b"", True)
