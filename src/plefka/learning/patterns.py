"""Rows of data as distinct patterns with counts, so that 2,000 rows of 30 kinds cost 30."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from plefka.errors import InvalidInput, listed
from plefka.networks.edges import Edges
from plefka.reduction.ladder import MANY_ROWS, rung
from plefka.tables.columns import IdColumns
from plefka.tables.dataset import MISSING
from plefka.tables.table import NumberTable, is_table, read_table, units_of

PATTERN_ROWS_AT_ONCE = 2**16  # rows that are read at once
HEAVY = 2  # times the average weight, from which on a row is in several batches


class Piece(NamedTuple):
    """The rows of a batch: their numbers, what they are, and how much each weighs; spare places weigh 0."""

    numbers: np.ndarray
    values: np.ndarray  # (rows, columns), int8
    counts: np.ndarray


class Data(ABC):
    """Rows to learn from, in memory or in files."""

    units: np.ndarray  # which unit each column is
    size: int  # of the network

    @abstractmethod
    def __len__(self) -> int:
        """How many rows are told apart."""

    @property
    @abstractmethod
    def total(self) -> float:
        """How many rows there are, or what they weigh together."""

    @property
    @abstractmethod
    def identity(self) -> Any:
        """The arrays or words that make these rows what they are."""

    @abstractmethod
    def has_gaps(self) -> np.ndarray:
        """Of each column, whether a value is missing somewhere."""

    @abstractmethod
    def pieces(self, size: int, seed: int | None, epoch: int, skip: int, multiple: int) -> Iterator[Piece]:
        """The batches of an epoch but for the first ones; each has a multiple of so many places."""

    @property
    def latent(self) -> np.ndarray:
        """The units that no row observes."""
        return np.setdiff1d(np.arange(self.size), self.units)

    def num_searched(self, layers: tuple[int, ...] | None) -> int:
        """How many units a solver must search: those before a bottom layer that every row observes, or all."""
        hidden = np.ones(self.size, bool)
        hidden[self.units] = self.has_gaps()
        above = self.size - layers[-1] if layers else self.size
        return self.size if above == 0 or hidden[above:].any() else above

    def evidence(self, values: np.ndarray) -> np.ndarray:
        """Values with a number for every unit of the network, nan where hidden."""
        rows = np.full((len(values), self.size), np.nan)
        rows[:, self.units] = np.where(values == MISSING, np.nan, values)
        return rows


@dataclass(frozen=True)
class Patterns(Data):
    """Distinct rows: 0, 1 or MISSING in the columns of the units that were ever observed."""

    values: np.ndarray  # (patterns, columns), int8
    counts: np.ndarray  # (patterns,), how often, or how much each weighs
    units: np.ndarray
    size: int
    which: np.ndarray  # the pattern of every row that has a weight

    def __len__(self) -> int:
        return len(self.values)

    @property
    def total(self) -> float:
        return float(self.counts.sum())

    @property
    def identity(self) -> Any:
        return self.values, self.counts, self.units

    def has_gaps(self) -> np.ndarray:
        return (self.values == MISSING).any(axis=0)

    def frequencies(self) -> np.ndarray:
        """How often each column is on, never 0 or 1."""
        return (self.counts @ (self.values == 1) + 0.5) / (self.counts @ (self.values != MISSING) + 1)

    def whole_values(self) -> np.ndarray:
        """0, 1 or MISSING of all units, (patterns, units)."""
        values = np.full((len(self), self.size), MISSING, np.int8)
        values[:, self.units] = self.values
        return values

    def rows(self, index: Any = slice(None)) -> np.ndarray:
        """Some patterns as evidence."""
        return self.evidence(self.values[index])

    def thinned(self, most: int) -> "Patterns":
        """So many rows at most, spread evenly over all, each as often as it is there."""
        if len(self) <= most:
            return self
        places = (np.arange(most) + 0.5) / most * self.total
        kept, counts = np.unique(np.searchsorted(np.cumsum(self.counts), places), return_counts=True)
        return Patterns(self.values[kept], counts * 1.0, self.units, self.size, np.arange(len(kept)))

    def pieces(self, size: int, seed: int | None, epoch: int, skip: int, multiple: int) -> Iterator[Piece]:
        order, places = np.arange(len(self)), batch_places(size, len(self), multiple)
        if size < len(self):
            order = np.random.default_rng([seed or 0, epoch]).permutation(len(self))
        for first in range(skip * size, len(self), size):
            index = order[first : first + size]
            filled = filled_up(index, places)
            yield Piece(filled, self.values[filled], self.counts[filled] * (np.arange(places) < len(index)))


def as_patterns(
    network: Any, rows: Any, weights: Any = None, what: str = "rows",
    *, every_column: bool = False, id_columns: IdColumns = None,
) -> Patterns:  # fmt: skip
    """From an array (a memory map too), a DataFrame or the file of a table to patterns.

    `every_column`: one without a single value is an error, as nothing could be learned about it.
    """
    table = as_table(network, rows, what, id_columns)
    numbers = (0, 1) if isinstance(rows, NumberTable) or is_table(rows) else network.values
    names, shape = table.names, table.values.shape
    units = (
        _units_by_position(network, shape, str(table.path)) if names is None else units_of(network, names, len(names))
    )
    return patterns_of(network, table.values, units, weights, what, every_column=every_column, numbers=numbers)


def as_table(network: Any, rows: Any, what: str = "rows", id_columns: IdColumns = None) -> NumberTable:
    """The numbers of an array as they are, those of a table read."""
    if isinstance(rows, NumberTable):
        return rows
    if is_table(rows):
        return read_table(rows, network, id_columns, what)
    if id_columns:
        raise InvalidInput(f"an array has no column {id_columns!r} to identify {what}. Pass a DataFrame.")
    return NumberTable(what, None, rows if isinstance(rows, np.ndarray) else np.asarray(rows), {})


def patterns_of(
    network: Any, table: Any, units: np.ndarray, weights: Any = None, what: str = "rows",
    *, every_column: bool = False, numbers: tuple[int, int] = (0, 1),
) -> Patterns:  # fmt: skip
    """From a table, read in blocks, and the unit of each of its columns to patterns; `numbers`: for off and on."""
    if len(table) == 0:
        raise InvalidInput(f"{what} must not be empty; got an array of shape {table.shape}.")
    weights = _weights(weights, len(table), "weights" if what == "rows" else f"{what}_weights")
    firsts = range(0, len(table), PATTERN_ROWS_AT_ONCE)
    values = np.concatenate([_encoded(table, first, units, network, what, numbers) for first in firsts])
    seen = (values != MISSING).any(axis=0)
    if every_column and len(units) < network.size and not seen.all():
        missing = [network.names[unit] for unit in units[~seen]]
        raise InvalidInput(
            f"every column of {what} must have a value somewhere; always missing: {listed(missing)}. "
            "Leave the column out, or pass one column for every unit, where hidden ones are all nan."
        )
    if not seen.any():
        raise InvalidInput(f"{what} must observe something; every entry is nan.")
    values, counts, which = _merged(np.ascontiguousarray(values[:, seen]), weights)
    return Patterns(values, counts, units[seen], network.size, which)


def _units_by_position(network: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    units = np.arange(network.size)
    visible = len(units[network.visible])
    if len(shape) != 2 or shape[1] not in (visible, network.size):
        layer = "the bottom layer" if network.is_normalised else "the visible layer"
        either = f"{visible} columns ({layer}) or {network.size}" if network.layers else f"{visible} columns"
        raise InvalidInput(f"{what} must have {either}, one for each visible unit; got shape {shape}.")
    return units if shape[1] == network.size else units[network.visible]


def _weights(weights: Any, count: int, what: str) -> np.ndarray:
    if weights is None:
        return np.ones(count)
    weights = np.asarray(weights, float)
    if weights.shape != (count,) or not np.all(np.isfinite(weights)) or weights.min() < 0 or weights.sum() <= 0:
        raise InvalidInput(f"{what} must be {count} numbers that are not negative, one for each row, and not all 0.")
    return weights


def _encoded(
    table: Any, first: int, units: np.ndarray, network: Any, what: str, numbers: tuple[int, int]
) -> np.ndarray:
    """A block of the table as int8: 0, 1 and MISSING, whatever the numbers for off and on are."""
    off, on = numbers
    try:
        block = np.asarray(table[first : first + PATTERN_ROWS_AT_ONCE], float)
    except (TypeError, ValueError):
        raise InvalidInput(f"{what} must be numbers: {off}, {on}, or nan where missing.") from None
    hidden = np.isnan(block)
    odd = ~(hidden | (block == off) | (block == on))
    if odd.any():
        row, column = np.argwhere(odd)[0]
        raise InvalidInput(
            f"{what} must be {off}, {on} or nan (missing); got {block[row, column]:g} in row {first + row}, "
            f"unit {network.names[units[column]]!r}. Round or threshold it first."
        )
    return np.where(hidden, MISSING, block == on).astype(np.int8)


def _merged(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Equal rows once, with their weights added, and which of them each row is; rows of no weight are left out."""
    values, weights = values[weights > 0], weights[weights > 0]
    keys = values.view(np.dtype((np.void, values.shape[1]))).ravel()
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    which = which.ravel()
    return values[first], np.bincount(which, weights, minlength=len(first)), which


