"""Rows of evidence in files: one, all that match a pattern, or all of a folder."""

import glob
from collections.abc import Iterator
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plefka.errors import InvalidEvidence, InvalidFile
from plefka.scale.rows.evidence_block import EvidenceBlock, resized
from plefka.scale.rows.reader import Reader
from plefka.tables.columns import Columns
from plefka.tables.roles import IdColumns
from plefka.tables.table import SAMPLE
from plefka.tables.table_files import (
    READERS,
    about_rows,
    errors_name_file,
    file_blocks,
    for_suffix,
    json_rows,
    suffix_of,
)

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

JSON_LINES = ".jsonl"
NOT_ROWS = ("_", ".")  # how files begin that readers of a Parquet dataset leave alone


def files_of(source: str | PathLike[str]) -> list[Path]:
    """The files of a name, a pattern such as data/*.parquet, or a folder, by their names; all of one kind."""
    path = Path(source)
    if path.is_dir():
        inside = [each for each in path.rglob("*") if each.is_file() and not each.name.startswith(NOT_ROWS)]
        found = sorted(each for each in inside if suffix_of(each) in READERS)
        missing = f"{source}: the folder has no table; there must be files that end with {', '.join(READERS)}."
    elif glob.has_magic(str(source)) and not path.exists():
        found = sorted(map(Path, glob.glob(str(source), recursive=True)))
        missing = f"{source}: no file has a name of this form."
    else:
        found, missing = [path], ""
    if not found:
        raise InvalidFile(missing)
    kinds = sorted({suffix_of(each) for each in found})
    if len(kinds) > 1:
        raise InvalidFile(f"{source}: all files must be of one kind; got {' and '.join(kinds)}. Name one: *{kinds[0]}")
    return found


def about(paths: list[Path]) -> int | None:
    """How many rows there are, more or less, where that is quickly known."""
    counts = [about_rows(path) for path in paths]
    return None if None in counts else sum(count for count in counts if count is not None)


def mappings_in(paths: list[Path]) -> Iterator[dict[str, Any]]:
    """The objects of files with one in each line."""
    for path in paths:
        with errors_name_file(path):
            yield from json_rows(path)


def tables_in(
    network: "BeliefNetwork", paths: list[Path], size: int, id_columns: IdColumns
) -> tuple[Reader, Iterator[EvidenceBlock]]:
    """How the first file is to be read, and the rows of all of them in blocks of `size`."""
    for path in paths:
        for_suffix(path, READERS)
    known, first = network.given_names, paths[0]
    with errors_name_file(first):
        reader = Reader.of(network, next(file_blocks(first, SAMPLE, known)), id_columns, f"{first}: ")
    in_files = ((path, file_blocks(path, size, known)) for path in paths)
    return reader, resized(chain.from_iterable(_blocks(reader, first, *each) for each in in_files), size)


def _blocks(reader: Reader, first: Path, path: Path, columns: Iterator[Columns]) -> Iterator[EvidenceBlock]:
    with errors_name_file(path):
        for some in columns:
            if len(some):
                yield reader.block(reader.in_order(some, first))


def naming_blocks(path: Path | str, blocks: Iterator[EvidenceBlock]) -> Iterator[EvidenceBlock]:
    """Pass blocks on; an error in their evidence names this file."""
    try:
        yield from blocks
    except InvalidEvidence as error:
        raise InvalidFile(f"{path}: {error}") from error
