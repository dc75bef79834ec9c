"""The estimate of ln P on rows that are held out: what `infer` says of them."""

from dataclasses import replace

import numpy as np

from plefka.inference import infer
from plefka.learning.patterns import Patterns
from plefka.methods import MeanField
from plefka.models import LOWEST
from plefka.networks.belief import BeliefNetwork
from plefka.solution import Status

MAX_STEPS = 300  # these rows have no means of an earlier epoch to start from


def validation(network: BeliefNetwork, method: MeanField, tol: float, patterns: Patterns) -> np.ndarray:
    """The mean estimate per row, of a stack one for each network."""
    method, rows = replace(method, tol=tol, max_steps=MAX_STEPS, restarts=0), patterns.rows()
    if network.stack is None:
        return np.array(_mean(network, method, rows, patterns))
    return np.array([_mean(network.take(k), method, rows, patterns) for k in range(network.stack)])


def _mean(network: BeliefNetwork, method: MeanField, rows: np.ndarray, patterns: Patterns) -> float:
    """A row that fails must not make the others' mean look better.

    It counts as the worst of them, or as coin tosses where that is less.
    """
    solution = infer(network, rows, method)
    estimates, status = solution.log_likelihood, solution.status
    solved = ((status == Status.CONVERGED) | (status == Status.OUT_OF_STEPS)) & (estimates <= -LOWEST)
    if not solved.any():
        return -np.inf
    worst = min(estimates[solved].min(), -len(patterns.units) * np.log(2))
    return float(np.where(solved, estimates, worst) @ patterns.counts / patterns.total)
