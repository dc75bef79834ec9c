"""How pictures look, and how they become files.

Figures are made without pyplot, so that no global state and no backend of the user's is touched.
"""

import io
import os
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from plefka import atomic
from plefka.errors import InvalidInput

INK, QUIET, GRID, PAPER, LINE = "#1b2733", "#4d5b69", "#d5dbe1", "#ffffff", "#8a97a6"
COLOURS = "YlOrRd"  # of probabilities, and of weights that have no signs
MOST_UNITS = 100


def sheet(size: tuple[float, float], pad: float) -> Figure:
    """An empty figure; both in inches."""
    return Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=pad, h_pad=pad))


def canvas(size: tuple[float, float], pad: float = 0.06) -> tuple[Figure, Axes]:
    """A figure with empty axes in the manner of all curves and histograms."""
    figure = sheet(size, pad)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(QUIET)
    axes.tick_params(color=QUIET, labelcolor=INK, labelsize=9)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def colour_bar(figure: Figure, colours: Any, axes: Any, label: str, **place: Any) -> None:
    """What the colours mean."""
    bar = figure.colorbar(colours, ax=axes, fraction=0.03, pad=0.02, **place)
    bar.set_label(label, fontsize=9.5, color=INK)
    bar.ax.tick_params(labelsize=9, color=LINE, labelcolor=INK)
    bar.outline.set_visible(False)


def check_name(path: str | os.PathLike[str]) -> str:
    """The format that the suffix says; an error where `save` does not know it, before there is a figure."""
    suffix = Path(path).suffix
    kind = suffix.removeprefix(".").lower()
    if kind not in Figure().canvas.get_supported_filetypes():
        raise InvalidInput(f"{path}: a picture ends with .png, .svg or .pdf; got {suffix or 'no suffix'}.")
    return kind


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure in the format that its suffix says, as a whole or not at all."""
    path, kind = Path(path), check_name(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(path, _rendered(figure, kind))
    return path


def _rendered(figure: Figure, kind: str) -> bytes:
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}  # the same figure gives the same file
    content = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "plefka"}):
        figure.savefig(content, format=kind, dpi=160, metadata=undated.get(kind), facecolor=PAPER)
    return content.getvalue()
