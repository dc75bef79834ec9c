"""What methods cost and how far they are off, side by side."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from plefka.errors import InvalidInput
from plefka.plots.names import write_names
from plefka.plots.style import axes_for, heading, plain
from plefka.runtime import strict_json
from plefka.tables import disk
from plefka.tables.table_files import input_errors_name

SMALLEST_SHOWN = 1e-6  # errors below are drawn there: at that size it is rounding


def compare(
    trials: str | os.PathLike[str] | Iterable[Mapping[str, Any]] | Any, *, error: str = "error",
    title: str | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """The error of every method against its time, both on logarithmic axes: the best ones are at the lower left.

    **Arguments:**

    - `trials`: what `plefka compare --json` prints: the path of a file with it, the text itself, or the dictionary that
        it stands for; or a DataFrame, or dictionaries, with `method`, `seconds` and the error. Trials without an error
        are left out; a method with several stands for their averages.
    - `error`: which column is the error: "error", that of ln P(evidence), or "largest_mean_error", for instance.
    """
    found = _read(trials, error)
    axes, palette = axes_for(ax, (7.4, 4.8), 0.12)
    plain(axes, palette, grid="both")
    points = np.array([*found.values()])
    exact = points[:, 1] <= SMALLEST_SHOWN
    points[exact, 1] = SMALLEST_SHOWN
    for those, marker in ((~exact, "o"), (exact, "D")):
        axes.scatter(*points[those].T, s=46, marker=marker, color=palette.accents[0], zorder=3)
    note = f" (diamonds: {SMALLEST_SHOWN:g} or less)" if exact.any() else ""
    axes.set(xscale="log", yscale="log", xlabel="time, seconds", ylabel=_words(error) + note)
    axes.margins(0.16, 0.14)
    heading(axes, palette, title or f"{len(found)} methods: error against time")
    write_names(axes, list(found), points, [palette.ink] * len(found))
    return axes


def _words(error: str) -> str:
    known = {"error": "|error of ln P(evidence)|, nats", "largest_mean_error": "largest error of a mean"}
    return known.get(error, error.replace("_", " "))


def _rows(trials: Any) -> list[Mapping[str, Any]]:
    """The trials as dictionaries, whatever holds them."""
    if isinstance(trials, str | os.PathLike):
        is_text = str(trials).lstrip()[:1] in ("{", "[")
        with input_errors_name("trials" if is_text else str(trials)):
            trials = strict_json.parse(str(trials).encode() if is_text else disk.read(Path(trials)))
    if isinstance(trials, Mapping):
        trials = trials.get("methods", [trials])
    return trials.to_dict("records") if hasattr(trials, "columns") else list(trials)


def _read(trials: Any, error: str) -> dict[str, np.ndarray]:
    """Of every method how long it took, and the size of its error."""
    rows = _rows(trials)
    by_method: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        missing = [name for name in ("method", "seconds", error) if name not in row]
        if missing:
            raise InvalidInput(
                f"every trial must have 'method', 'seconds' and {error!r}, as those of plefka compare --json; "
                f"got one without {missing[0]!r}."
            )
        if row[error] is not None and np.isfinite(row[error]):
            by_method.setdefault(str(row["method"]), []).append((float(row["seconds"]), abs(float(row[error]))))
    if not by_method:
        raise InvalidInput(f"there must be a trial with a finite {error!r}; got {len(rows)} without.")
    return {method: np.mean(numbers, axis=0) for method, numbers in by_method.items()}
