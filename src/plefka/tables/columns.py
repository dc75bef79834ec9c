"""Columns of values as they stand in a file or a DataFrame, before anyone knows what they are."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

INDEX = "index"  # what the names of rows are called where nobody named them
INDEX_NAMES = ("", "Unnamed: 0")  # of a first column, as pandas writes and reads it
INDEX_LEVEL = "__index_level_0__"  # what a Parquet file calls an index without a name


@dataclass(frozen=True)
class Columns:
    """Some rows of a table, column by column: arrays of numbers, or lists of anything."""

    names: list[str] | None  # None where columns have no names
    values: list[Any]
    first: int = 0  # the number of the first of these rows
    lines: Sequence[int] | None = None  # in which lines of a file they stand
    index: dict[str, list[Any]] = field(default_factory=dict)  # what a DataFrame calls its rows, beside its columns

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.values[0]) if self.values else 0

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.values)

    def place(self, row: int) -> str:
        """Where one of these rows stands, for messages."""
        return f"row {self.first + row}" if self.lines is None else f"line {self.lines[row]}"

    def column_text(self, column: int) -> str:
        """What a column is called in messages."""
        return f"column {self.names[column]!r}" if self.names else f"column {column}"

    def part(self, rows: slice) -> "Columns":
        """Some of the rows."""
        index = {name: values[rows] for name, values in self.index.items()}
        lines = None if self.lines is None else self.lines[rows]
        return Columns(self.names, [each[rows] for each in self.values], self.first + rows.start, lines, index)

    def parts(self, size: int) -> Iterator["Columns"]:
        """All rows in blocks."""
        for first in range(0, len(self), size):
            yield self.part(slice(first, first + size))


# ---- frames ----------------------------------------------------------------------------------------------------------


def is_frame(value: Any) -> bool:
    """Whether this is a table with named columns in memory: of pandas, polars or pyarrow."""
    return hasattr(value, "columns") and hasattr(value, "shape")


def of_frame(frame: Any) -> Columns:
    """The columns of a DataFrame of pandas or polars, or of a table of pyarrow."""
    if hasattr(frame, "iloc"):
        values = [_of_pandas(frame.iloc[:, k]) for k in range(frame.shape[1])]
        return Columns([str(name) for name in frame.columns], values, index=_index_of(frame))
    if hasattr(frame, "column_names"):
        return Columns([str(name) for name in frame.column_names], [of_arrow(column) for column in frame.columns])
    return Columns([str(name) for name in frame.columns], [_of_polars(column) for column in frame.get_columns()])


def _index_of(frame: Any) -> dict[str, list[Any]]:
    """An index that was given: one with a name, or of something else than numbers."""
    index = frame.index
    if index.nlevels == 1 and index.name is None and index.dtype.kind in "iu":
        return {}
    names = [INDEX if name is None else str(name) for name in index.names]
    return {name: index.get_level_values(k).tolist() for k, name in enumerate(names)}


def _of_pandas(column: Any) -> Any:
    if column.dtype.kind not in "buif":
        return column.tolist()
    return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.to_numpy(dtype=float, na_value=np.nan)


def of_arrow(column: Any) -> Any:
    """A column of pyarrow."""
    import pyarrow.types as kinds

    if kinds.is_boolean(column.type):
        column = column.cast("uint8")
    if kinds.is_integer(column.type) or kinds.is_floating(column.type):
        return column.cast("float64", safe=False).to_numpy(zero_copy_only=False)
    return column.to_pylist()


def _of_polars(column: Any) -> Any:
    if column.dtype.is_numeric():
        return column.cast(float).to_numpy()
    return column.to_list()


# ---- dictionaries ----------------------------------------------------------------------------------------------------


def of_mappings(rows: Sequence[Mapping[Any, Any]], name_of: Callable[[Any], str] = str) -> Columns:
    """A column for each key that some row has; None where a row has it not."""
    keys = {name_of(key): key for row in rows for key in row}
    return Columns(list(keys), [[row.get(key) for row in rows] for key in keys.values()])
