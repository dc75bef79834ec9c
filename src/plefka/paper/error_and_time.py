"""Beyond the paper: the error of every method against its time, on each of the paper's ensembles."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from plefka.paper.experiment_settings import Trial
from plefka.paper.report import markdown_table
from plefka.paper.scatter import Mark, error_against_time
from plefka.paper.store import StoredRows
from plefka.paper.summary import OBSERVED, named, percent, signed
from plefka.paper.tables_and_figures import TABLE_COLUMNS
from plefka.tables.html_page import Figure, Panel, ReportTable, Section, Text

TIMED_METHODS = (
    "exact", "G11", "G12", "G22", "G221", "SJJ", "G1", "G2", "mixture[5]", "bethe", "conditioned[G1,k=2]",
    "conditioned[G2,k=2]", "conditioned[G2,k=3]", "conditioned[bethe,k=2]", "conditioned[bethe,k=3]", "auto[exact=no]",
)  # fmt: skip
ONLY = {"SJJ": "sigmoid"}  # the activation of a method that does not apply to all
TIMED_COLUMNS = tuple((column.ensemble, column.observed) for column in TABLE_COLUMNS)
FRESH = 1000  # the networks are not those of the tables
FAMILY = {
    "paper": ("G11", "G12", "G22", "G221", "SJJ"),
    "untruncated": ("G1", "G2", "G3", "G4", "mixture"),
    "messages": ("bethe",),
    "conditioned": ("conditioned",),
}
# Mean of |E| and seconds for a network, measured earlier with libDAI on other networks of the same ensembles.
# An error of 0 is one that was printed as .0000. Its trees were tried on the sigmoid networks only.
PROPAGATION, TREES, LEAST = 1.7e-3, 3.5e-3, 5e-5
TINY = 1e-6  # errors below this are drawn there
LIBDAI: dict[tuple[str, str], tuple[tuple[str, float, float], ...]] = {
    ("sigmoid [-1, 1]", "off"): (("libDAI BP", 0.0005, PROPAGATION), ("libDAI TreeEP", 0.0003, TREES)),
    ("sigmoid [-5, 5]", "off"): (("libDAI BP", 0.006, PROPAGATION), ("libDAI TreeEP", 0.0028, TREES)),
    ("noisy-or [0, 0.25]", "likeliest"): (("libDAI BP", 0.0, PROPAGATION),),
    ("noisy-or [0, 0.25]", "unlikeliest"): (("libDAI BP", 0.0042, PROPAGATION),),
    ("noisy-or [0.2, 0.8]", "likeliest"): (("libDAI BP", 0.0057, PROPAGATION),),
    ("noisy-or [0.2, 0.8]", "unlikeliest"): (("libDAI BP", 0.0016, PROPAGATION),),
}
ABOUT_ERRORS = (
    "Every method solves fresh networks of 2 x 4 x 6 units, in one batch for each ensemble. 𝓔 is the relative error of "
    "(62). Averages are over the networks on which the method converged. The column 'means off by' is the mean "
    "distance of the mean of a hidden unit from the exact one. Time is per network of the batch. It is the faster of "
    "two calls after one that compiles, on a machine that was shared with other work, so read it as an order of "
    "magnitude. With --quick, programs are compiled without optimisation, and times are meaningless. The networks are "
    "small so that the truth is known. exact solves them as fast as any other method, up to about 20 hidden units."
)
SOURCE = (
    "libDAI (J. M. Mooij, Journal of Machine Learning Research 11, 2010) is a C++ library. BP is its loopy belief "
    "propagation, TreeEP its tree expectation propagation. Its errors and times were measured earlier, one network at "
    "a time, on 1,000 to 2,000 other networks of the same ensembles, and are not part of this run."
)
CAPTION = (
    "Mean of |𝓔| against the time per network. Methods that are lower and farther left are better. Time has the same "
    "scale in all panels; the error does not. k = 2 and k = 3 are methods conditioned on that many units. The line "
    "joins the methods for which no other is both faster and more accurate. The dotted line is the time of the exact "
    "answer. Crosses are libDAI, measured earlier on other networks. A triangle that points down means that the error "
    "is below that point: below .00005 for libDAI, whose errors have four decimals, and below .000001 for the others."
)


class TimedColumn(NamedTuple):
    """An ensemble with what is observed, and for each method its row."""

    ensemble: str
    observed: str
    found: dict[str, dict[str, Any]]

    @property
    def name(self) -> str:
        return self.ensemble + OBSERVED[self.observed]


def trial(networks: int, seed: int) -> Trial:
    return Trial("methods", TIMED_COLUMNS, networks, FRESH + seed)


def columns_for(settings: Trial, method: str) -> list[int]:
    """The columns to whose networks the method applies."""
    wanted = ONLY.get(method)
    return [number for number, (ensemble, _) in enumerate(settings.columns) if wanted in (None, ensemble.activation)]


def render(everything: Mapping[str, StoredRows]) -> Section:
    rows = everything["methods"]
    parts = [Text(ABOUT_ERRORS), figure(rows), *(_table(column, rows) for column in columns_of(rows)), Text(SOURCE)]
    return Section("Methods: error against time", parts)


def columns_of(rows: StoredRows) -> list[TimedColumn]:
    """The ensembles in their order, each with what every method did on it."""
    found: list[TimedColumn] = []
    for ensemble, observed in rows.settings["columns"]:
        name = named(ensemble)
        part = rows.where(ensemble=name, observed=observed)
        by_method = {m: {key: values[k] for key, values in part.items()} for k, m in enumerate(part["method"])}
        if by_method:
            found.append(TimedColumn(name, observed, {m: by_method[m] for m in TIMED_METHODS if m in by_method}))
    return found


def _table(column: TimedColumn, rows: StoredRows) -> ReportTable:
    header = ("method", "mean of |𝓔| ± SE", "mean of 𝓔 ± SE", "worst |𝓔|", "means off by ± SE", "converged", "time")
    lines = [
        (
            method,
            _with_error(row["size"], row["size_se"]),
            _with_error(row["error"], row["error_se"]),
            f"{row['worst']:.2g}",
            _with_error(row["means"], row["means_se"]),
            percent(float(row["converged"])),
            spelled_time(row["seconds"]),
        )
        for method, row in column.found.items()
        if method != "exact"
    ]
    time = f"; exact takes {spelled_time(column.found['exact']['seconds'])}" if "exact" in column.found else ""
    return ReportTable(f"{column.name}: {rows.settings['networks']:,} networks{time}", header, lines)


def _with_error(value: float, error: float) -> str:
    """As many digits as the standard error has, but three at least."""
    digits = 5 if not 0 < error < 1 else max(3, math.ceil(-math.log10(error)) + 1)
    return f"{signed(float(value), digits)} ± {error:.{digits}f}"


def spelled_time(seconds: float) -> str:
    """Two digits are more than a shared machine can promise."""
    rounded = float(f"{seconds:.1e}")
    value, unit = (rounded * 1e3, "ms") if rounded >= 1e-3 else (rounded * 1e6, "µs")
    return f"{value:.{1 if value < 9.95 else 0}f} {unit}"


def figure(rows: StoredRows) -> Figure:
    """A panel for each ensemble, all on the same scale of time."""
    columns = columns_of(rows)
    marks = [list(_marks(column)) for column in columns]
    everywhere = [mark for some in marks for mark in some]
    exact = [float(column.found["exact"]["seconds"]) if "exact" in column.found else None for column in columns]
    times = _ends([mark.seconds for mark in everywhere] + [time for time in exact if time])
    panels = [
        Panel(
            error_against_time(column.name, some, time, times, _ends([mark.size for mark in some])),
            _words(column, some),
        )
        for column, some, time in zip(columns, marks, exact, strict=True)
    ]
    return Figure("methods", panels, CAPTION)


def _marks(column: TimedColumn) -> Iterator[Mark]:
    for method, row in column.found.items():
        if method != "exact" and np.isfinite(row["size"]):
            size = max(float(row["size"]), TINY)
            yield Mark(label_of(method), float(row["seconds"]), size, family_of(method), below=size == TINY)
    for name, size, seconds in LIBDAI.get((column.ensemble, column.observed), ()):
        yield Mark(name, seconds, size or LEAST, "libDAI", below=not size)


def label_of(method: str) -> str:
    """Short enough to stand beside a mark: `conditioned[G2,k=3]` is `G2 k=3`."""
    name, _, options = method.rstrip("]").partition("[")
    return options.replace(",", " ") if name == "conditioned" else name


def family_of(method: str) -> str:
    name = method.partition("[")[0]
    return next((family for family, names in FAMILY.items() if name in names), "other")


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return min(values) / 1.6, max(values) * 1.6


def _words(column: TimedColumn, marks: Sequence[Mark]) -> str:
    listed = "; ".join(
        f"{mark.label} {'below ' if mark.below else ''}{mark.size:.2g} in {spelled_time(mark.seconds)}"
        for mark in sorted(marks, key=lambda mark: mark.size)
    )
    return f"Mean error and time of every method, {column.name}, the smallest error first: {listed}."


def means_table(everything: Mapping[str, StoredRows], quantity: str) -> str:
    """Methods by ensembles: a mean, with the share of the networks that it is over where that is not all of them."""

    def cell(row: Mapping[str, Any]) -> str:
        return _short(row[quantity]) + ("" if row["converged"] == 1 else f" ({percent(float(row['converged']))})")

    return _grid(everything["methods"], cell)


def times_table(everything: Mapping[str, StoredRows]) -> str:
    """Methods by ensembles: the time for a network."""
    return _grid(everything["methods"], lambda row: spelled_time(row["seconds"]), exact=True)


def _short(value: float) -> str:
    """Two digits, and none below a millionth."""
    if value < TINY:
        return "0"
    rounded = float(f"{value:.1e}")
    return f"{value:.{max(3, 1 - math.floor(math.log10(rounded)))}f}".lstrip("0")


def _grid(rows: StoredRows, cell: Callable[[dict[str, Any]], str], exact: bool = False) -> str:
    columns = columns_of(rows)
    shown = [m for m in TIMED_METHODS if any(m in column.found for column in columns) and (exact or m != "exact")]
    lines = [(f"`{m}`", *(cell(column.found[m]) if m in column.found else "" for column in columns)) for m in shown]
    return markdown_table(ReportTable("", ("method", *(column.name for column in columns)), lines))


def origin(everything: Mapping[str, StoredRows]) -> str:
    """Which run it is."""
    rows = everything["methods"]
    where = rows.provenance["machine"]
    return (
        f"{rows.settings['networks']:,} networks of 2 x 4 x 6 units for each ensemble, seeds "
        f"{rows.settings['seed']} to {rows.settings['seed'] + len(rows.settings['columns']) - 1}, "
        f"plefka {rows.provenance['version']}, {rows.provenance['last'][:10]}, on {where['cores']} cores of "
        f"{where['processor']} that were shared with other work."
    )
