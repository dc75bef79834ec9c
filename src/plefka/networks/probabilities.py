"""Tables of names and probabilities as people keep them, and where something is wrong in them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from plefka.errors import InvalidNetwork, listed
from plefka.runtime.extras import pandas

Names = tuple[str, ...]  # that a column may have, the first one counts most


class ProbabilityFrame(NamedTuple):
    """A DataFrame, what its rows are about, and how they are called in messages."""

    frame: Any
    what: str
    row: str = "row"
    first: int = 0  # the number of the first row
    positions: Any = None  # of the rows, where empty ones were left out

    @classmethod
    def of(cls, given: Any, what: str) -> "ProbabilityFrame":
        """Of whatever pandas makes a DataFrame of."""
        if isinstance(given, ProbabilityFrame):
            return given
        try:
            return cls(pandas().DataFrame(given), what)
        except (TypeError, ValueError) as error:
            raise InvalidNetwork(
                f"{what} must be a DataFrame, or something that pandas can turn into one; "
                f"got {type(given).__name__}: {error}."
            ) from None

    def filled(self, *columns: Names) -> "ProbabilityFrame":
        """Without rows in which all of these columns are empty, as the end of a spreadsheet often is."""
        there = [self._column(names) for names in columns]
        empty = np.all([_is_empty(column) for column in there if column is not None] or [[]], axis=0)
        if not empty.any():
            return self
        positions = np.flatnonzero(~empty)
        return self._replace(frame=self.frame.iloc[positions], positions=positions)

    def words(self, names: Names, meaning: str) -> Any:
        """A column of names, as a Series of strings; empty where there is none."""
        column = self._required(names, meaning)
        if pandas().api.types.is_float_dtype(column.dtype):
            column = _without_points(column)
        return column.astype("string").str.strip().fillna("").astype(object)

    def numbers(self, names: Names, meaning: str, *, optional: bool = False, open_end: bool = False) -> np.ndarray:
        """A column of probabilities, nan where there is none; `open_end`: 1 is not among them."""
        column = self._column(names) if optional else self._required(names, meaning)
        if column is None:
            return np.full(len(self.frame), np.nan)
        found = pandas().to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
        inside = (found >= 0) & ((found < 1) if open_end else (found <= 1))
        allowed = "of at least 0 and below 1" if open_end else "from 0 to 1"
        self.refuse_where(
            ~inside & ~_is_empty(column),
            lambda row: f"{column.name} must be a probability {allowed}; got {_shown(column.iloc[row])}",
        )
        return found

    def refuse_where(self, wrong: Any, why: Callable[[int], str]) -> None:
        """Raise with the place of the first row that is wrong."""
        rows = np.flatnonzero(wrong)
        if rows.size:
            row = int(rows[0])
            number = self.first + int(row if self.positions is None else self.positions[row])
            text = why(row)
            raise InvalidNetwork(f"{self.what}, {self.row} {number}: {text}{'' if text.endswith('?') else '.'}")

    def _required(self, names: Names, meaning: str) -> Any:
        column = self._column(names)
        if column is None:
            there = listed(map(repr, map(str, self.frame.columns))) or "none"
            wanted = " or ".join(map(repr, names))
            raise InvalidNetwork(
                f"{self.what} must have a column {wanted} ({meaning}); got the columns {there}. Rename or add it."
            )
        return column

    def _column(self, names: Names) -> Any:
        there = {str(name).strip().lower(): at for at, name in reversed(list(enumerate(self.frame.columns)))}
        at = next((there[name] for name in names if name in there), None)
        return None if at is None else self.frame.iloc[:, at]


def _is_empty(column: Any) -> np.ndarray:
    empty = column.isna().to_numpy(bool)
    if pandas().api.types.is_numeric_dtype(column.dtype):
        return empty
    return empty | (column.astype("string").str.strip() == "").fillna(False).to_numpy(bool)


def _without_points(column: Any) -> Any:
    """Numbers as names: a column of 401 and a missing value has become one of 401.0."""
    whole = column.dropna() % 1 == 0
    return column.astype("Int64") if whole.all() else column


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)
