"""Rows that stay in their files: every epoch reads them anew, in an order that follows from the seed and the epoch.

Groups of rows come in a random order, and the rows of a window, which may have those of several groups, in another.
Only one window is in memory. The order does not depend on how many devices or processes there are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plefka.errors import InvalidInput, listed
from plefka.learning.patterns import Data, Piece, batch_places, filled_up
from plefka.tables.dataset import Dataset
from plefka.tables.table import units_of

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

MOST_IN_MEMORY = 2**26  # values of Parquet files, beyond which these are streamed unless told otherwise
WINDOW = 2**24  # values that are in memory at once
GROUPS = 1  # beside the seed and the epoch: draws the order of groups, as nothing does for the rows of windows


def is_streamed(files: Dataset, wanted: bool | None) -> bool:
    """As it is wanted, or else where there is much."""
    return len(files) * len(files.columns) > MOST_IN_MEMORY if wanted is None else wanted


@dataclass(frozen=True)
class Stream(Data):
    """The rows of Parquet files."""

    files: Dataset
    units: np.ndarray
    size: int

    @classmethod
    def of(cls, network: "BeliefNetwork", files: Dataset) -> "Stream":
        units = units_of(network, files.names, len(files.columns))
        never = files.survey.observed == 0
        if never.any():
            missing = [network.names[unit] for unit in units[never]]
            raise InvalidInput(
                f"{files.source}: every column must have a value somewhere; always missing: {listed(missing)}. "
                "Leave the column out of the files."
            )
        return cls(files, units, network.size)

    def __len__(self) -> int:
        return len(self.files)

    @property
    def total(self) -> float:
        return float(len(self))

    @property
    def identity(self) -> Any:
        return np.array(self.files.survey.identity), self.units

    def has_gaps(self) -> np.ndarray:
        return self.files.survey.observed < len(self)

    def pieces(self, size: int, seed: int | None, epoch: int, skip: int, multiple: int) -> Iterator[Piece]:
        places = batch_places(size, len(self), multiple)
        per_window = max(1, WINDOW // (len(self.units) * size))  # batches
        rng = np.random.default_rng([seed or 0, epoch])
        before = skip // per_window * per_window * size  # rows of windows that are not read again
        for first in range(0, before, per_window * size):
            rng.permutation(min(per_window * size, len(self) - first))
        skip %= per_window
        for numbers, values in self._windows(seed, epoch, per_window * size, before):
            order = rng.permutation(len(numbers)) if size < len(self) else np.arange(len(numbers))
            for first in range(skip * size, len(order), size):
                index = order[first : first + size]
                filled = filled_up(index, places)
                yield Piece(numbers[filled], values[filled], (np.arange(places) < len(index)) * 1.0)
            skip = 0

    def _windows(self, seed: int | None, epoch: int, size: int, skip: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(row numbers, values) of so many rows at a time."""
        order = np.random.default_rng([seed or 0, epoch, GROUPS]).permutation(len(self.files.groups))
        numbers = np.empty(min(size, len(self)), int)
        values = np.empty((len(numbers), len(self.units)), np.int8)
        full = 0
        for block in self.files.blocks(order.tolist(), skip):
            while len(block[0]):
                count = min(len(numbers) - full, len(block[0]))
                numbers[full : full + count], values[full : full + count] = (part[:count] for part in block)
                block, full = tuple(part[count:] for part in block), full + count
                if full == len(numbers):
                    yield numbers, values
                    full = 0
        if full:
            yield numbers[:full], values[:full]
