"""One method on one ensemble: how far ln Z and the means are from the exact ones, and how long a network takes."""

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import plefka as pf
from plefka.paper.experiment_settings import Ensemble, Trial
from plefka.paper.random_networks import draw, observe
from plefka.paper.summary import mean_and_error

CALLS = 2


class SolvedNetworks(NamedTuple):
    """Networks with their evidence and the exact answers."""

    networks: pf.BeliefNetwork
    rows: np.ndarray
    log_z: np.ndarray
    means: np.ndarray


def measure(trial: Trial, method: str, numbers: Sequence[int], advance: Callable[[], Any]) -> dict[str, Any]:
    """A row for each of these columns: means over the networks whose solve converged, and seconds per network."""
    rows = []
    for number in numbers:
        rows.append(_row(trial, method, number))
        advance()
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _row(trial: Trial, method: str, number: int) -> dict[str, Any]:
    """The first call compiles; of two more the quicker one counts, as other work on the machine only adds to it."""
    ensemble, observed = trial.columns[number]
    sample = sample_of(ensemble, observed, trial.seed + number, trial.networks)
    found = pf.infer(sample.networks, sample.rows, method)
    seconds = min(_seconds(sample, method) for _ in range(CALLS)) / trial.networks
    column = {"ensemble": ensemble.name, "observed": observed}
    return {**column, "method": method, **errors(found, sample), "seconds": seconds}


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


def errors(found: pf.Solution, sample: SolvedNetworks) -> dict[str, Any]:
    """E of (62), its size, and that of the means of hidden units, with standard errors."""
    done = found.converged
    error = (found.log_likelihood / sample.log_z - 1)[done]
    distance = np.abs(found.means - sample.means)[:, np.isnan(sample.rows[0])].mean(axis=1)[done]
    columns: dict[str, Any] = {"networks": len(done), "converged": float(done.mean())}
    for name, values in {"error": error, "size": np.abs(error), "means": distance}.items():
        columns[name], columns[f"{name}_se"] = mean_and_error(values)
    return {**columns, "worst": float(np.abs(error).max()) if len(error) else float("nan")}
