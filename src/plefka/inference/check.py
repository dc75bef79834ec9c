"""`Solution.check`: draws from the network as it is defined, weighed, beside what a method has found.

The check shares neither the reduction of the evidence nor the recovery of the means with what it checks.
"""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from plefka.errors import InvalidInput
from plefka.inference.check_text import IMPORTANCE, POPULATION
from plefka.inference.check_verdict import Check
from plefka.methods.posterior import UPPER_BOUND, Status
from plefka.networks.belief import BeliefNetwork
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.markov import MarkovNetwork
from plefka.runtime.precision import is_traced
from plefka.runtime.seeds import as_seed
from plefka.sampling.importance import NUM_SAMPLES
from plefka.sampling.populations import PopulationProposal
from plefka.sampling.proposals import MOST_NUMBERS, Drawn, source_of
from plefka.sampling.weighted_answer import weighted_answer

if TYPE_CHECKING:
    from plefka.inference.solution import Solution
    from plefka.methods.posterior import ProposedComponents

FEWEST_SAMPLES = 100


def check(solution: "Solution", seed: int, num_samples: int | None) -> Check | list[Check]:
    """One `Check`, or one for each row of a batch."""
    if isinstance(solution.network, MarkovNetwork):
        raise InvalidInput("the check is for belief networks and Boltzmann machines; got a MarkovNetwork.")
    if is_traced(solution.network, solution.means):
        raise InvalidInput("a check is for a solution of infer, outside a trace.")
    seed = as_seed(seed)
    if num_samples is not None and num_samples < FEWEST_SAMPLES:
        raise InvalidInput(
            f"num_samples must be {FEWEST_SAMPLES} or more, for the weights to have a tail; got {num_samples}."
        )
    found = [_check_solved(solution.row(row), seed + row, num_samples) for row in range(solution.num_rows)]
    return found if solution.is_batch else found[0]


def _check_solved(solution: "Solution", seed: int, num_samples: int | None) -> Check:
    """Of a single row. Without a number of samples, as many as it takes."""
    network, given, rng = solution.network, solution.evidence._replace(batched=True), np.random.default_rng(seed)
    offset = 0.0 if given.offset is None else float(given.offset[0])
    quantity, sampler = ("ln P(evidence)", IMPORTANCE) if network.is_normalised else ("ln Z", POPULATION)
    make = partial(
        Check, quantity=quantity, sampler=sampler, solution=solution, estimate=float(solution.log_partition) - offset,
        estimated_means=solution.means, is_bound=solution.is_bound, is_exact=solution.is_exact,
        impossible=solution.status is Status.IMPOSSIBLE, converged=solution.status is Status.CONVERGED,
        is_upper=solution.codes.log_partition == UPPER_BOUND,
    )  # fmt: skip
    if isinstance(network, BeliefNetwork):
        mixture = components(solution.means, solution.proposals)
        source = source_of(network, given, mixture, rng, without_exact=solution.is_exact)
    else:
        source = PopulationProposal.of(cast(BoltzmannMachine, network), given)
    row = np.asarray(given.rows[0], float)
    implied = solution.observed & np.isnan(row)

    def check_of(drawn: Drawn) -> Check:
        found = weighted_answer(network, row, source, drawn, rng)
        if found is not None:  # what follows from the evidence by definition is not drawn
            found.means[implied], found.means_error[implied] = solution.means[implied], 0.0
        return make(*(found or (-np.inf, np.inf, row, row, np.inf, 0.0)), len(drawn.log_weights))

    fewest = FEWEST_SAMPLES if source.size else NUM_SAMPLES
    drawn = source.drawn(num_samples or int(np.clip(MOST_NUMBERS // max(1, source.size), fewest, NUM_SAMPLES)), rng)
    found, most = check_of(drawn), 0 if num_samples else source.most(drawn)
    while 2 * found.num_samples <= most and not found.settled and found.is_within_reach(most):
        drawn = drawn.joined(source.drawn(found.num_samples, rng))  # as long as there is room and hope for more
        found = check_of(drawn)
    return found.shifted(offset)


def components(means: np.ndarray, proposals: "Iterable[ProposedComponents]") -> tuple[np.ndarray, np.ndarray]:
    """ln weights and means (components, units of the network): the mixture that a method has found, or its means.

    Components that are single states are draws, of which the means are the average. They are where to draw; what the
    draws weigh does not depend on them.
    """
    log_weights, u = np.zeros(1), means[None]
    for _, units, weights_of_rows, means_of_rows in proposals:
        possible = np.isfinite(weights_of_rows[:, 0])
        inner, place = means_of_rows[possible][:, :, 0], units if units.ndim == 1 else units[:, 0]
        if possible.any() and not np.isin(inner, (0, 1)).all():
            log_weights, u = weights_of_rows[possible, 0], np.repeat(means[None], possible.sum(), axis=0)
            u[:, place[place >= 0]] = inner[:, place >= 0]
    return log_weights, np.where(np.isfinite(u), np.clip(u, 0.0, 1.0), 0.5)
