"""ln P of rows under a Boltzmann machine: ln Z with every row clamped, less that of the free machine."""

from typing import Any

import numpy as np

from plefka.errors import InvalidInput
from plefka.learning.annealed import LogPartitions, exact_sums, log_partitions
from plefka.learning.patterns import Patterns
from plefka.learning.row_scores import Score, accuracies
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.runtime.seeds import as_seed

EXACT_SECONDS, TEMPERATURES = 30.0, 1000  # of the sum over the states of a machine, and of its annealing


def score_machine(
    machine: BoltzmannMachine, patterns: Patterns, method: Any, seed: int | None, num_runs: int, *, exact: bool | None
) -> Score:
    """The score of rows that were read already."""
    if method is not None:
        raise InvalidInput(f"the score of a Boltzmann machine takes no method; got {method}. Leave it out.")
    questions = np.full((1, machine.size), np.nan), patterns.rows()
    sums = [exact_sums(machine, rows, 0.0 if exact is False else EXACT_SECONDS) for rows in questions]
    if any(each is None for each in sums):
        _check_seed(seed, exact)
    free, clamped = (
        found or log_partitions(machine, rows, (as_seed(seed), number), num_runs, TEMPERATURES, seconds=0.0)
        for number, (rows, found) in enumerate(zip(questions, sums, strict=True))
    )
    return _scored(free, clamped, patterns.which)


def _check_seed(seed: int | None, exact: bool | None) -> None:
    if exact is True:
        raise InvalidInput(
            "exact=True does not apply, because the states of this machine are too many to sum over. Leave exact out "
            "and pass a seed for annealed importance sampling."
        )
    if seed is None:
        raise InvalidInput(
            "annealed importance sampling needs a seed; add seed=0. It is used because the states of this machine are "
            "too many to sum over, or exact=False was given."
        )


def _scored(free: LogPartitions, clamped: LogPartitions, which: np.ndarray) -> Score:
    effective = np.minimum(clamped.effective, free.effective[0])[which]
    exact = np.isinf(effective)
    return Score(
        (clamped.value - free.value[0])[which], np.hypot(clamped.error, free.error[0])[which], accuracies(exact), None,
        None if exact.all() else effective, None, which, shared_error=float(free.error[0]),
    )  # fmt: skip
