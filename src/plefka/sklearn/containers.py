"""What rows come in and answers go out in: frames with names, sparse matrices and arrays."""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from sklearn.utils._set_output import ADAPTERS_MANAGER, _get_output_config

from plefka.runtime import extras
from plefka.tables.columns import Columns, Roles, id_note, of_frame, reason_for_id
from plefka.tables.values import NO_STATE, is_numeric, states_of


def as_given(values: np.ndarray, X: Any, model: Any, columns: Callable[[], Any]) -> Any:
    """Values in the container that `set_output` asks for, or else in one like X, with its index and these names."""
    kind = _get_output_config("transform", model)["dense"]
    if kind == "default":
        kind = type(X).__module__.partition(".")[0]
    adapter: Any = ADAPTERS_MANAGER.adapters.get(kind)
    return values if adapter is None else adapter.create_container(values, X, columns)


def curve_of(histories: list[dict[str, np.ndarray]], labels: Any = None) -> Any:
    """A DataFrame with a row for each epoch; `labels`: what the column `class` says of each of several histories."""
    pandas = extras.pandas("learning_curve_")
    frames = [pandas.DataFrame(history) for history in histories]
    if labels is not None:
        for label, frame in zip(labels, frames, strict=True):
            frame.insert(0, "class", label)
    return pandas.concat(frames, ignore_index=True)


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
