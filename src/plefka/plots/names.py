"""Names beside points, where they cover least; and in lines that break where words end."""

import re
from collections.abc import Iterable, Sequence
from textwrap import TextWrapper
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from plefka.plots.style import figure_of

# Where a name may stand beside its point, in points and by alignment; farther away only above or below, as in line with
# it a name would seem to be that of another point.
IN_LINE = ((7, 0, "left", "center"), (-7, 0, "right", "center"))
OVER_OR_UNDER = (
    (0, 7, "center", "bottom"), (0, -7, "center", "top"), (5, 6, "left", "bottom"), (5, -6, "left", "top"),
    (-5, 6, "right", "bottom"), (-5, -6, "right", "top"),
)  # fmt: skip
PLACES = [
    (reach, (dx * reach, dy * reach), ha, va)
    for reach, places in ((1.0, (*IN_LINE, *OVER_OR_UNDER)), *((far, OVER_OR_UNDER) for far in (2.2, 3.6, 5.2)))
    for dx, dy, ha, va in places
]
BEFORE = {"left": 0.0, "bottom": 0.0, "center": 0.5, "right": 1.0, "top": 1.0}  # the share of a name before its place
FARTHER = 40.0  # square pixels that a name covers rather than stand once more as far away
WORD_END = re.compile(r"(\s+|[^\s_/-]*[_/-]+)")  # behind spaces, underscores, hyphens and slashes
POINT, LINE = 10.0, 3.0  # pixels, the sides of squares that a point takes, and a place on a line


def write_names(
    axes: Axes, names: Sequence[str], points: Any, colours: Iterable[str], lines: Any = (), *, size: float = 9.0
) -> None:
    """Each name beside its point, one after another: as close as it can be without covering much.

    `points` are (x, y) for each name, and `lines` places on lines that should not be covered either.
    """
    figure_of(axes).draw_without_rendering()  # the layout decides where points are
    frame = np.array([axes.get_window_extent().extents])
    taken = np.concatenate([_squares(axes, points, POINT), _squares(axes, lines, LINE)])
    reaches = np.array([reach for reach, *_ in PLACES])
    offsets = figure_of(axes).dpi / 72 * np.array([offset for _, offset, _, _ in PLACES])
    before = np.array([(BEFORE[ha], BEFORE[va]) for *_, ha, va in PLACES])
    for name, point, colour in zip(names, points, colours, strict=True):
        text: Any = {"fontsize": size, "color": colour, "parse_math": False, "zorder": 4, "in_layout": False}
        label = axes.annotate(name, point, (0, 0), textcoords="offset points", **text)
        extent = np.array(label.get_window_extent().size)
        corners = axes.transData.transform(point) + offsets - before * extent
        boxes = np.hstack([corners, corners + extent])
        outside = extent.prod() - _shared(boxes, frame)
        costs = _shared(boxes, taken) + outside + FARTHER * reaches
        best = int(np.argmin(costs.round(3)))  # of equal ones, but for their rounding, the first
        _, offset, ha, va = PLACES[best]
        label.set(position=offset, ha=ha, va=va)
        taken = np.vstack([taken, boxes[best]])


def _squares(axes: Axes, points: Any, side: float) -> np.ndarray:
    """Left, bottom, right and top of squares around these points."""
    centres = axes.transData.transform(np.reshape(points, (-1, 2)))
    return np.hstack([centres - side / 2, centres + side / 2])


def _shared(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The area that each box has in common with others."""
    boxes = boxes[:, None]
    sides = np.minimum(boxes[..., 2:], others[:, 2:]) - np.maximum(boxes[..., :2], others[:, :2])
    return np.prod(np.maximum(sides, 0.0), axis=-1).sum(axis=1)


def wrapped(name: str, letters: int, lines: int, longest: int = 0) -> str:
    """The name in lines of so many letters; a word may have as many as `longest`, and only what is more is cut."""
    wrapper = TextWrapper(letters, max_lines=lines, placeholder="...", break_long_words=False)
    wrapper.wordsep_re = WORD_END
    most = max(letters, longest)
    return "\n".join(line if len(line) <= most else f"{line[: most - 3]}..." for line in wrapper.wrap(name))
