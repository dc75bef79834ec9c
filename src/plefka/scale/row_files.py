"""Rows of evidence in files: one, all that match a pattern, or all of a folder; and what their columns are."""

import glob
from collections.abc import Iterator
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plefka.errors import InvalidEvidence, InvalidFile
from plefka.networks.belief import BeliefNetwork
from plefka.scale.evidence_rows import EvidenceBlock, resized
from plefka.tables.columns import Columns, IdColumns, Roles, of_frame
from plefka.tables.table import SAMPLE, numbers_in, state_words, table_roles, units_of
from plefka.tables.table_files import (
    READERS,
    errors_name_file,
    file_blocks,
    for_suffix,
    json_rows,
    suffix_of,
)

JSON_LINES = ".jsonl"
NOT_ROWS = ("_", ".")  # how files begin that readers of a Parquet dataset leave alone


class Reader(NamedTuple):
    """What the columns of a table are, in their order."""

    names: list[str] | None
    roles: Roles
    own: list[Any]
    units: np.ndarray
    id_columns: list[str]

    @classmethod
    def of(cls, network: BeliefNetwork, sample: Columns, id_columns: IdColumns, where: str = "") -> "Reader":
        roles = table_roles(sample, network, id_columns)
        if not roles.units:
            raise ValueError("a table must have at least one row and one column; got nothing.")
        units = units_of(network, roles.names, len(roles.units))
        roles.report(where)
        return cls(sample.names, roles, state_words(network, roles), units, list(roles.ids_in(sample)))

    def block(self, columns: Columns) -> EvidenceBlock:
        """The states of a block of columns."""
        return EvidenceBlock.of(self.units, numbers_in(columns, self.roles, self.own), self.roles.ids_in(columns))

    def blocks(self, frame: Any, size: int) -> Iterator[EvidenceBlock]:
        """The rows of a DataFrame."""
        return map(self.block, of_frame(frame).parts(size))

    def in_order(self, columns: Columns, first: Any) -> Columns:
        """Columns of another file, which must be the same but may stand in another order."""
        if columns.names == self.names:
            return columns
        mine, others = set(self.names or ()), set(columns.names or ())
        if mine != others:
            missing, more = sorted(mine - others), sorted(others - mine)
            what = f"there is no {missing[0]!r}" if missing else f"{more[0]!r} is not there" if more else "names differ"
            raise ValueError(f"all files must have the columns of {first}; {what}{' in it' if more else ''}.")
        places = [(columns.names or []).index(name) for name in self.names or ()]
        return Columns(self.names, [columns.values[at] for at in places], columns.first, columns.lines, columns.index)


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


def mappings_in(paths: list[Path]) -> Iterator[dict[str, Any]]:
    """The objects of files with one in each line."""
    for path in paths:
        with errors_name_file(path):
            yield from json_rows(path)


def tables_in(
    network: BeliefNetwork, paths: list[Path], size: int, id_columns: IdColumns
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
