"""The probabilities of one block of a BIF file, as they are being read."""

from array import array

import numpy as np

from plefka.errors import InvalidFile, listed, nearest
from plefka.files import conditional_tables
from plefka.files.conditional_tables import Variable

MOST_FILLED = 2**22  # entries of all tables that have a default: the memory that a small file may take


class ProbabilityBlock:
    """Rows, a default or a whole table; room for all entries is made when they are known to be there."""

    def __init__(self, family: list[Variable], place: str):
        *parents, self.child = family
        self.parents, self.place = parents, place
        self.size = conditional_tables.table_size(len(parents), place, self.child.name)
        self.words = [{state: k for k, state in enumerate(parent.states)} for parent in parents]
        self.rows, self.pairs = array("q"), array("d")
        self.default: array | None = None
        self.whole: array | None = None

    def add_row(self, words: tuple[str, ...], numbers: array, place: str) -> None:
        if len(words) != len(self.parents):
            raise InvalidFile(
                f"{place}a row must have a state for each of the {len(self.parents)} parents of {self.child.name!r}; "
                f"got {len(words)}."
            )
        row = 0
        for word, known, parent in zip(words, self.words, self.parents, strict=True):
            if word not in known:
                hint = nearest(word, known) or f" They are {listed(known)}."
                raise InvalidFile(f"{place}must be a state of {parent.name!r}; got {word!r}.{hint}")
            row = 2 * row + known[word]
        self.rows.append(row)
        self.pairs.extend(self._pair(numbers, place))

    def set_default(self, numbers: array, place: str) -> None:
        if self.default is not None:
            raise InvalidFile(f"{place}there must be one 'default' in a table.")
        self.default = self._pair(numbers, place)

    def set_whole(self, numbers: array, place: str) -> None:
        if self.whole is not None:
            raise InvalidFile(f"{place}there must be one 'table' in a block.")
        conditional_tables.check_total(len(numbers), self.size, place, self.child.name)
        self.whole = numbers

    def values(self, most_filled: int) -> np.ndarray:
        """All probabilities, those of the child last."""
        shape = (2,) * (len(self.parents) + 1)
        if self.whole is not None:
            if self.rows or self.default:
                raise InvalidFile(
                    f"{self.place}a block must have 'table' or rows; that of {self.child.name!r} has both."
                )
            return np.moveaxis(np.frombuffer(self.whole).reshape(shape), 0, -1)
        count = self.size // 2
        if len(np.unique(self.rows)) < len(self.rows):
            raise InvalidFile(f"{self.place}the rows of {self.child.name!r} must differ in the states of the parents.")
        if self.default is None and len(self.rows) < count:
            raise InvalidFile(
                f"{self.place}the table of {self.child.name!r} must have a row for each of the {count} states of its "
                f"parents; got {len(self.rows)}. Add the others, or a 'default'."
            )
        if self.default is not None and self.size > most_filled:
            raise InvalidFile(f"{self.place}tables with a 'default' must have at most {MOST_FILLED:,} entries in all.")
        values = np.empty((count, 2)) if self.default is None else np.tile(self.default, (count, 1))
        values[self.rows] = np.reshape(self.pairs, (-1, 2))
        return values.reshape(shape)

    def _pair(self, numbers: array, place: str) -> array:
        if len(numbers) != 2:
            raise InvalidFile(
                f"{place}a row must have a probability for each of the two states of {self.child.name!r}; "
                f"got {len(numbers)}."
            )
        return numbers
