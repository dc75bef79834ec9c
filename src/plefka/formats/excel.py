"""Causes and findings in one Excel file with a sheet for each; docs/formats.md has their columns."""

import io
import zipfile
from typing import Any

from plefka.errors import InvalidFile, InvalidInput, listed
from plefka.extras import openpyxl, pandas
from plefka.formats.probability_tables import CAUSES, FINDINGS, check_activation, frames_of
from plefka.formats.stored import GivenActivation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.diagnosis import diagnosis
from plefka.networks.probabilities import Table

MOST_ROWS = 2**20 - 1  # that a sheet holds below its header
MOST_BYTES = 2**30  # of a file, unpacked


def loads(content: bytes, activation: GivenActivation = None) -> BeliefNetwork:
    """The network in a file."""
    check_activation(activation)
    sheets = _sheets(content)
    return diagnosis(*(_table(sheets, name) for name in (CAUSES, FINDINGS)))


def dumps(network: BeliefNetwork) -> bytes:
    """The file of a network."""
    frames = frames_of(network)
    if len(frames[FINDINGS]) > MOST_ROWS:
        raise InvalidInput(
            f"a sheet of Excel holds {MOST_ROWS:,} rows; this network has {len(frames[FINDINGS]):,} edges. "
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
    """All sheets by their names in small letters."""
    reader = openpyxl()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(info.file_size for info in archive.infolist())
        if size > MOST_BYTES:
            raise InvalidFile(f"an Excel file must have at most {MOST_BYTES:,} bytes unpacked; got {size:,}.")
        book = reader.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        return {sheet.title.strip().lower(): list(sheet.iter_rows(values_only=True)) for sheet in book.worksheets}
    except InvalidFile:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise InvalidFile(f"cannot be read as an Excel file: {type(error).__name__}: {error}.") from error


def _table(sheets: dict[str, Any], name: str) -> Table:
    if name not in sheets:
        there = listed(map(repr, sheets)) or "none"
        raise InvalidFile(f"there must be a sheet {name!r}; got {there}. Rename one.")
    header, *rows = sheets[name] or [()]
    width = len(header)
    cells = [[*row[:width], *[None] * (width - len(row))] for row in rows]
    frame = pandas().DataFrame(cells, columns=["" if word is None else str(word) for word in header], dtype=object)
    return Table(frame, f"sheet {name}", row="row", first=2)
