"""The series of random networks, one after the other: its radius in three ways, and what it sums to."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import plefka as pf
from plefka.paper.experiment_settings import Ensemble, Radii
from plefka.paper.random_networks import draw, observe

DIGITS = 2.0**13
SCALES = "scales"  # in the name of a group that scales weights


def count(settings: Radii, group: str) -> int:
    """How many networks each column of a group has."""
    return settings.scale_networks if SCALES in group else settings.networks


def measure(
    settings: Radii,
    group: str,
    columns: Sequence[tuple[Ensemble, str]],
    advance: Callable[[], Any],
    *,
    taylor: int | None = None,
) -> dict[str, Any]:
    """A row for each network of these columns; of the energy (43) of degree `taylor`, where that is given."""
    rows, degree = [], {} if taylor is None else {"degree": taylor}
    for ensemble, observed in columns:
        networks = draw(ensemble, settings.seed, 0, count(settings, group))
        evidence = observe(networks, observed)[0]
        for k, row in enumerate(evidence):
            about = {"group": group, **degree, "ensemble": ensemble.name, "observed": observed}
            rows.append({**about, **_numbers(one_of(networks, k), row, settings.order, taylor)})
            advance()
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def one_of(networks: pf.BeliefNetwork, k: int) -> pf.BeliefNetwork:
    """One network of a stack."""
    return pf.BeliefNetwork(networks.storage.take(k), networks.bias[k], networks.activation, layers=networks.layers)


def _numbers(network: pf.BeliefNetwork, row: np.ndarray, order: int, taylor: int | None) -> dict[str, Any]:
    """What is kept of a series; four digits are enough for all that is drawn from it."""
    found = pf.series(network, row, order, taylor=taylor)
    numbers = {
        "radius": found.radius,
        "ratios": found.radius_by_ratios,
        "poles": found.radius_by_poles,
        "error": abs(found.partial_sums[-1] - found.exact),
        "pade": abs(found.pade() - found.exact),
    }
    return {"established": found.is_established, **{name: four_digits(value) for name, value in numbers.items()}}


def four_digits(value: float) -> np.float32:
    """In 13 binary digits, so that the rest are zeros, which take no room in a file."""
    mantissa, exponent = np.frexp(value)
    with np.errstate(over="ignore"):  # a divergent sum may be out of reach of the type, and is infinite there
        return np.float32(np.ldexp(np.round(mantissa * DIGITS) / DIGITS, exponent))
