"""`Solution.check`: the importance check of what a method has found."""

from typing import TYPE_CHECKING

import numpy as np

from plefka.errors import InvalidInput
from plefka.networks.belief import BeliefNetwork
from plefka.precision import is_traced
from plefka.sampling import importance

if TYPE_CHECKING:
    from plefka.solution import Solution


def check(solution: "Solution", seed: int, num_samples: int | None) -> "importance.Check | list[importance.Check]":
    """One `Check`, or one for each row of a batch."""
    if solution.network is None or is_traced(solution.network, solution.means):
        raise InvalidInput("a check is for a solution of infer, outside a trace.")
    count = importance.NUM_SAMPLES if num_samples is None else num_samples
    if not solution.is_batch:
        return _row(solution, 0, seed, count)
    return [_row(solution, row, seed + row, count) for row in range(len(solution.means))]


def _row(solution: "Solution", row: int, seed: int, num_samples: int) -> importance.Check:
    network, given = solution.network, solution.evidence.take(row)
    if network.stack is not None:
        network = BeliefNetwork(network.storage.take(row), network.bias[row], network.activation, layers=network.layers)
    estimate = float(np.atleast_1d(solution.log_likelihood)[row])
    offset = 0.0 if given.offset is None else float(given.offset)
    proposals = importance.widened(network, given.rows, _proposals(solution, row))
    found = importance.check(
        network, given.rows, given.tilt, proposals, seed=seed, num_samples=num_samples,
        estimate=estimate - offset, is_bound=solution.is_bound,
    )  # fmt: skip
    return found.shifted(offset)


def _proposals(solution: "Solution", row: int) -> importance.Proposals:
    """The mixture that the method has found, or its means alone; 1/2 where there is no number."""
    if solution.proposals is None:
        log_weights, means = np.zeros(1), np.atleast_2d(solution.means)[row][None]
    else:
        log_weights, means = (part[row] for part in solution.proposals)
        log_weights, means = log_weights[np.isfinite(log_weights)], means[np.isfinite(log_weights)]
        if not log_weights.size:
            log_weights, means = np.zeros(1), np.full((1, len(solution.names)), 0.5)
    return log_weights, np.where(np.isfinite(means), np.clip(means, 0.0, 1.0), 0.5)
