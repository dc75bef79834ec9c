"""Whole tables as numbers: 0, 1 and nan in a column for each unit, and the names of the rows beside them."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plefka.errors import InvalidInput, PlefkaError
from plefka.tables.columns import VISIT, Columns, IdColumns, Roles, is_frame, of_frame, roles_of, visits
from plefka.tables.table_files import errors_name_file, file_blocks, input_errors_name, mapped_array, suffix_of
from plefka.tables.values import (
    NAN,
    NO_STATE,
    Network,
    StateWords,
    advice_on_value,
    state_words_text,
    states_in,
)

ROWS_READ_AT_ONCE = 2**16  # rows that are read or checked at once
SAMPLE = 1000  # rows by which columns are recognised


class NumberTable(NamedTuple):
    """The numbers of a table, (rows, columns), nan where missing; the names of its columns, if any, and of its rows."""

    path: Path | str  # or what else the table is called in messages
    names: list[str] | None
    values: Any
    ids: dict[str, list[Any]]


def is_table(source: Any) -> bool:
    """Whether this is a table with names: a file, or a DataFrame."""
    return isinstance(source, str | PathLike) or is_frame(source)


def read_table(
    source: Any, network: Network | None = None, id_columns: IdColumns = None, what: str = "rows"
) -> NumberTable:
    """The table in a file or a DataFrame; columns are units of the network or, without one, all that hold states."""
    if isinstance(source, str | PathLike):
        path = Path(source)
        with errors_name_file(path):
            return _in_file(path, network, id_columns)
    with value_errors_as():
        columns = of_frame(source)
        return _joined(what, iter([columns]), columns, network, id_columns)


@contextmanager
def value_errors_as(kind: type[InvalidInput] = InvalidInput) -> Iterator[None]:
    """Whatever is wrong with a table in memory is bad input."""
    try:
        yield
    except PlefkaError:
        raise
    except ValueError as error:
        raise kind(str(error)) from error


def _in_file(path: Path, network: Network | None, id_columns: IdColumns) -> NumberTable:
    if suffix_of(path) == ".npy":
        values = mapped_array(path)
        roles_of(Columns(None, []), None, id_columns)
        for first in range(0, len(values), ROWS_READ_AT_ONCE):
            block = values[first : first + ROWS_READ_AT_ONCE]
            odd = np.argwhere(~((block == 0) | (block == 1) | np.isnan(block)))
            if len(odd):
                row, column = odd[0]
                place = f"row {first + row}, column {column}"
                raise ValueError(
                    f"values must be 0, 1 or missing; got {block[row, column]:g} in {place}. "
                    "Round or threshold it first."
                )
        return NumberTable(path, None, values, {})
    blocks = file_blocks(path, ROWS_READ_AT_ONCE, network and network.given_names)
    first = next(blocks)
    return _joined(path, chain([first], blocks), first, network, id_columns)


def _joined(
    path: Path | str, blocks: Iterator[Columns], sample: Columns, network: Network | None, id_columns: IdColumns
) -> NumberTable:
    """All blocks, in columns that the first of them shows."""
    roles = table_roles(sample, network, id_columns)
    own = state_words(network, roles)
    values, ids = [], {name: [] for name in roles.ids_in(sample)}
    for block in blocks:
        values.append(numbers_in(block, roles, own, network).astype(np.float32))
        for name, names in roles.ids_in(block).items():
            ids[name] += names
    joined = np.concatenate(values)
    if 0 in joined.shape:
        raise ValueError(f"a table must have at least one row and one column; got the shape {joined.shape}.")
    roles.report(f"{path}: " if isinstance(path, Path) else "")
    if VISIT not in (*ids, *(roles.names or ())) and max(numbers := visits(ids, Counter()), default=1) > 1:
        ids[VISIT] = numbers
    return NumberTable(path, roles.names, joined, ids)


def table_roles(sample: Columns, network: Network | None, id_columns: IdColumns) -> Roles:
    """What columns are, beside a network or without one; columns that are called 0, 1, 2, ... have no names."""
    counted = sample.names is not None and sample.names == [str(k) for k in range(len(sample.names))]
    if counted and (network is None or network.given_names is None):
        return roles_of(replace(sample, names=None), None, id_columns)
    known = None if network is None else dict.fromkeys(network.names)
    return roles_of(sample.part(slice(0, SAMPLE)), known, id_columns)


def state_words(network: Network | None, roles: Roles) -> list[StateWords]:
    """The words for states of the unit of each column."""
    if network is None or network.given_states is None:
        return [None] * len(roles.units)
    return [network.given_states[unit] for unit in units_of(network, roles.names, len(roles.units)).tolist()]


def numbers_in(block: Columns, roles: Roles, own: list[StateWords], network: Any = None) -> np.ndarray:
    """0, 1 and nan in the columns that are units, whatever the numbers of the network for off and on are.

    An error says where something else stands.
    """
    values, numbers = np.full((len(block), len(roles.units)), NAN), (0, 1) if network is None else network.values
    for column, (at, words) in enumerate(zip(roles.units, own, strict=True)):
        values[:, column] = states_in(network, block.values[at], words)
    odd = np.argwhere(values == NO_STATE)
    if len(odd):
        row, column = odd[0].tolist()
        raise ValueError(_wrong_value_text(block, row, roles.units[column], own[column], numbers))
    return values


def _wrong_value_text(block: Columns, row: int, at: int, own: StateWords, numbers: tuple[int, int]) -> str:
    value = block.values[at][row]
    value = value.item() if isinstance(value, np.generic) else value
    missing = "empty (missing)" if block.lines is not None else "missing"
    states = f"{numbers[0]}, {numbers[1]} or {missing}{state_words_text(own)}"
    return f"{block.place(row)}: {block.column_text(at)} must be {states}; got {value!r}.{advice_on_value(value, own)}"


# ---- beside a network ------------------------------------------------------------------------------------------------


def units_of(network: Network, names: list[str] | None, width: int) -> np.ndarray:
    """The unit of every column: by name, or those of the bottom layer, or all, where columns have no names."""
    if names is not None:
        position = {name: unit for unit, name in enumerate(network.names)}
        return np.array([position[name] for name in names], int)
    visible = network.layers[-1] if network.layers else network.size
    if width not in (visible, network.size):
        either = (
            f"{visible} columns, one for each unit of the bottom layer, or" if visible < network.size else "columns for"
        )
        raise InvalidInput(f"there must be {either} all {network.size} units; got {width}.")
    return np.arange(network.size - width, network.size)


def table_units(network: Network, table: NumberTable) -> np.ndarray:
    """The unit of every column of a table."""
    with input_errors_name(table.path):
        return units_of(network, table.names, table.values.shape[1])


def evidence_of(network: Network, units: np.ndarray, values: Any) -> np.ndarray:
    """Some rows of a table with a column for every unit; nan where a unit has none."""
    rows = np.full((len(values), network.size), NAN)
    rows[:, units] = values
    return rows
