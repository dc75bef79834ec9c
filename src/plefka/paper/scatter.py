"""Error against time, both on logarithmic scales: a mark for each method, with its name beside it."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from plefka.paper.drawings import FIRST, FOURTH, SECOND, THIRD
from plefka.plots.names import write_names
from plefka.plots.style import GRID, INK, QUIET, canvas, to_svg

SIZE = (4.6, 3.9)  # inches
LETTERS = 8.0  # points
FAMILIES: dict[str, tuple[str, str]] = {  # colour and shape
    "paper": (FIRST, "o"),
    "untruncated": (SECOND, "s"),
    "messages": (THIRD, "^"),
    "conditioned": (FOURTH, "D"),
    "other": (INK, "*"),
    "libDAI": (QUIET, "x"),
}
TIMES = {1e-6: "1 µs", 1e-5: "10 µs", 1e-4: "100 µs", 1e-3: "1 ms", 1e-2: "10 ms", 1e-1: "100 ms", 1.0: "1 s"}


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
    named = sorted(marks, key=lambda mark: mark.size)
    lines = [np.geomspace((a.seconds, a.size), (b.seconds, b.size), 15) for a, b in pairwise(front)]
    if exact is not None:
        axes.axvline(exact, color=QUIET, linewidth=1.0, linestyle=":")
        lines.append(np.geomspace((exact, sizes[0]), (exact, sizes[1]), 100))
        named.insert(0, Mark("exact", exact, sizes[0] * 1.1, "libDAI"))
    points, colours = [(mark.seconds, mark.size) for mark in named], [FAMILIES[mark.family][0] for mark in named]
    write_names(axes, [mark.label for mark in named], points, colours, np.concatenate(lines), size=LETTERS)
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
