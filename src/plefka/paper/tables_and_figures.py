"""Tables 1 and 2, networks of 2 x 4 x 6 units, and figures 2 to 9, the histograms of their errors."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from plefka.paper.beside_printed import OBSERVED, decimals, paper, printed_mean, tables
from plefka.paper.drawings import histogram
from plefka.paper.experiment_settings import Column, Ensemble
from plefka.paper.store import StoredRows
from plefka.paper.summary import percent, signed, summary
from plefka.tables.html_page import Figure, Panel, Section, Text

SIGMOID_METHODS = ("G11", "G12", "G22", "SJJ", "G221")
NOISY_OR_METHODS = ("G11", "G12", "G22", "G221")
TABLE1 = tuple(
    Column(ensemble, "off", SIGMOID_METHODS) for ensemble in (Ensemble("sigmoid", -1, 1), Ensemble("sigmoid", -5, 5))
)
TABLE2 = tuple(
    Column(ensemble, which, NOISY_OR_METHODS)
    for ensemble in (Ensemble("noisy_or", 0, 0.25), Ensemble("noisy_or", 0.2, 0.8))
    for which in ("likeliest", "unlikeliest")
)
TABLE_COLUMNS = (*TABLE1, *TABLE2)
ABOUT1 = (
    "All weights and biases are drawn uniformly from the range, and all six visible units are observed off. "
    "𝓔 = −G / ln Z − 1, as in (62). It is above zero if ln Z is underestimated, and never below zero for a bound. "
    "Means are over the networks on which the scheme converged."
)
ABOUT2 = (
    "All weights and biases are drawn uniformly from the range. For each network ln Z is computed exactly for all 64 "
    "visible states. The state with the largest ln Z and the state with the smallest ln Z are observed in turn."
)
ABOUT_FIGURES = (
    "𝓔 of each network whose solve converged. Solid lines are our means, dashed ones the paper's; of each "
    "histogram the outermost 0.2 % on either side are not shown. G221 stands beside the figures' G22 and was not in "
    "the paper."
)


def table1(everything: Mapping[str, StoredRows]) -> Section:
    return Section("Table 1: sigmoid networks", [Text(ABOUT1), *tables(everything["table1"], everything)])


def table2(everything: Mapping[str, StoredRows]) -> Section:
    return Section("Table 2: noisy-or networks", [Text(ABOUT2), *tables(everything["table2"], everything)])


def figures(everything: Mapping[str, StoredRows]) -> Section:
    parts: list[Text | Figure] = [Text(ABOUT_FIGURES)]
    for entry in paper()["figures"]:
        if entry["table"] in everything:
            panels = [panel for schemes in entry["panels"] if (panel := _panel(entry, schemes, everything))]
            caption = f"Figure {entry['number']}: {entry['ensemble']}, {OBSERVED[entry['observed']]}."
            parts.append(Figure(f"figure{entry['number']}", panels, caption))
    return Section("Figures 2 to 9: histograms of the error", parts)


def _panel(entry: Mapping[str, Any], schemes: list[str], everything: Mapping[str, StoredRows]) -> Panel | None:
    table, ensemble, observed = entry["table"], entry["ensemble"], entry["observed"]
    parts = {scheme: everything[table].where(ensemble=ensemble, observed=observed, method=scheme) for scheme in schemes}
    errors = {scheme: part["error"][part["status"] == "converged"].astype(float) for scheme, part in parts.items()}
    if not all(map(len, errors.values())):
        return None
    printed = {scheme: printed_mean(table, ensemble, observed, scheme) for scheme in schemes}
    digits = decimals(table)
    words = [_words(scheme, parts[scheme], printed[scheme], digits) for scheme in schemes]
    return Panel(histogram(errors, printed), f"Histogram of the error. {' '.join(words)}")


def _words(scheme: str, part: dict[str, np.ndarray], printed: float | None, digits: int) -> str:
    found = summary(part)
    middle = np.quantile(part["error"][part["status"] == "converged"], [0.05, 0.95])
    theirs = f", the paper's is {signed(printed, digits)}" if printed is not None else ""
    low, high = (signed(float(end), digits) for end in middle)
    return (
        f"{scheme}: the mean of {percent(found.converged)} of {found.networks:,} networks is "
        f"{signed(found.mean, digits)}{theirs}; nine in ten lie between {low} and {high}."
    )
