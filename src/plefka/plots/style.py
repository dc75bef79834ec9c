"""How pictures look, on light and on dark backgrounds, and how they become files.

Figures are made without pyplot, so that no global state and no backend of the user's is touched.
"""

import io
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from plefka.errors import InvalidInput
from plefka.runtime import whole_files

INK, QUIET, GRID, PAPER, LINE = "#1b2733", "#4d5b69", "#d5dbe1", "#ffffff", "#8a97a6"
COLOURS = "YlOrRd"  # of probabilities, and of weights that have no signs
MOST_DRAWN = 100
SVG_SETTINGS: Any = {  # text stays text
    "svg.fonttype": "none",
    "svg.hashsalt": "plefka",
    "font.family": "DejaVu Sans",
    "axes.unicode_minus": True,
}
FONTS = "font-family: 'DejaVu Sans', Verdana, sans-serif"


@dataclass(frozen=True)
class Palette:
    """Colours that can be told from a background."""

    ink: str  # of text
    quiet: str  # of what matters less
    grid: str
    paper: str  # the background itself
    line: str  # of edges and guides
    accents: tuple[str, ...]  # of data


LIGHT = Palette(INK, QUIET, GRID, PAPER, LINE, ("#1f7a8c", "#d9480f"))
DARK = Palette("#eef2f6", "#b4c0cc", "#3a4550", "#11161c", "#8a97a6", ("#5bc0d4", "#ff9457"))


def is_light(colour: Any) -> bool:
    """Whether dark text is read well on it; what is transparent lies on white."""
    red, green, blue, alpha = to_rgba(colour)
    return alpha * float(np.dot((red, green, blue), (0.299, 0.587, 0.114))) + 1 - alpha > 0.55


def figure_of(picture: Figure | Axes) -> Figure:
    """The whole figure that something is part of."""
    inner = picture.figure
    if inner is None or inner.figure is None:
        raise InvalidInput("these axes are not part of a figure any more; draw again.")
    return cast(Figure, inner.figure)


def palette_of(axes: Axes) -> Palette:
    """The colours for axes of the user's, or for new ones under the user's style."""
    background = figure_of(axes).get_facecolor()
    return LIGHT if is_light(background) else replace(DARK, paper=to_hex(background))


def sheet(size: tuple[float, float], pad: float) -> Figure:
    """An empty figure; both in inches."""
    return Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=pad, h_pad=pad))


def axes_for(axes: Axes | None, size: tuple[float, float], pad: float) -> tuple[Axes, Palette]:
    """The axes that are given, or those of a new figure, and the colours for them."""
    found = sheet(size, pad).add_subplot() if axes is None else axes
    return found, palette_of(found)


def plain(axes: Axes, palette: Palette, *, grid: Any = "y") -> None:
    """The manner of all curves, bars and histograms."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(palette.quiet)
    axes.tick_params(color=palette.quiet, labelcolor=palette.ink, labelsize=9)
    axes.xaxis.label.set_color(palette.ink)
    axes.yaxis.label.set_color(palette.ink)
    axes.grid(axis=grid, color=palette.grid, linewidth=0.8)
    axes.set_axisbelow(True)


def heading(axes: Axes, palette: Palette, title: str) -> None:
    """A title above the left end, in which no sign is mathematics."""
    axes.set_title(title, loc="left", fontsize=13, fontweight="bold", color=palette.ink, pad=12, parse_math=False)


def canvas(size: tuple[float, float]) -> tuple[Figure, Axes]:
    """A white figure with empty axes, whatever the user's style is: for reports."""
    figure = sheet(size, 0.06)
    figure.set_facecolor(PAPER)
    axes = figure.add_subplot(facecolor=PAPER)
    plain(axes, LIGHT)
    return figure, axes


def colour_bar(colours: Any, axes: Axes, label: str, **place: Any) -> None:
    """What the colours mean."""
    palette = palette_of(axes)
    bar = figure_of(axes).colorbar(colours, ax=axes, fraction=0.03, pad=0.02, **place)
    bar.set_label(label, fontsize=9.5, color=palette.ink)
    bar.ax.tick_params(labelsize=9, color=palette.line, labelcolor=palette.ink)
    bar.outline.set_visible(False)


def check_name(path: str | os.PathLike[str]) -> str:
    """The format that the suffix says; an error where `save` does not know it, before there is a figure."""
    suffix = Path(path).suffix
    kind = suffix.removeprefix(".").lower()
    if kind not in Figure().canvas.get_supported_filetypes():
        raise InvalidInput(f"{path}: a picture ends with .png, .svg or .pdf; got {suffix or 'no suffix'}.")
    return kind


def save(picture: Figure | Axes, path: str | os.PathLike[str]) -> Path:
    """Write a figure, or that of some axes, in the format that its suffix says, as a whole or not at all."""
    path, kind = Path(path), check_name(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}  # the same figure gives the same file
    content = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "plefka"}):
        figure_of(picture).savefig(content, format=kind, dpi=160, metadata=undated.get(kind))
    whole_files.write(path, content.getvalue())
    return path


def to_svg(figure: Figure) -> str:
    """The drawing alone, to stand in a page or, with a header, in a file: the same for the same rows."""
    content = io.StringIO()
    with matplotlib.rc_context(SVG_SETTINGS):
        figure.savefig(content, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = content.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    return re.sub(r"\n\s*", "\n", svg).replace("font-family: 'DejaVu Sans'", FONTS)
