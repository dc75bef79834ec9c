"""The importance check: draws from a solution, weighted by what the network says of them.

With S drawn from q, ln Z = ln < exp(-E(S)) / q(S) >. Here q is the factorial distribution of a solution, or a mixture
of some, made a little wider so that no cause is excluded. The shape k of the weights' Pareto tail says whether the
average is to be believed: below 0.5 it is good, below 0.7 usable.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidInput
from plefka.networks.arrows import forwards
from plefka.networks.states import log_terms, open_for_states, settled
from plefka.precision import precision
from plefka.sampling import diagnostics
from plefka.sampling.forward import num_draws, predicted
from plefka.sampling.target import LEAST, Target, target
from plefka.sampling.verdict import Check
from plefka.sampling.visits import padded
from plefka.seeds import as_seed

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

Proposals = tuple[np.ndarray, np.ndarray]
NUM_SAMPLES = 4096
WIDER, UNDECIDED = 0.02, 0.02  # how far means are moved towards the prior, and the prior towards 1/2
DEFENSIVE, FLIPS = 0.1, 2.0  # the share of draws that look around, and how many units they flip on average
SMALLEST = 16  # units, so that all small networks share what is compiled


def check(
    network: "BeliefNetwork",
    rows: np.ndarray,
    tilt: np.ndarray | None,
    proposals: Proposals,
    *,
    seed: int,
    num_samples: int = NUM_SAMPLES,
    estimate: float | None = None,
    **said: bool,
) -> Check:
    """Check one row of evidence (n,), nan where hidden; every weight is times exp(sum_i tilt_i S_i).

    - `proposals`: ln weights (M,) and means (M, n) of factorial distributions, as they are: see `widened`.
    - `said`: what the estimate is said to be, `is_bound`, `is_exact` or `impossible`.
    """
    row = np.atleast_2d(np.asarray(rows, float))
    lean = None if tilt is None else np.atleast_2d(np.asarray(tilt, float))
    _refuse(network, row, num_samples)
    log_alpha, u = _mixture(network, proposals)
    rng = np.random.default_rng(as_seed(seed))
    with precision("float64"):
        part = target(network, row, lean)
        S, log_w = _weighted(part, log_alpha, u[:, part.units], rng, num_samples)
        return _judged(network, row[0], part, S, log_w, rng, partial(Check, estimate=estimate, **said))


def _refuse(network: "BeliefNetwork", row: np.ndarray, num_samples: int) -> None:
    if network.stack is not None:
        raise InvalidInput(f"the check takes one network; got a stack of {network.stack}.")
    if row.shape != (1, network.size):
        raise InvalidInput(f"the check takes one row of evidence, ({network.size},); got shape {row.shape}.")
    if num_samples < 100:
        raise InvalidInput(f"num_samples must be 100 or more, for the weights to have a tail; got {num_samples}.")


def _mixture(network: "BeliefNetwork", proposals: Proposals) -> Proposals:
    log_alpha, u = np.asarray(proposals[0], float), np.asarray(proposals[1], float)
    if log_alpha.ndim != 1 or u.shape != (len(log_alpha), network.size):
        raise InvalidInput(
            f"proposals are ln weights (M,) and means (M, {network.size}); got shapes {log_alpha.shape} and {u.shape}."
        )
    if not ((u >= 0) & (u <= 1)).all() or not np.isfinite(np.logaddexp.reduce(log_alpha)):
        raise InvalidInput("proposals are ln weights, not all of them -inf, and means between 0 and 1; got others.")
    return log_alpha - np.logaddexp.reduce(log_alpha), u


def widened(network: "BeliefNetwork", row: np.ndarray, proposals: Proposals) -> Proposals:
    """The same distributions, each a little closer to the prior, and a part of each that looks around.

    The prior means are those predicted from the parents' means. The part that looks around flips two units on
    average: it covers a small network altogether, and the neighbours of what a large one would draw.
    """
    log_alpha, u = _mixture(network, proposals)
    row = np.asarray(row, float)
    with precision("float64"):
        prior = np.asarray(_prior(network.storage, network.bias, network.activation, row))
    prior = (1 - UNDECIDED) * prior + UNDECIDED / 2
    rate = min(1.0, 2 * FLIPS / max(1, np.sum(target(network, row[None]).free)))
    near, around = (1 - WIDER) * u + WIDER * prior, (1 - rate) * u + rate / 2
    return np.concatenate([log_alpha + np.log1p(-DEFENSIVE), log_alpha + np.log(DEFENSIVE)]), np.vstack([near, around])


@jax.jit
def _prior(storage, bias, activation, row):
    known, h = row[:, None], jnp.asarray(bias)[:, None]

    def rule(x):
        return jnp.where(jnp.isnan(known), activation.probability(settled(activation, x)), known)

    return forwards(open_for_states(storage), h, rule, jnp.zeros(known.shape))[:, 0]


def _weighted(part: Target, log_alpha, u, rng, count: int) -> tuple[np.ndarray, np.ndarray]:
    """States (m, count) drawn from the mixture, clamped to the evidence, and ln weight(S) / q(S)."""
    free, known = part.free[:, 0], np.nan_to_num(part.values[:, 0])
    u = np.where(free, u, known)
    component = rng.choice(len(log_alpha), size=count, p=np.exp(log_alpha))
    S = (rng.random((count, part.size)) < u[component]).T * 1.0
    log_q = np.logaddexp.reduce(log_alpha[:, None] + _log_density(u[:, free], S[free]), axis=0)
    return S, _log_weight(part, S) - log_q


def _log_density(u: np.ndarray, S: np.ndarray) -> np.ndarray:
    """sum_i S_i ln u_i + (1 - S_i) ln(1 - u_i), for every component and draw; ln 0 is LEAST, as 0 times it is 0."""
    with np.errstate(divide="ignore"):
        log_on, log_off = np.maximum(np.log(u), LEAST), np.maximum(np.log1p(-u), LEAST)
    return (log_on - log_off) @ S + log_off.sum(axis=1, keepdims=True)


def _log_weight(part: Target, S: np.ndarray) -> np.ndarray:
    """ln of the target's weight of states (m, draws), -inf where impossible."""
    x, on = (z[:, 0] for z in part.fields(S[:, None]))
    x = np.where(on > 0.5, np.inf, x)
    rest = ((0, max(SMALLEST, padded(part.size)) - part.size), (0, 0))
    x, states = (np.pad(z, rest) for z in (x, S))
    counted = np.pad(part.counted, rest)
    total = np.asarray(_sum_of_logs(part.activation, x, states, counted)) + part.tilt[:, 0] @ S + part.constant[0]
    return np.where(total > LEAST / 2, total, -np.inf)


