"""What methods cost and how far they are off, side by side."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from plefka.errors import InvalidInput
from plefka.plots.style import Palette, axes_for, figure_of, heading, plain

SMALLEST_SHOWN = 1e-6  # errors below are drawn there: at that size it is rounding
# Where a name may stand beside its point, in points and by alignment; the first that is free is taken.
PLACES: list[tuple[tuple[float, float], dict[str, Any]]] = [
    ((dx * reach, dy * reach), {"ha": ha, "va": va})
    for reach in (1.0, 2.2, 3.6, 5.2)
    for dx, dy, ha, va in (
        (7, 0, "left", "center"), (-7, 0, "right", "center"), (0, 7, "center", "bottom"), (0, -7, "center", "top"),
        (5, 6, "left", "bottom"), (5, -6, "left", "top"), (-5, 6, "right", "bottom"), (-5, -6, "right", "top"),
    )
]  # fmt: skip


class MethodPoint(NamedTuple):
    """A method, how long it took, and the size of its error."""

    method: str
    seconds: float
    error: float


def compare(
    trials: Iterable[Mapping[str, Any]] | Any, *, error: str = "error", title: str | None = None, ax: Axes | None = None
) -> Axes:
    """The error of every method against its time, both on logarithmic axes: the best ones are at the lower left.

    **Arguments:**

    - `trials`: a DataFrame, or dictionaries, with `method`, `seconds` and the error: what `plefka compare --json` has
        in its `methods`. Trials without an error are left out; a method with several stands for their averages.
    - `error`: which column is the error: "error", that of ln P(evidence), or "largest_mean_error", for instance.
    """
    found = _read(trials, error)
    axes, palette = axes_for(ax, (7.4, 4.8), 0.12)
    plain(axes, palette, grid="both")
    seconds, sizes = np.array([[t.seconds, max(t.error, SMALLEST_SHOWN)] for t in found]).T
    exact = np.array([t.error <= SMALLEST_SHOWN for t in found])
    for those, marker in ((~exact, "o"), (exact, "D")):
        axes.scatter(seconds[those], sizes[those], s=46, marker=marker, color=palette.accents[0], zorder=3)
    note = f" (diamonds: {SMALLEST_SHOWN:g} or less)" if exact.any() else ""
    axes.set(xscale="log", yscale="log", xlabel="time, seconds", ylabel=_words(error) + note)
    axes.margins(0.16, 0.14)
    heading(axes, palette, title or f"{len(found)} methods: error against time")
    _draw_names(axes, palette, [trial.method for trial in found], seconds, sizes)
    return axes


def _words(error: str) -> str:
    known = {"error": "|error of ln P(evidence)|, nats", "largest_mean_error": "largest error of a mean"}
    return known.get(error, error.replace("_", " "))


def _read(trials: Any, error: str) -> list[MethodPoint]:
    rows = trials.to_dict("records") if hasattr(trials, "columns") else list(trials)
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
    return [MethodPoint(method, *np.mean(numbers, axis=0).tolist()) for method, numbers in by_method.items()]


def _draw_names(axes: Axes, palette: Palette, names: Sequence[str], x: np.ndarray, y: np.ndarray) -> None:
    """Every name beside its point, where it covers no other name and no other point."""
    figure_of(axes).draw_without_rendering()  # the layout decides where points are
    points = axes.transData.transform(np.column_stack([x, y]))
    taken = [Bbox.from_bounds(right - 5, up - 5, 10, 10) for right, up in points.tolist()]
    for at in sorted(range(len(names)), key=lambda at: -y[at]):
        label = _placed(axes, names[at], (float(x[at]), float(y[at])), taken, palette.ink)
        taken.append(label.get_window_extent())


def _placed(axes: Axes, name: str, at: tuple[float, float], taken: list[Bbox], colour: str) -> Annotation:
    frame, label = axes.get_window_extent(), None
    for offset, align in PLACES:
        if label is not None:
            label.remove()
        label = axes.annotate(
            name, at, offset, textcoords="offset points", fontsize=9, color=colour, parse_math=False, zorder=4, **align
        )
        box = label.get_window_extent()
        inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
        if inside and not any(box.overlaps(other) for other in taken):
            break
    assert label is not None
    return label
