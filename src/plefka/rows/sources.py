"""Rows of evidence in blocks: from files that need not fit in memory, tables, arrays, and dictionaries."""

from collections.abc import Iterable, Iterator, Mapping, Sized
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from plefka.errors import InvalidEvidence, InvalidFile, InvalidInput
from plefka.evidence import as_rows
from plefka.tabular.columns import Columns, is_frame, of_frame, of_mappings
from plefka.tabular.files import READERS, about_rows, file_blocks, for_suffix, json_rows, naming, suffix_of
from plefka.tabular.roles import IdColumns, Roles, note_of, why_id
from plefka.tabular.table import SAMPLE, numbers_in, own_words, saying, table_roles, units_of
from plefka.tabular.words import NO_STATE, hint, meaning, own_text

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork


class Block(NamedTuple):
    """Some rows: the states of a few units, nan where hidden, and what the rows are called."""

    units: Int[np.ndarray, " column"]
    values: Float[np.ndarray, "row column"]
    ids: dict[str, list[Any]]


class Source(NamedTuple):
    """Blocks of rows, about how many rows there are, if that is known, and the columns that name them."""

    blocks: Iterator[Block]
    about: int | None
    id_columns: list[str]


def open_source(network: "BeliefNetwork", source: Any, size: int, id_columns: IdColumns = None) -> Source:
    """Rows in blocks of `size`: of a file, a DataFrame, an array, or dictionaries {unit: 0 or 1}."""
    if isinstance(source, str | PathLike):
        return _of_file(network, Path(source), size, id_columns)
    if is_frame(source):
        with saying(InvalidEvidence):
            columns = of_frame(source)
            reader = _Reader.of(network, columns, id_columns)
        return Source(_saying_blocks(map(reader.block, columns.parts(size))), len(columns), reader.id_columns)
    if isinstance(source, np.ndarray):
        if id_columns:
            raise InvalidInput(f"an array has no column {id_columns!r} to identify the rows. Pass a DataFrame.")
        return Source(_of_array(network, source, size), len(source), [])
    if isinstance(source, Iterable) and not isinstance(source, Mapping):
        return _of_mappings(network, source, size, id_columns)
    raise InvalidInput(
        "rows must be a file, a DataFrame, an array with a column for each unit, or dictionaries {unit: 0 or 1}; "
        f"got {type(source).__name__}."
    )


# ---- tables ----------------------------------------------------------------------------------------------------------


class _Reader(NamedTuple):
    """From columns to blocks, once it is known what the columns are."""

    roles: Roles
    own: list[Any]
    units: np.ndarray
    id_columns: list[str]

    @classmethod
    def of(cls, network: "BeliefNetwork", sample: Columns, id_columns: IdColumns, where: str = "") -> "_Reader":
        roles = table_roles(sample, network, id_columns)
        if not roles.units:
            raise ValueError("a table must have at least one row and one column; got nothing.")
        units = units_of(network, roles.names, len(roles.units))
        roles.report(where)
        return cls(roles, own_words(network, roles), units, list(roles.ids_in(sample)))

    def block(self, columns: Columns) -> Block:
        return Block(self.units, numbers_in(columns, self.roles, self.own), self.roles.ids_in(columns))


def _of_file(network: "BeliefNetwork", path: Path, size: int, id_columns: IdColumns) -> Source:
    for_suffix(path, READERS)
    about = about_rows(path)
    with naming(path):
        if suffix_of(path) == ".jsonl":
            found = _of_mappings(network, json_rows(path), size, id_columns, f"{path}: ")
            return found._replace(blocks=_naming_blocks(path, found.blocks), about=about)
        known = network.given_names
        reader = _Reader.of(network, next(file_blocks(path, SAMPLE, known)), id_columns, f"{path}: ")
        blocks = (reader.block(columns) for columns in file_blocks(path, size, known) if len(columns))
        return Source(_naming_blocks(path, blocks), about, reader.id_columns)


def _naming_blocks(path: Path, blocks: Iterator[Block]) -> Iterator[Block]:
    with naming(path):
        try:
            yield from blocks
        except InvalidEvidence as error:
            raise InvalidFile(f"{path}: {error}") from error


