"""What was learned: the history of it, and the weights of hidden units as images."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator

from plefka.errors import InvalidInput
from plefka.plots.names import wrapped
from plefka.plots.style import COLOURS, MOST_DRAWN, axes_for, colour_bar, heading, plain, save

if TYPE_CHECKING:
    from plefka.learning.fitted import Fitted
    from plefka.networks.belief import BeliefNetwork
    from plefka.networks.boltzmann import BoltzmannMachine

TILE = 1.25  # inches, an image of weights
SIGNED = "RdBu_r"


def history(fitted: "Fitted", path: str | os.PathLike[str] | None = None, *, ax: Axes | None = None) -> Axes:
    """How learning went: the objective, the exact ln P and that of validation rows against the epoch.

    What is not known is left out. Every network of a stack is a line. The figure is written where a path is given.
    """
    if not fitted.epochs:
        raise InvalidInput("a history must have at least one epoch; got none, because nothing was learned.")
    axes, palette = axes_for(ax, (8.0, 4.6), 0.15)
    plain(axes, palette)
    curves = {  # in styles that tell them apart without colours
        "objective": ("-", palette.accents[0], f"by {fitted.method}, {fitted.kind_of_objective}"),
        "log_likelihood": ("--", palette.ink, "exact ln P"),
        "validation": (":", palette.accents[1], "ln P of validation rows"),
    }
    for name, look in curves.items():
        _draw_curves(axes, fitted, name, *look)
    starts = "" if fitted.network.stack is None else f" from {fitted.network.stack} starts"
    heading(axes, palette, f"Learning by {fitted.method}{starts}")
    axes.set(xlabel="epoch", ylabel="ln P per row, nats")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="best", frameon=False, fontsize=9.5, labelcolor=palette.ink)
    if path is not None:
        save(axes, path)
    return axes


def _draw_curves(axes: Axes, fitted: "Fitted", name: str, style: str, colour: str, label: str) -> None:
    """The lines of one column of the history; one start among many is thin."""
    epochs, values = fitted.history["epoch"], fitted.history[name].reshape(fitted.epochs, -1)
    if not np.isfinite(values).any():
        return
    if name == "validation":  # of which not every epoch is scored
        known = np.isfinite(values).any(axis=1)
        epochs, values = epochs[known], values[known]
    many = values.shape[1] > 1
    marker = {"marker": "o", "markersize": 4} if len(epochs) == 1 else {}
    lines = axes.plot(
        epochs, np.where(np.isfinite(values), values, np.nan), color=colour, linestyle=style,
        linewidth=0.9 if many else 1.8, alpha=0.7 if many else 1.0, **marker,
    )  # fmt: skip
    lines[0].set_label(label)


def features(
    net: "BeliefNetwork | BoltzmannMachine", path: str | os.PathLike[str] | None = None,
    shape: Sequence[int] | None = None,
    *, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """What each unit of the lowest hidden layer stands for: its weights to the visible units, as an image.

    The network has layers, or is a restricted Boltzmann machine.

    One scale of colours for all, from blue to red where weights have signs. `shape` is that of the image, a square
    unless given. The figure is written where a path is given. The images are axes inside the axes that are returned.
    """
    weights, names = _bottom_layer(net)
    shape = image_shape(len(weights), shape)
    shown = min(len(names), MOST_DRAWN)
    columns = min(shown, max(4, int(np.ceil(np.sqrt(1.6 * shown)))))
    lines = -(-shown // columns)
    axes, palette = axes_for(ax, (TILE * max(columns, 4) + 1.2, (TILE + 0.25) * lines + 0.6), 0.1)
    axes.set_axis_off()
    colours = _scale(weights[:, :shown], positive=getattr(net.activation, "domain", (-np.inf,))[0] == 0)
    for unit in range(shown):
        line, column = divmod(unit, columns)  # with room above for a name
        place = (column + 0.05) / columns, 1 - (line + 0.95) / lines, 0.9 / columns, 0.72 / lines
        tile, name = axes.inset_axes(place), wrapped(names[unit], 16, 1)
        tile.imshow(weights[:, unit].reshape(shape), *colours, interpolation="nearest")
        tile.set_title(name, fontsize=8.5, color=palette.ink, pad=4, parse_math=False)
        tile.set(xticks=[], yticks=[])
        for spine in tile.spines.values():
            spine.set(color=palette.line, linewidth=0.8)
    colour_bar(ScalarMappable(colours[1], colours[0]), axes, "weight", aspect=25)
    more = f" (the first {shown} of {len(names):,} units)" if shown < len(names) else ""
    heading(axes, palette, f"Weights from hidden to visible units{more}")
    if path is not None:
        save(axes, path)
    return axes


def image_shape(num_visible: int, shape: Sequence[int] | None = None) -> tuple[int, int]:
    """The height and width of the image of all visible units: what is given, or a square."""
    side = round(num_visible**0.5)
    if shape is None and side**2 != num_visible:
        raise InvalidInput(f"{num_visible} visible units make no square image; give the shape, height and width.")
    shape = (side, side) if shape is None else tuple(int(length) for length in shape)
    if len(shape) != 2 or min(shape) < 1 or shape[0] * shape[1] != num_visible:
        raise InvalidInput(
            f"shape must be the height and width of an image of {num_visible} visible units; "
            f"got {' x '.join(map(str, shape))}."
        )
    return shape


def _bottom_layer(net: "BeliefNetwork | BoltzmannMachine") -> tuple[np.ndarray, tuple[str, ...]]:
    """weights[visible, hidden] between the two lowest layers, and the names of the hidden units."""
    if net.stack is not None:
        raise InvalidInput(f"features shows one network; got a stack of {net.stack}. Draw one of them.")
    if not net.layers:
        raise InvalidInput(
            "features shows the bottom layer; the network must have layers, as of BeliefNetwork.layered."
        )
    weights = np.asarray(net.weights[-1] if net.is_normalised else net.weights, float)
    first = net.size - sum(weights.shape) if net.is_normalised else len(weights)
    return weights, net.names[first : first + weights.shape[1]]


def _scale(weights: np.ndarray, *, positive: bool) -> tuple[str, Normalize]:
    """Zero is white where weights have signs, and the bottom of the scale where they have none."""
    size = np.abs(weights)
    largest = float(np.max(size, where=np.isfinite(size), initial=0.0)) or 1.0
    signed = not positive or bool((weights < 0).any())
    return SIGNED if signed else COLOURS, Normalize(-largest if signed else 0.0, largest)
