"""Answers as pictures: the most probable units, how often predictions came true, and a series order by order."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from plefka.errors import InvalidInput
from plefka.inference.ranking import causes_first
from plefka.plots.names import wrapped
from plefka.plots.style import Palette, axes_for, heading, plain
from plefka.questions.calibration_bins import CalibrationBins

if TYPE_CHECKING:
    from plefka.expansion.series import Series
    from plefka.inference.solution import Solution
    from plefka.questions.sensitivity_answer import Sensitivity


BAR, LINE, LETTER = 0.34, 0.17, 0.075  # inches: for each bar, a line of a name, and a letter
LETTERS, LINES = 48, 3  # of a name, in a line and in all
ENDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # of a scale of probabilities
FEWEST, MOST = 12.0, 160.0  # areas of a point, by how many predictions it stands for
SMALLEST_DRAWN = 1e-16  # an error below is rounding, and drawn here


def ranking(
    solution: "Solution", top: int | None = 10, *, units: str | Sequence[str | int] = "causes",
    prior: "Solution | None" = None, title: str | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """P(on | evidence) of the most probable hidden units, as bars; `top` and `units` as of `Solution.ranking`.

    A mark across a bar is what the probability was beforehand. The scale ends above the largest of all.

    **Arguments:**

    - `prior`: the answer beforehand, for the marks: `pf.infer(net)`, or the answer to an earlier question. Without it
        units that have no parents are marked, whose prior the network says, if anything was observed.
    """
    if solution.is_batch or (prior is not None and prior.is_batch):
        raise InvalidInput("a ranking is of one row of evidence; got a batch. Draw one of its rows.")
    if prior is not None and prior.names != solution.names:
        raise InvalidInput("prior must be an answer of the same network; its units have other names.")
    ranked = solution.ranking(top, units=units)
    if not ranked:
        raise InvalidInput("there is nothing to rank: none of these units is hidden.")
    names, means = [name for name, _ in ranked], np.array([mean for _, mean in ranked])
    priors = causes_first(solution)[1] if prior is None else np.asarray(prior.means, float)
    before = priors[[solution.network.index(name) for name in names]]
    axes, palette = _axes_of_bars(ax, 4.4, names)
    axes.barh(range(len(names)), means, height=0.62, color=palette.accents[0])
    known = np.flatnonzero(np.isfinite(before) & (prior is not None or solution.evidence.informed.any()))
    end = next(end for end in ENDS if end >= min(1.0, np.nanmax([means, before], initial=0.0)))
    axes.set(xlim=(0, 1.1 * end), xlabel=f"P(on | evidence){';  the mark: beforehand' if known.size else ''}")
    axes.set_xticks(np.linspace(0, end, 5 if end == 1 else 6))
    axes.vlines(before[known], known - 0.42, known + 0.42, color=palette.ink, linewidth=2)
    for place, (mean, mark) in enumerate(zip(means, before, strict=True)):
        beside = mark if mean < mark < mean + 0.2 * end else mean  # the mark does not cross the number out
        axes.annotate(
            f"{mean:.3f}" if mean >= 0.01 else f"{mean:.2g}", (beside, place), (5, 0), textcoords="offset points",
            va="center", fontsize=9, color=palette.ink, annotation_clip=False,
        )  # fmt: skip
    heading(axes, palette, title or f"Most probable, by {solution.method}")
    return axes


def _axes_of_bars(ax: Axes | None, width: float, names: Sequence[str]) -> tuple[Axes, Palette]:
    """Axes with a name for each bar; a new figure has all the room that names need beside a width for bars."""
    shown = [wrapped(name, LETTERS, LINES) for name in names]
    lines, letters = max(name.count("\n") + 1 for name in shown), max(map(len, "\n".join(shown).split("\n")))
    size = max(7.0, width + LETTER * letters), 1.3 + max(BAR, 0.06 + LINE * lines) * len(names)
    axes, palette = axes_for(ax, size, 0.1)
    plain(axes, palette, grid="x")
    axes.set_yticks(range(len(names)), shown, parse_math=False)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    return axes, palette


def tornado(found: "Sensitivity", top: int = 10, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """P(target | evidence) with the numbers that matter most at both ends of their ranges, one at a time, as bars.

    A bar leads from the probability at the lower end of the number, in one colour, to that at its upper end, in the
    other; the line between them is the probability as it is.
    """
    numbers = found.top(top)
    axes, palette = _axes_of_bars(ax, 5.4, [number.name for number in numbers])
    places, p = np.arange(len(numbers)), found.probability
    for label, colour in zip(("low", "high"), palette.accents, strict=False):
        ends = np.array([getattr(number, f"at_{label}") for number in numbers])
        what = f"odds {'divided' if label == 'low' else 'multiplied'} by {found.factor:g}"
        axes.barh(places, ends - p, left=p, height=0.62, color=colour, label=what)
    axes.axvline(p, color=palette.ink, linewidth=1.2)
    axes.set_xlabel(f"P({found.target} | evidence)", parse_math=False)
    axes.legend(loc="lower right", frameon=False, fontsize=9, labelcolor=palette.ink)
    heading(axes, palette, title or f"Which numbers P({found.target}) = {p:.3f} depends on")
    return axes


def calibration(
    predicted: Any, happened: Any = None, *, bins: int = 10, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """How often units were on, against the probability that was predicted; on the diagonal the two agree.

    A point is the mean of the predictions in one of `bins` equal intervals, its size their number, and its bar Wilson's
    interval of 95 % for the frequency.

    **Arguments:**

    - `predicted`: probabilities, an array of any shape: `solution.means[~solution.observed]`, or a column; or bins
        that are known already: `pf.validate(...).calibration`.
    - `happened`: what was then seen, 0 or 1, of the same shape; nan where it was not, which is left out.
    """
    if not isinstance(bins, int | np.integer) or isinstance(bins, bool) or bins < 1:
        raise InvalidInput(f"bins must be a whole number from 1 on; got {bins!r}.")
    is_known = isinstance(predicted, CalibrationBins)
    found = predicted if is_known else CalibrationBins.of(np.linspace(0, 1, bins + 1), *_read(predicted, happened))
    axes, palette = axes_for(ax, (5.4, 5.2), 0.1)
    plain(axes, palette, grid="both")
    axes.plot([0, 1], [0, 1], color=palette.line, linewidth=1.2, linestyle="--", zorder=1)
    _, _, count, mean, frequency, low, high = found.columns().values()
    bars, colour = abs(np.stack([low, high]) - frequency), palette.accents[0]
    axes.errorbar(mean, frequency, bars, fmt="none", ecolor=colour, elinewidth=1.2, zorder=2)
    sizes = FEWEST + (MOST - FEWEST) * count / count.max(initial=1.0)
    axes.scatter(mean, frequency, s=sizes, color=colour, edgecolor=palette.paper, linewidth=0.8, zorder=3)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal", xlabel="predicted P(on)", ylabel="frequency of on")
    heading(axes, palette, title or f"Calibration of {int(found.sums[0].sum()):,} predictions")
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
