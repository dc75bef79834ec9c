"""Columns of values as they stand in a file or a DataFrame; which of them are units, and which only name the rows."""

import difflib
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from plefka.errors import PlefkaWarning, listed, nearest
from plefka.tables.values import NO_STATE, is_number, is_numeric, meaning, states_of

VISIT = "visit"  # the number of a row among those of the same name
INDEX = "index"  # what the names of rows are called where nobody named them
INDEX_NAMES = ("", "Unnamed: 0")  # of a first column, as pandas writes and reads it
INDEX_LEVEL = "__index_level_0__"  # what a Parquet file calls an index without a name
NAMES_PEOPLE = re.compile(r"(?i)patient|(^|[^a-z])(id|nr|no|number|case|subject|person|fall|mrn)([^a-z]|$)")
SPELLED_ALIKE = 0.85  # from which likeness on a name is taken for a slip of the pen
IdColumns = str | Sequence[str] | None


@dataclass(frozen=True)
class Columns:
    """Some rows of a table, column by column: arrays of numbers, or lists of anything."""

    names: list[str] | None  # None where columns have no names
    values: list[Any]
    first: int = 0  # the number of the first of these rows
    lines: Sequence[int] | None = None  # in which lines of a file they stand
    index: dict[str, list[Any]] = field(default_factory=dict)  # what a DataFrame calls its rows, beside its columns
    notes: Sequence[str] = ()  # what was recognised in the file, in sentences

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
        first, values = self.first + rows.start, [each[rows] for each in self.values]
        return Columns(self.names, values, first, lines, index, self.notes)

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
    values = [z.cast(float).to_numpy() if z.dtype.is_numeric() else z.to_list() for z in frame.get_columns()]
    return Columns([str(name) for name in frame.columns], values)


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


# ---- dictionaries ----------------------------------------------------------------------------------------------------


def of_mappings(rows: Sequence[Mapping[Any, Any]]) -> Columns:
    """A column for each key that some row has; None where a row has it not."""
    keys = {str(key): key for row in rows for key in row}
    return Columns(list(keys), [[row.get(key) for row in rows] for key in keys.values()])


# ---- which columns are units -----------------------------------------------------------------------------------------


class Roles(NamedTuple):
    """The places of the columns that are units, and of those that name the rows."""

    units: list[int]
    names: list[str] | None  # of the units; None where columns have no names
    ids: dict[str, int]
    notes: list[str]  # what was recognised, in sentences

    def ids_in(self, columns: Columns) -> dict[str, list[Any]]:
        """The names of some rows."""
        found = {name: _plain(columns.values[at]) for name, at in self.ids.items()}
        return {**{name: values for name, values in columns.index.items() if name not in found}, **found}

    def report(self, where: str = "") -> None:
        """Warn of what was recognised, as nobody asked for it."""
        for note in self.notes:
            warnings.warn(f"{where}{note}", PlefkaWarning, stacklevel=3)


def roles_of(sample: Columns, known: Collection[str] | None, id_columns: IdColumns = None) -> Roles:
    """What each column is, by its name and by some of its values.

    `known` are names of units; None where every column that holds states becomes one.
    """
    given = [id_columns] if isinstance(id_columns, str) else list(id_columns or ())
    if sample.names is None:
        if given:
            raise ValueError(
                f"there is no column {given[0]!r} to identify the rows, because the columns have no names."
            )
        return Roles(list(range(sample.width)), None, {}, [*sample.notes])
    _check_names(sample)
    missing = next((name for name in given if name not in sample.names and name not in sample.index), None)
    if missing is not None:
        raise ValueError(f"there is no column {missing!r} in the table.{nearest(missing, sample.names)}")
    ids: dict[str, int] = {}
    notes = [*sample.notes]
    units, unknown = [], []
    for at, name in enumerate(sample.names):
        if name in given:
            ids[name] = at
        elif known is not None and name in known:
            units.append(at)
        elif why := reason_for_id(sample, at, known):
            ids[INDEX if _is_index(name, at) else name] = at
            notes.append(id_note(name, why))
        elif known is None:
            units.append(at)
        else:
            unknown.append(name)
    if unknown:
        raise ValueError(_unknown_text(unknown, known or ()))
    return Roles(units, [sample.names[at] for at in units], ids, notes)


