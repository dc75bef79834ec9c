"""Pictures: from what was computed to a figure. Nothing here computes a posterior.

Figures are made without pyplot, so that no global state and no backend of the user's is touched.
"""

import io
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from plefka import atomic
from plefka.errors import InvalidInput, MissingExtra
from plefka.learning.fitted import Fitted
from plefka.networks.belief import BeliefNetwork
from plefka.solution import Solution

try:
    import matplotlib
    from matplotlib import colormaps
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize, to_rgba
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator
except ImportError as error:
    raise MissingExtra("matplotlib", "plots", "drawing") from error

MOST_UNITS = 100
COLOURS = "YlOrRd"
INK, PAPER, LINE, QUIET = "#1f2933", "#ffffff", "#8a97a6", "#52606d"
UNIT_SIZE = 34.0  # points, the diameter of a unit
LAYER_HEIGHT, UNIT_WIDTH = 2.4, 1.35  # inches
THINNEST, THICKEST = 0.6, 5.0  # points, of an edge
NAME_WIDTH = 13  # letters, before a name is wrapped
Place = tuple[tuple[int, int], dict[str, Any]]  # offset in points, alignment
ABOVE: Place = ((0, 22), {"ha": "center", "va": "bottom"})
BELOW: Place = ((0, -22), {"ha": "center", "va": "top"})
BESIDE: Place = ((21, 0), {"ha": "left", "va": "center"})
NAME_PLACES = {
    (False, True): ABOVE,
    (True, True): BESIDE,
    (True, False): BELOW,
    (False, False): BELOW,
}  # parents, children
BEHIND_NAME = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0, "alpha": 0.85}


