"""Text with marks between columns, as spreadsheets of all countries write it: its encoding and its separator."""

import codecs
import csv
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import BinaryIO

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
ENCODINGS = {
    **dict.fromkeys(("utf-16", "utf-16-le", "utf-16-be"), "UTF-16"),
    "cp1252": "Windows-1252 (Latin-1)",
}  # that are worth a word
DECIMAL_COMMA = re.compile(r"\s*[+-]?[0-9]*,[0-9]+\s*%?\s*")
EXCEL_LINE = re.compile(r"(?i)sep=([,;\t])\s*")  # a first line that tells Excel what divides the columns
FIRST_LINES, PIECE = 50, 2**16
NumberedLines = Iterator[tuple[int, list]]  # lines of a file or rows of a sheet, with the numbers that people see


@contextmanager
def delimited_lines(file: BinaryIO) -> Iterator[tuple[str, NumberedLines]]:
    """What was recognised, in a sentence or nothing, and the lines; all bytes are looked at before the first of them.

    A ValueError where it is no such text.
    """
    try:
        encoding = _encoding(file)
        file.seek(0)
        with io.TextIOWrapper(file, encoding, newline="") as text:
            sample = [line for line in islice(iter(lambda: text.readline(PIECE), ""), FIRST_LINES) if line.strip()]
            stated = EXCEL_LINE.fullmatch(sample[0]) if sample else None
            separator = stated[1] if stated else _separator(sample)
            cells = [cell for words in csv.reader(sample, delimiter=separator) for cell in words]
            text.seek(0)
            said = [f"is read as {ENCODINGS[encoding]} text"] if encoding in ENCODINGS else []
            said += [f"has {SEPARATORS[separator]} between its columns"] if separator != "," else []
            said += ["has decimal commas"] if separator != "," and any(map(DECIMAL_COMMA.fullmatch, cells)) else []
            advice = "Save it as UTF-8 with commas between columns if that is wrong."
            lines = islice(_lines(text, separator), 1 if stated else 0, None)
            yield f"the table {' and '.join(said)}. {advice}" if said else "", lines
    except (UnicodeError, csv.Error, EOFError, zlib.error) as error:
        raise ValueError(f"cannot be read as CSV: {error}.") from error


def _encoding(file: BinaryIO) -> str:
    """By a mark at its beginning, or by all bytes; what is no UTF-8 from its first letter beyond ASCII on is older."""
    start = file.read(4)
    marked = next((name for mark, name in BYTE_ORDER_MARKS.items() if start.startswith(mark)), None)
    if marked or 0 in start[:2]:  # a first letter takes two bytes
        return marked or ("utf-16-be" if start[0] == 0 else "utf-16-le")
    decoder, is_ascii, piece = codecs.getincrementaldecoder("utf-8")(), True, start
    try:
        while piece:
            is_ascii &= decoder.decode(piece).isascii()
            piece = file.read(PIECE)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        if not is_ascii or not error.object[: error.start].isascii():
            raise ValueError(f"must be text in one encoding; it begins as UTF-8, but {error}.") from None
        return "cp1252"
    return "utf-8"


def _separator(sample: list[str]) -> str:
    """What divides the first line; of several, the only one that divides all lines alike."""
    widths = {mark: [len(words) for words in csv.reader(sample, delimiter=mark)] for mark in SEPARATORS}
    there = [mark for mark, counts in widths.items() if counts and counts[0] > 1]
    alike = [mark for mark in there if len({*widths[mark]}) == 1]
    if len(alike) > 1:
        either = " or by ".join(SEPARATORS[mark] for mark in alike)
        raise ValueError(f"columns may be divided by {either} here. Put names that contain them in quotation marks.")
    return (alike or there or [","])[0]


def _lines(text: io.TextIOWrapper, separator: str) -> NumberedLines:
    """Lines with their numbers. Empty ones are skipped, except in a single column, where a value is missing."""
    reader, width = csv.reader(text, delimiter=separator, strict=True), 0
    for words in reader:
        width = width or len(words)
        if words or width == 1:
            yield reader.line_num, words or [""]
