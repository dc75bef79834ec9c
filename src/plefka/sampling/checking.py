"""`Solution.check`: the importance check of what a method has found."""

from typing import TYPE_CHECKING, Any

import numpy as np

from plefka.errors import InvalidInput
from plefka.evidence import Evidence
from plefka.networks.belief import BeliefNetwork
from plefka.precision import is_traced
from plefka.sampling import importance
from plefka.sampling.verdict import Check
from plefka.seeds import as_seed
from plefka.solution import Status

if TYPE_CHECKING:
    from plefka.posterior import Posterior
    from plefka.solution import Solution


def check(solution: "Solution", seed: int, num_samples: int | None) -> Check | list[Check]:
    """One `Check`, or one for each row of a batch."""
    if solution.network is None or is_traced(solution.network, solution.means):
        raise InvalidInput("a check is for a solution of infer, outside a trace.")
    seed, count = as_seed(seed), importance.NUM_SAMPLES if num_samples is None else num_samples
    impossible = np.atleast_1d(solution.status) == Status.IMPOSSIBLE
    estimates, means = np.atleast_1d(solution.log_likelihood), np.atleast_2d(solution.means)
    found = [
        _check(
            solution.network, solution.evidence, row, _proposals(means, solution.proposals, row), float(estimates[row]),
            seed=seed + row, num_samples=count,
            is_bound=solution.is_bound, is_exact=solution.is_exact, impossible=bool(impossible[row]),
        )
        for row in range(len(means))
    ]  # fmt: skip
    return found if solution.is_batch else found[0]


def check_row(network: BeliefNetwork, evidence: Evidence, found: "Posterior", row: int, seed: int) -> Check:
    """The check of one row before there is a Solution; soft evidence counts without its offset."""
    proposals = _proposals(found.means, found.about and found.about.proposals, row)
    return _check(
        network, evidence._replace(offset=None), row, proposals, float(-found.free_energy[row]),
        seed=seed, num_samples=importance.NUM_SAMPLES,
    )  # fmt: skip


def _check(
    network: BeliefNetwork,
    evidence: Evidence,
    row: int,
    proposals: importance.Proposals,
    estimate: float,
    *,
    seed: int,
    num_samples: int,
    **said: bool,
) -> Check:
    given = evidence.take(row)
    if network.stack is not None:
        network = BeliefNetwork(network.storage.take(row), network.bias[row], network.activation, layers=network.layers)
    offset = 0.0 if given.offset is None else float(given.offset)
    found = importance.check(
        network, given.rows, given.tilt, importance.widened(network, given.rows, proposals), seed=seed,
        num_samples=num_samples, estimate=estimate - offset, **said,
    )  # fmt: skip
    return found.shifted(offset)


def _proposals(means: np.ndarray, mixture: Any, row: int) -> importance.Proposals:
    """The mixture that the method has found, or its means alone; 1/2 where there is no number."""
    log_weights, components = np.zeros(1), means[row][None]
    if mixture is not None:
        possible = np.isfinite(mixture[0][row])
        if possible.any():
            log_weights, components = mixture[0][row][possible], mixture[1][row][possible]
    return log_weights, np.where(np.isfinite(components), np.clip(components, 0.0, 1.0), 0.5)
