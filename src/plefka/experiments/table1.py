"""Table 1: sigmoid networks of 2 x 4 x 6 units, the bottom layer observed off."""

from collections.abc import Mapping

from plefka.experiments.comparison import tables
from plefka.experiments.report import Section, Text
from plefka.experiments.settings import Column, Ensemble
from plefka.experiments.store import Rows

METHODS = ("G11", "G12", "G22", "SJJ", "G221")
ENSEMBLES = (Ensemble("sigmoid", -1, 1), Ensemble("sigmoid", -5, 5))
COLUMNS = tuple(Column(ensemble, "off", METHODS) for ensemble in ENSEMBLES)
ABOUT = (
    "All weights and biases are drawn uniformly from the range, and all six visible units are observed off. "
    "𝓔 = −G / ln Z − 1, as in (62): above zero where ln Z is underestimated, and never below it for a bound. "
    "Means are over the networks whose solve converged."
)


def render(everything: Mapping[str, Rows]) -> Section:
    return Section("Table 1: sigmoid networks", [Text(ABOUT), *tables(everything["table1"], everything)])
