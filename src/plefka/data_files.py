"""Tables of 0, 1 and missing in files: .csv, .parquet and .npy."""

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from plefka import extras
from plefka.errors import InvalidFile, PlefkaError, listed, nearest

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


def read_table(path: Path) -> Table:
    """The table in a file; an error that names the file where it is not one of 0, 1 and missing."""
    read = for_suffix(path, READERS)
    with naming(path):
        names, values = read(path)
        check_names(names)
        _check_shape(values.shape)
        for first in range(0, len(values), BLOCK):
            check_values(names, values[first : first + BLOCK], first)
    return Table(path, names, values)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Whatever is wrong inside is said of this file."""
    try:
        yield
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read: {error.strerror or error}.") from error
    except PlefkaError:
        raise
    except ValueError as error:
        raise InvalidFile(f"{path}: {error}") from error


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


def _read_csv(path: Path) -> tuple[Names, "np.ndarray"]:
    """A first line without 0 and 1 is a header, and so is 0, 1, 2, ..., which numbers columns without naming them."""
    import numpy as np

    with csv_lines(path) as lines:
        number, first = next(lines, (0, []))
        words = [word.strip() for word in first]
        numbered = len(words) > 2 and words == [str(k) for k in range(len(words))]
        has_header = not numbered and _is_header(first)
        names = words if has_header else None
        if not has_header and not numbered and first:
            lines = chain([(number, first)], lines)
        columns = [f"column {name!r}" for name in names or range(len(first))]
        rows = [states_in(words, number, columns) for number, words in lines]
    return names, np.array(rows, np.float32).reshape(len(rows), len(first))


@contextmanager
def csv_lines(path: Path) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """The lines of a file with their numbers, each as a list of words."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            yield _lines(csv.reader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"cannot be read as CSV: {error}.") from error


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


def states_in(words: list[str], line: int, columns: Sequence[str]) -> list[float]:
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


def _read_parquet(path: Path) -> tuple[Names, "np.ndarray"]:
    import numpy as np

    extras.pyarrow()
    pandas = extras.pandas("a .parquet file")
    path.open("rb").close()  # raises the usual error if the file does not exist
    with naming_parquet():
        frame = pandas.read_parquet(path)
        return [str(name) for name in frame.columns], frame.to_numpy(dtype=np.float32, na_value=NAN)


@contextmanager
def naming_parquet() -> Iterator[None]:
    """Whatever is wrong inside is said of a Parquet file."""
    try:
        yield
    except PlefkaError:
        raise
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"must be a Parquet file with columns of 0, 1 and missing; {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _read_npy(path: Path) -> tuple[Names, "np.ndarray"]:
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


def check_names(names: Names) -> None:
    repeated = [name for name, count in Counter(names or ()).items() if count > 1]
    if repeated:
        raise ValueError(
            f"columns must differ in their names; got {listed(map(repr, repeated))} more than once. "
            "A first line of only 0 and 1 is read as a row, not as a header."
        )
    if names and "" in names:
        raise ValueError(f"every column must have a name in the header; column {names.index('') + 1} has none.")


def check_values(names: Names, block: Any, first: int = 0) -> None:
    """0, 1 or nan throughout; `first` is the number of the first of these rows."""
    import numpy as np

    odd = ~((block == 0) | (block == 1) | np.isnan(block))
    if odd.any():
        row, column = np.argwhere(odd)[0]
        raise ValueError(
            f"values must be 0, 1 or missing; got {block[row, column]:g} in row {first + row}, column "
            f"{(names or range(block.shape[1]))[column]!r}. Round or threshold it first."
        )


# ---- beside a network ------------------------------------------------------------------------------------------------


def units_of(network: "BeliefNetwork", table: Table) -> "np.ndarray":
    """The unit of every column: by name, or those of the bottom layer, or all, where columns have no names."""
    import numpy as np

    from plefka.learning.patterns import has_names

    width = table.values.shape[1]
    if table.names is not None and has_names(network, table.names):
        return units_by_name(network, table.path, table.names)
    visible = network.layers[-1] if network.layers else network.size
    if width not in (visible, network.size):
        either = f"{visible} columns, as the bottom layer has units, or" if visible < network.size else "columns for"
        raise InvalidFile(f"{table.path}: there must be {either} all {network.size} units; got {width}.")
    return np.arange(network.size - width, network.size)


def units_by_name(network: "BeliefNetwork", path: Path, names: Sequence[str]) -> "np.ndarray":
    """The unit that each column is named after."""
    import numpy as np

    position = {name: unit for unit, name in enumerate(network.names)}
    unknown = [name for name in names if name not in position]
    if unknown:
        raise InvalidFile(
            f"{path}: columns must be units of the network; there is no {listed(map(repr, unknown))}."
            + nearest(unknown[0], position)
        )
    return np.array([position[name] for name in names], int)


def evidence_of(network: "BeliefNetwork", units: "np.ndarray", values: Any) -> "np.ndarray":
    """Some rows of a table with a column for every unit; nan where a unit has none."""
    import numpy as np

    rows = np.full((len(values), network.size), NAN)
    rows[:, units] = values
    return rows
