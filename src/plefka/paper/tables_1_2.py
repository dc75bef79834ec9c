"""Tables 1 and 2: networks of 2 x 4 x 6 units, sigmoid with the bottom layer off, noisy-or with two visible states."""

from collections.abc import Mapping

from plefka.paper.beside_printed import tables
from plefka.paper.experiment_settings import Column, Ensemble
from plefka.paper.report import Section, Text
from plefka.paper.store import StoredRows

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


def table1(everything: Mapping[str, StoredRows]) -> Section:
    return Section("Table 1: sigmoid networks", [Text(ABOUT1), *tables(everything["table1"], everything)])


def table2(everything: Mapping[str, StoredRows]) -> Section:
    return Section("Table 2: noisy-or networks", [Text(ABOUT2), *tables(everything["table2"], everything)])
