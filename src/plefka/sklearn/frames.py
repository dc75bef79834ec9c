"""DataFrames as the estimators take them: every column that is no name of rows is a feature."""

from collections.abc import Collection
from typing import Any

import numpy as np

from plefka.runtime import extras
from plefka.tables.columns import Columns, Roles, id_note, of_frame, reason_for_id
from plefka.tables.values import NO_STATE, is_numeric, states_of


def as_numbers(frame: Any, features: Collection[str] | None = None) -> Any:
    """A DataFrame of numbers with the same names; `features` are columns that are known to be some.

    Columns that name the rows are left out, and a warning says so.
    """
    columns, labels = of_frame(frame), _labels(frame)
    names = columns.names or []
    reasons = {
        at: "" if name in (features or ()) else reason_for_id(columns, at, features) for at, name in enumerate(names)
    }
    kept = [at for at in reasons if not reasons[at]]
    Roles([], None, {}, [id_note(names[at], why, "feature") for at, why in reasons.items() if why]).report()
    values = np.column_stack([_numbers(columns, at) for at in kept]) if kept else np.zeros((len(columns), 0))
    return extras.pandas().DataFrame(values, columns=[labels[at] for at in kept])


def _labels(frame: Any) -> list[Any]:
    """Names of columns, which may be numbers."""
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _numbers(columns: Columns, at: int) -> np.ndarray:
    """Numbers as they are, words as states."""
    values = columns.values[at]
    if is_numeric(values):
        return np.asarray(values, float)
    found = states_of(values)
    odd = np.flatnonzero(found == NO_STATE)
    if len(odd):
        where = f"{columns.place(odd[0])}, {columns.column_text(at)}"
        raise ValueError(f"Input X must contain only 0, 1 and NaN (missing); got {values[odd[0]]!r} in {where}.")
    return found
