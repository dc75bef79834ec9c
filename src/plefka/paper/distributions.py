"""Drawings of how a number is distributed: the share above each value, and quantiles against a scale."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from plefka.paper.drawings import SERIES, STYLES, to_svg
from plefka.plots.style import INK, canvas

# isort: split
from matplotlib.axes import Axes
from matplotlib.figure import Figure

SIZE = (5.2, 4.4)  # inches
POINTS = 50  # of a curve
TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def shares(values: Mapping[str, np.ndarray]) -> str:
    """For each group the share of its values that are above x, with a line at 1."""
    figure, axes = canvas(SIZE)
    low, high = np.quantile(np.concatenate(list(values.values())), [0.002, 0.998])
    for number, (name, group) in enumerate(values.items()):
        x = np.quantile(group, np.linspace(0, 1, POINTS))
        colour, style = SERIES[number % len(SERIES)], STYLES[number // len(SERIES)]
        axes.plot(x, 100 * np.linspace(1, 0, POINTS), color=colour, linestyle=style, linewidth=1.6, label=name)
    axes.axvline(1.0, color=INK, linewidth=1.2, linestyle=(0, (5, 3)))
    axes.set(xscale="log", xlim=(low / 1.1, high * 1.1), ylim=(-1, 101))
    axes.set(xlabel="radius of convergence", ylabel="networks with a larger radius, %")
    _label(axes.get_xlim(), axes.set_xticks)
    return _finished(figure, axes, "the paper's networks")


def quantiles_by_scale(curves: Mapping[str, Mapping[float, np.ndarray]]) -> str:
    """For each group its medians against the scale, inside the band of nine in ten."""
    figure, axes = canvas(SIZE)
    for (name, by_scale), colour, style in zip(curves.items(), SERIES, STYLES, strict=False):
        scale = np.array(list(by_scale))
        low, middle, high = np.array([np.quantile(group, [0.05, 0.5, 0.95]) for group in by_scale.values()]).T
        axes.fill_between(scale, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(scale, middle, color=colour, linestyle=style, linewidth=1.6, label=name)
    axes.axhline(1.0, color=INK, linewidth=1.2, linestyle=(0, (5, 3)))
    axes.set(xscale="log", yscale="log", xlabel="scale s of the weights", ylabel="radius of convergence")
    _label(axes.get_xlim(), axes.set_xticks)
    _label(axes.get_ylim(), axes.set_yticks)
    return _finished(figure, axes, "by the scale of the weights")


def _label(ends: tuple[float, float], set_ticks: Callable[..., Any]) -> None:
    """Numbers along a logarithmic axis."""
    shown = [tick for tick in TICKS if ends[0] <= tick <= ends[1]]
    set_ticks(shown, [f"{tick:g}" for tick in shown])


def _finished(figure: Figure, axes: Axes, title: str) -> str:
    axes.minorticks_off()
    axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.17), ncols=2, frameon=False, fontsize=8, labelcolor=INK)
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK)
    return to_svg(figure)
