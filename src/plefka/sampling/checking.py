"""`Solution.check`: the importance check of what a method has found."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from plefka.errors import InvalidInput, MethodDoesNotApply
from plefka.evidence import Evidence
from plefka.findings.cost import affordable
from plefka.findings.posterior import weighted_states
from plefka.networks.belief import BeliefNetwork
from plefka.precision import is_traced
from plefka.reduction.reduce import Part, Reduction, reduce
from plefka.sampling import diagnostics
from plefka.sampling.fields import StateFields, Target
from plefka.sampling.importance import NUM_SAMPLES, Proposals, averaged, resampled, weighted_draws, widened
from plefka.sampling.verdict import Check
from plefka.seeds import as_seed
from plefka.solution import Status

if TYPE_CHECKING:
    from plefka.posterior import Posterior
    from plefka.solution import Solution

FEWEST_SAMPLES = 100
MOST_SECONDS = 0.5  # that the search for a better proposal may take, about
MOST_DRAWS, FEWEST_DRAWS, MOST_NUMBERS = 4096, 512, 2**22  # of states that barren units are predicted from


def check(solution: "Solution", seed: int, num_samples: int | None) -> Check | list[Check]:
    """One `Check`, or one for each row of a batch."""
    if solution.network is None or is_traced(solution.network, solution.means):
        raise InvalidInput("a check is for a solution of infer, outside a trace.")
    seed, count = as_seed(seed), NUM_SAMPLES if num_samples is None else num_samples
    if count < FEWEST_SAMPLES:
        raise InvalidInput(
            f"num_samples must be {FEWEST_SAMPLES} or more, for the weights to have a tail; got {count}."
        )
    impossible = np.atleast_1d(solution.status) == Status.IMPOSSIBLE
    estimates, means = np.atleast_1d(solution.log_likelihood), np.atleast_2d(solution.means)
    found = [
        _check(
            solution.network, solution.evidence, row, components(means[row], solution.proposals, row),
            seed=seed + row, num_samples=count, estimate=float(estimates[row]),
            is_bound=solution.is_bound, is_exact=solution.is_exact, impossible=bool(impossible[row]),
        )
        for row in range(len(means))
    ]  # fmt: skip
    return found if solution.is_batch else found[0]


def check_row(network: BeliefNetwork, evidence: Evidence, found: "Posterior", row: int, seed: int) -> Check:
    """The check of one row before there is a Solution; soft evidence counts without its offset."""
    mixture = components(found.means[row], found.about.proposals, row)
    return _check(
        network, evidence._replace(offset=None), row, mixture, seed=seed, num_samples=NUM_SAMPLES,
        estimate=float(-found.free_energy[row]),
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
    network: BeliefNetwork, evidence: Evidence, row: int, mixture: tuple[np.ndarray, np.ndarray],
    *, seed: int, num_samples: int, **claims: Any,
) -> Check:  # fmt: skip
    """`claims`: the estimate, and what it is claimed to be."""
    given = evidence.take([row])._replace(batched=True)
    network = network if network.stack is None else network.take(row)
    offset = 0.0 if given.offset is None else float(given.offset[0])
    make = partial(Check, **{**claims, "num_samples": num_samples, "estimate": claims["estimate"] - offset})
    reduction = reduce(network, given)
    rng, without_exact = np.random.default_rng(seed), bool(claims.get("is_exact"))
    found = None if reduction.impossible[0] else _weighed(network, reduction, mixture, rng, num_samples, without_exact)
    unknown = given.rows[0]
    return make(*(found or (-np.inf, np.inf, unknown, unknown, np.inf, 0.0))).shifted(offset)


def _weighed(
    network: BeliefNetwork, reduction: Reduction, mixture: tuple, rng: np.random.Generator, count: int,
    without_exact: bool,
) -> tuple | None:  # fmt: skip
    """All numbers of a check, from ln P(evidence) on; None where no draw is possible.

    `without_exact`: nothing that exact inference does is used.
    """
    (part,) = reduction.parts
    target = Target(part.question)
    S, log_w = (None if without_exact else _by_findings(part, target, rng, count)) or _of_mixture(
        part, target, mixture, rng, count
    )
    if not np.isfinite(log_w).any():
        return None
    log_w, k = diagnostics.smoothed(log_w + part.constant[0])
    found = averaged(log_w)
    means, errors = _means(network, reduction, target, S, np.exp(log_w - found.log_mean) / count, rng)
    return float(found.log_mean), float(found.standard_error), means, errors, k, float(found.effective)


def _by_findings(part: Part, target: Target, rng: np.random.Generator, count: int) -> tuple | None:
    """Draws that do not depend on the solution, where findings are on and enough of the draws carry weight."""
    k = affordable([part.question], MOST_SECONDS)
    try:
        found = (
            None if k is None else weighted_states(part.question, k, count, np.random.default_rng(rng.integers(2**63)))
        )
    except MethodDoesNotApply:
        return None
    return None if found is None else (found[0][target.units][:, None], found[1])


def _of_mixture(part: Part, target: Target, mixture: tuple, rng: np.random.Generator, count: int) -> tuple:
    """Draws from the solution, made a little wider."""
    u = np.stack([part.narrowed(component[:, None])[target.units] for component in mixture[1]])
    S, log_w = weighted_draws(target, widened(target, Proposals.of(mixture[0][:, None], u)), rng, count)
    return S, log_w[0]


def _means(
    network: BeliefNetwork, reduction: Reduction, target: Target, S: np.ndarray, weights: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Self-normalised averages of all units of the network, with their errors; barren units are predicted.

    Units that were summed out have the error of as many draws of their own, which is no less than theirs.
    """
    (part,), free = reduction.parts, target.free[:, 0]
    inside = np.clip(S[:, 0] @ weights, 0.0, 1.0)
    slope = target.widened(target.slopes(S) @ weights) if reduction.left.summed.any() else None
    means = reduction.restored(part, target.widened(inside[:, None]), slope)[0][:, 0]
    errors = np.sqrt(means * (1 - means) * np.sum(weights**2))
    units = part.units.reshape(part.question.size, -1)[target.units, 0]
    errors[units[free]] = np.sqrt(((S[free, 0] - inside[free, None]) ** 2) @ weights**2)
    barren = np.isnan(means)
    if barren.any():
        chosen = resampled(weights, MOST_DRAWS if MOST_DRAWS * len(means) <= MOST_NUMBERS else FEWEST_DRAWS, rng)
        states = (rng.random((len(means), len(chosen))) < means[:, None]) * 1.0
        states[units[free]] = S[free, 0][:, chosen]
        states[barren] = np.nan
        mean, error = _predicted(network, states[:, None], rng)
        fewer = np.sqrt(max(1.0, len(chosen) * np.sum(weights**2)))  # no more draws than are effective
        means[barren], errors[barren] = mean[barren], error[barren] * fewer
    return means, errors


def _predicted(network: BeliefNetwork, states: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The mean of P(on | parents) over states (units, 1, draws), nan where barren, and its standard error."""
    fields = StateFields.of_network(network)
    p = np.asarray(fields.activation.probability(fields.of(fields.drawn(states, rng))))[:, 0]
    return p.mean(axis=1), p.std(axis=1) / np.sqrt(p.shape[1])
