"""Spreadsheets of causes and findings: two CSV files, or one of Excel; docs/formats.md has their columns.

An Excel file is a zip archive of XML, and may promise anything, so what it unpacks to is looked at before it is read:
openpyxl reads a sheet row by row, but each row as a whole, and the list of all texts as a whole.
"""

import io
import warnings
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

import numpy as np

from plefka.errors import InvalidFile, InvalidInput, listed
from plefka.files.native_schema import GivenActivation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.diagnosis import CAUSE, FINDING, IMPLIES, ITS_CAUSE, ProbabilityFrame, diagnosis
from plefka.runtime.extras import openpyxl, pandas

if TYPE_CHECKING:
    import pandas as pd

CAUSES, FINDINGS = "causes", "findings"
NAMES = {*CAUSE, *FINDING, *ITS_CAUSE, *IMPLIES}  # of columns that hold names
LARGEST_PROBABILITY = np.nextafter(1.0, 0.0)  # the largest probability that is not certain
ENDINGS = tuple(f"{table}.csv" for table in (CAUSES, FINDINGS))
EXCEL_ROWS = 2**20 - 1  # that a sheet holds below its header
MOST_COLUMNS = 50
MOST_BYTES = 2**28  # of all parts of a file, unpacked
MOST_TEXT = 2**26  # of any part that is not a sheet
FEW_BYTES = 2**22  # a part that is no larger takes little memory whatever is in it
MOST_ELEMENTS = 10**5  # of one row, or of one text
PIECE = 2**16


def check_activation(given: GivenActivation) -> None:
    """Tables of causes and findings have one activation only."""
    if given is not None and getattr(given, "name", None) != "noisy_or":
        raise InvalidFile(
            "tables of causes and findings always define a noisy-or network. Load them without `activation`."
        )


def check_writable(network: BeliefNetwork) -> None:
    """Only noisy-or networks whose edges all switch on are tables of probabilities."""
    if network.activation.name != "noisy_or" or network.stack is not None:
        kind = network.activation.name if network.stack is None else f"a stack of {network.stack}"
        raise InvalidInput(
            f"tables of causes and findings store a single noisy-or network; got {kind}. Save it as .json or .npz."
        )
    if any((weights < 0).any() for weights in network.storage.leaves()):
        raise InvalidInput(
            "tables of causes and findings store probabilities, and a negative weight is not one. "
            "Save the network as .json or .npz."
        )
    spaced = next((name for name in network.names if name != name.strip()), None)
    if spaced is not None:
        raise InvalidInput(f"names in a spreadsheet must not begin or end with a space; got {spaced!r}. Rename it.")


def frames_of(network: BeliefNetwork) -> dict[str, "pd.DataFrame"]:
    """Units without parents and their priors; the edges of the others, with the leak in the first row of each."""
    check_writable(network)
    child, parent, weight = network.storage.edge_list()
    order = np.lexsort((parent, child))
    child, parent, weight = child[order], parent[order], weight[order, 0]
    names, probability = np.array(network.names, dtype=object), _probability(np.asarray(network.bias, float))
    roots = np.ones(network.size, bool)
    roots[child] = False
    first = np.diff(child, prepend=-1) != 0
    leak = np.where(first, probability[child], np.nan)
    findings = {"finding": names[child], "cause": names[parent], "probability": _probability(weight), "leak": leak}
    findings = pandas().DataFrame(findings)
    if network.hierarchy is not None:  # a unit that no cause switches on and that implies others is a finding too
        unit, general = network.hierarchy.pairs.T
        if roots[unit[np.isin(unit, parent)]].any():
            raise InvalidInput("in a spreadsheet only findings imply others, and not causes. Save it as .json or .npz.")
        alone = np.where(roots[unit], probability[unit], np.nan)
        roots[unit] = False
        pairs = pandas().DataFrame({"finding": names[unit], "leak": alone, "implies": names[general]})
        findings = pandas().concat([findings, pairs])
    causes = {"cause": names[roots], "prior": probability[roots]}
    return {CAUSES: pandas().DataFrame(causes), FINDINGS: findings}


def _probability(fields: Any) -> np.ndarray:
    """1 - exp(-x); what is not certain stays so where it rounds to 1."""
    return np.where(np.isinf(fields), 1.0, np.minimum(-np.expm1(-fields), LARGEST_PROBABILITY))


# ---- CSV -------------------------------------------------------------------------------------------------------------


def csv_files(path: Path) -> tuple[Path, Path]:
    """The two files that a name stands for: causes and findings.

    NET.csv, NET.causes.csv and NET.findings.csv all stand for the last two, and a folder for causes.csv and
    findings.csv in it.
    """
    if path.is_dir():
        return path / ENDINGS[0], path / ENDINGS[1]
    ending = next((ending for ending in ENDINGS if path.name.lower().endswith(ending)), None)
    start = path.name[: -len(ending)] if ending else f"{path.stem}."
    return path.with_name(start + ENDINGS[0]), path.with_name(start + ENDINGS[1])


def loads_csv(causes: bytes, findings: bytes, activation: GivenActivation = None) -> BeliefNetwork:
    """The network in a pair of files."""
    check_activation(activation)
    return diagnosis(BeliefNetwork, _read_csv(causes, CAUSES), _read_csv(findings, FINDINGS))


def dumps_csv(network: BeliefNetwork) -> tuple[bytes, bytes]:
    """The two files of a network."""
    frames = frames_of(network)
    causes, findings = (frames[table].to_csv(index=False, lineterminator="\n") for table in (CAUSES, FINDINGS))
    return causes.encode(), findings.encode()


def _read_csv(content: bytes, what: str) -> ProbabilityFrame:
    """Names as text, even where they are numbers or the word NA."""
    read = partial(pandas().read_csv, encoding="utf-8-sig", keep_default_na=False, na_values=[""])
    header = ()
    try:
        header = read(io.BytesIO(content), nrows=0).columns
        names = {name: str for name in header if name.strip().lower() in NAMES}
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas().errors.ParserWarning)  # of values beyond the last column
            frame = read(io.BytesIO(content), dtype=names, index_col=False, skip_blank_lines=False)
    except pandas().errors.ParserWarning:
        raise InvalidFile(
            f"{what} must have a value for each of the columns {listed(map(repr, header))}; got a line with more. "
            "Write numbers with a decimal point, and text that has commas in quotation marks."
        ) from None
    except ValueError as error:
        raise InvalidFile(f"{what} cannot be read as CSV: {str(error).strip().removesuffix('.')}.") from error
    return ProbabilityFrame(frame, what, row="line", first=2)


# ---- Excel -----------------------------------------------------------------------------------------------------------


def loads_excel(content: bytes, activation: GivenActivation = None) -> BeliefNetwork:
    """The network in a file."""
    check_activation(activation)
    sheets = _sheets(content)
    return diagnosis(BeliefNetwork, *(_table(sheets, name) for name in (CAUSES, FINDINGS)))


def dumps_excel(network: BeliefNetwork) -> bytes:
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
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_archive(archive)
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
