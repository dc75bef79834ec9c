"""Error against time, both on logarithmic scales: a mark for each method, with its name beside it."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from plefka.paper.drawings import FIRST, FOURTH, SECOND, THIRD
from plefka.plots.style import GRID, INK, QUIET, canvas, to_svg

SIZE = (4.6, 3.9)  # inches
LETTERS = 8.0  # points
WIDTH, HEIGHT = 0.60, 1.15  # of a letter, in units of that
NEAR = 5.0  # points from a mark to its name
FAMILIES: dict[str, tuple[str, str]] = {  # colour and shape
    "paper": (FIRST, "o"),
    "untruncated": (SECOND, "s"),
    "messages": (THIRD, "^"),
    "conditioned": (FOURTH, "D"),
    "other": (INK, "*"),
    "libDAI": (QUIET, "x"),
}
TIMES = {1e-6: "1 µs", 1e-5: "10 µs", 1e-4: "100 µs", 1e-3: "1 ms", 1e-2: "10 ms", 1e-1: "100 ms", 1.0: "1 s"}

Box = tuple[float, float, float, float]  # left, bottom, right, top


class Mark(NamedTuple):
    """A method: its name, seconds per network, mean of |E|, and its kind. `below`: the error is less than that."""

    label: str
    seconds: float
    size: float
    family: str
    below: bool = False


def error_against_time(
    title: str, marks: Sequence[Mark], exact: float | None, times: tuple[float, float], sizes: tuple[float, float]
) -> str:
    """One panel; `exact`: the seconds of the exact answer; `times` and `sizes`: the ends of the axes."""
    figure, axes = canvas(SIZE)
    axes.set(xscale="log", yscale="log", xlim=times, ylim=sizes)
    axes.set(xlabel="time per network, in a batch", ylabel="mean of |E|")
    shown = {time: label for time, label in TIMES.items() if times[0] <= time <= times[1]}
    axes.set_xticks(list(shown), list(shown.values()))
    axes.set_yticks(_ticks(*sizes), [f"{tick:.7f}".rstrip("0").lstrip("0") for tick in _ticks(*sizes)])
    axes.minorticks_off()
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold", color=INK)
    front = _front([mark for mark in marks if mark.family != "libDAI"])
    axes.plot([mark.seconds for mark in front], [mark.size for mark in front], color=GRID, linewidth=4, zorder=1)
    for mark in marks:
        colour, shape = FAMILIES[mark.family]
        axes.plot([mark.seconds], [mark.size], "v" if mark.below else shape, color=colour, markersize=5.5)
    figure.draw_without_rendering()  # from here on the axes know where they are
    taken = [(x - 3, y - 3, x + 3, y + 3) for x, y in (_place(axes, mark) for mark in marks)] + _along(axes, front)
    if exact is not None:
        axes.axvline(exact, color=QUIET, linewidth=1.0, linestyle=":")
        x, _ = _place(axes, Mark("", exact, sizes[0], ""))
        taken.append((x - 1, 0.0, x + 1, 72 * SIZE[1]))
        taken.append(_name(figure, axes, Mark("exact", exact, sizes[0] * 1.1, "libDAI"), taken))
    for mark in sorted(marks, key=lambda mark: mark.size):
        taken.append(_name(figure, axes, mark, taken))
    return to_svg(figure)


def _ticks(low: float, high: float) -> list[float]:
    """Powers of ten, and twice and five times those where there are few."""
    digits = (1, 2, 5) if high < 150 * low else (1,)
    found = [digit * 10.0**power for power in range(-7, 1) for digit in digits]
    return [tick for tick in found if low <= tick <= high]


def _front(marks: Sequence[Mark]) -> list[Mark]:
    """The marks of which none is both quicker and closer."""
    front: list[Mark] = []
    for mark in sorted(marks, key=lambda mark: mark.seconds):
        if not front or mark.size < front[-1].size:
            front.append(mark)
    return front


def _along(axes: Any, front: Sequence[Mark]) -> list[Box]:
    """Small boxes on the line through the front."""
    places = [np.array(_place(axes, mark)) for mark in front]
    steps = np.linspace(0.0, 1.0, 15)[1:-1]
    points = [(1 - t) * a + t * b for a, b in pairwise(places) for t in steps]
    return [(x - 1.5, y - 1.5, x + 1.5, y + 1.5) for x, y in points]


def _place(axes: Any, mark: Mark) -> tuple[float, float]:
    """Where it is, in points."""
    x, y = axes.transData.transform((mark.seconds, mark.size))
    return 72 / axes.figure.dpi * x, 72 / axes.figure.dpi * y


def _name(figure: Any, axes: Any, mark: Mark, taken: Sequence[Box]) -> Box:
    """Write the name where it covers least, and say where that is."""
    x, y = _place(axes, mark)
    wide, high = len(mark.label) * WIDTH * LETTERS, HEIGHT * LETTERS
    page = [72 * side for side in figure.get_size_inches()]
    boxes = [(x + dx, y + dy, x + dx + wide, y + dy + high) for dx, dy in _offsets(wide, high)]
    best = min(boxes, key=lambda box: sum(_overlap(box, other) for other in taken) + _outside(box, page))
    colour = FAMILIES[mark.family][0]
    style: Any = {"fontsize": LETTERS, "color": colour, "va": "bottom", "ha": "left"}
    axes.annotate(mark.label, (best[0], best[1]), xycoords="figure points", **style).set_in_layout(False)
    return best


def _offsets(wide: float, high: float) -> list[tuple[float, float]]:
    """Right, left, above, below, and farther away in the same directions; the first is taken where all are free."""
    found = []
    for far in (1.0, 2.2, 3.6):
        near = NEAR * far
        for dy in (-high / 2, near / 2, -high - near / 2):
            found += [(near, dy), (-near - wide, dy)]
        found += [(-wide / 2, near), (-wide / 2, -near - high)]
    return found


def _overlap(a: Box, b: Box) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def _outside(box: Box, page: Sequence[float]) -> float:
    """How much of a name would lie outside of the drawing, or on the labels of its axes."""
    inside = (48.0, 36.0, page[0] - 2, page[1] - 20)
    area = (box[2] - box[0]) * (box[3] - box[1])
    return 10 * (area - _overlap(box, inside))
