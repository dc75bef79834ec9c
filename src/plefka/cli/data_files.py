"""Tables of 0, 1 and missing in files: .csv, .parquet and .npy."""

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from plefka.errors import InvalidFile, MissingExtra, listed, nearest

if TYPE_CHECKING:
    import numpy as np

    from plefka.networks.belief import BeliefNetwork

NAN = float("nan")
WORDS = {"": NAN, "nan": NAN, "0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0}  # pandas writes 1.0 beside a missing value
BLOCK = 2**16  # rows that are checked at once
Names = list[str] | None


class Table(NamedTuple):
    """The numbers of a file, (rows, columns), nan where missing, and the names of the columns if it has any."""

    path: Path
    names: Names
    values: Any


def read_table(path: Path, *, header: bool = False) -> Table:
    """The table in a file; an error that names the file where it is not one of 0, 1 and missing.

    `header`: the first line of a CSV file is a header, whatever it looks like.
    """
    read = for_suffix(path, READERS)
    try:
        names, values = read(path, header)
        _check_names(names)
        _check_shape(values.shape)
        _check_values(names, values)
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise InvalidFile(f"{path}: {error}") from error
    return Table(path, names, values)


def for_suffix(path: Path, by_suffix: dict[str, Callable]) -> Any:
    """The reader or writer for the suffix of a file."""
    suffix = path.suffix.lower()
    if suffix not in by_suffix:
        raise InvalidFile(
            f"{path}: the name of a table file must end with {', '.join(by_suffix)}; "
            f"got {repr(path.suffix) if suffix else 'no suffix'}." + nearest(suffix, by_suffix)
        )
    return by_suffix[suffix]


# ---- reading ---------------------------------------------------------------------------------------------------------


def _read_csv(path: Path, header: bool) -> tuple[Names, "np.ndarray"]:
    """A first line without 0 and 1 is a header, and so is 0, 1, 2, ..., which numbers columns without naming them."""
    import numpy as np

    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = _lines(csv.reader(file))
            number, first = next(lines, (0, []))
            words = [word.strip() for word in first]
            numbered = not header and len(words) > 2 and words == [str(k) for k in range(len(words))]
            has_header = header or (not numbered and _is_header(first))
            names = words if has_header else None
            if not has_header and not numbered and first:
                lines = chain([(number, first)], lines)
            columns = [f"column {name!r}" for name in names or range(len(first))]
            rows = [_states_in(words, number, columns) for number, words in lines]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"cannot be read as CSV: {error}.") from error
    return names, np.array(rows, np.float32).reshape(len(rows), len(first))


def _is_header(first: list[str]) -> bool:
    """Whether the first line has names; a row with a typing error must not be taken for a header."""
    words = [word for word in first if _number(word) is None]
    states = [word for word in first if _number(word) in (0, 1)]
    if words and states:
        raise ValueError(
            f"line 1 must be names of columns, or 0, 1 and empty (missing) throughout; got {words[0]!r} beside "
            f"{states[0]!r}. Correct the value, or rename the columns."
        )
    return bool(words)


