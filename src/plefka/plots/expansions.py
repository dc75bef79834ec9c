"""How close a series comes to the truth, order by order."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from plefka.plots.style import axes_for, heading, plain

if TYPE_CHECKING:
    from plefka.expansion.series import Series

SMALLEST_DRAWN = 1e-16  # an error below is rounding, and drawn here


def series(found: "Series", *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """The distance of partial sums from the exact free energy, and that of Padé approximants of the same orders.

    **Arguments:**

    - `found`: the result of `plefka.series`.
    """
    axes, palette = axes_for(ax, (6.4, 4.2), 0.1)
    plain(axes, palette)
    orders = np.arange(found.order + 1)
    resummed = [found.pade(n - n // 2, n // 2) for n in range(len(orders))]
    lines = {"partial sums": (found.partial_sums, "o-"), "Padé approximants": (resummed, "s--")}
    for (label, (values, style)), colour in zip(lines.items(), palette.accents, strict=True):
        error = np.maximum(np.abs(np.asarray(values) - found.exact), SMALLEST_DRAWN)
        axes.plot(orders, error, style, color=colour, markersize=3.5, linewidth=1.4, label=label)
    axes.set(yscale="log", xlabel="order", ylabel="|error| of the free energy, nats")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="best", frameon=False, fontsize=9, labelcolor=palette.ink)
    heading(axes, palette, title or f"Plefka's series, radius of convergence {found.radius:.3g}")
    return axes
