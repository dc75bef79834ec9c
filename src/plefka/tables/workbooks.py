"""Sheets of Excel files, in and out.

An Excel file is a zip archive of XML, and may promise anything, so what it unpacks to is looked at before it is read:
openpyxl reads a sheet row by row, but each row as a whole, and the list of all texts as a whole.
"""

import io
import zipfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import chain
from typing import Any
from xml.parsers import expat

from plefka.errors import InvalidFile, InvalidInput
from plefka.runtime.extras import openpyxl

EXCEL_ROWS = 2**20 - 1  # that a sheet holds below its header
EXCEL_COLUMNS = 2**14
MOST_CELLS = 2**24  # of a sheet, empty ones among them
MOST_BYTES = 2**28  # of all parts of a file, unpacked
MOST_TEXT = 2**26  # of any part that is not a sheet
FEW_BYTES = 2**22  # a part that is no larger takes little memory whatever is in it
MOST_ELEMENTS = 10**5  # of one row, or of one text
PIECE = 2**16


def read_sheets(content: bytes, wanted: Callable[[list[str]], Collection[str]]) -> dict[str, list[tuple[int, list]]]:
    """The rows of sheets by their titles, with their numbers; none of sheets that are not wanted."""
    reader = openpyxl()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_archive(archive)
        book = reader.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        titles = wanted([sheet.title for sheet in book.worksheets])
        return {sheet.title: _rows(sheet) if sheet.title in titles else [] for sheet in book.worksheets}
    except InvalidFile:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise InvalidFile(f"cannot be read as an Excel file: {type(error).__name__}: {error}.") from error


def _rows(sheet: Any) -> list[tuple[int, list]]:
    """Rows that are not empty, at least as wide as the first; what a sheet says of its own size is not believed."""
    sheet.reset_dimensions()
    found, width, cells = [], 0, 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        filled = max((k + 1 for k, value in enumerate(row) if value not in (None, "")), default=0)
        width = width or filled
        cells += max(width, filled)
        if number > EXCEL_ROWS + 1 or filled > EXCEL_COLUMNS or cells > MOST_CELLS:
            raise InvalidFile(
                f"sheet {sheet.title!r} must have at most {EXCEL_ROWS:,} rows, {EXCEL_COLUMNS:,} columns and "
                f"{MOST_CELLS:,} cells; got more. Delete what is not part of the table."
            )
        if filled:
            found.append((number, [*row[:filled], *[None] * (width - filled)]))
    return found


def workbook(sheets: Mapping[str, tuple[Sequence[str], Iterable[Sequence]]], instead: str = ".csv") -> bytes:
    """The file of some sheets: {title: (header, rows)}; `instead` is what else to write where there is no room."""
    book = openpyxl().Workbook(write_only=True)
    for title, (header, rows) in sheets.items():
        with closing(book.create_sheet(title)) as sheet:
            for number, row in enumerate(chain([header], rows)):
                if number > EXCEL_ROWS or len(header) > EXCEL_COLUMNS:
                    raise InvalidInput(
                        f"an Excel sheet has at most {EXCEL_ROWS:,} rows and {EXCEL_COLUMNS:,} columns; got more. "
                        f"Save it as {instead}."
                    )
                sheet.append([_cell(sheet, value) for value in row])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _cell(sheet: Any, value: Any) -> Any:
    """Text stays text, even where it would be a formula; empty where a value is missing."""
    if not isinstance(value, str) and not getattr(value, "tzinfo", None):
        return None if value != value else str(value) if value in (float("inf"), -float("inf")) else value
    cells = openpyxl().cell
    cell = cells.WriteOnlyCell(sheet, cells.cell.ILLEGAL_CHARACTERS_RE.sub("\N{REPLACEMENT CHARACTER}", str(value)))
    cell.data_type = "s"
    return cell


def _check_archive(archive: zipfile.ZipFile) -> None:
    """Refuse a file that would take much memory, by the sizes that it promises and by a look at large parts."""
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
