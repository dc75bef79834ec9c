"""The most probable units as bars."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from plefka.errors import InvalidInput
from plefka.plots.style import axes_for, heading, plain

if TYPE_CHECKING:
    from plefka.inference.solution import Solution

BAR, NAME_WIDTH = 0.34, 34  # inches for each bar, and letters of a name


def ranking(
    solution: "Solution", top: int | None = 10, *, units: str | Sequence[str | int] = "causes",
    title: str | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """P(on | evidence) of the most probable hidden units, as bars; `top` and `units` as of `Solution.ranking`."""
    if solution.is_batch:
        raise InvalidInput("a ranking is of one row of evidence; got a batch. Draw one of its rows.")
    ranked = solution.ranking(top, units=units)
    if not ranked:
        raise InvalidInput("there is nothing to rank: none of these units is hidden.")
    axes, palette = axes_for(ax, (7.0, 1.3 + BAR * len(ranked)), 0.1)
    plain(axes, palette, grid="x")
    places = range(len(ranked))
    axes.barh(places, [mean for _, mean in ranked], height=0.62, color=palette.accents[0])
    axes.set_yticks(places, [textwrap.shorten(name, NAME_WIDTH, placeholder="...") for name, _ in ranked])
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    for place, (_, mean) in enumerate(ranked):
        axes.annotate(
            f"{mean:.3f}", (mean, place), (4, 0), textcoords="offset points", va="center", fontsize=9,
            color=palette.ink, annotation_clip=False,
        )  # fmt: skip
    axes.set(xlim=(0, 1.08), ylim=(len(ranked) - 0.4, -0.6), xlabel="P(on | evidence)")
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.tick_params(axis="y", length=0)
    heading(axes, palette, title or f"Most probable, by {solution.method}")
    return axes