def reason_for_id(sample: Columns, at: int, known: Collection[str] | None) -> str:
    """Why a column that is no unit names the rows; nothing where it does not."""
    names, values = sample.names or [], sample.values[at]
    if _is_index(names[at], at):
        return "has no name" if _all_differ(values) or _is_text(values) else ""
    if difflib.get_close_matches(names[at].casefold(), map(str.casefold, known or ()), 1, SPELLED_ALIKE):
        return ""
    if _is_text(values):
        return "holds text"
    if not _counts(values):
        return ""
    if _all_differ(values):
        return "has a different whole number in each row"
    return "has whole numbers" if NAMES_PEOPLE.search(names[at]) else ""


def _is_index(name: str, at: int) -> bool:
    return (at == 0 and name in INDEX_NAMES) or name == INDEX_LEVEL


def _is_text(values: Any) -> bool:
    """Words or dates, and not a single state, which would be a column of states with slips in it."""
    if is_numeric(values):
        return False
    present = {value for value in map(_hashable, values) if not np.isnan(meaning(value))}
    return bool(present) and all(meaning(v) == NO_STATE for v in present) and not all(map(is_number, present))


def _counts(values: Any) -> bool:
    """Whole numbers; a single one that is no state may be a slip."""
    if not all(is_number(value) and float(value).is_integer() for value in values):
        return False
    others = int((states_of(values) == NO_STATE).sum())
    return others >= 2 or others == len(values)


def _all_differ(values: Any) -> bool:
    values = [_hashable(value) for value in values]
    return bool(values) and len(set(values)) == len(values)


def _hashable(value: Any) -> Any:
    """A value, or its text where it cannot be looked up."""
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _plain(values: Any) -> list[Any]:
    """As Python's own values; whole numbers stay whole."""
    if not is_numeric(values):
        return [value.strip() if isinstance(value, str) else value for value in values]
    if values.dtype.kind == "f" and np.all(np.isfinite(values)) and np.all(values == np.floor(values)):
        return [int(value) for value in values.tolist()]
    return values.tolist()


def _check_names(sample: Columns) -> None:
    names = sample.names or []
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        from_file = " A first line of only 0 and 1 is read as a row, not as a header." if sample.lines else ""
        raise ValueError(
            f"columns must differ in their names; got {listed(map(repr, repeated))} more than once.{from_file}"
        )
    if "" in names[1:]:
        raise ValueError(f"every column must have a name in the header; column {names.index('', 1) + 1} has none.")


def id_note(name: str, why: str, kind: str = "unit") -> str:
    """What was recognised, in a sentence; `kind` is what the column is not."""
    called = f"the column {name!r}" if name else "the first column"
    advice = f" To avoid this warning, pass --id {name} (id_columns={name!r}), or make it the index of a DataFrame."
    confirm = advice if name and kind == "unit" else ""
    return f"{called} is not a {kind} and {why}, so it is used to identify the rows.{confirm}"


def visits(ids: Mapping[str, list[Any]], seen: Counter) -> list[int]:
    """How often the names of each row have come so far, counted in `seen`; only their hashes are kept."""
    found = []
    for names in zip(*ids.values(), strict=True):
        key = hash(tuple(map(_hashable, names)))
        seen[key] += 1
        found.append(seen[key])
    return found


def _unknown_text(unknown: list[str], known: Collection[str]) -> str:
    if unknown[0] == "":
        return "every column must have a name; column 1 has none, and its values repeat, so it cannot be an index."
    hints = list(dict.fromkeys(filter(None, (nearest(name, known) for name in unknown[:6]))))
    named = next((name for name in unknown if not nearest(name, known)), unknown[0])
    return (
        f"columns must be units of the network; there is no {listed(map(repr, unknown))}.{''.join(hints)} "
        f"Rename or drop the column, or pass --id {named!r} (id_columns) if it identifies the rows."
    )
