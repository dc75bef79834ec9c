"""One method on one ensemble: how far ln Z and the means are from the exact ones, and how long a network takes."""

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import plefka as pf
from plefka.experiments.networks import draw, observe
from plefka.experiments.settings import Ensemble, Trial

CALLS = 2


class Problem(NamedTuple):
    """Networks with their evidence, and the truth about them."""

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
    """The first call compiles; the quicker of two more counts, as other work on the machine only ever adds."""
    ensemble, observed = trial.columns[number]
    problem = problem_of(ensemble, observed, trial.seed + number, trial.networks)
    found = pf.infer(problem.networks, problem.rows, method)
    seconds = min(_seconds(problem, method) for _ in range(CALLS)) / trial.networks
    head = {"ensemble": ensemble.name, "observed": observed, "method": method}
    return {**head, **errors(found, problem), "seconds": seconds}


def _seconds(problem: Problem, method: str) -> float:
    start = time.perf_counter()
    pf.infer(problem.networks, problem.rows, method)
    return time.perf_counter() - start


@cache
def problem_of(ensemble: Ensemble, observed: str, seed: int, count: int) -> Problem:
    """The networks of a column."""
    networks = draw(ensemble, seed, 0, count)
    rows, _, log_z = observe(networks, observed)
    return Problem(networks, rows, log_z, pf.infer(networks, rows, "exact").means)


def errors(found: pf.Solution, problem: Problem) -> dict[str, Any]:
    """E of (62), its size, and that of the means of hidden units, with standard errors."""
    done = found.converged
    error = (found.log_likelihood / problem.log_z - 1)[done]
    off = np.abs(found.means - problem.means)[:, np.isnan(problem.rows[0])].mean(axis=1)[done]
    columns: dict[str, Any] = {"networks": len(done), "converged": float(done.mean())}
    for name, values in {"error": error, "size": np.abs(error), "means": off}.items():
        columns[name] = float(values.mean()) if len(values) else float("nan")
        columns[f"{name}_se"] = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return {**columns, "worst": float(np.abs(error).max()) if len(error) else float("nan")}
