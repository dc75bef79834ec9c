"""Rows of evidence in blocks: from files that need not fit in memory, tables, arrays, and dictionaries."""

from collections.abc import Iterable, Iterator, Mapping, Sized
from itertools import chain, islice
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput
from plefka.networks.belief import BeliefNetwork
from plefka.networks.evidence import as_rows
from plefka.scale.evidence_rows import EvidenceBlock
from plefka.scale.row_files import JSON_LINES, Reader, files_of, mappings_in, naming_blocks, tables_in
from plefka.tables.columns import IdColumns, Roles, id_note, is_frame, of_frame, of_mappings, reason_for_id
from plefka.tables.table import SAMPLE, value_errors_as
from plefka.tables.table_files import READERS, about_rows, for_suffix, suffix_of
from plefka.tables.values import NO_STATE, advice_on_value, meaning, state_words_text


class RowSource(NamedTuple):
    """Rows in pieces, about how many rows there are, if that is known, and the columns that name them.

    A piece is a block, or a DataFrame, the rows of which `reader` makes blocks of; or a DataFrame that is still to be
    computed by a cluster. `counts` are their numbers of rows where these are not blocks.
    """

    pieces: Iterator[Any]
    about: int | None
    id_columns: list[str]
    reader: Reader | None = None
    counts: list[int] | None = None

    def blocks(self, size: int) -> Iterator[EvidenceBlock]:
        """All rows, here."""
        for piece in self.pieces:
            yield from [piece] if self.reader is None else self.reader.blocks(piece, size)


def open_source(
    network: BeliefNetwork, source: Any, size: int, id_columns: IdColumns = None, client: Any = None
) -> RowSource:
    """Rows in blocks of `size`: of files, a DataFrame, an array, or dictionaries {unit: 0 or 1}."""
    if isinstance(source, str | PathLike):
        return _of_files(network, source, size, id_columns)
    if hasattr(source, "to_delayed") and hasattr(source, "npartitions"):  # a DataFrame of Dask
        return _of_dask(network, source, id_columns, client)
    if is_frame(source):
        with value_errors_as(InvalidEvidence):
            columns = of_frame(source)
            reader = Reader.of(network, columns, id_columns)
        return RowSource(_saying_blocks(map(reader.block, columns.parts(size))), len(columns), reader.id_columns)
    if isinstance(source, np.ndarray):
        if id_columns:
            raise InvalidInput(f"an array has no column {id_columns!r} to identify the rows. Pass a DataFrame.")
        return RowSource(_of_array(network, source, size), len(source), [])
    if isinstance(source, Iterable) and not isinstance(source, Mapping):
        return _of_mappings(network, source, size, id_columns)
    raise InvalidInput(
        "rows must be a file, a DataFrame, an array with a column for each unit, or dictionaries {unit: 0 or 1}; "
        f"got {type(source).__name__}."
    )


# ---- tables ----------------------------------------------------------------------------------------------------------


def _of_files(network: BeliefNetwork, source: str | PathLike[str], size: int, id_columns: IdColumns) -> RowSource:
    paths = files_of(source)
    for_suffix(paths[0], READERS)
    counts = [about_rows(path) for path in paths]
    count = None if None in counts else sum(filter(None, counts))
    if suffix_of(paths[0]) == JSON_LINES:
        found = _of_mappings(network, mappings_in(paths), size, id_columns, f"{source}: ")
        return found._replace(pieces=naming_blocks(str(source), found.pieces), about=count)
    reader, blocks = tables_in(network, paths, size, id_columns)
    return RowSource(blocks, count, reader.id_columns)


def _saying_blocks(blocks: Iterator[EvidenceBlock]) -> Iterator[EvidenceBlock]:
    with value_errors_as(InvalidEvidence):
        yield from blocks


def _of_array(network: BeliefNetwork, rows: np.ndarray, size: int) -> Iterator[EvidenceBlock]:
    for first in range(0, len(rows), size):
        some = as_rows(network, rows[first : first + size])[0]
        units = np.flatnonzero(~np.isnan(some).all(axis=0))  # only those that are observed in some row
        yield EvidenceBlock.of(units, some[:, units], {})


