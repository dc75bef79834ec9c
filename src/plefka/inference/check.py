"""`Solution.check`: draws from the network as it is defined, weighed, beside what a method has found.

The check shares neither the reduction of the evidence nor the recovery of the means with what it checks.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from plefka.errors import InvalidInput
from plefka.inference.check_text import IMPORTANCE, POPULATION
from plefka.inference.check_verdict import Check
from plefka.methods.posterior import UPPER_BOUND, Status
from plefka.networks.belief import BeliefNetwork
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.evidence import Evidence
from plefka.networks.markov import MarkovNetwork
from plefka.networks.network import Network
from plefka.runtime.precision import is_traced
from plefka.runtime.seeds import as_seed
from plefka.sampling.importance import NUM_SAMPLES
from plefka.sampling.populations import PopulationProposal
from plefka.sampling.proposals import MOST_NUMBERS, Drawn, Proposal, source_of
from plefka.sampling.weighted_answer import weighted_answer

if TYPE_CHECKING:
    from plefka.inference.solution import Solution
    from plefka.methods.posterior import ProposedComponents

FEWEST_SAMPLES = 100


def check(solution: "Solution", seed: int, num_samples: int | None) -> Check | list[Check]:
    """One `Check`, or one for each row of a batch."""
    if isinstance(solution.network, MarkovNetwork):
        raise InvalidInput("the check is for belief networks and Boltzmann machines; got a MarkovNetwork.")
    if solution.network is None or is_traced(solution.network, solution.means):
        raise InvalidInput("a check is for a solution of infer, outside a trace.")
    seed = as_seed(seed)
    if num_samples is not None and num_samples < FEWEST_SAMPLES:
        raise InvalidInput(
            f"num_samples must be {FEWEST_SAMPLES} or more, for the weights to have a tail; got {num_samples}."
        )
    found = [_check_solved(solution.row(row), seed + row, num_samples) for row in range(solution.num_rows)]
    return found if solution.is_batch else found[0]


def _check_solved(solution: "Solution", seed: int, num_samples: int | None) -> Check:
    """Of a single row."""
    mixture = components(solution.means, solution.proposals, 0)
    found = _check(
        solution.network, solution.evidence, 0, mixture, seed=seed, num_samples=num_samples,
        estimate=float(solution.log_partition), estimated_means=solution.means, is_bound=solution.is_bound,
        is_exact=solution.is_exact, impossible=solution.status is Status.IMPOSSIBLE,
        converged=solution.status is Status.CONVERGED, is_upper=solution.codes.log_partition == UPPER_BOUND,
    )  # fmt: skip
    return replace(found, solution=solution)


def components(means: np.ndarray, proposals: "Iterable[ProposedComponents]", row: int) -> tuple[np.ndarray, np.ndarray]:
    """ln weights and means (components, units of the network): the mixture that a method has found, or its means.

    Components that are single states are draws, of which the means are the average. They are where to draw; what the
    draws weigh does not depend on them.
    """
    log_weights, u = np.zeros(1), means[None]
    for rows, units, weights_of_rows, means_of_rows in proposals:
        at = np.flatnonzero(rows == row)
        if len(at) and np.isfinite(weights_of_rows[:, at[0]]).any():
            possible = np.isfinite(weights_of_rows[:, at[0]])
            inner, place = means_of_rows[possible][:, :, at[0]], units if units.ndim == 1 else units[:, at[0]]
            if not np.isin(inner, (0, 1)).all():
                log_weights, u = weights_of_rows[possible, at[0]], np.repeat(means[None], possible.sum(), axis=0)
                u[:, place[place >= 0]] = inner[:, place >= 0]
    return log_weights, np.where(np.isfinite(u), np.clip(u, 0.0, 1.0), 0.5)


def _check(
    network: Network, evidence: Evidence, row: int, mixture: tuple[np.ndarray, np.ndarray],
    *, seed: int, num_samples: int | None, **claims: Any,
) -> Check:  # fmt: skip
    """`claims`: the estimate, and what it is claimed to be. Without a number of samples, as many as it takes."""
    given = evidence.take([row])._replace(batched=True)
    network = network if network.stack is None else network.take(row)
    offset = 0.0 if given.offset is None else float(given.offset[0])
    quantity, sampler = ("ln P(evidence)", IMPORTANCE) if network.is_normalised else ("ln Z", POPULATION)
    make = partial(Check, quantity=quantity, sampler=sampler, **{**claims, "estimate": claims["estimate"] - offset})
    rng, without_exact = np.random.default_rng(seed), bool(claims.get("is_exact"))
    if isinstance(network, BeliefNetwork):
        source = source_of(network, given, mixture, rng, without_exact=without_exact)
    else:
        source = PopulationProposal.of(cast(BoltzmannMachine, network), given)
    row_check = _RowCheck(network, np.asarray(given.rows[0], float), source, make)
    found = row_check.with_samples(num_samples, rng) if num_samples else row_check.until_decided(rng)
    return found.shifted(offset)


class _RowCheck(NamedTuple):
    """A row that is checked: where its draws come from, and what becomes of them."""

    network: Network
    row: np.ndarray
    source: Proposal
    make: Callable[..., Check]

    def with_samples(self, count: int, rng: np.random.Generator) -> Check:
        """With so many draws."""
        return self._check_of(self.source.drawn(count, rng), rng)

    def until_decided(self, rng: np.random.Generator) -> Check:
        """Twice as many draws each time, as long as they do not decide, and there is room and hope for more."""
        fewest = FEWEST_SAMPLES if self.source.size else NUM_SAMPLES
        drawn = self.source.drawn(int(np.clip(MOST_NUMBERS // max(1, self.source.size), fewest, NUM_SAMPLES)), rng)
        found, most = self._check_of(drawn, rng), self.source.most(drawn)
        while not found.settled and 2 * found.num_samples <= most and found.is_within_reach(most):
            drawn = drawn.joined(self.source.drawn(found.num_samples, rng))
            found = self._check_of(drawn, rng)
        return found

    def _check_of(self, drawn: Drawn, rng: np.random.Generator) -> Check:
        found, count = weighted_answer(self.network, self.row, self.source, drawn, rng), len(drawn.log_weights)
        if found is None:
            return self.make(-np.inf, np.inf, self.row, self.row, np.inf, 0.0, count)
        return self.make(*found, count)
