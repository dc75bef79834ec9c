"""Table 2: noisy-or networks of 2 x 4 x 6 units, their visible states of largest and smallest ln Z observed."""

from collections.abc import Mapping

from plefka.experiments.comparison import tables
from plefka.experiments.report import Section, Text
from plefka.experiments.settings import Column, Ensemble
from plefka.experiments.store import Rows

METHODS = ("G11", "G12", "G22", "G221")
ENSEMBLES = (Ensemble("noisy_or", 0, 0.25), Ensemble("noisy_or", 0.2, 0.8))
COLUMNS = tuple(Column(ensemble, which, METHODS) for ensemble in ENSEMBLES for which in ("likeliest", "unlikeliest"))
ABOUT = (
    "All weights and biases are drawn uniformly from the range. For each network ln Z of all 64 visible states is "
    "summed exactly, and the states with the largest and with the smallest one are observed in turn."
)


def render(everything: Mapping[str, Rows]) -> Section:
    return Section("Table 2: noisy-or networks", [Text(ABOUT), *tables(everything["table2"], everything)])
