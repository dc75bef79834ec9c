"""A network as a picture, coloured by what is believed of its units."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plefka.errors import InvalidInput
from plefka.plots.style import COLOURS, INK, LINE, MOST_UNITS, PAPER, QUIET, colour_bar, sheet

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork
    from plefka.solution import Solution

UNIT_SIZE = 34.0  # points, the diameter of a unit
LAYER_HEIGHT, UNIT_WIDTH = 2.4, 1.35  # inches
THINNEST, THICKEST = 0.6, 5.0  # points, of an edge
NAME_WIDTH = 13  # letters, before a name is wrapped
Place = tuple[tuple[int, int], dict[str, Any]]  # offset in points, alignment
ABOVE: Place = ((0, 22), {"ha": "center", "va": "bottom"})
BELOW: Place = ((0, -22), {"ha": "center", "va": "top"})
BESIDE: Place = ((21, 0), {"ha": "left", "va": "center"})
NAME_PLACES = {(False, True): ABOVE, (True, True): BESIDE, (True, False): BELOW, (False, False): BELOW}
BEHIND_NAME = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0, "alpha": 0.85}


def network(net: "BeliefNetwork", solution: "Solution", *, title: str | None = None) -> Figure:
    """The network coloured by posterior means, parents above their children.

    A circle is a hidden unit, with its probability in percent; a dark square was observed on, a white one off.
    The wider an edge, the larger its weight; a dashed one is negative.
    """
    _check(net, solution)
    weights = sp.csr_array(net.storage.to_sparse())
    weights.eliminate_zeros()
    levels = _levels(weights)
    figure, axes = _canvas(levels)
    x, y = _positions(weights, levels)
    _draw_edges(axes, weights, x, y)
    _draw_units(axes, solution, x, y)
    _draw_names(axes, net.names, weights, x, y)
    _draw_title(figure, axes, solution, title or f"P(on | evidence) by {solution.method}")
    _draw_keys(figure, axes, weights)
    return figure


def _check(net: "BeliefNetwork", solution: "Solution") -> None:
    if net.stack is not None or solution.is_batch:
        raise InvalidInput("a picture shows one network and one row of evidence; got a batch. Draw one of them.")
    if solution.names != net.names:
        raise InvalidInput("the solution must belong to the network; their units have different names.")
    if net.size > MOST_UNITS:
        raise InvalidInput(f"a picture stays readable for up to {MOST_UNITS} units; this network has {net.size:,}.")


def _levels(weights: sp.csr_array) -> np.ndarray:
    """The longest path from a unit without parents, in edges."""
    children, parents = weights.nonzero()
    levels = np.zeros(len(weights.indptr) - 1, int)
    for _ in range(len(levels)):
        np.maximum.at(levels, children, levels[parents] + 1)
    return levels


def _positions(weights: sp.csr_array, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Layer below layer, and inside a layer everybody near the middle of their parents."""
    children, parents = weights.nonzero()
    x = np.zeros(len(levels))
    widest = np.bincount(levels).max()
    for level in range(levels.max() + 1):
        units = np.flatnonzero(levels == level)
        middle = [x[parents[children == unit]].mean() if level else 0.0 for unit in units]
        units = units[np.argsort(middle, kind="stable")]
        x[units] = (np.arange(len(units)) + 0.5) * widest / len(units)
    return x, -levels.astype(float)


def _canvas(levels: np.ndarray) -> tuple[Figure, Axes]:
    widest, depth = np.bincount(levels).max(), levels.max() + 1
    figure = sheet((max(8.0, UNIT_WIDTH * widest + 1.2), 1.8 + LAYER_HEIGHT * (depth - 0.4)), 0.22)
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set(xlim=(-0.1, widest + 0.1), ylim=(0.7 - depth, 0.35))
    return figure, axes


def _draw_edges(axes: Axes, weights: sp.csr_array, x: np.ndarray, y: np.ndarray) -> None:
    edges = weights.tocoo()
    child, parent = edges.coords
    strength = np.abs(edges.data)
    largest = np.max(strength, where=np.isfinite(strength), initial=np.finfo(float).tiny)
    widths = THINNEST + (THICKEST - THINNEST) * np.minimum(strength / largest, 1.0)
    styles = ["--" if weight < 0 else "-" for weight in edges.data]
    ends = np.column_stack([x[parent], y[parent], x[child], y[child]])
    curves = [_curve(*end) for end in ends.tolist()]
    lines = LineCollection(curves, linewidths=widths, linestyles=styles, colors=LINE, alpha=0.65, zorder=1)
    axes.add_collection(lines, autolim=False)


