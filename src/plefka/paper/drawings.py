"""Rows to drawings: SVG with text that stays text, in colours that a page can exchange for its dark ones."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from plefka.plots.style import INK, canvas, to_svg  # first, as it says what to install

# isort: split

# Every colour is that of a variable of tables/html_page.css; the values are those on white paper.
SERIES = FIRST, SECOND, THIRD, FOURTH, FIFTH = "#0b6e8a", "#b3470b", "#7a3e9d", "#3d7a1f", "#8c6d00"
STYLES: Any = ("-", "--", ":", "-.", (0, (6, 1.5, 1, 1.5, 1, 1.5)))
BINS = 60
TAIL = 0.002  # of the networks may lie outside of a histogram, on either side
PANEL = (4.3, 3.0)  # inches
ROOM = 0.4  # nats above the ceiling
TICKS = (-4, -5, -6, -8, -10, -15, -20, -30, -50, -100, -200, -500, -1000)  # nats
SHARES_PANEL = (5.2, 4.4)  # inches
POINTS = 50  # of a curve
LEGEND_PLACE: Any = {  # where a legend stands
    "loc": "lower right", "bbox_to_anchor": (1, 1), "frameon": False, "fontsize": 9, "labelcolor": INK, "ncols": 5,
}  # fmt: skip
RADIUS_TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def histogram(errors: Mapping[str, np.ndarray], printed: Mapping[str, float | None]) -> str:
    """The errors of one scheme or of several, with our means (solid) and the printed ones (dashed)."""
    figure, axes = canvas(PANEL)
    low, high = _limits(list(errors.values()), [mean for mean in printed.values() if mean is not None])
    edges = np.linspace(low, high, BINS + 1)
    tallest = 0
    for (name, values), colour in zip(errors.items(), SERIES, strict=False):
        counts = np.histogram(values, edges)[0]
        tallest = max(tallest, counts.max())
        axes.stairs(counts, edges, fill=True, color=colour, alpha=0.35, label=name)
        axes.stairs(counts, edges, color=colour, linewidth=1.0)
        axes.axvline(float(np.mean(values)), color=colour, linewidth=1.6)
        theirs = printed[name]
        if theirs is not None:
            axes.axvline(theirs, color=INK, linewidth=1.4, linestyle="--")
    axes.set(xlim=(low, high), ylim=(0, 1.04 * tallest), ylabel="networks", xlabel="E")
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    if len(errors) > 1:
        axes.legend(loc="best", frameon=False, fontsize=9, labelcolor=INK)
    return _titled(figure, axes, " and ".join(errors))


def _limits(parts: Sequence[np.ndarray], marks: Sequence[float]) -> tuple[float, float]:
    """Where nearly all values are, and the marks."""
    ends = [np.quantile(part, [TAIL, 1 - TAIL]) for part in parts if len(part)]
    low, high = min([*(end[0] for end in ends), *marks, 0.0]), max([*(end[1] for end in ends), *marks, 0.0])
    room = 0.03 * (high - low) or 1e-3
    return low - room, high + room


def curves(epochs: np.ndarray, by_method: Mapping[str, np.ndarray], ceiling: float) -> str:
    """Exact ln P per pattern against the epoch: (epochs, starts) for each method, a line for each start."""
    figure, axes = canvas((6.4, 4.4))
    keep = np.unique(np.linspace(0, len(epochs) - 1, 60).astype(int))
    for (name, values), colour, style in zip(by_method.items(), SERIES, STYLES, strict=False):
        lines = axes.plot(epochs[keep], values[keep], color=colour, linestyle=style, linewidth=1.1, alpha=0.8)
        lines[0].set_label(name)
    _draw_ceiling(axes, ceiling, by_method.values())
    axes.set_xlabel("epoch")
    axes.legend(**LEGEND_PLACE)
    return _titled(figure, axes, "while learning")


def sweep(
    by_method: Mapping[str, tuple[Sequence[float], np.ndarray]],
    chosen: Mapping[str, Mapping[str, float]],
    ceiling: float,
) -> str:
    """Exact ln P per pattern in the end against the step size: for each method its sizes, and (sizes, starts).

    `chosen`: of each method the step sizes that its objective and the exact ln P choose.
    """
    figure, axes = canvas((6.4, 4.4))
    for place, ((name, (sizes, ends)), colour, style) in enumerate(
        zip(by_method.items(), SERIES, STYLES, strict=False)
    ):
        x = np.array(sizes) * 1.03 ** (place - (len(by_method) - 1) / 2)  # bars side by side
        means = ends.mean(axis=1)
        axes.plot(x, means, color=colour, linestyle=style, linewidth=1.3, label=name)
        axes.vlines(x, ends.min(axis=1), ends.max(axis=1), color=colour, linewidth=0.9, alpha=0.7)
        looks = {"objective": {"markerfacecolor": colour, "markersize": 5.5}, "exact": {"markersize": 10}}
        for choice, look in looks.items():
            at = list(sizes).index(chosen[name][choice])
            axes.plot(x[at], means[at], "o", color=colour, **{"markerfacecolor": "none", **look})
    _draw_ceiling(axes, ceiling, [ends for _, ends in by_method.values()])
    every = sorted({size for sizes, _ in by_method.values() for size in sizes})
    axes.set_xscale("log")
    axes.set_xticks(every, [f"{size:g}" for size in every])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("step size of Adam")
    axes.legend(**LEGEND_PLACE)
    return _titled(figure, axes, "by step size")


def dots(by_method: Mapping[str, np.ndarray], ceiling: float) -> str:
    """Exact ln P per pattern in the end: a dot for each start, a line for the mean."""
    figure, axes = canvas((6.4, 4.4))
    for place, ((_, values), colour) in enumerate(zip(by_method.items(), SERIES, strict=False)):
        spread = place + np.linspace(-0.18, 0.18, len(values)) if len(values) > 1 else np.array([place])
        axes.plot(spread, values, "o", color=colour, markersize=5, alpha=0.8)
        axes.plot([place - 0.3, place + 0.3], [np.mean(values)] * 2, color=INK, linewidth=1.6)
    _draw_ceiling(axes, ceiling, by_method.values())
    axes.set_xticks(range(len(by_method)), list(by_method))
    axes.set_xlim(-0.6, len(by_method) - 0.4)
    return _titled(figure, axes, "in the end")


def _draw_ceiling(axes: Axes, ceiling: float, values: Iterable[np.ndarray]) -> None:
    """On a logarithmic scale of the distance below the ceiling, so that bad starts do not hide the good ones."""
    axes.set_ylabel("exact ln P per pattern, nats")
    axes.axhline(ceiling, color=INK, linewidth=1.2, linestyle=(0, (5, 3)))
    label = f"ceiling {ceiling:.3f}".replace("-", "\N{MINUS SIGN}")
    place: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate(label, (0.01, ceiling), (0, -11), fontsize=8.5, color=INK, **place)
    top = ceiling + ROOM
    axes.set_yscale(
        "function", functions=(lambda y: -np.log(np.maximum(top - y, 1e-3)), lambda z: top - np.exp(-np.asarray(z)))
    )
    low, high = (float(end) for end in np.quantile(np.concatenate([part.ravel() for part in values]), [0, 1]))
    axes.set_ylim(low - 0.1 * (top - low), max(ceiling, high) + 0.25 * ROOM)
    shown = [tick for tick in TICKS if low - 0.1 * (top - low) <= tick < ceiling]
    axes.set_yticks(shown, [f"{tick}".replace("-", "\N{MINUS SIGN}") for tick in shown])


# isort: split


def shares(values: Mapping[str, np.ndarray]) -> str:
    """For each group the share of its values that are above x, with a line at 1."""
    figure, axes = canvas(SHARES_PANEL)
    low, high = np.quantile(np.concatenate(list(values.values())), [0.002, 0.998])
    for number, (name, group) in enumerate(values.items()):
        x = np.quantile(group, np.linspace(0, 1, POINTS))
        colour, style = SERIES[number % len(SERIES)], STYLES[number // len(SERIES)]
        axes.plot(x, 100 * np.linspace(1, 0, POINTS), color=colour, linestyle=style, linewidth=1.6, label=name)
    axes.axvline(1.0, color=INK, linewidth=1.2, linestyle=(0, (5, 3)))
    axes.set(xscale="log", xlim=(low / 1.1, high * 1.1), ylim=(-1, 101))
    axes.set(xlabel="radius of convergence", ylabel="networks with a larger radius, %")
    _label_ticks(axes.get_xlim(), axes.set_xticks)
    return _finished(figure, axes, "the paper's networks")


def quantiles_by_scale(curves: Mapping[str, Mapping[float, np.ndarray]]) -> str:
    """For each group its medians against the scale, inside the band of nine in ten."""
    figure, axes = canvas(SHARES_PANEL)
    for (name, by_scale), colour, style in zip(curves.items(), SERIES, STYLES, strict=False):
        scale = np.array(list(by_scale))
        low, middle, high = np.array([np.quantile(group, [0.05, 0.5, 0.95]) for group in by_scale.values()]).T
        axes.fill_between(scale, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(scale, middle, color=colour, linestyle=style, linewidth=1.6, label=name)
    axes.axhline(1.0, color=INK, linewidth=1.2, linestyle=(0, (5, 3)))
    axes.set(xscale="log", yscale="log", xlabel="scale s of the weights", ylabel="radius of convergence")
    _label_ticks(axes.get_xlim(), axes.set_xticks)
    _label_ticks(axes.get_ylim(), axes.set_yticks)
    return _finished(figure, axes, "by the scale of the weights")


def _label_ticks(ends: tuple[float, float], set_ticks: Callable[..., Any]) -> None:
    """Numbers along a logarithmic axis."""
    shown = [tick for tick in RADIUS_TICKS if ends[0] <= tick <= ends[1]]
    set_ticks(shown, [f"{tick:g}" for tick in shown])


def _finished(figure: Figure, axes: Axes, title: str) -> str:
    axes.minorticks_off()
    axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.17), ncols=2, frameon=False, fontsize=8, labelcolor=INK)
    return _titled(figure, axes, title)


def _titled(figure: Figure, axes: Axes, title: str) -> str:
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK)
    return to_svg(figure)
