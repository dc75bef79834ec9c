"""The random networks of a study, what is observed of them (section 4.1 of the paper), and what is measured."""

import time
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import plefka as pf
from plefka.learning import likelihood
from plefka.learning.patterns import as_patterns
from plefka.paper.experiment_settings import LAYERS, Ensemble, Radii, Trial
from plefka.paper.summary import mean_and_error
from plefka.runtime.precision import precision

PER_SEED = 100  # networks that are drawn from one seed
VISIBLE = LAYERS[-1]
STATES = np.array(list(product((0, 1), repeat=VISIBLE)), float)  # the last unit changes first
PICK = {
    "off": lambda log_z: np.zeros(len(log_z), int),
    "likeliest": lambda log_z: log_z.argmax(axis=1),
    "unlikeliest": lambda log_z: log_z.argmin(axis=1),
}
DIGITS = 2.0**13
SCALES = "scales"  # in the name of a group that scales weights
CALLS = 2


def draw(ensemble: Ensemble, seed: int, first: int, count: int) -> pf.BeliefNetwork:
    """Networks `first`, `first + 1`, ... of an ensemble: the same ones, however they are put into blocks."""
    groups = range(first // PER_SEED, -(-(first + count) // PER_SEED))
    drawn = [_group(ensemble, seed, group) for group in groups]
    skipped = first - groups.start * PER_SEED
    keep = slice(skipped, skipped + count)
    weights = [np.concatenate(blocks)[keep] for blocks in zip(*(net.weights for net in drawn), strict=True)]
    bias = np.concatenate([net.bias for net in drawn])[keep]
    by_layer = np.split(bias, np.cumsum(LAYERS)[:-1], axis=1)
    return pf.BeliefNetwork.layered(weights, by_layer, ensemble.activation)


def _group(ensemble: Ensemble, seed: int, group: int) -> pf.BeliefNetwork:
    key = np.random.SeedSequence([seed, zlib.crc32(ensemble.name.encode()), group])
    state = int(key.generate_state(1, np.uint64)[0])
    return pf.ensembles.layered(
        LAYERS, ensemble.low, ensemble.high, PER_SEED, state, ensemble.activation, biases=ensemble.biases
    )


def observe(networks: pf.BeliefNetwork, observed: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of evidence (networks, units), which of the 64 visible states they are, and the exact ln Z."""
    patterns = as_patterns(networks, STATES)
    with precision("float64"):
        log_z = np.asarray(likelihood.exact(networks, patterns))[:, patterns.which]
    state = PICK[observed](log_z)
    rows = np.full((len(log_z), networks.size), np.nan)
    rows[:, -VISIBLE:] = STATES[state]
    return rows, state, np.take_along_axis(log_z, state[:, None], axis=1)[:, 0]


def radii_count(settings: Radii, group: str) -> int:
    """How many networks each column of a group has."""
    return settings.scale_networks if SCALES in group else settings.networks


def measure_radii(
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
        networks = draw(ensemble, settings.seed, 0, radii_count(settings, group))
        evidence = observe(networks, observed)[0]
        for k, row in enumerate(evidence):
            about = {"group": group, **degree, "ensemble": ensemble.name, "observed": observed}
            rows.append({**about, **_numbers(networks.take(k), row, settings.order, taylor)})
            advance()
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


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


class SolvedNetworks(NamedTuple):
    """Networks with their evidence and the exact answers."""

    networks: pf.BeliefNetwork
    rows: np.ndarray
    log_z: np.ndarray
    means: np.ndarray


def measure_method(trial: Trial, method: str, numbers: Sequence[int], advance: Callable[[], Any]) -> dict[str, Any]:
    """A row for each of these columns: means over the networks whose solve converged, and seconds per network."""
    rows = []
    for number in numbers:
        rows.append(_measured(trial, method, number))
        advance()
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _measured(trial: Trial, method: str, number: int) -> dict[str, Any]:
    """The first call compiles; of two more the quicker one counts, as other work on the machine only adds to it."""
    ensemble, observed = trial.columns[number]
    sample = sample_of(ensemble, observed, trial.seed + number, trial.networks)
    found = pf.infer(sample.networks, sample.rows, method)
    seconds = min(_seconds(sample, method) for _ in range(CALLS)) / trial.networks
    column = {"ensemble": ensemble.name, "observed": observed}
    return {**column, "method": method, **errors_of(found, sample), "seconds": seconds}


def _seconds(sample: SolvedNetworks, method: str) -> float:
    start = time.perf_counter()
    pf.infer(sample.networks, sample.rows, method)
    return time.perf_counter() - start


@cache
def sample_of(ensemble: Ensemble, observed: str, seed: int, count: int) -> SolvedNetworks:
    """The networks of a column."""
    networks = draw(ensemble, seed, 0, count)
    rows, _, log_z = observe(networks, observed)
    return SolvedNetworks(networks, rows, log_z, pf.infer(networks, rows, "exact").means)


def errors_of(found: pf.Solution, sample: SolvedNetworks) -> dict[str, Any]:
    """E of (62), its size, and that of the means of hidden units, with standard errors_of."""
    done = found.converged
    error = (found.log_likelihood / sample.log_z - 1)[done]
    distance = np.abs(found.means - sample.means)[:, np.isnan(sample.rows[0])].mean(axis=1)[done]
    columns: dict[str, Any] = {"networks": len(done), "converged": float(done.mean())}
    for name, values in {"error": error, "size": np.abs(error), "means": distance}.items():
        columns[name], columns[f"{name}_se"] = mean_and_error(values)
    return {**columns, "worst": float(np.abs(error).max()) if len(error) else float("nan")}