def _curve(x0: float, y0: float, x1: float, y1: float) -> np.ndarray:
    """From parent to child, leaving and arriving vertically; one that skips layers swerves around their units."""
    t = np.linspace(0, 1, 40)
    swerve = 0.5 * (y0 - y1 > 1.5) * np.sin(np.pi * t)
    return np.column_stack([x0 + (x1 - x0) * t**2 * (3 - 2 * t) + swerve, y0 + (y1 - y0) * t])


def _draw_units(axes: Axes, solution: "Solution", x: np.ndarray, y: np.ndarray) -> None:
    observed, means = np.asarray(solution.observed), np.asarray(solution.means)
    colours = colormaps[COLOURS](means)
    colours[observed & (means > 0.5)] = to_rgba(INK)
    colours[observed & (means < 0.5)] = to_rgba(PAPER)
    for units, marker in ((~observed, "o"), (observed, "s")):
        size = UNIT_SIZE**2 * (1.0 if marker == "o" else 0.75)
        axes.scatter(
            x[units], y[units], s=size, c=colours[units], marker=marker, edgecolors=INK, linewidths=1.3, zorder=3
        )
    for unit in range(len(x)):
        label = ("on" if means[unit] > 0.5 else "off") if observed[unit] else _percent(means[unit])
        axes.text(
            x[unit], y[unit], label, ha="center", va="center", fontsize=9.5, color=_on_top_of(colours[unit]), zorder=4
        )


def _percent(mean: float) -> str:
    """Whole percents, but never 0 or 100 for what is merely likely."""
    return "<1" if mean < 0.005 else ">99" if mean > 0.995 else f"{100 * mean:.0f}"


def _on_top_of(colour: Sequence[float]) -> str:
    return INK if np.dot(colour[:3], (0.299, 0.587, 0.114)) > 0.55 else PAPER


def _draw_names(axes: Axes, names: Sequence[str], weights: sp.csr_array, x: np.ndarray, y: np.ndarray) -> None:
    """Above roots, below leaves, and beside those in between, where no edge leaves or arrives."""
    has_parents, has_children = np.diff(weights.indptr) > 0, np.diff(weights.tocsc().indptr) > 0
    for unit, name in enumerate(names):
        offset, align = NAME_PLACES[bool(has_parents[unit]), bool(has_children[unit])]
        axes.annotate(
            textwrap.fill(name.replace("_", " "), NAME_WIDTH), (x[unit], y[unit]), offset, textcoords="offset points",
            fontsize=9.5, color=INK, linespacing=1.05, parse_math=False, zorder=2, bbox=BEHIND_NAME, **align,
        )  # fmt: skip


def _draw_title(figure: Figure, axes: Axes, solution: "Solution", title: str) -> None:
    states = [
        f"{name.replace('_', ' ')} {'on' if solution.means[unit] > 0.5 else 'off'}"
        for unit, name in enumerate(solution.names)
        if solution.observed[unit]
    ]
    given = f"given {', '.join(states)}" if states else "nothing observed"
    width = figure.get_size_inches()[0]
    subtitle = textwrap.fill(f"{given};  ln P(evidence) = {solution.log_likelihood:.3f}", int(11.5 * width))
    lines = subtitle.count("\n") + 1
    text = {"loc": "left", "parse_math": False}
    axes.set_title(title, fontsize=14, fontweight="bold", color=INK, pad=14 + 14 * lines, **text)
    place: Any = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom", "parse_math": False}
    axes.annotate(subtitle, (0, 1), (0, 6), fontsize=10, color=QUIET, **place)


def _draw_keys(figure: Figure, axes: Axes, weights: sp.csr_array) -> None:
    colours = ScalarMappable(Normalize(0, 100), COLOURS)
    colour_bar(figure, colours, axes, "P(on | evidence)", shrink=0.8, format="%d %%")
    unit: dict[str, Any] = {"linestyle": "", "markersize": 11, "markeredgecolor": INK}
    edge = "larger weight" if weights.nnz == 0 or weights.min() >= 0 else "larger weight (dashed: negative)"
    keys = [
        Line2D([], [], marker="o", markerfacecolor="#fdb24b", label="hidden (percent)", **unit),
        Line2D([], [], marker="s", markerfacecolor=INK, label="observed on", **unit),
        Line2D([], [], marker="s", markerfacecolor=PAPER, label="observed off", **unit),
        Line2D([], [], color=LINE, linewidth=THICKEST, label=edge),
    ]
    figure.legend(
        handles=keys, loc="outside lower center", ncols=len(keys), frameon=False, fontsize=9.5, labelcolor=INK
    )