def spread(data: Data, size: int) -> Data:
    """Rows that weigh much more than most, several times with a part of their weight: no batch is theirs alone.

    At most half as many rows again; rows of a single batch, or in files, stay as they are.
    """
    if not isinstance(data, Patterns) or len(data) <= size:
        return data
    copies = np.ceil(data.counts / (HEAVY * data.counts.mean())).astype(int)
    first = np.cumsum(copies) - copies
    counts = np.repeat(data.counts / copies, copies)
    return replace(data, values=np.repeat(data.values, copies, axis=0), counts=counts, which=first[data.which])


def complete(data: Data) -> bool:
    """Whether every row observes every unit."""
    return not len(data.latent) and not data.has_gaps().any()


def leaves_independent(machine: Any, data: Data) -> bool:
    """Whether rows leave nothing hidden in a Boltzmann machine, or only units that are then independent."""
    apart = machine.is_restricted or (isinstance(machine.storage, Edges) and not coupled_within(machine, data.latent))
    return not data.has_gaps().any() and (apart or not len(data.latent))


def coupled_within(machine: Any, units: np.ndarray) -> bool:
    """Whether any two of these units are coupled to each other."""
    inside = np.isin(np.arange(machine.size), units)
    child, parent = machine.storage.ends()
    return bool(np.any(inside[child] & inside[parent]))


def batch_places(size: int, count: int, multiple: int) -> int:
    """How many places a batch has, a multiple of a number; data sets of one batch share sizes, and programs."""
    return -(-(filled_size(count) if size >= count else size) // multiple) * multiple


def filled_size(count: int) -> int:
    """The next of 6, 8, 12, 16, 24, 32, ...: data sets of similar sizes share a compiled program."""
    return rung(max(count, 6), MANY_ROWS)


def filled_up(index: np.ndarray, size: int) -> np.ndarray:
    """With the last one again in spare places."""
    return np.r_[index, np.full(size - len(index), index[-1])]
