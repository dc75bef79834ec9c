"""Tables in files, in blocks of rows that need not fit in memory together: .csv, .csv.gz, .xlsx, .parquet, .jsonl and
.npy."""

import errno
import gzip
import hashlib
import json
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from plefka.errors import InvalidFile, InvalidInput, PlefkaError, first_repeated, nearest
from plefka.runtime import extras
from plefka.tables.columns import Columns, of_arrow, of_mappings
from plefka.tables.delimited import NumberedLines, delimited_lines
from plefka.tables.workbooks import read_sheets

PACKED = ".gz"
NEW_LINE = b"\n"
SEAL, MARK = b"plefka seal", b"sha256:"  # the key of a checksum in the metadata, and what comes before its digits
DIGITS = b"0" * 64
BLANK = MARK + DIGITS  # the value to write under the key
NOT_NAMES = {"0", "0.0", "1", "1.0", "false", "true", "no", "yes", "", "nan", "na", "n/a", "<na>", "none", "null"}
ENDLESS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def file_blocks(path: Path, size: int, known: Collection[str] | None = None) -> Iterator[Columns]:
    """The rows of a file in blocks, at least one, which may be empty. `known`: names of units, if there are any."""
    read = for_suffix(path, READERS)
    with errors_name_file(path):
        yield from read(path, size, known)


def check_regular(path: Path) -> None:
    """Before a file is opened: to open or to read anything else may never end."""
    kind = stat.S_IFMT(path.stat().st_mode) if path.exists() else 0
    if kind in ENDLESS:
        raise OSError(
            errno.EINVAL, f"it must be a regular file; got {ENDLESS[kind]}. Save its content in a file and read that"
        )


@contextmanager
def errors_name_file(path: Path) -> Iterator[None]:
    """Read this file inside: whatever is wrong with it is said of it."""
    try:
        check_regular(path)
        yield
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read: {error.strerror or error}.") from error
    except PlefkaError:
        raise
    except ValueError as error:
        raise InvalidFile(f"{path}: {error}") from error


@contextmanager
def input_errors_name(path: Path | str) -> Iterator[None]:
    """Whatever is wrong with what this file held is said of it."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidFile(f"{path}: {error}") from error


def suffix_of(path: Path) -> str:
    """Of what a file holds, packed or not."""
    suffix = path.suffix.lower()
    return path.with_suffix("").suffix.lower() + suffix if suffix == PACKED else suffix


def for_suffix(path: Path, by_suffix: dict[str, Callable]) -> Any:
    """The reader or writer for the suffix of a file."""
    suffix = suffix_of(path)
    if suffix not in by_suffix:
        raise InvalidFile(
            f"{path}: the name of a table file must end with {', '.join(by_suffix)}; "
            f"got {repr(path.suffix) if suffix else 'no suffix'}." + nearest(suffix, by_suffix)
        )
    return by_suffix[suffix]


def about_rows(path: Path) -> int | None:
    """How many rows a file has, more or less, where that is quickly known: for the progress bar."""
    if suffix_of(path) == ".parquet":
        with opened_parquet(path) as file:
            return file.metadata.num_rows
    if suffix_of(path) not in (".csv", ".jsonl"):
        return None
    with errors_name_file(path), open(path, "rb") as file:
        return sum(piece.count(NEW_LINE) for piece in iter(lambda: file.read(2**20), b""))


# ---- CSV and Excel ---------------------------------------------------------------------------------------------------


def _csv_blocks(path: Path, size: int, known: Collection[str] | None) -> Iterator[Columns]:
    unpacked: Any = gzip.open if path.suffix.lower() == PACKED else open
    with unpacked(path, mode="rb") as file, delimited_lines(file) as (note, lines):
        yield from line_blocks(lines, size, known, [note] if note else [])


def _excel_blocks(path: Path, size: int, known: Collection[str] | None) -> Iterator[Columns]:
    """The first sheet."""
    sheets = read_sheets(path.read_bytes(), lambda titles: titles[:1])
    first = next(iter(sheets), "")
    notes = [f"sheet {first!r} is read, the first of {len(sheets)}."] if len(sheets) > 1 else []
    yield from line_blocks(iter(sheets.get(first, ())), size, known, notes)


def line_blocks(lines: NumberedLines, size: int, known: Collection[str] | None, notes: list[str]) -> Iterator[Columns]:
    """A first line without 0 and 1 is a header, and so is 0, 1, 2, ..., which numbers columns without naming them."""
    number, first = next(lines, (0, []))
    words = ["" if word is None else str(word).strip() for word in first]
    names = words if _is_header(words, known) else None
    if names is None and first:
        lines = chain([(number, first)], lines)
    width = max((k + 1 for k, word in enumerate(words) if word or names is None), default=0)
    start = 0
    while (block := list(islice(lines, size))) or not start:
        for line, cells in block:
            beyond = any(cell not in ("", None) for cell in cells[width:])
            if beyond and len(cells) <= len(first):
                raise ValueError(f"every column must have a name in the header; column {width + 1} has none.")
            if beyond or len(cells) < width:
                raise ValueError(f"line {line}: must have {width} values; got {len(cells)}.")
        values = [list(column) for column in zip(*(cells[:width] for _, cells in block), strict=True)]
        lines_read = [line for line, _ in block]
        yield Columns(names and names[:width], values or [[] for _ in range(width)], start, lines_read, notes=notes)
        start += len(block)
        if not block:
            return


def _is_header(words: list[str], known: Collection[str] | None) -> bool:
    """Whether the first line has names; a row with a typing error must not be taken for a header."""
    if words and known is not None and all(word in known for word in words):
        return True
    if len(words) > 2 and words == [str(k) for k in range(len(words))]:
        return True
    names = [word for word in words if word.casefold() not in NOT_NAMES]
    states = [word for word in words if word in ("0", "1", "0.0", "1.0")]
    if names and states:
        raise ValueError(
            f"line 1 must be names of columns, or 0, 1 and empty (missing) throughout; got {names[0]!r} beside "
            f"{states[0]!r}. Correct the value, or rename the columns."
        )
    return bool(names)


# ---- Parquet, JSON, NumPy --------------------------------------------------------------------------------------------


@contextmanager
def opened_parquet(path: Path) -> Iterator[Any]:
    """A Parquet file; whatever is wrong with it is said of it."""
    with errors_name_file(path):
        path.open("rb").close()  # raises the usual error if the file cannot be read
        try:
            with extras.pyarrow("pyarrow.parquet").ParquetFile(path, pre_buffer=False) as file:
                yield file
        except PlefkaError:
            raise
        except (OSError, ValueError, TypeError) as error:
            raise ValueError(
                f"must be a Parquet file with columns of 0, 1 and missing; {_first_line(error)}"
            ) from error


def parquet_blocks(path: Path, size: int, known: Collection[str] | None = None) -> Iterator[Columns]:
    """At least one, which is empty where there is no row."""
    with opened_parquet(path) as file:
        names, start = [str(name) for name in file.schema_arrow.names], 0
        for batch in file.iter_batches(batch_size=size):
            yield Columns(names, [of_arrow(column) for column in batch.columns], start)
            start += batch.num_rows
    if not start:
        yield Columns(names, [[] for _ in names])


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _json_blocks(path: Path, size: int, known: Collection[str] | None) -> Iterator[Columns]:
    """All rows at once, as any of them may have a column that no other has."""
    yield of_mappings(list(json_rows(path)))


def json_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file with one in each line."""
    with open(path, encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line, object_pairs_hook=_unique)
            except (ValueError, RecursionError) as error:  # the second where brackets are nested too deep
                raise ValueError(f"line {number}: must be a JSON object {{unit: 0 or 1}}; {error}.") from None
            if not isinstance(row, dict):
                raise ValueError(f"line {number}: must be a JSON object {{unit: 0 or 1}}; got {type(row).__name__}.")
            yield row


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    twice = first_repeated(key for key, _ in pairs)
    if twice is not None:
        raise ValueError(f"every unit must come once, got {twice!r} twice")
    return dict(pairs)


