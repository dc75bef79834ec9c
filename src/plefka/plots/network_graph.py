"""A network as a picture, coloured by what is believed of its units."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize, to_rgba
from matplotlib.lines import Line2D

from plefka.errors import InvalidInput
from plefka.networks.graph import Graph
from plefka.plots.names import wrapped
from plefka.plots.style import COLOURS, LIGHT, MOST_DRAWN, Palette, axes_for, colour_bar, figure_of, is_light

if TYPE_CHECKING:
    from plefka.inference.solution import Solution
    from plefka.networks.belief import BeliefNetwork

UNIT_SIZE = 34.0  # points, the diameter of a unit
LAYER_HEIGHT, UNIT_WIDTH = 2.4, 1.35  # inches
THINNEST, THICKEST = 0.6, 5.0  # points, of an edge
NAME_WIDTH, MOST_LINES = 13, 6  # letters, before a name is wrapped, and lines, before it is cut
SMALLEST = 0.6  # the share of its size to which a name may shrink, before it is cut
LETTER = 0.58  # how wide one is, as a fraction of its height
Place = tuple[tuple[int, int], dict[str, Any]]  # offset in points, alignment
ABOVE: Place = ((0, 22), {"ha": "center", "va": "bottom"})
BELOW: Place = ((0, -22), {"ha": "center", "va": "top"})
BESIDE: Place = ((21, 0), {"ha": "left", "va": "center"})
NAME_PLACES = {(False, True): ABOVE, (True, True): BESIDE, (True, False): BELOW, (False, False): BELOW}
MOST_GIVEN = 12  # observations that are listed


@dataclass(frozen=True, eq=False)
class Shown:
    """The units that are drawn, what is believed of them, and the edges between them."""

    names: list[str]
    means: np.ndarray
    observed: np.ndarray
    weights: sp.csr_array  # [child, parent]
    left_out: int  # units of the network

    @classmethod
    def of(cls, net: "BeliefNetwork", solution: "Solution", units: np.ndarray) -> "Shown":
        weights = sp.csr_array(sp.csr_array(net.storage.to_sparse())[units][:, units])
        weights.eliminate_zeros()
        names = [net.names[unit] for unit in units]
        means, observed = np.asarray(solution.means)[units], np.asarray(solution.observed)[units]
        return cls(names, means, observed, weights, net.size - len(units))


def network(
    net: "BeliefNetwork", solution: "Solution", *, around: str | int | Sequence[str | int] | None = None,
    hops: int = 1, title: str | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """The network coloured by posterior means, parents above their children.

    A circle is a hidden unit, with its probability in percent; a square was observed, filled if on and empty if off.
    The wider an edge, the larger its weight; a dashed one is negative.

    **Arguments:**

    - `around`, `hops`: draw the part within so many edges of a unit, or of several, as of
        `BeliefNetwork.subnetwork`; the probabilities are those of the whole network.
    """
    if not net.is_normalised:
        raise InvalidInput(
            "plots.network draws parents above their children, and a Boltzmann machine has neither. "
            "Use plots.ranking(solution) for its means."
        )
    shown = Shown.of(net, solution, _chosen(net, solution, around, hops))
    child, parent = shown.weights.nonzero()
    levels = Graph(child, parent, len(shown.names)).levels
    assert levels is not None  # a network has no cycle
    widest, depth = np.bincount(levels).max(), levels.max() + 1
    top = 0.35 if max(map(len, shown.names)) < 3 * NAME_WIDTH else 0.55  # room for names above units
    size = max(8.0, UNIT_WIDTH * widest + 1.2), 1.8 + LAYER_HEIGHT * (depth - 0.75 + top)
    axes, palette = axes_for(ax, size, 0.22)
    axes.set_axis_off()
    axes.set(xlim=(-0.1, widest + 0.1), ylim=(0.7 - depth, top))
    scale = 1.0 if ax is None else _scale(axes, levels)
    x, y = _positions(shown.weights, levels)
    _draw_edges(axes, palette, shown.weights, x, y)
    _draw_units(axes, palette, shown, x, y, scale)
    _draw_names(axes, palette, shown, x, y, scale)
    _draw_title(axes, palette, _subtitle(shown, solution), title or f"P(on | evidence) by {solution.method}")
    _draw_keys(axes, palette, shown.weights, outside=ax is None)
    return axes


def _chosen(net: "BeliefNetwork", solution: "Solution", around: Any, hops: int) -> np.ndarray:
    """The units to draw, not too many of them."""
    if net.stack is not None or solution.is_batch:
        raise InvalidInput("a picture shows one network and one row of evidence; got a batch. Draw one of them.")
    if solution.names != net.names:
        raise InvalidInput("the solution must belong to the network; their units have different names.")
    from plefka.networks.neighbourhood import units_around  # a report is drawn without JAX

    units = np.arange(net.size) if around is None else units_around(net, around, hops)
    if len(units) > MOST_DRAWN:
        what = "this network" if around is None else f"the part within {hops} edges"
        advice = "around='NAME' to draw what is around a unit" if around is None else "fewer hops, or another unit"
        raise InvalidInput(
            f"a picture stays readable for up to {MOST_DRAWN} units; {what} has {len(units):,}. Pass {advice}."
        )
    return units


def _scale(axes: Axes, levels: np.ndarray) -> float:
    """How much smaller units are than on a figure of their own, in the room that axes of the user's have."""
    room = axes.get_window_extent().width / figure_of(axes).dpi / np.bincount(levels).max()
    return float(np.clip(room / UNIT_WIDTH, 0.2, 1.0))


