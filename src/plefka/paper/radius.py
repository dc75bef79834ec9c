"""The paper's open question, sections 3 and 5: is the radius of convergence of Plefka's expansion above 1?"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from plefka.paper.drawings import quantiles_by_scale, shares
from plefka.paper.experiment_settings import Ensemble
from plefka.paper.store import StoredRows
from plefka.paper.summary import OBSERVED, named, percent
from plefka.paper.tables_and_figures import TABLE_COLUMNS
from plefka.tables.html_page import Figure, Panel, ReportTable, Section, Text

ORDER = 30
SIGMOID_SCALES = (0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
NOISY_OR_SCALES = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0)
SCALED = {
    "sigmoid scales": tuple((Ensemble("sigmoid", -scale, scale), "off") for scale in SIGMOID_SCALES),
    "noisy-or scales": tuple((Ensemble("noisy_or", 0, scale), "likeliest") for scale in NOISY_OR_SCALES),
    "rare noisy-or scales": tuple((Ensemble("noisy_or", 0, scale), "unlikeliest") for scale in NOISY_OR_SCALES),
}
PAPER = tuple((column.ensemble, column.observed) for column in TABLE_COLUMNS)
GROUPS = (*((f"paper {number}", (column,)) for number, column in enumerate(PAPER)), *SCALED.items())
ABOUT_RADIUS = (
    "Plefka's expansion is a power series in γ, the strength of the energy, at means that are held fixed. The method "
    "requires that its radius of convergence is above 1, and the paper leaves open whether it is, for its energy (4) "
    "or for the Taylor polynomial (43) that its schemes expand (sections 3 and 5). "
    f"Here the coefficients are computed exactly to order {ORDER}, at the exact posterior means. The nearest "
    "singularity of the free energy in the complex plane is solved for by Newton's method, and its distance from 0 is "
    "the radius. Following the free energy along half circles shows that no other singularity is closer, or how far "
    "the nearest one is. For real γ there is none at all: singularities are complex pairs. A radius that was found in "
    "this way is called established; the others are the distance of the nearest pole of a Padé approximant. Two "
    "estimates need only the coefficients: ratios of these, and poles. The table says how far they are off in the "
    "median, and has the median errors of the sum and of a Padé approximant of all orders, in nats."
)


class RadiusColumn(NamedTuple):
    """An ensemble, what is observed, and its rows."""

    ensemble: Mapping[str, Any]
    observed: str
    rows: dict[str, np.ndarray]

    @property
    def name(self) -> str:
        return named(dict(self.ensemble)) + OBSERVED[self.observed]

    @property
    def share(self) -> float:
        """Of the networks whose radius is above 1."""
        return float(np.mean(self.rows["radius"] > 1))

    @property
    def distribution(self) -> tuple[str, str, str]:
        """The median radius, where nine in ten are, and how many of them are established."""
        low, middle, high = np.quantile(self.rows["radius"].astype(float), [0.05, 0.5, 0.95])
        return f"{middle:.2f}", f"{low:.2f} and {high:.2f}", percent(float(self.rows["established"].mean()))

    @property
    def errors(self) -> list[str]:
        """Of the sum, and of a Padé approximant, in the median."""
        return [f"{np.median(self.rows[name]):.0e}" for name in ("error", "pade")]


def columns_of(rows: StoredRows, group: str, **values: Any) -> list[RadiusColumn]:
    """The columns of the groups whose name begins like this, in their order; of rows with these values."""
    found = []
    for name, columns in rows.settings["groups"]:
        for ensemble, observed in columns if name.startswith(group) else ():
            part = rows.where(group=name, ensemble=named(ensemble), observed=observed, **values)
            if len(part["radius"]):
                found.append(RadiusColumn(ensemble, observed, part))
    return found


def render(everything: Mapping[str, StoredRows]) -> Section:
    rows = everything["radius"]
    scaled = [column for group in SCALED for column in columns_of(rows, group)]
    parts = [
        Text(answer(everything)),
        Text(ABOUT_RADIUS),
        figure(rows),
        _table(f"{rows.settings['networks']:,} networks of each kind of the paper", columns_of(rows, "paper")),
        _table(f"{rows.settings['scale_networks']:,} networks for each range of weights and biases", scaled),
        *(_truncated_tables(rows, everything["truncated"]) if "truncated" in everything else ()),
    ]
    return Section("Is the radius of convergence above 1?", parts)


def answer(everything: Mapping[str, StoredRows]) -> str:
    """What was measured of the open question, and under which conditions, in a paragraph."""
    rows, truncated = everything["radius"], everything.get("truncated")
    of_truncated = ""
    if truncated is not None:
        of_truncated = "".join(
            f"For (43) with C = {degree}, about the same means, of {truncated.settings['networks']:,}: "
            f"{_shares(columns_of(truncated, 'paper', degree=degree))}. "
            for degree in truncated.settings["degrees"]
        )
    return (
        "Is the radius of convergence of Plefka's expansion above 1 for belief networks, as the method requires? The "
        "paper leaves this open for the energy (4) and for its Taylor polynomial (43). Measured at the exact posterior "
        "means, on random networks of 2 x 4 x 6 units whose bottom layer is observed, it is not in general: it depends "
        "on the weights. The share of networks with a radius above 1, of "
        f"{rows.settings['networks']:,} of each kind in the paper, is for (4): {_shares(columns_of(rows, 'paper'))}. "
        f"{of_truncated}{_established(everything)} {_by_scale(rows)} "
        f"{_resummed(rows)}"
    )


def _shares(columns: list[RadiusColumn]) -> str:
    return "; ".join(f"{column.name} {percent(column.share)}" for column in columns)


def _established(everything: Mapping[str, StoredRows]) -> str:
    """How much of it is more than an estimate."""
    found = [everything[name] for name in ("radius", "truncated") if name in everything]
    flags = np.concatenate([rows.columns["established"] for rows in found])
    return (
        f"These are measurements and no proof: of {len(flags):,} radii in all, {percent(float(flags.mean()))} are "
        "established, by a singularity that was solved for or by circles without one, and the others are estimates "
        "from the coefficients."
    )


def _by_scale(rows: StoredRows) -> str:
    """What the scale of the weights does."""
    sigmoid = columns_of(rows, "sigmoid")
    noisy_or = [column for group in list(SCALED)[1:] for column in columns_of(rows, group)]
    sure = max((_scale(column) for column in sigmoid if column.share == 1.0), default=0.0)
    last, count = sigmoid[-1], rows.settings["scale_networks"]
    text = (
        f"With weights and biases from [-s, s], all of {count:,} sigmoid networks have a radius above 1 up to s = "
        f"{sure:g}, and {percent(last.share)} of them at s = {_scale(last):g}."
    )
    if noisy_or and all(column.share < 1 for column in noisy_or):
        low, high = (_scale(column) for column in (noisy_or[0], noisy_or[-1]))
        text += (
            f" Noisy-or networks with weights and biases from [0, s] have no such scale: from s = {low:g} to {high:g}, "
            "some have a radius below 1."
        )
    return text


def _resummed(rows: StoredRows) -> str:
    """What is left where the series diverges."""
    diverging = rows.columns["radius"] < 1
    if not diverging.any():
        return "No series diverges."
    sums, pade = (float(np.median(rows.columns[name][diverging])) for name in ("error", "pade"))
    return (
        "Below 1, low orders may still help, but more of them do not: at order "
        f"{rows.settings['order']} the sum is off by {sums:.2g} nats in the median. Padé approximants of the same "
        f"coefficients are off by {pade:.0e}."
    )


def _scale(column: RadiusColumn) -> float:
    return float(column.ensemble["high"])


def _truncated_tables(rows: StoredRows, truncated: StoredRows) -> list[ReportTable]:
    header = (
        "networks", "C", "radius above 1", "as for (4)", "median radius", "nine in ten between", "established",
        "error of the sum", "error of Padé",
    )  # fmt: skip
    captions = {
        "paper": f"The energy (43), on {truncated.settings['networks']:,} networks of each kind of the paper",
        "scales": f"The energy (43), on {truncated.settings['scale_networks']:,} networks for each range",
    }
    tables = []
    for kind, groups in (("paper", ["paper"]), ("scales", list(SCALED))):
        lines = [
            _truncated_line(degree, column, plain.get(column.name))
            for group in groups
            for plain in ({column.name: column for column in columns_of(rows, group)},)
            for degree in truncated.settings["degrees"]
            for column in columns_of(truncated, group, degree=degree)
        ]
        tables += [ReportTable(captions[kind], header, lines)] if lines else []
    return tables


def _truncated_line(degree: int, column: RadiusColumn, plain: RadiusColumn | None) -> tuple[str, ...]:
    """`as for (4)`: in how many networks both radii are above 1, or neither is."""
    radius, agree = column.rows["radius"], ""
    if plain is not None:
        count = min(len(radius), len(plain.rows["radius"]))  # the first networks are the same
        agree = percent(float(np.mean((radius[:count] > 1) == (plain.rows["radius"][:count] > 1))))
    return column.name, str(degree), percent(column.share), agree, *column.distribution, *column.errors


def _table(caption: str, columns: list[RadiusColumn]) -> ReportTable:
    header = (
        "networks", "radius above 1", "median radius", "nine in ten between", "established", "ratios off by",
        "poles off by", "error of the sum", "error of Padé",
    )  # fmt: skip
    return ReportTable(caption, header, [_line(column) for column in columns])


def _line(column: RadiusColumn) -> tuple[str, ...]:
    radius = column.rows["radius"].astype(float)
    off = [float(np.median(np.abs(column.rows[name] / radius - 1))) for name in ("ratios", "poles")]
    return column.name, percent(column.share), *column.distribution, *map(percent, off), *column.errors


def figure(rows: StoredRows) -> Figure:
    """The distribution for the paper's networks, and how it changes with the scale of the weights."""
    columns = columns_of(rows, "paper")
    radii = {column.name: column.rows["radius"].astype(float) for column in columns}
    words = _shares(columns)
    panels = [Panel(shares(radii), f"Radius of convergence: the share of networks in which it is above 1. {words}.")]
    scaled = {TITLES[group]: columns_of(rows, group) for group in SCALED}
    curves = {
        title: {_scale(column): column.rows["radius"].astype(float) for column in found}
        for title, found in scaled.items()
        if found
    }
    listed = "; ".join(
        f"{title}: " + ", ".join(f"{np.median(radius):.2f} at {scale:g}" for scale, radius in by_scale.items())
        for title, by_scale in curves.items()
    )
    panels.append(
        Panel(quantiles_by_scale(curves), f"Radius of convergence: the median by the scale of the weights. {listed}.")
    )
    return Figure("radius", panels, CAPTION)


TITLES = {
    "sigmoid scales": "sigmoid [-s, s]",
    "noisy-or scales": "noisy-or [0, s], largest ln Z",
    "rare noisy-or scales": "noisy-or [0, s], smallest ln Z",
}
CAPTION = (
    "The radius of convergence of Plefka's expansion of the energy (4). Left: the share of the paper's networks whose "
    "radius is above the value on the axis. Right: the median over networks with weights and biases from a range of "
    "scale s, and the band that nine in ten networks are in. The series converges at γ = 1 for networks above the "
    "dashed line at 1."
)