def mapped_array(path: Path) -> np.ndarray:
    """The array of a .npy file, memory-mapped, so that rows are read as they are used."""
    try:
        values = np.lib.format.open_memmap(path, mode="r")
    except ValueError as error:
        raise ValueError(f"must be an array written by numpy.save; {_first_line(error)}") from error
    if values.dtype.kind not in "buif":
        raise ValueError(f"must be an array of numbers; got {values.dtype}.")
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"a table must have at least one row and one column; got the shape {values.shape}.")
    return values


def _array_blocks(path: Path, size: int, known: Collection[str] | None) -> Iterator[Columns]:
    values = mapped_array(path)
    for start in range(0, len(values), size):
        yield Columns(None, list(np.asarray(values[start : start + size]).T), start)


READERS: dict[str, Callable[[Path, int, Any], Iterator[Columns]]] = {
    ".csv": _csv_blocks,
    ".csv.gz": _csv_blocks,
    ".xlsx": _excel_blocks,
    ".parquet": parquet_blocks,
    ".jsonl": _json_blocks,
    ".npy": _array_blocks,
}


# ---- checksums -------------------------------------------------------------------------------------------------------
#
# A Parquet file has a checksum of itself inside, so that bytes that are not as they were written are found. The digits
# have a place in its metadata, and are zeros when the checksum of all bytes is taken.


def sealed_parquet(table: Any, metadata: dict[bytes, bytes], **options: Any) -> bytes:
    """A Parquet file of a table of pyarrow, with metadata and a checksum of all its bytes."""
    content = extras.pyarrow().BufferOutputStream()
    table = table.replace_schema_metadata({**metadata, SEAL: BLANK})
    extras.pyarrow("pyarrow.parquet").write_table(table, content, **options)
    return _sealed(content.getvalue().to_pybytes())


def _sealed(content: bytes) -> bytes:
    """A file with a blank seal, with its checksum in it."""
    return _with_digits(content, hashlib.sha256(content).hexdigest().encode())


def is_sealed(content: bytes) -> bool:
    """Whether there is a seal, broken or not."""
    return SEAL in content and MARK in content


def is_whole(content: bytes) -> bool:
    """Whether all bytes are as they were sealed."""
    return is_sealed(content) and _sealed(_with_digits(content, DIGITS)) == content


def _with_digits(content: bytes, digits: bytes) -> bytes:
    """Metadata are the last that a Parquet file has, so that columns may be called anything."""
    at = content.rindex(MARK) + len(MARK)
    return content[:at] + digits + content[at + len(DIGITS) :]
