"""Numbers about rows: means with their standard errors, over the solves that converged."""

import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from plefka.experiments.store import Rows


class Key(NamedTuple):
    """A column of a table and a method."""

    ensemble: str
    observed: str
    method: str


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

    def spelled(self, decimals: int) -> str:
        """'0.0155 ± 0.0001', with as many decimals more as the standard error needs to be seen."""
        if 0 < self.standard_error < 1:
            decimals = max(decimals, math.ceil(-math.log10(self.standard_error)))
        return f"{signed(self.mean, decimals)} ± {self.standard_error:.{decimals}f}"


@cache
def summaries(rows: Rows) -> dict[Key, Summary]:
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
    count = len(error)
    return Summary(
        mean=float(error.mean()) if count else float("nan"),
        standard_error=float(error.std(ddof=1) / np.sqrt(count)) if count > 1 else float("nan"),
        size=float(np.abs(error).mean()) if count else float("nan"),
        networks=len(done),
        converged=float(done.mean()),
        cycled=float((part["cycles"] > 0).mean()),
        cycles=float(part["cycles"].mean()),
        steps=float(part["steps"].mean()),
    )


def named(ensemble: dict) -> str:
    """The name of an ensemble from the settings in a file."""
    from plefka.experiments.settings import Ensemble

    biases = ensemble["biases"]
    return Ensemble(**{**ensemble, "biases": tuple(biases) if biases else None}).name


def signed(value: float, decimals: int) -> str:
    """A number with a real minus sign, and without one where it rounds to zero."""
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "\N{MINUS SIGN}")


def percent(fraction: float) -> str:
    """'100 %', but never for what is merely close to it, and never '0 %' for what is there."""
    if fraction in (0.0, 1.0):
        return f"{fraction:.0%}".replace("%", " %")
    text = f"{100 * fraction:.1f}" if 0.001 <= fraction <= 0.999 else f"{100 * fraction:.2f}"
    return f"{text} %"