def network(net: BeliefNetwork, solution: Solution, *, title: str | None = None) -> Figure:
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


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure in the format that its suffix says, as a whole or not at all."""
    path = Path(path)
    kind = path.suffix.removeprefix(".").lower()
    if kind not in figure.canvas.get_supported_filetypes():
        raise InvalidInput(f"{path}: a picture ends with .png, .svg or .pdf; got {path.suffix or 'no suffix'}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(path, _rendered(figure, kind))
    return path


def _rendered(figure: Figure, kind: str) -> bytes:
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}  # the same figure gives the same file
    content = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "plefka"}):
        figure.savefig(content, format=kind, dpi=160, metadata=undated.get(kind), facecolor=PAPER)
    return content.getvalue()


def _check(net: BeliefNetwork, solution: Solution) -> None:
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
    figure = Figure(
        figsize=(max(8.0, UNIT_WIDTH * widest + 1.2), 1.8 + LAYER_HEIGHT * (depth - 0.4)),
        layout=ConstrainedLayoutEngine(w_pad=0.25, h_pad=0.2),
    )
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


def _draw_units(axes: Axes, solution: Solution, x: np.ndarray, y: np.ndarray) -> None:
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


def _draw_title(figure: Figure, axes: Axes, solution: Solution, title: str) -> None:
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
    axes.annotate(
        subtitle,
        (0, 1),
        (0, 6),
        "axes fraction",
        "offset points",
        fontsize=10,
        color=QUIET,
        va="bottom",
        parse_math=False,
    )


def _draw_keys(figure: Figure, axes: Axes, weights: sp.csr_array) -> None:
    colours = ScalarMappable(Normalize(0, 100), COLOURS)
    bar = figure.colorbar(colours, ax=axes, fraction=0.03, pad=0.02, shrink=0.8, format="%d %%")
    bar.set_label("P(on | evidence)", fontsize=9.5, color=INK, labelpad=8)
    bar.ax.tick_params(labelsize=9, color=LINE, labelcolor=INK)
    bar.outline.set_visible(False)
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


# ---- learning --------------------------------------------------------------------------------------------------------

CURVES = {
    "objective": ("#1f7a8c", "-"),
    "log_likelihood": (INK, "--"),
    "validation": ("#d9480f", ":"),
}  # colour, and a style that tells them apart without it
TILE = 1.25  # inches, an image of weights
SIGNED = "RdBu_r"


def history(fitted: Fitted, path: str | os.PathLike[str] | None = None) -> Figure:
    """How learning went: the objective, the exact ln P and the validation against the epoch, where they are known.

    Every network of a stack is a line. The figure is written where a path is given.
    """
    if not fitted.epochs:
        raise InvalidInput("a history has one epoch or more; nothing was learned.")
    figure = Figure(figsize=(8.0, 4.6), layout=ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.15))
    axes = figure.add_subplot()
    for name, (colour, style) in CURVES.items():
        _draw_curves(axes, fitted, name, colour, style)
    _draw_frame(axes, fitted)
    if path is not None:
        save(figure, path)
    return figure


def _draw_curves(axes: Axes, fitted: Fitted, name: str, colour: str, style: str) -> None:
    """The lines of one column of the history; one start among many is thin."""
    epochs, values = fitted.history["epoch"], fitted.history[name].reshape(fitted.epochs, -1)
    if not np.isfinite(values).any():
        return
    many = values.shape[1] > 1
    kind = "a lower bound" if fitted.method.is_bound else "an estimate, no bound"
    labels = {
        "objective": f"by {fitted.method}, {kind}",
        "log_likelihood": "exact",
        "validation": f"by {fitted.method}, on validation rows",
    }
    marker = {"marker": "o", "markersize": 4} if fitted.epochs == 1 else {}
    lines = axes.plot(
        epochs, np.where(np.isfinite(values), values, np.nan), color=colour, linestyle=style,
        linewidth=0.9 if many else 1.8, alpha=0.7 if many else 1.0, **marker,
    )  # fmt: skip
    lines[0].set_label(labels[name])


def _draw_frame(axes: Axes, fitted: Fitted) -> None:
    stack = fitted.network.stack
    starts = "" if stack is None else f" from {stack} starts"
    title = f"Learning by {fitted.method}{starts}"
    axes.set_title(title, loc="left", fontsize=14, fontweight="bold", color=INK, pad=12)
    axes.set_xlabel("epoch", color=INK)
    axes.set_ylabel("ln P per row, nats", color=INK)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(LINE)
    axes.tick_params(color=LINE, labelcolor=INK, labelsize=9)
    axes.grid(axis="y", color=LINE, alpha=0.25, linewidth=0.8)
    axes.legend(loc="best", frameon=False, fontsize=9.5, labelcolor=INK)


def features(
    net: BeliefNetwork, path: str | os.PathLike[str] | None = None, shape: Sequence[int] | None = None
) -> Figure:
    """What each unit of the lowest hidden layer stands for: its weights to the visible units, as an image.

    One scale of colours for all, from blue to red where weights have signs. `shape` is that of the image, a square
    unless given. The figure is written where a path is given.
    """
    weights, names = _bottom_layer(net)
    shape = image_shape(len(weights), shape)
    shown = min(len(names), MOST_UNITS)
    columns = min(shown, max(4, int(np.ceil(np.sqrt(1.6 * shown)))))
    lines = -(-shown // columns)
    size = (TILE * max(columns, 4) + 1.2, (TILE + 0.25) * lines + 0.6)
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.06))
    tiles = figure.subplots(lines, columns, squeeze=False).ravel()
    colours = _scale(weights[:, :shown], positive=net.activation.domain[0] == 0)
    for unit, axes in enumerate(tiles[:shown]):
        _draw_tile(axes, weights[:, unit].reshape(shape), names[unit], colours)
    for axes in tiles[shown:]:
        axes.set_axis_off()
    _draw_scale(figure, list(tiles), colours)
    more = f" (the first {shown} of {len(names):,} units)" if shown < len(names) else ""
    title = f"Weights from hidden to visible units{more}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold", color=INK)
    if path is not None:
        save(figure, path)
    return figure


def image_shape(num_visible: int, shape: Sequence[int] | None = None) -> tuple[int, int]:
    """The height and width of the image of all visible units: what is given, or a square."""
    side = round(num_visible**0.5)
    if shape is None and side**2 != num_visible:
        raise InvalidInput(f"{num_visible} visible units make no square; say shape=(height, width).")
    shape = (side, side) if shape is None else tuple(int(length) for length in shape)
    if len(shape) != 2 or min(shape) < 1 or shape[0] * shape[1] != num_visible:
        raise InvalidInput(
            f"shape must be the height and width of an image of {num_visible} visible units; "
            f"got {' x '.join(map(str, shape))}."
        )
    return shape


def check_name(path: str | os.PathLike[str]) -> None:
    """Whether `save` knows the format that the suffix says, before there is a figure."""
    kind = Path(path).suffix.removeprefix(".").lower()
    if kind not in Figure().canvas.get_supported_filetypes():
        raise InvalidInput(f"{path}: a picture ends with .png, .svg or .pdf; got {Path(path).suffix or 'no suffix'}.")


def _bottom_layer(net: BeliefNetwork) -> tuple[np.ndarray, tuple[str, ...]]:
    """weights[visible, hidden] between the two lowest layers, and the names of the hidden units."""
    if net.stack is not None:
        raise InvalidInput(f"features shows one network; got a stack of {net.stack}. Draw one of them.")
    if not net.layers:
        raise InvalidInput(
            "features shows the bottom layer; the network must have layers, as of BeliefNetwork.layered."
        )
    weights = np.asarray(net.weights[-1], float)
    first = net.size - sum(weights.shape)
    return weights, net.names[first : first + weights.shape[1]]


def _scale(weights: np.ndarray, *, positive: bool) -> tuple[str, Normalize]:
    """Zero is white where weights have signs, and the bottom of the scale where they have none."""
    size = np.abs(weights)
    largest = float(np.max(size, where=np.isfinite(size), initial=0.0)) or 1.0
    signed = not positive or bool((weights < 0).any())
    return SIGNED if signed else COLOURS, Normalize(-largest if signed else 0.0, largest)


def _draw_tile(axes: Axes, image: np.ndarray, name: str, colours: tuple[str, Normalize]) -> None:
    axes.imshow(image, *colours, interpolation="nearest")
    axes.set_title(textwrap.shorten(name, 16, placeholder="..."), fontsize=8.5, color=INK, pad=4, parse_math=False)
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(color=LINE, linewidth=0.8)


def _draw_scale(figure: Figure, tiles: list[Axes], colours: tuple[str, Normalize]) -> None:
    name, limits = colours
    bar = figure.colorbar(ScalarMappable(limits, name), ax=tiles, fraction=0.03, pad=0.02, aspect=25)
    bar.set_label("weight", fontsize=9.5, color=INK)
    bar.ax.tick_params(labelsize=9, color=LINE, labelcolor=INK)
    bar.outline.set_visible(False)
