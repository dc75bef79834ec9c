"""Gibbs sampling of the posterior: many chains, started where runs of annealing ended, and judged by R-hat.

Means are averages of P(on | all others) over the sweeps, which vary less than the states themselves. A row has
converged when its largest rank-normalised split R-hat is at most 1.01, its smallest effective sample size at least 400
(an error of a mean of at most 0.025), and no chain is in an impossible state; ln P(evidence) comes from the annealing,
and must rest on five effective runs or more.
"""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from plefka.posterior import Posterior
from plefka.precision import is_traced, precision
from plefka.progress import interruptible, progress
from plefka.sampling import diagnostics
from plefka.sampling.annealing import ladder, runs_of, summary, taken, targets
from plefka.sampling.forward import num_draws, predicted
from plefka.sampling.sweeps import SWEEPS_AT_ONCE, Sampler, State
from plefka.sampling.target import LEAST, Target
from plefka.solvers.loop import CONVERGED, OUT_OF_STEPS

if TYPE_CHECKING:
    from plefka.methods import Gibbs
    from plefka.networks.belief import BeliefNetwork

LARGEST_R_HAT, FEWEST_SAMPLES, FEWEST_RUNS = 1.01, 400, 5
KEPT = 250  # averages of consecutive sweeps that each chain keeps for the diagnostics
FEWEST_KEPT, MOST_NUMBERS = 50, 2**26
REFRESH = 1000  # sweeps, after which fields are computed anew, so that rounding does not add up


@dataclass(frozen=True, eq=False)
class Sampled:
    """What chains and annealing found; every field has one entry for each row.

    - `means`, `means_error`: (rows, units), and their Monte Carlo standard errors, zero for observed units.
    - `log_likelihood`, `log_likelihood_error`: ln P(evidence) by annealing, which rests on `effective_runs` runs.
    - `r_hat`, `effective_samples`: the largest and the smallest of a row's units.
    - `possible`: whether all chains ended in states of positive probability.
    """

    means: np.ndarray
    means_error: np.ndarray
    log_likelihood: np.ndarray
    log_likelihood_error: np.ndarray
    effective_runs: np.ndarray
    r_hat: np.ndarray
    effective_samples: np.ndarray
    possible: np.ndarray

    @property
    def mixed(self) -> np.ndarray:
        """Whether the means are to be believed."""
        return (self.r_hat <= LARGEST_R_HAT) & (self.effective_samples >= FEWEST_SAMPLES) & self.possible

    @property
    def converged(self) -> np.ndarray:
        """Whether the means and ln P(evidence) are to be believed."""
        return self.mixed & (self.effective_runs >= FEWEST_RUNS)

    def advice(self, row: int = 0) -> str:
        """What to do about a row, or nothing where all is well."""
        if not self.possible[row]:
            return "a chain found no state of positive probability; raise burn and temperatures"
        if not self.mixed[row]:
            judged = f"R-hat {self.r_hat[row]:.3f}, {self.effective_samples[row]:.0f} effective samples"
            return f"the chains have not mixed ({judged}); raise sweeps"
        if self.effective_runs[row] < FEWEST_RUNS:
            return f"ln P(evidence) rests on {self.effective_runs[row]:.1f} effective runs; raise temperatures or runs"
        return ""


def posterior(method: "Gibbs", network: "BeliefNetwork", rows: Any, tilt: Any = None) -> Posterior:
    """Means and ln P(evidence) of every row; the residual is the largest standard error of a mean."""
    found = sample_posterior(method, network, rows, tilt)
    status = np.where(found.converged, CONVERGED, OUT_OF_STEPS)
    steps = np.full(len(rows), method.burn + method.sweeps)
    return Posterior(
        found.means, -found.log_likelihood, status, steps, np.zeros(len(rows), int), found.means_error.max(axis=1)
    )


def sample_posterior(method: "Gibbs", network: "BeliefNetwork", rows: Any, tilt: Any = None) -> Sampled:
    """All that the chains tell about rows (B, n), nan where hidden; weights are times exp(sum_i tilt_i S_i)."""
    if is_traced(network, rows, tilt):
        from plefka.methods import does_not_apply

        raise does_not_apply(method, "it cannot run inside a trace of JAX", "G12")
    parts, first = [], 0
    with precision("float64"):
        for part, count in targets(network, rows, tilt, method.chains):
            key = jax.random.fold_in(jax.random.key(method.seed or 0), first)
            found = _sample(method, part, key)
            parts.append(_of_network(network, rows, part, found, range(first, first + count), method.seed))
            first += count
    return Sampled(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Sampled)))


