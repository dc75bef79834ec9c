"""Tables of names and probabilities as people keep them, and where something is wrong in them."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from plefka.errors import InvalidNetwork, listed
from plefka.runtime.extras import pandas
from plefka.tables.values import number_in

CAUSE, PRIOR = ("cause", "name", "disease"), ("prior", "probability", "p")
FINDING, ITS_CAUSE, PROBABILITY, LEAK = ("finding", "symptom"), ("cause", "disease"), ("probability", "p"), ("leak",)
COUNT, LEAK_COUNT = ("count", "cases", "n"), ("leak_count",)
IMPLIES = ("implies", "implied")  # and in a table of its own, a parent of the finding
ONE_IN = re.compile(r"\s*([0-9]{1,9}) in ([1-9][0-9]{0,9})\s*")
Names = tuple[str, ...]  # that a column may have, the first one counts most


class ProbabilityFrame(NamedTuple):
    """A DataFrame, what its rows are about, and how they are called in messages."""

    frame: Any
    what: str
    row: str = "row"
    positions: Any = None  # the numbers of the rows, where they do not count from 0

    @classmethod
    def of(cls, given: Any, what: str) -> "ProbabilityFrame":
        """Of whatever pandas makes a DataFrame of."""
        if isinstance(given, ProbabilityFrame):
            return given
        try:
            frame = pandas().DataFrame(given)
        except (TypeError, ValueError) as error:
            raise InvalidNetwork(
                f"{what} must be a DataFrame, or something that pandas can turn into one; "
                f"got {type(given).__name__}: {error}."
            ) from None
        return cls(frame.reset_index() if frame.index.inferred_type == "string" else frame, what)

    def filled(self, *columns: Names) -> "ProbabilityFrame":
        """Without rows in which all of these columns are empty, as the end of a spreadsheet often is."""
        there = [self.column(names) for names in columns]
        empty = np.all([is_empty(column) for column in there if column is not None] or [[]], axis=0)
        if not empty.any():
            return self
        kept = np.flatnonzero(~empty)
        positions = kept if self.positions is None else self.positions[kept]
        return self._replace(frame=self.frame.iloc[kept], positions=positions)

    def words(self, names: Names, meaning: str) -> Any:
        """A column of names, as a Series of strings; empty where there is none."""
        return words_in(self.required(names, meaning))

    def numbers(self, names: Names, meaning: str, *, optional: bool = False, open_end: bool = False) -> np.ndarray:
        """A column of probabilities, nan where there is none; `open_end`: 1 is not among them."""
        column = self.column(names) if optional else self.required(names, meaning)
        if column is None:
            return np.full(len(self.frame), np.nan)
        return self.probabilities(column, lambda _: str(column.name), open_end=open_end)

    def probabilities(self, column: Any, name: Callable[[int], str], *, open_end: bool = False) -> np.ndarray:
        """Numbers and text of numbers, percentages and decimal commas among them; `name` says what each of them is."""
        found = pandas().to_numeric(column, errors="coerce").to_numpy(float, copy=True, na_value=np.nan)
        values, empty = column.to_numpy(object), is_empty(column)
        other = np.flatnonzero(np.isnan(found) & ~empty)
        found[other] = [_number(value) for value in values[other]]
        comma = next((value for value in values[other] if "," in str(value)), None)
        if comma is not None:
            points = [isinstance(value, str) and "." in value for value in values]
            self.refuse_where(
                points, lambda row: f"write points or commas, not both; got {comma!r} and {values[row]!r}"
            )
        inside = (found >= 0) & ((found < 1) if open_end else (found <= 1))
        allowed = "of at least 0 and below 1" if open_end else "from 0 to 1"
        said = "{} must be a probability {}; got {}. Write it as 0.1 or as 10%"
        self.refuse_where(
            ~inside & ~empty,
            lambda k: said.format(name(k), allowed, repr(values[k]) if np.isnan(found[k]) else values[k]),
        )
        return found

    def refuse_where(self, wrong: Any, why: Callable[[int], str]) -> None:
        """Raise with the place of the first row that is wrong."""
        rows = np.flatnonzero(wrong)
        if rows.size:
            row = int(rows[0])
            number = row if self.positions is None else self.positions[row]
            text = why(row)
            raise InvalidNetwork(f"{self.what}, {self.row} {number}: {text}{'' if text.endswith('?') else '.'}")

    def required(self, names: Names, meaning: str) -> Any:
        column = self.column(names)
        if column is None:
            there = listed(map(repr, map(str, self.frame.columns))) or "none"
            wanted = " or ".join(map(repr, names))
            raise InvalidNetwork(
                f"{self.what} must have a column {wanted} ({meaning}); got the columns {there}. Rename or add it."
            )
        return column

    def column(self, names: Names) -> Any:
        """The first column of one of these names; None where there is none."""
        there = {str(name).strip().lower(): at for at, name in reversed(list(enumerate(self.frame.columns)))}
        at = next((there[name] for name in names if name in there), None)
        return None if at is None else self.frame.iloc[:, at]


def is_empty(column: Any) -> np.ndarray:
    """Where there is neither a value nor text."""
    empty = column.isna().to_numpy(bool)
    if pandas().api.types.is_numeric_dtype(column.dtype):
        return empty
    return empty | (column.astype("string").str.strip() == "").fillna(False).to_numpy(bool)


def words_in(column: Any) -> Any:
    """Names as a Series of strings; a column of 401 and a missing value has become one of 401.0."""
    if pandas().api.types.is_float_dtype(column.dtype) and (column.dropna() % 1 == 0).all():
        column = column.astype("Int64")
    return column.astype("string").str.strip().fillna("").astype(object)


def _number(value: Any) -> float:
    share = ONE_IN.fullmatch(str(value))
    try:
        return int(share[1]) / int(share[2]) if share else number_in(str(value))
    except ValueError:
        return np.nan
