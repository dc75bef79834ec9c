"""Are predicted probabilities those with which things happen?"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from plefka.errors import InvalidInput
from plefka.plots.style import Palette, axes_for, heading, plain

FEWEST, MOST = 12.0, 160.0  # areas of a point, by how many predictions it stands for


def calibration(
    predicted: Any, happened: Any, *, bins: int = 10, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """How often units were on, against the probability that was predicted; on the diagonal the two agree.

    A point is the mean of the predictions in one of `bins` equal intervals, its size their number, and its bar two
    standard errors of a frequency.

    **Arguments:**

    - `predicted`: probabilities, an array of any shape: `solution.means[~solution.observed]`, or a column of a frame.
    - `happened`: what was then seen, 0 or 1, of the same shape; nan where it was not, which is left out.
    """
    p, y = _read(predicted, happened)
    if not isinstance(bins, int | np.integer) or isinstance(bins, bool) or bins < 1:
        raise InvalidInput(f"bins must be a whole number from 1 on; got {bins!r}.")
    axes, palette = axes_for(ax, (5.4, 5.2), 0.1)
    plain(axes, palette, grid="both")
    axes.plot([0, 1], [0, 1], color=palette.line, linewidth=1.2, linestyle="--", zorder=1)
    _draw_points(axes, palette, p, y, bins)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal", xlabel="predicted P(on)", ylabel="frequency of on")
    heading(axes, palette, title or f"Calibration of {len(p):,} predictions")
    return axes


def _read(predicted: Any, happened: Any) -> tuple[np.ndarray, np.ndarray]:
    p, y = np.asarray(predicted, float), np.asarray(happened, float)
    if p.shape != y.shape:
        raise InvalidInput(f"predicted and happened must have the same shape; got {p.shape} and {y.shape}.")
    known = ~np.isnan(p) & ~np.isnan(y)
    p, y = p[known], y[known]
    if not len(p):
        raise InvalidInput("there must be a prediction whose outcome is known; got none.")
    if not ((p >= 0) & (p <= 1)).all():
        raise InvalidInput(f"predicted must be probabilities from 0 to 1; got {p[(p < 0) | (p > 1)][0]:g}.")
    if not np.isin(y, (0, 1)).all():
        raise InvalidInput(f"happened must be 0 or 1, or nan where unknown; got {y[~np.isin(y, (0, 1))][0]:g}.")
    return p, y


def _draw_points(axes: Axes, palette: Palette, p: np.ndarray, y: np.ndarray, bins: int) -> None:
    place = np.minimum((p * bins).astype(int), bins - 1)
    count = np.bincount(place, minlength=bins)
    there = count > 0
    mean, frequency = (np.bincount(place, z, bins)[there] / count[there] for z in (p, y))
    smoothed = (frequency * count[there] + 1) / (count[there] + 2)  # so that no bar is empty where all agree
    error = 2 * np.sqrt(smoothed * (1 - smoothed) / count[there])
    low, high = np.minimum(error, frequency), np.minimum(error, 1 - frequency)
    axes.errorbar(mean, frequency, (low, high), fmt="none", ecolor=palette.accents[0], elinewidth=1.2, zorder=2)
    sizes = FEWEST + (MOST - FEWEST) * count[there] / count.max()
    axes.scatter(mean, frequency, s=sizes, color=palette.accents[0], edgecolor=palette.paper, linewidth=0.8, zorder=3)
