"""Error against time, both on logarithmic scales: a mark for each method, with its name beside it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from plefka.experiments.drawing import FIRST, FOURTH, GRID, INK, QUIET, SECOND, THIRD, canvas, to_svg

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
    """A method: its name, seconds per network, mean of |E|, and what kind it is. `below`: the error is less than that."""

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
    axes.minorticks_off()
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold", color=INK)
    _draw_front(axes, [mark for mark in marks if mark.family != "libDAI"])
    for mark in marks:
        colour, shape = FAMILIES[mark.family]
        axes.plot([mark.seconds], [mark.size], "v" if mark.below else shape, color=colour, markersize=5.5)
    figure.draw_without_rendering()  # from here on the axes know where they are
    taken = [_around(axes, mark) for mark in marks]
    if exact is not None:
        axes.axvline(exact, color=QUIET, linewidth=1.0, linestyle=":")
        taken.append(_name(figure, axes, Mark("exact", exact, sizes[0] * 1.25, "libDAI"), taken))
    for mark in sorted(marks, key=lambda mark: mark.size):
        taken.append(_name(figure, axes, mark, taken))
    return to_svg(figure)


def _draw_front(axes: Any, marks: Sequence[Mark]) -> None:
    """A line through the marks of which none is both quicker and closer."""
    front: list[Mark] = []
    for mark in sorted(marks, key=lambda mark: mark.seconds):
        if not front or mark.size < front[-1].size:
            front.append(mark)
    axes.plot([m.seconds for m in front], [m.size for m in front], color=GRID, linewidth=4, zorder=1)


def _place(axes: Any, mark: Mark) -> tuple[float, float]:
    """Where it is, in points."""
    x, y = axes.transData.transform((mark.seconds, mark.size))
    return 72 / axes.figure.dpi * x, 72 / axes.figure.dpi * y


def _around(axes: Any, mark: Mark) -> Box:
    x, y = _place(axes, mark)
    return x - 3, y - 3, x + 3, y + 3


def _name(figure: Any, axes: Any, mark: Mark, taken: Sequence[Box]) -> Box:
    """Write the name where it covers least, and say where that is."""
    x, y = _place(axes, mark)
    wide, high = len(mark.label) * WIDTH * LETTERS, HEIGHT * LETTERS
    page = [72 * side for side in figure.get_size_inches()]
    boxes = [(x + dx, y + dy, x + dx + wide, y + dy + high) for dx, dy in _offsets(wide, high)]
    best = min(boxes, key=lambda box: sum(_overlap(box, other) for other in taken) + _outside(box, page))
    colour = FAMILIES[mark.family][0]
    style: Any = {"fontsize": LETTERS, "color": colour, "va": "bottom", "ha": "left"}
    axes.annotate(mark.label, (best[0], best[1]), xycoords="figure points", **style)
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
    inside = (46.0, 34.0, page[0] - 2, page[1] - 20)
    area = (box[2] - box[0]) * (box[3] - box[1])
    return 10 * (area - _overlap(box, inside))