def _saying_blocks(blocks: Iterator[Block]) -> Iterator[Block]:
    with saying(InvalidEvidence):
        yield from blocks


def _of_array(network: "BeliefNetwork", rows: np.ndarray, size: int) -> Iterator[Block]:
    for first in range(0, len(rows), size):
        some = as_rows(network, rows[first : first + size])[0]
        units = np.flatnonzero(~np.isnan(some).all(axis=0))  # only those that are observed in some row
        yield Block(units, some[:, units], {})


# ---- dictionaries ----------------------------------------------------------------------------------------------------


def _of_mappings(
    network: "BeliefNetwork", rows: Iterable[Any], size: int, id_columns: IdColumns, where: str = ""
) -> Source:
    """Columns that name the rows are recognised in the first of them."""
    about = len(rows) if isinstance(rows, Sized) else None
    rows = iter(rows)
    head = [_mapping(row, number) for number, row in enumerate(islice(rows, SAMPLE))]
    places = {name: unit for unit, name in enumerate(network.names)}
    given = [id_columns] if isinstance(id_columns, str) else list(id_columns or ())
    found = _recognised(head, places, given, where)
    blocks = _mapping_blocks(network, chain(head, rows), size, (given, found), places)
    return Source(blocks, about, [*given, *found])


def _mapping(row: Any, number: int) -> Mapping[Any, Any]:
    if not isinstance(row, Mapping):
        raise InvalidEvidence(f"row {number}: must be a dictionary {{unit: 0 or 1}}; got {type(row).__name__}.")
    return row


def _recognised(head: list[Mapping], places: dict[Any, int], given: list[str], where: str) -> list[str]:
    """Keys that are no units and name the rows."""
    strange = [key for key in dict.fromkeys(key for row in head for key in row) if _is_strange(key, places, given)]
    sample = of_mappings([{key: row.get(key) for key in strange} for row in head])
    reasons = {key: why_id(sample, at, places) for at, key in enumerate(strange)}
    found = [key for key, why in reasons.items() if why]
    Roles([], None, {}, [note_of(key, reasons[key]) for key in found]).report(where)
    return found


def _is_strange(key: Any, places: dict[Any, int], given: list[str]) -> bool:
    return isinstance(key, str) and key not in places and key not in given


def _mapping_blocks(
    network: "BeliefNetwork", rows: Iterable[Any], size: int, ids: tuple[list[str], list[str]], places: dict[Any, int]
) -> Iterator[Block]:
    """The units that some row of a block observes; names are listed once, as there may be many of them."""
    rows, first, (given, found) = iter(rows), 0, ids
    left_out = {*given, *found}
    while block := [_mapping(row, first + k) for k, row in enumerate(islice(rows, size))]:
        names = {key: [_id_of(row, first + k, key) for k, row in enumerate(block)] for key in given}
        names |= {key: [row.get(key) for row in block] for key in found}
        states = [_states(network, row, first + k, left_out, places) for k, row in enumerate(block)]
        units = np.array(sorted({unit for row in states for unit in row}), int)
        values = np.full((len(block), len(units)), np.nan)
        for row, known in zip(values, states, strict=True):
            row[np.searchsorted(units, [*known])] = [*known.values()]
        yield Block(units, values, names)
        first += len(block)


def _id_of(row: Mapping[Any, Any], number: int, id_column: str) -> Any:
    if id_column not in row:
        raise InvalidEvidence(f"row {number}: must have {id_column!r}, the name of the row.")
    return row[id_column]


def _states(
    network: "BeliefNetwork", row: Mapping[Any, Any], number: int, left_out: set[str], places: dict[Any, int]
) -> dict[int, float]:
    found: dict[int, float] = {}
    for unit, state in row.items():
        if unit in left_out:
            continue
        if unit not in places:
            places[unit] = network.index(unit)
        own = None if network.given_states is None else network.given_states[places[unit]]
        known = meaning(state, own)
        if known == NO_STATE:
            raise InvalidEvidence(
                f"row {number}: the state of unit {unit!r} must be 0 or 1{own_text(own)}; got {state!r}."
                f"{hint(state, own)}"
            )
        if known == known:
            found[places[unit]] = known
    return found