@dataclass(frozen=True, eq=False)
class _Chains:
    """Of the units of a target: averages (kept, m, rows, chains), states at the same times, and annealing."""

    averages: np.ndarray
    states: np.ndarray
    log_weights: np.ndarray
    possible: np.ndarray


def _sample(method: "Gibbs", part: Target, key) -> _Chains:
    sampler = Sampler(part)
    up, along = jax.random.split(key)
    log_weights, ends = runs_of(sampler, method.runs, method.chains, ladder(method.temperatures), up)
    state = sampler.state(ends)
    per, kept = _kept(method.sweeps, part.size * part.num_rows * method.chains)
    averages, states, done = [], [], 0
    with interruptible() as check:
        for number in progress(range(-1, kept), "sampling"):
            sweeps = method.burn if number < 0 else per
            state, sums = _sweep(sampler, state, sweeps, along, done)
            if number >= 0:
                averages.append(sampler.by_unit(sums) / per)
                states.append(sampler.states(state).astype(np.int8))
            if done // REFRESH < (done + sweeps) // REFRESH:
                state = sampler.state(sampler.states(state))
            done += sweeps
            check()
    possible = np.all(sampler.log_weight(state) > LEAST / 2, axis=1)
    return _Chains(np.stack(averages), np.stack(states), log_weights, possible)


def _kept(sweeps: int, numbers: int) -> tuple[int, int]:
    """Over how many sweeps to average, and how many such averages to keep."""
    most = int(np.clip(MOST_NUMBERS // max(1, numbers), FEWEST_KEPT, KEPT))
    per = -(-sweeps // most)
    return per, sweeps // per


def _sweep(sampler: Sampler, state: State, sweeps: int, key, done: int) -> tuple[State, tuple]:
    """Sweeps in calls of at most SWEEPS_AT_ONCE, and the sums over all of them."""
    total: tuple = ()
    for first in range(0, sweeps, SWEEPS_AT_ONCE):
        count = min(SWEEPS_AT_ONCE, sweeps - first)
        state, sums = sampler.advance(state, np.ones(count + 1), key, done + first)
        sums = tuple(map(np.asarray, sums))
        total = tuple(a + b for a, b in zip(total, sums, strict=True)) if total else sums
    return state, total


def _of_network(
    network: "BeliefNetwork", rows: np.ndarray, part: Target, found: _Chains, places: range, seed
) -> Sampled:
    """From the units that were sampled to all units, and from draws to what they tell."""
    told = [_of_row(network, rows[row], part, found, k, (seed, row)) for k, row in enumerate(places)]
    means, errors, r_hat, samples = (np.array(field) for field in zip(*told, strict=True))
    possible, annealed = found.possible[: len(places)], summary(found.log_weights[: len(places)])
    means = np.where(possible[:, None] | ~np.isnan(rows[places.start : places.stop]), means, np.nan)
    return Sampled(
        means, errors, annealed.log_likelihood, annealed.standard_error, annealed.effective_runs, r_hat, samples,
        possible,
    )  # fmt: skip


def _of_row(network: "BeliefNetwork", row: np.ndarray, part: Target, found: _Chains, k: int, seed: tuple) -> tuple:
    """Means, their errors, the largest R-hat and the smallest sample size of row k of a target."""
    means, errors, r_hat, samples = row.copy(), np.zeros(len(row)), 1.0, np.inf
    free = np.flatnonzero(part.free[:, k])
    units = part.units[free]
    if len(free):
        draws = np.moveaxis(found.averages[:, free, k], 0, -1)  # (units, chains, kept)
        means[units] = draws.mean(axis=(1, 2))
        all_r_hat, sizes, errors[units] = diagnostics.of_chains(draws)
        r_hat, samples = all_r_hat.max(), sizes.min()
    barren = np.isnan(means)
    if barren.any():
        states = _spread(row, units, found.states[:, free, k], num_draws(network.size))
        mean, error = predicted(network if network.stack is None else taken(network, seed[1]), states, seed)
        fewer = np.sqrt(max(1.0, len(states) / samples))  # states of a chain resemble each other
        means[barren], errors[barren] = mean[barren], error[barren] * fewer
    return means, errors, r_hat, samples


def _spread(row: np.ndarray, units: np.ndarray, states: np.ndarray, count: int) -> np.ndarray:
    """`count` states of the network, evenly from those kept (kept, units, chains); barren units are nan."""
    kept, _, chains = states.shape
    drawn = np.moveaxis(states, 1, -1).reshape(kept * chains, len(units))
    chosen = np.linspace(0, len(drawn) - 1, count).round().astype(int)
    known = np.repeat(row[None], count, axis=0)
    known[:, units] = drawn[chosen]
    return known