def _of_dask(network: BeliefNetwork, source: Any, id_columns: IdColumns, client: Any) -> RowSource:
    """Each partition is a piece, computed here one after another, or left to the workers of a client."""
    counts = _computed(source.map_partitions(len), client).tolist()
    with value_errors_as(InvalidEvidence):
        reader = Reader.of(
            network, of_frame(_computed(source.head(SAMPLE, npartitions=-1, compute=False), client)), id_columns
        )
    partitions = (source.partitions[k] for k, count in enumerate(counts) if count)
    pieces = (each.compute() if client is None else client.compute(each) for each in partitions)
    return RowSource(pieces, sum(counts), reader.id_columns, reader, [count for count in counts if count])


def _computed(values: Any, client: Any) -> Any:
    return values.compute() if client is None else client.compute(values, sync=True)


# ---- dictionaries ----------------------------------------------------------------------------------------------------


def _of_mappings(
    network: BeliefNetwork, rows: Iterable[Any], size: int, id_columns: IdColumns, where: str = ""
) -> RowSource:
    """Columns that name the rows are recognised in the first of them."""
    about = len(rows) if isinstance(rows, Sized) else None
    rows = iter(rows)
    head = [_mapping(row, number) for number, row in enumerate(islice(rows, SAMPLE))]
    places = {name: unit for unit, name in enumerate(network.names)}
    given = [id_columns] if isinstance(id_columns, str) else list(id_columns or ())
    found = _recognised(head, places, given, where)
    blocks = _mapping_blocks(network, chain(head, rows), size, (given, found), places)
    return RowSource(blocks, about, [*given, *found])


def _mapping(row: Any, number: int) -> Mapping[Any, Any]:
    if not isinstance(row, Mapping):
        raise InvalidEvidence(f"row {number}: must be a dictionary {{unit: 0 or 1}}; got {type(row).__name__}.")
    return row


def _recognised(head: list[Mapping], places: dict[Any, int], given: list[str], where: str) -> list[str]:
    """Keys that are no units and name the rows."""
    keys = dict.fromkeys(key for row in head for key in row)
    unknown = [key for key in keys if isinstance(key, str) and key not in places and key not in given]
    sample = of_mappings([{key: row.get(key) for key in unknown} for row in head])
    reasons = {key: reason_for_id(sample, at, places) for at, key in enumerate(unknown)}
    found = [key for key, why in reasons.items() if why]
    Roles([], None, {}, [id_note(key, reasons[key]) for key in found]).report(where)
    return found


def _mapping_blocks(
    network: BeliefNetwork, rows: Iterable[Any], size: int, ids: tuple[list[str], list[str]], places: dict[Any, int]
) -> Iterator[EvidenceBlock]:
    """The units that some row of a block observes; names are listed once, as there may be many of them."""
    rows, first, (given, found) = iter(rows), 0, ids
    left_out = {*given, *found}
    while block := [_mapping(row, first + k) for k, row in enumerate(islice(rows, size))]:
        for key in given:
            for number in (first + k for k, row in enumerate(block) if key not in row):
                raise InvalidEvidence(f"row {number}: must have {key!r}, the name of the row.")
        names = {key: [row.get(key) for row in block] for key in (*given, *found)}
        states = [_states(network, row, first + k, left_out, places) for k, row in enumerate(block)]
        units = np.array(sorted({unit for row in states for unit in row}), int)
        values = np.full((len(block), len(units)), np.nan)
        for row, known in zip(values, states, strict=True):
            row[np.searchsorted(units, [*known])] = [*known.values()]
        yield EvidenceBlock.of(units, values, names)
        first += len(block)


def _states(
    network: BeliefNetwork, row: Mapping[Any, Any], number: int, left_out: set[str], places: dict[Any, int]
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
                f"row {number}: the state of unit {unit!r} must be 0 or 1{state_words_text(own)}; got {state!r}."
                f"{advice_on_value(state, own)}"
            )
        if known == known:
            found[places[unit]] = known
    return found
