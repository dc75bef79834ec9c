"""Numbers about rows: means with their standard errors, over the solves that converged and over all."""

import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from plefka.paper.experiment_settings import Ensemble
from plefka.paper.store import StoredRows

OBSERVED = {"off": "", "likeliest": ", largest ln Z", "unlikeliest": ", smallest ln Z"}  # in the name of a column


class Key(NamedTuple):
    """A column of a table and a method."""

    ensemble: str
    observed: str
    method: str

    @property
    def column(self) -> str:
        """The networks and what is observed of them, in short."""
        return self.ensemble + OBSERVED[self.observed]


@dataclass(frozen=True)
class Summary:
    """The error E of (62) over the networks whose solve converged, and how the solves went."""

    mean: float
    standard_error: float
    size: float  # the mean of |E|
    networks: int
    converged: float  # the fraction
    cycled: float  # the fraction that met an order-2 cycle
    cycles: float  # broken, per network: as often was the iteration started again
    steps: float
    mean_of_all: float = float("nan")  # over all networks at which the solve ended with a number
    standard_error_of_all: float = float("nan")

    def spelled(self, decimals: int) -> str:
        """'0.0155 ± 0.0001', with as many decimals more as the standard error needs to be seen."""
        if 0 < self.standard_error < 1:
            decimals = max(decimals, math.ceil(-math.log10(self.standard_error)))
        return f"{signed(self.mean, decimals)} ± {self.standard_error:.{decimals}f}"


@cache
def summaries(rows: StoredRows) -> dict[Key, Summary]:
    """One for each column of the table and each method, in the order of the settings."""
    found = {}
    for column in rows.settings["columns"]:
        for method in column["methods"]:
            key = Key(named(column["ensemble"]), column["observed"], method)
            part = rows.where(ensemble=key.ensemble, observed=key.observed, method=key.method)
            if len(part["error"]):
                found[key] = summary(part)
    return found


def summary(part: dict[str, np.ndarray]) -> Summary:
    done = part["status"] == "converged"
    error = part["error"][done].astype(float)
    every = part["error"].astype(float)
    of_all = mean_and_error(every[np.isfinite(every)])
    return Summary(
        *mean_and_error(error),
        size=mean_and_error(np.abs(error))[0],
        networks=len(done),
        converged=float(done.mean()),
        cycled=float((part["cycles"] > 0).mean()),
        cycles=float(part["cycles"].mean()),
        steps=float(part["steps"].mean()),
        mean_of_all=of_all[0],
        standard_error_of_all=of_all[1],
    )


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """The mean and its standard error; nan where there are too few values."""
    count = len(values)
    mean = float(values.mean()) if count else float("nan")
    return mean, float(values.std(ddof=1) / np.sqrt(count)) if count > 1 else float("nan")


def named(ensemble: dict) -> str:
    """The name of an ensemble from the settings in a file."""
    biases = ensemble["biases"]
    return Ensemble(**{**ensemble, "biases": tuple(biases) if biases else None}).name


def signed(value: float, decimals: int) -> str:
    """A number with a real minus sign, and without one where it rounds to zero."""
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "\N{MINUS SIGN}")


def wide(value: float, decimals: int) -> str:
    """As `signed`, without digits behind the point of what is a thousand or more in size."""
    return signed(value, decimals) if abs(value) < 1000 else f"{value:,.0f}".replace("-", "\N{MINUS SIGN}")


def percent(fraction: float) -> str:
    """'100 %', but never for what is merely close to it, and never '0 %' for what is there."""
    if fraction in (0.0, 1.0):
        return f"{fraction:.0%}".replace("%", " %")
    text = f"{100 * fraction:.1f}" if 0.001 <= fraction <= 0.999 else f"{100 * fraction:.2f}"
    return f"{text} %"