@jax.jit
def _sum_of_logs(activation, x, S, counted):
    logs = log_terms(activation, activation.clip(x), S)
    return jnp.where(counted, jnp.where(logs > LEAST, logs, LEAST), 0.0).sum(0)


def _judged(network, row, part: Target, S, log_w, rng, make: Callable[..., Check]) -> Check:
    count = len(log_w)
    make = partial(make, num_samples=count)
    if not np.isfinite(log_w).any():
        return make(-np.inf, np.inf, _nowhere(row), _nowhere(row), np.inf, 0.0)
    log_w, k = diagnostics.smoothed(log_w)
    top = log_w.max()
    w = np.exp(log_w - top)
    mean = w.mean()
    error = 0.0 if np.ptp(w) <= 1e-12 else float(w.std(ddof=1) / (mean * np.sqrt(count)))
    means, errors = _means(network, row, part, S, w / w.sum(), rng)
    return make(float(top + np.log(mean)), error, means, errors, k, float(w.sum() ** 2 / (w**2).sum()))


def _nowhere(row: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(row), np.nan, row)


def _means(network, row, part: Target, S, share, rng) -> tuple[np.ndarray, np.ndarray]:
    """Self-normalised averages with their errors; barren units are predicted from states drawn by their weight."""
    means, errors = row.copy(), np.zeros(len(row))
    free = part.free[:, 0]
    units = part.units[free]
    means[units] = S[free] @ share
    errors[units] = np.sqrt(((S[free] - means[units, None]) ** 2) @ share**2)
    barren = np.isnan(means)
    if barren.any():
        chosen = _resampled(share, num_draws(network.size), rng)
        known = np.repeat(row[None], len(chosen), axis=0)
        known[:, units] = S[free][:, chosen].T
        mean, error = predicted(network, known, rng)
        fewer = np.sqrt(max(1.0, len(chosen) * np.sum(share**2)))  # no more draws than are effective
        means[barren], errors[barren] = mean[barren], error[barren] * fewer
    return means, errors


def _resampled(share: np.ndarray, count: int, rng) -> np.ndarray:
    """Systematic resampling: `count` draws, each about as often as its weight says."""
    places = (np.arange(count) + rng.random()) / count
    return np.minimum(np.searchsorted(np.cumsum(share), places), len(share) - 1)