def _diameter(scale: float) -> float:
    return UNIT_SIZE * min(1.0, 1.6 * scale)  # there is room between units


def _font(scale: float) -> float:
    return 9.5 * max(scale, 0.55)


def _draw_edges(axes: Axes, palette: Palette, weights: sp.csr_array, x: np.ndarray, y: np.ndarray) -> None:
    edges = weights.tocoo()
    child, parent = edges.coords
    strength = np.abs(edges.data)
    largest = np.max(strength, where=np.isfinite(strength), initial=np.finfo(float).tiny)
    widths = THINNEST + (THICKEST - THINNEST) * np.minimum(strength / largest, 1.0)
    styles = ["--" if weight < 0 else "-" for weight in edges.data]
    ends = np.column_stack([x[parent], y[parent], x[child], y[child]])
    curves = [_curve(*end) for end in ends.tolist()]
    lines = LineCollection(curves, linewidths=widths, linestyles=styles, colors=palette.line, alpha=0.65, zorder=1)
    axes.add_collection(lines, autolim=False)


def _draw_units(axes: Axes, palette: Palette, shown: Shown, x: np.ndarray, y: np.ndarray, scale: float) -> None:
    observed, means = shown.observed, shown.means
    colours = colormaps[COLOURS](means)
    colours[observed & (means > 0.5)] = to_rgba(palette.ink)
    colours[observed & (means < 0.5)] = to_rgba(palette.paper)
    for units, marker in ((~observed, "o"), (observed, "s")):
        size = _diameter(scale) ** 2 * (1.0 if marker == "o" else 0.75)
        style: Any = {"marker": marker, "edgecolors": palette.ink, "linewidths": 1.3, "zorder": 3}
        axes.scatter(x[units], y[units], s=size, c=colours[units], **style)
    for unit in range(len(x)):
        label = ("on" if means[unit] > 0.5 else "off") if observed[unit] else _percent(means[unit])
        colour = LIGHT.ink if is_light(colours[unit]) else LIGHT.paper
        axes.text(x[unit], y[unit], label, size=_font(scale), color=colour, ha="center", va="center", zorder=4)


def _percent(mean: float) -> str:
    """Whole percents, but never 0 or 100 for what is merely likely."""
    return "<1" if mean < 0.005 else ">99" if mean > 0.995 else f"{100 * mean:.0f}"


