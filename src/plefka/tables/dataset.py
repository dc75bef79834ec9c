"""Rows in Parquet files that need not fit in memory: all groups of rows of all files, in any order of them."""

import glob
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plefka.errors import InvalidFile, listed
from plefka.tables.columns import Columns, IdColumns, Roles, of_arrow
from plefka.tables.table import SAMPLE, NumberTable, numbers_in, state_words, table_roles
from plefka.tables.table_files import errors_name_file, opened_parquet, parquet_blocks, suffix_of
from plefka.tables.values import Network, StateWords

PARQUET_SUFFIX = ".parquet"
MISSING = -1  # in an array of int8
VALUES_AT_ONCE = 2**20  # values that are decoded at once


class RowGroup(NamedTuple):
    """A group of rows of a file."""

    path: Path
    place: int  # among the groups of the file
    in_file: int  # the number of its first row in the file
    first: int  # and in all files together
    size: int  # how many rows


class Survey(NamedTuple):
    """What one reading of all rows has found."""

    identity: str  # a digest of all values and of the sizes of groups
    on: np.ndarray  # of each column: how many rows are 1
    observed: np.ndarray  # and how many have a value


@dataclass(frozen=True, eq=False)
class Dataset:
    """The columns of Parquet files that are units."""

    source: str
    groups: tuple[RowGroup, ...]
    columns: list[str]  # as the files call them
    names: list[str] | None  # of the units; None where columns are only counted
    own: list[StateWords]  # their words for states
    network: Any = None  # whose numbers for off and on they have, if not 0 and 1

    def __len__(self) -> int:
        """How many rows there are."""
        return self.groups[-1].first + self.groups[-1].size

    def blocks(self, order: Sequence[int], skip: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(row numbers, values) of groups in the given order but for the first rows: 0, 1 and MISSING as int8."""
        for group in (self.groups[place] for place in order):
            if skip < group.size:
                for offset, values in self._read(group):
                    numbers = group.first + offset + np.arange(len(values))
                    left_out = max(0, skip - offset)
                    if left_out < len(values):
                        yield numbers[left_out:], values[left_out:]
            skip = max(0, skip - group.size)

    def _read(self, group: RowGroup) -> Iterator[tuple[int, np.ndarray]]:
        """The first row of each block, counted in the group, and its values."""
        roles = Roles(list(range(len(self.columns))), self.names, {}, [])
        with errors_name_file(group.path):
            for found in self._decoded(group):
                values = numbers_in(found, roles, self.own, self.network)
                yield found.first - group.in_file, np.where(np.isnan(values), MISSING, values).astype(np.int8)

    def _decoded(self, group: RowGroup) -> Iterator[Columns]:
        size, first = max(1, VALUES_AT_ONCE // len(self.columns)), group.in_file
        with opened_parquet(group.path) as file:
            for batch in file.iter_batches(size, row_groups=[group.place], columns=self.columns):
                yield Columns(self.columns, [of_arrow(batch.column(name)) for name in self.columns], first)
                first += batch.num_rows

    @cached_property
    def survey(self) -> Survey:
        """All rows are read once, so that what is wrong with any of them is known at the beginning."""
        digest, width = hashlib.sha256(), len(self.columns)
        on, observed = np.zeros(width, int), np.zeros(width, int)
        for _, values in self.blocks(range(len(self.groups))):
            digest.update(values.tobytes())
            on += (values == 1).sum(axis=0)
            observed += (values != MISSING).sum(axis=0)
        digest.update(repr([group.size for group in self.groups]).encode())
        return Survey(digest.hexdigest(), on, observed)

    @property
    def frequencies(self) -> np.ndarray:
        """How often each column is on, with half a row added to either state."""
        return (self.survey.on + 0.5) / (self.survey.observed + 1)

    def table(self) -> NumberTable:
        """All rows in memory."""
        values = np.concatenate([values for _, values in self.blocks(range(len(self.groups)))])
        return NumberTable(self.source, self.names, np.where(values == MISSING, np.nan, values).astype(np.float32), {})


def is_dataset(source: Any) -> bool:
    """Whether these are Parquet files: one, a folder of them, or all that a pattern names."""
    if isinstance(source, Dataset):
        return True
    if not isinstance(source, str | PathLike):
        return False
    path = Path(source)
    return suffix_of(path) == PARQUET_SUFFIX or path.is_dir()


def as_dataset(source: Any, network: Network | None = None, id_columns: IdColumns = None) -> Dataset:
    """The files in the order of their names; columns are units of the network or, without one, all that hold states."""
    if isinstance(source, Dataset):
        return source
    paths = _paths(source)
    first = next(parquet_blocks(paths[0], SAMPLE))
    with errors_name_file(paths[0]):
        roles = table_roles(first, network, id_columns)
        own = state_words(network, roles)
    roles.report(f"{paths[0]}: ")
    chosen = [(first.names or [])[at] for at in roles.units]
    groups = tuple(_groups(paths, chosen))
    if not groups or not chosen:
        raise InvalidFile(f"{source}: a table must have at least one row and one column.")
    return Dataset(fspath(source), groups, chosen, roles.names, own, network)


def _paths(source: Any) -> list[Path]:
    path = Path(source)
    if path.is_file() or not (path.is_dir() or glob.has_magic(str(source))):
        return [path]
    pattern = str(path / f"*{PARQUET_SUFFIX}") if path.is_dir() else str(source)
    found = sorted(Path(each) for each in glob.glob(pattern, recursive=True))
    if not found:
        raise InvalidFile(f"{source}: there is no Parquet file of this name. Check the folder, or the pattern.")
    return found


def _groups(paths: list[Path], columns: list[str]) -> Iterator[RowGroup]:
    first = 0
    for path in paths:
        with opened_parquet(path) as file:
            missing = [name for name in columns if name not in file.schema_arrow.names]
            if missing:
                raise InvalidFile(f"{path}: must have the columns of {paths[0]}; there is no {listed(missing)}.")
            counts = [file.metadata.row_group(place).num_rows for place in range(file.metadata.num_row_groups)]
        in_file = 0
        for place, count in enumerate(counts):
            if count:
                yield RowGroup(path, place, in_file, first, count)
            in_file, first = in_file + count, first + count
