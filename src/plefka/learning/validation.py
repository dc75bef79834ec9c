"""The estimate of ln P on rows that are held out: what `infer` says of them."""

from dataclasses import replace

import numpy as np

from plefka.inference.infer import infer
from plefka.learning.devices import Devices
from plefka.learning.learner import max_steps
from plefka.learning.patterns import Patterns
from plefka.mean_field.schemes import MeanField
from plefka.methods.status import Status
from plefka.networks.belief import BeliefNetwork
from plefka.reduction.models import LOWEST

VALIDATION_STEPS = 300  # unless given; these rows have no means of an earlier epoch to start from


def validation(
    network: BeliefNetwork, method: MeanField, tol: float, patterns: Patterns, devices: Devices
) -> np.ndarray:
    """The mean estimate per row, of a stack one for each network."""
    method = replace(method, tol=tol, max_steps=max_steps(method, VALIDATION_STEPS))
    if network.stack is None:
        return np.array(_mean(network, method, patterns, devices))
    return np.array([_mean(network.take(k), method, patterns, devices) for k in range(network.stack)])


def _mean(network: BeliefNetwork, method: MeanField, patterns: Patterns, devices: Devices) -> float:
    """A row that fails must not make the others' mean look better.

    It counts as the worst of them, or as independent fair coin flips if that is lower.
    """

    def of_some(index: np.ndarray) -> np.ndarray:
        solution = infer(network, patterns.rows(index), method)
        estimates, status = solution.log_likelihood, solution.status
        solved = ((status == Status.CONVERGED) | (status == Status.OUT_OF_STEPS)) & (estimates <= -LOWEST)
        return np.stack([estimates, solved])

    estimates, solved = devices.in_shares(of_some, len(patterns))
    solved = solved == 1
    if not solved.any():
        return -np.inf
    worst = min(estimates[solved].min(), -len(patterns.units) * np.log(2))
    return float(np.where(solved, estimates, worst) @ patterns.counts / patterns.total)