def _lines(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Lines with their numbers. Empty ones are skipped, except in a single column, where a value is missing."""
    width = 0
    for words in reader:
        width = width or len(words)
        if words or width == 1:
            yield reader.line_num, words or [""]


def _states_in(words: list[str], line: int, columns: Sequence[str]) -> list[float]:
    """0, 1 or nan for every word of a line; `columns` are called so in errors."""
    if len(words) != len(columns):
        raise ValueError(f"line {line}: must have {len(columns)} values; got {len(words)}.")
    row = [_number(word) for word in words]
    if None in row:
        at = row.index(None)
        raise ValueError(f"line {line}: {columns[at]} must be 0, 1 or empty (missing); got {words[at]!r}.")
    return row  # pyright: ignore[reportReturnType]


def _number(word: str) -> float | None:
    """0, 1 or nan; None for anything else."""
    found = WORDS.get(word)
    return WORDS.get(word.strip().lower()) if found is None else found


def _read_parquet(path: Path, header: bool) -> tuple[Names, "np.ndarray"]:
    import numpy as np

    pandas = import_pandas()
    path.open("rb").close()  # raises the usual error if the file does not exist
    try:
        frame = pandas.read_parquet(path)
        return [str(name) for name in frame.columns], frame.to_numpy(dtype=np.float32, na_value=NAN)
    except ImportError as error:
        raise MissingExtra("pyarrow", "data", "reading .parquet") from error
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"must be a Parquet file with columns of 0, 1 and missing; {_first_line(error)}") from error


def import_pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingExtra("pandas", "data", "a .parquet file") from error
    return pandas


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _read_npy(path: Path, header: bool) -> tuple[Names, "np.ndarray"]:
    """Memory-mapped, so that rows are read as they are used."""
    import numpy as np

    try:
        values = np.lib.format.open_memmap(path, mode="r")
    except ValueError as error:
        raise ValueError(f"must be an array written by numpy.save; {_first_line(error)}") from error
    if values.dtype.kind not in "buif":
        raise ValueError(f"must be an array of numbers; got {values.dtype}.")
    return None, values


READERS = {".csv": _read_csv, ".parquet": _read_parquet, ".npy": _read_npy}


# ---- checks ----------------------------------------------------------------------------------------------------------


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"a table must have at least one row and one column; got the shape {shape}.")


def _check_names(names: Names) -> None:
    repeated = [name for name, count in Counter(names or ()).items() if count > 1]
    if repeated:
        raise ValueError(
            f"columns must differ in their names; got {listed(map(repr, repeated))} more than once. "
            "A first line of only 0 and 1 is read as a row, not as a header."
        )
    if names and "" in names:
        raise ValueError(f"every column must have a name in the header; column {names.index('') + 1} has none.")


def _check_values(names: Names, values: Any) -> None:
    import numpy as np

    for first in range(0, len(values), BLOCK):
        block = values[first : first + BLOCK]
        odd = ~((block == 0) | (block == 1) | np.isnan(block))
        if odd.any():
            row, column = np.argwhere(odd)[0]
            raise ValueError(
                f"values must be 0, 1 or missing; got {block[row, column]:g} in row {first + row}, column "
                f"{(names or range(values.shape[1]))[column]!r}. Round or threshold it first."
            )


# ---- beside a network ------------------------------------------------------------------------------------------------


def units_of(network: "BeliefNetwork", table: Table) -> "np.ndarray":
    """The unit of every column: by name, or those of the bottom layer, or all, where columns have no names."""
    import numpy as np

    from plefka.learning.patterns import has_names

    width = table.values.shape[1]
    if table.names is not None and has_names(network, table.names):
        return units_by_name(network, table)
    visible = network.layers[-1] if network.layers else network.size
    if width not in (visible, network.size):
        either = f"{visible} columns, as the bottom layer has units, or" if visible < network.size else "columns for"
        raise InvalidFile(f"{table.path}: there must be {either} all {network.size} units; got {width}.")
    return np.arange(network.size - width, network.size)


def units_by_name(network: "BeliefNetwork", table: Table) -> "np.ndarray":
    """The unit that each column is named after."""
    import numpy as np

    if table.names is None:
        raise InvalidFile(f"{table.path}: the columns must have the names of units.")
    position = {name: unit for unit, name in enumerate(network.names)}
    unknown = [name for name in table.names if name not in position]
    if unknown:
        raise InvalidFile(
            f"{table.path}: columns must be units of the network; there is no {listed(map(repr, unknown))}."
            + nearest(unknown[0], position)
        )
    return np.array([position[name] for name in table.names])


def evidence_of(network: "BeliefNetwork", units: "np.ndarray", values: Any) -> "np.ndarray":
    """Some rows of a table with a column for every unit; nan where a unit has none."""
    import numpy as np

    rows = np.full((len(values), network.size), NAN)
    rows[:, units] = values
    return rows
