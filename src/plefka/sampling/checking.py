"""`Solution.check`: the importance check of what a method has found."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plefka.errors import InvalidInput
from plefka.evidence import Evidence
from plefka.networks.network import Network
from plefka.precision import is_traced
from plefka.reduction.reduce import Reduction, reduce
from plefka.sampling.drawing import Source, source_of
from plefka.sampling.fields import Target
from plefka.sampling.importance import NUM_SAMPLES
from plefka.sampling.verdict import Check
from plefka.sampling.weighing import weighed
from plefka.seeds import as_seed
from plefka.solution import Status

if TYPE_CHECKING:
    from plefka.posterior import Posterior
    from plefka.solution import Solution

FEWEST_SAMPLES = 100
MOST_SAMPLES, MOST_NUMBERS = 2**16, 2**24  # draws where fewer do not decide, and the states of all units in them


def check(solution: "Solution", seed: int, num_samples: int | None) -> Check | list[Check]:
    """One `Check`, or one for each row of a batch."""
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
    )  # fmt: skip
    return replace(found, solution=solution)


def check_row(network: Network, evidence: Evidence, found: "Posterior", row: int, seed: int) -> Check:
    """The check of one row before there is a Solution; soft evidence counts without its offset."""
    mixture = components(found.means[row], found.about.proposals, row)
    return _check(
        network, evidence._replace(offset=None), row, mixture, seed=seed, num_samples=NUM_SAMPLES,
        estimate=float(-found.free_energy[row]), estimated_means=found.means[row],
    )  # fmt: skip


def components(means: np.ndarray, proposals: Any, row: int) -> tuple[np.ndarray, np.ndarray]:
    """ln weights and means (components, units of the network): the mixture that a method has found, or its means.

    Components that are single states are draws, of which the means are the average.
    """
    log_weights, u = np.zeros(1), means[None]
    for rows, units, weights_of_rows, means_of_rows in proposals or ():
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
    quantity = "ln P(evidence)" if network.is_normalised else "ln Z"
    make = partial(Check, quantity=quantity, **{**claims, "estimate": claims["estimate"] - offset})
    reduction, rng = reduce(network, given), np.random.default_rng(seed)
    nothing = make(-np.inf, np.inf, given.rows[0], given.rows[0], np.inf, 0.0, num_samples or NUM_SAMPLES)
    if reduction.impossible[0]:
        return nothing.shifted(offset)
    question = reduction.parts[0].question
    target = question.model.target(question)
    source = source_of(reduction.parts[0], target, mixture, rng, without_exact=bool(claims.get("is_exact")))
    asked = _Asked(reduction, target, source, make)
    found = asked.once(num_samples, rng) if num_samples else asked.until_settled(rng)
    return (found or nothing).shifted(offset)


class _Asked(NamedTuple):
    """A row that is checked: where its draws come from, and what becomes of them."""

    reduction: Reduction
    target: Target
    source: Source
    make: Callable[..., Check]

    def once(self, count: int, rng: np.random.Generator) -> Check | None:
        """With so many draws; None where none of them is possible."""
        return self._judged(*self.source.drawn(count, rng), rng)

    def until_settled(self, rng: np.random.Generator) -> Check | None:
        """Twice as many draws each time, as long as they do not decide and there is room for them."""
        S, log_w = self.source.drawn(NUM_SAMPLES, rng)
        found = self._judged(S, log_w, rng)
        most = min(MOST_SAMPLES, MOST_NUMBERS // max(1, self.target.size))
        while found is not None and not found.settled and 2 * len(log_w) <= most:
            more, more_log_w = self.source.drawn(len(log_w), rng)
            S, log_w = np.concatenate([S, more], axis=2), np.concatenate([log_w, more_log_w])
            found = self._judged(S, log_w, rng)
        return found

    def _judged(self, S: np.ndarray, log_w: np.ndarray, rng: np.random.Generator) -> Check | None:
        bounded = self.source.is_bounded
        found = weighed(self.reduction, self.target, S, log_w, rng, is_bounded=bounded)
        return None if found is None else self.make(*found, len(log_w))