def _draw_names(axes: Axes, palette: Palette, shown: Shown, x: np.ndarray, y: np.ndarray, scale: float) -> None:
    """Above roots, below leaves, and beside those in between, where no edge leaves or arrives."""
    weights, (levels, crowds) = shown.weights, np.unique(-y, return_inverse=True, return_counts=True)[1:]
    gaps = 72 * UNIT_WIDTH * scale * crowds.max() / crowds[levels]  # points to the next unit of a level
    behind = {"facecolor": palette.paper, "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
    has_parents, has_children = np.diff(weights.indptr) > 0, np.diff(weights.tocsc().indptr) > 0
    closer, font = _diameter(scale) / UNIT_SIZE, _font(scale)
    for unit, name in enumerate(shown.names):
        (right, up), align = NAME_PLACES[bool(has_parents[unit]), bool(has_children[unit])]
        room = gaps[unit] - (right > 0) * closer * (right + UNIT_SIZE / 2)
        fit = max(3, int(room / (LETTER * font)))  # letters
        text = wrapped(name.replace("_", " "), min(NAME_WIDTH, fit), MOST_LINES, round(fit / SMALLEST))
        size = font * min(1.0, fit / max(map(len, text.split("\n"))))
        axes.annotate(
            text, (x[unit], y[unit]), (closer * right, closer * up), textcoords="offset points",
            size=size, color=palette.ink, linespacing=1.05, parse_math=False, zorder=2, bbox=behind, **align,
        )  # fmt: skip


def _subtitle(shown: Shown, solution: "Solution") -> str:
    observed = np.flatnonzero(solution.observed)
    states = [
        f"{solution.names[unit].replace('_', ' ')} {'on' if solution.means[unit] > 0.5 else 'off'}"
        for unit in observed[:MOST_GIVEN]
    ]
    more = f" and {len(observed) - MOST_GIVEN:,} more" if len(observed) > MOST_GIVEN else ""
    given = f"given {', '.join(states)}{more}" if states else "nothing observed"
    part = f";  {shown.left_out:,} other units are not shown" if shown.left_out else ""
    return f"{given};  ln P(evidence) = {solution.log_likelihood:.3f}{part}"


def _draw_title(axes: Axes, palette: Palette, subtitle: str, title: str) -> None:
    width = figure_of(axes).get_size_inches()[0] * axes.get_position().width / 0.775  # of the axes of a new figure
    subtitle = textwrap.fill(subtitle, max(20, int(11.5 * width)))
    lines = subtitle.count("\n") + 1
    text = {"loc": "left", "parse_math": False}
    axes.set_title(title, fontsize=14, fontweight="bold", color=palette.ink, pad=14 + 14 * lines, **text)
    place: Any = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom", "parse_math": False}
    axes.annotate(subtitle, (0, 1), (0, 6), fontsize=10, color=palette.quiet, **place)


def _draw_keys(axes: Axes, palette: Palette, weights: sp.csr_array, *, outside: bool) -> None:
    """What colours, shapes and lines mean; `outside`: below everything, where the figure has nothing else."""
    colours = ScalarMappable(Normalize(0, 100), COLOURS)
    colour_bar(colours, axes, "P(on | evidence)", shrink=0.8, format="%d %%")
    unit: dict[str, Any] = {"linestyle": "", "markersize": 11, "markeredgecolor": palette.ink}
    edge = "larger weight" if weights.nnz == 0 or weights.min() >= 0 else "larger weight (dashed: negative)"
    keys = [
        Line2D([], [], marker="o", markerfacecolor="#fdb24b", label="hidden (percent)", **unit),
        Line2D([], [], marker="s", markerfacecolor=palette.ink, label="observed on", **unit),
        Line2D([], [], marker="s", markerfacecolor=palette.paper, label="observed off", **unit),
        Line2D([], [], color=palette.line, linewidth=THICKEST, label=edge),
    ]
    text: dict[str, Any] = {"handles": keys, "frameon": False, "fontsize": 9.5, "labelcolor": palette.ink}
    if outside:
        figure_of(axes).legend(loc="outside lower center", ncols=len(keys), **text)
    else:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2, **text)


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


def _curve(x0: float, y0: float, x1: float, y1: float) -> np.ndarray:
    """From parent to child, leaving and arriving vertically; one that skips layers swerves around their units."""
    t = np.linspace(0, 1, 40)
    swerve = 0.5 * (y0 - y1 > 1.5) * np.sin(np.pi * t)
    return np.column_stack([x0 + (x1 - x0) * t**2 * (3 - 2 * t) + swerve, y0 + (y1 - y0) * t])
