"""Rows of evidence in blocks: from files that need not fit in memory, tables, arrays, and dictionaries."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from plefka import extras
from plefka.data_files import (
    check_names,
    check_values,
    csv_lines,
    for_suffix,
    naming,
    naming_parquet,
    states_in,
    units_by_name,
)
from plefka.errors import InvalidEvidence, InvalidFile, InvalidInput, nearest
from plefka.evidence import as_rows

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

NEW_LINE = b"\n"


class Block(NamedTuple):
    """Some rows: the states of a few units, nan where hidden, and what the rows are called."""

    units: Int[np.ndarray, " column"]
    values: Float[np.ndarray, "row column"]
    ids: list[Any] | None


class Source(NamedTuple):
    """Blocks of rows, and about how many rows there are, if that is known."""

    blocks: Iterator[Block]
    about: int | None


def open_source(network: "BeliefNetwork", source: Any, size: int, id_column: str | None = None) -> Source:
    """Rows in blocks of `size`: of a file, a DataFrame, an array, or dictionaries {unit: 0 or 1}."""
    if isinstance(source, str | PathLike):
        path = Path(source)
        read = for_suffix(path, FILES)
        with naming(path):
            return Source(_naming_blocks(path, read(network, path, size, id_column)), _about(path))
    if hasattr(source, "columns"):
        return Source(_of_frame(network, source, size, id_column), len(source))
    if isinstance(source, np.ndarray):
        _refuse_id(id_column, "an array")
        return Source(_of_array(network, source, size), len(source))
    if isinstance(source, Iterable) and not isinstance(source, Mapping):
        return Source(
            _of_mappings(network, source, size, id_column), len(source) if isinstance(source, Sized) else None
        )
    raise InvalidInput(
        "rows must be a file, a DataFrame, an array with a column for each unit, or dictionaries {unit: 0 or 1}; "
        f"got {type(source).__name__}."
    )


def _naming_blocks(path: Path, blocks: Iterator[Block]) -> Iterator[Block]:
    with naming(path):
        yield from blocks


def _about(path: Path) -> int:
    """How many rows a file has, more or less: for the progress bar."""
    if path.suffix.lower() == ".parquet":
        with naming_parquet():
            return extras.pyarrow("pyarrow.parquet").ParquetFile(path).metadata.num_rows
    with open(path, "rb") as file:
        return sum(piece.count(NEW_LINE) for piece in iter(lambda: file.read(2**20), b""))


# ---- files -----------------------------------------------------------------------------------------------------------


def _csv_blocks(network: "BeliefNetwork", path: Path, size: int, id_column: str | None) -> Iterator[Block]:
    with csv_lines(path) as lines:
        _, header = next(lines, (0, []))
        names = [word.strip() for word in header]
        at = _id_place(names, id_column)
        units = _units(network, path, names, at)
        columns = [f"column {name!r}" for name in names if name != id_column]
        while block := list(islice(lines, size)):
            ids = None if at is None else [words[at].strip() if at < len(words) else "" for _, words in block]
            kept = [(line, words if at is None else words[:at] + words[at + 1 :]) for line, words in block]
            yield Block(units, np.array([states_in(words, line, columns) for line, words in kept], float), ids)


def _parquet_blocks(network: "BeliefNetwork", path: Path, size: int, id_column: str | None) -> Iterator[Block]:
    path.open("rb").close()  # raises the usual error if the file does not exist
    with naming_parquet():
        file = extras.pyarrow("pyarrow.parquet").ParquetFile(path)
    names = [str(name) for name in file.schema_arrow.names]
    at = _id_place(names, id_column)
    units, first = _units(network, path, names, at), 0
    names = [name for name in names if name != id_column]
    for batch in file.iter_batches(batch_size=size):
        with naming_parquet():
            values = batch.select(names).to_pandas().to_numpy(dtype=float, na_value=np.nan)
        check_values(names, values, first)
        yield Block(units, values, None if at is None else batch.column(at).to_pylist())
        first += len(values)


def _json_blocks(network: "BeliefNetwork", path: Path, size: int, id_column: str | None) -> Iterator[Block]:
    with open(path, encoding="utf-8") as file:
        try:
            yield from _of_mappings(network, _json_rows(file), size, id_column)
        except InvalidEvidence as error:
            raise InvalidFile(f"{path}: {error}") from error


def _json_rows(lines: Iterable[str]) -> Iterator[Any]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:  # the second where brackets are nested too deep
                raise ValueError(f"line {number}: must be a JSON object {{unit: 0 or 1}}; {error}.") from None


FILES: dict[str, Callable] = {".csv": _csv_blocks, ".parquet": _parquet_blocks, ".jsonl": _json_blocks}


def _id_place(names: list[str], id_column: str | None) -> int | None:
    check_names(names)
    if id_column is None:
        return None
    if id_column not in names:
        raise ValueError(f"there is no column {id_column!r} for the names of rows.{nearest(id_column, names)}")
    return names.index(id_column)


def _units(network: "BeliefNetwork", path: Path, names: list[str], at: int | None) -> np.ndarray:
    if not names:
        raise ValueError("a table must have at least one row and one column; got nothing.")
    return units_by_name(network, path, [name for k, name in enumerate(names) if k != at])


# ---- in memory -------------------------------------------------------------------------------------------------------


def _of_frame(network: "BeliefNetwork", frame: Any, size: int, id_column: str | None) -> Iterator[Block]:
    ids = None
    if id_column is not None:
        if id_column not in frame.columns:
            raise InvalidInput(
                f"there is no column {id_column!r} for the names of rows.{nearest(id_column, map(str, frame.columns))}"
            )
        ids, frame = frame[id_column].tolist(), frame.drop(columns=id_column)
    for first in range(0, len(frame), size):
        part = slice(first, first + size)
        rows = as_rows(network, frame.iloc[part])[0]
        yield _narrowed(rows, None if ids is None else ids[part])


def _of_array(network: "BeliefNetwork", rows: np.ndarray, size: int) -> Iterator[Block]:
    for first in range(0, len(rows), size):
        yield _narrowed(as_rows(network, rows[first : first + size])[0], None)


def _narrowed(rows: np.ndarray, ids: list[Any] | None) -> Block:
    """Only the units that are observed in some row."""
    units = np.flatnonzero(~np.isnan(rows).all(axis=0))
    return Block(units, rows[:, units], ids)


def _of_mappings(network: "BeliefNetwork", rows: Iterable[Any], size: int, id_column: str | None) -> Iterator[Block]:
    """The units that some row of a block observes; names are listed once, as there may be many of them."""
    rows, first = iter(rows), 0
    places: dict[Any, int] = {name: unit for unit, name in enumerate(network.names)}
    while block := list(islice(rows, size)):
        ids = None if id_column is None else [_id_of(row, first + k, id_column) for k, row in enumerate(block)]
        states = [_states(network, row, first + k, id_column, places) for k, row in enumerate(block)]
        units = np.array(sorted({unit for row in states for unit in row}), int)
        values = np.full((len(block), len(units)), np.nan)
        for row, known in zip(values, states, strict=True):
            row[np.searchsorted(units, [*known])] = [*known.values()]
        yield Block(units, values, ids)
        first += len(block)


def _id_of(row: Any, number: int, id_column: str) -> Any:
    if not isinstance(row, Mapping) or id_column not in row:
        raise InvalidEvidence(f"row {number}: must have {id_column!r}, the name of the row.")
    return row[id_column]


def _states(
    network: "BeliefNetwork", row: Any, number: int, id_column: str | None, places: dict[Any, int]
) -> dict[int, float]:
    if not isinstance(row, Mapping):
        raise InvalidEvidence(f"row {number}: must be a dictionary {{unit: 0 or 1}}; got {type(row).__name__}.")
    found: dict[int, float] = {}
    for unit, state in row.items():
        if unit == id_column or state is None:
            continue
        if unit not in places:
            places[unit] = network.index(unit)
        if isinstance(state, str) or state not in (0, 1):
            raise InvalidEvidence(f"row {number}: the state of unit {unit!r} must be 0 or 1; got {state!r}.")
        found[places[unit]] = float(state)
    return found


def _refuse_id(id_column: str | None, what: str) -> None:
    if id_column is not None:
        raise InvalidInput(f"{what} has no column {id_column!r} for the names of rows. Give a DataFrame.")


def whole(network: "BeliefNetwork", path: Path) -> np.ndarray:
    """All rows of a file, (rows, units)."""
    if path.suffix.lower() == ".npy":
        raise InvalidFile(f"{path}: the columns must have the names of units.")
    blocks = list(open_source(network, path, 2**16).blocks)
    if not blocks:
        raise InvalidFile(f"{path}: a table must have at least one row and one column; got no row.")
    rows = np.full((sum(len(block.values) for block in blocks), network.size), np.nan)
    first = 0
    for block in blocks:
        rows[first : first + len(block.values), block.units] = block.values
        first += len(block.values)
    return rows
