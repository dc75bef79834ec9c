"""Gibbs sampling of the posterior: many chains, started where annealed populations ended, and judged by R-hat.

Means are averages of P(on | all others) over the sweeps, which vary less than the states themselves. Between sweeps
states are proposed from the mixture that the populations start from, where it is near the posterior: that crosses from
mode to mode. A row has converged when its largest rank-normalised split R-hat is at most 1.01, its smallest effective
sample size at least 400 (an error of a mean of at most 0.025), its means agree with those of the populations, and no
chain is in an impossible state; ln P(evidence) is that of the populations (see `annealing`), whose weight must rest on
twenty of their first particles or more.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from plefka.methods.posterior import CONVERGED, OUT_OF_STEPS, About, JointDraws, Posterior
from plefka.progress import interruptible, progress
from plefka.reduction.ladder import rows_for
from plefka.reduction.question import PairModel, Part, Question
from plefka.sampling.annealing import AnnealedTarget, annealed
from plefka.sampling.belief_target import BeliefTarget
from plefka.sampling.coupling_chains import PairSampler
from plefka.sampling.gibbs_sweeps import Sampler
from plefka.sampling.importance import averaged, chain_diagnostics
from plefka.sampling.sampling_methods import Gibbs
from plefka.sampling.smc import MOST_STATE_NUMBERS, MOST_STATES, PILOT_PARTICLES, Populations, target_of
from plefka.sampling.state_weights import Target

LARGEST_R_HAT, FEWEST_SAMPLES, FEWEST_RUNS = 1.01, 400, 20
FARTHEST_APART, SMALLEST_ERROR = 4.5, 0.002  # standard errors between means of chains and of populations, and the least
CONTRADICTED = 2.0  # standard errors apart, from which on the errors of chains are as large as the difference
BETTER = 3.0  # times as exact as the populations that chains are not believed to be
ANNEALED_POPULATIONS, WEIGHTED_POPULATIONS = 16, 64  # of a row: many, so that their spread is known
START_SECONDS = 5.0  # of which a part is spent on a good start
CHAIN_NUMBERS = 2**20  # in one array of a chunk of rows
KEPT_STATES = 250  # averages of consecutive sweeps that each chain keeps for the diagnostics
FEWEST_KEPT, MOST_KEPT_NUMBERS = 50, 2**26
MOST_PROPOSALS = 256  # of them, for the check of an answer


class AnnealedRow(NamedTuple):
    """The populations of one row, what they were led to, and the units of the question that these are."""

    found: Populations
    target: AnnealedTarget
    units: np.ndarray
    rng: np.random.Generator

    @property
    def effective(self) -> float:
        """How many first particles of all populations the weight rests on."""
        possible = np.isfinite(self.found.log_z).any()
        return float(possible / np.sum(self.found.weights**2 / self.found.families))

    def compared(self, means: np.ndarray, errors: np.ndarray) -> tuple[float, np.ndarray]:
        """The largest difference between these means and those of the populations, in standard errors; and the errors.

        Chains that stay in the mode where they started say nothing of how likely that is. So the errors are larger
        where the populations contradict them, or do not know as well what they claim.
        """
        found, error = (z[: len(self.units)] for z in self.found.means())
        given, wider, apart = errors[self.units], errors.copy(), np.abs(means[self.units] - found)
        both = np.hypot(given, error)
        stuck = np.maximum(
            np.where(apart > CONTRADICTED * both, apart, 0.0), np.where(BETTER * given < error, error, 0)
        )
        wider[self.units] = np.maximum(given, stuck)
        return float((apart / np.maximum(both, SMALLEST_ERROR)).max(initial=0.0)), wider


def anneal(method: Gibbs, question: Question) -> AnnealedRow:
    """Populations of `runs` particles each, through no more than `temperatures`; or so many draws, where these do."""
    rng = np.random.default_rng(method.seed)  # the same for every row, wherever it stands
    target, units = target_of(question, rng, START_SECONDS)
    betas, count, populations = annealed(target, 1, PILOT_PARTICLES, rng).betas, method.runs, ANNEALED_POPULATIONS
    if target.is_near:
        count, populations = max(2, method.runs * method.temperatures // WEIGHTED_POPULATIONS), WEIGHTED_POPULATIONS
    elif len(betas) > method.temperatures:
        betas = [betas[k] for k in np.linspace(-1, len(betas) - 1, method.temperatures + 1)[1:].round().astype(int)]
    return AnnealedRow(Populations.of(annealed(target, populations, count, rng, betas), rng), target, units, rng)


@dataclass(frozen=True, eq=False)
class Sampled:
    """What chains and annealing found about a question; the last axis of every array is that of the rows.

    - `means`, `means_error`: (units, rows), and their Monte Carlo standard errors, zero for units that are not free.
    - `slope`: (units, rows), d ln P / dh of units of a noisy-or network.
    - `log_likelihood`, `log_likelihood_error`: ln P(evidence) by annealing, which rests on `effective_runs` particles.
    - `r_hat`, `effective_samples`: the largest and the smallest of a row's units.
    - `apart`: how far their means are from those of the populations, in standard errors; the largest of a row's units.
    - `possible`: whether all chains ended in states of positive probability.
    - `states`: (states, units, rows), evenly from all chains.
    """

    means: np.ndarray
    means_error: np.ndarray
    slope: np.ndarray
    log_likelihood: np.ndarray
    log_likelihood_error: np.ndarray
    effective_runs: np.ndarray
    r_hat: np.ndarray
    effective_samples: np.ndarray
    apart: np.ndarray
    possible: np.ndarray
    states: np.ndarray

    @property
    def mixed(self) -> np.ndarray:
        """Whether the means are to be believed."""
        judged = (self.r_hat <= LARGEST_R_HAT) & (self.effective_samples >= FEWEST_SAMPLES)
        return judged & (self.apart <= FARTHEST_APART) & self.possible

    @property
    def converged(self) -> np.ndarray:
        """Whether the means and ln P(evidence) are to be believed."""
        return self.mixed & (self.effective_runs >= FEWEST_RUNS)

    def advice(self) -> str:
        """What to do about a single row, or nothing where all is well."""
        if not self.possible[0]:
            return "a chain found no state of positive probability; raise burn and temperatures"
        if not self.mixed[0]:
            judged = f"R-hat {self.r_hat[0]:.3f}, {self.effective_samples[0]:.0f} effective samples"
            if self.apart[0] > FARTHEST_APART:
                judged += f", {self.apart[0]:.1f} standard errors from annealing"
            return f"the chains have not mixed ({judged}); raise sweeps, or use smc, which weighs modes"
        if self.effective_runs[0] < FEWEST_RUNS:
            return f"ln P(evidence) rests on {self.effective_runs[0]:.1f} particles; raise temperatures or runs"
        return ""


def posterior(method: Gibbs, part: Part, *, dtype: str) -> Posterior:
    """Means and ln P(evidence) of every row; the residual is the largest standard error of a mean."""
    found = sample_posterior(method, part.question)
    rows = part.question.num_rows
    advice = found.advice() if rows == 1 else ""
    proposed = found.states[:: -(-len(found.states) // MOST_PROPOSALS)]
    about = About(
        notes=(advice,) if advice else (), proposals=(np.zeros((len(proposed), rows)), proposed),
        draws=JointDraws(found.states, method.seed or 0),
        error=found.log_likelihood_error, means_error=found.means_error,
    )  # fmt: skip
    return Posterior(
        found.means, -found.log_likelihood, np.where(found.converged, CONVERGED, OUT_OF_STEPS),
        np.full(rows, method.burn + method.sweeps), np.zeros(rows, int), found.means_error.max(axis=0, initial=0.0),
        found.slope if part.needs_slope else None, about,
    )  # fmt: skip


def sample_posterior(method: Gibbs, question: Question) -> Sampled:
    """All that the chains find, for rows in chunks."""
    count = question.num_rows
    size = rows_for(count, max(1, CHAIN_NUMBERS // (method.chains * question.size)))
    states = int(np.clip(MOST_STATE_NUMBERS // (question.size * count), 1, MOST_STATES))
    parts = []
    for first in range(0, count, size):
        rows = np.minimum(np.arange(first, first + size), count - 1)
        seed = np.random.SeedSequence((method.seed or 0, first))
        parts.append(_sample(method, question.take(rows), states, seed))
    arrays = ([getattr(part, field.name) for part in parts] for field in fields(Sampled))
    return Sampled(*(np.concatenate(array, axis=-1)[..., :count] for array in arrays))


def sampler_of(question: Question) -> Any:
    """How chains go from state to state."""
    return PairSampler(question) if isinstance(question.model, PairModel) else Sampler(question)


def _sample(method: Gibbs, question: Question, num_states: int, seed: np.random.SeedSequence) -> Sampled:
    sampler = sampler_of(question)
    starts = [anneal(method, question.take([row])) for row in range(question.num_rows)]
    ends = _ends(method, question, sampler, starts)
    most = int(np.clip(MOST_KEPT_NUMBERS // max(1, ends.size), FEWEST_KEPT, KEPT_STATES))
    walk = _walk(method, sampler, starts, ends, seed, -(-method.sweeps // most))
    averages, states = (np.stack(each) for each in zip(*walk, strict=True))  # (kept, units, rows, chains)
    target, evidence = sampler.target, [averaged(start.found.log_z) for start in starts]
    means, errors, r_hat, samples = _means(target, averages)
    possible = np.asarray(np.isfinite(target.log_weight(states[-1])).all(axis=1))
    means = np.where(possible | ~target.free, means, np.nan)
    means, errors, slope = map(target.widened, (means, errors, _slope(target, states)))
    compared = [start.compared(means[:, row], errors[:, row]) for row, start in enumerate(starts)]
    apart, errors = np.array([each for each, _ in compared]), np.stack([wider for _, wider in compared], axis=1)
    return Sampled(
        means, errors, slope, np.array([float(each.log_mean) for each in evidence]),
        np.array([float(each.standard_error) for each in evidence]), np.array([start.effective for start in starts]),
        r_hat, samples, apart, possible, target.widened(_spread(states, num_states)),
    )  # fmt: skip


def _ends(method: Gibbs, question: Question, sampler: Any, starts: list[AnnealedRow]) -> np.ndarray:
    """States (units of the sampler, rows, chains) in which the populations end."""
    S = np.repeat(question.values[:, :, None], method.chains, axis=2)
    for row, start in enumerate(starts):
        S[start.units, row] = start.found.drawn(method.chains, start.rng)
    return S[sampler.target.units]


def _slope(target: Target, states: np.ndarray) -> np.ndarray:
    """d ln P / dh of units (units, rows) of a noisy-or network, from states (kept, units, rows, chains)."""
    total, step = np.zeros(target.free.shape), max(1, CHAIN_NUMBERS // max(1, states[0].size))
    for first in range(0, len(states) if target.has_slopes else 0, step):
        total += target.slopes(np.concatenate(states[first : first + step], axis=-1)).sum(axis=-1)
    return total / (len(states) * states.shape[-1])


def visited(method: Gibbs, question: Question, every: int) -> np.ndarray:
    """The states (kept, units of the question, 1, chains) of 0 and 1 after every so many sweeps, of one row."""
    sampler, starts, seed = sampler_of(question), [anneal(method, question)], np.random.SeedSequence(method.seed)
    walk = _walk(method, sampler, starts, _ends(method, question, sampler, starts), seed, every)
    return sampler.target.widened(np.stack([states for _, states in walk]), axis=1)


def _walk(
    method: Gibbs, sampler: Any, starts: list[AnnealedRow], ends: np.ndarray, seed: np.random.SeedSequence, per: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """After the burn-in, for every `per` sweeps the average of P(on | all others), and the states at their end."""
    S, done, key = ends, 0, seed.generate_state(2)
    with interruptible() as check:
        for number in progress(range(-1, method.sweeps // per), "sampling"):
            sweeps = method.burn if number < 0 else per
            S, sums = sampler.swept(S, sweeps, key, done)
            if number >= 0:
                yield sums / per, S.astype(np.int8)
            for row, (_, target, _, rng) in enumerate(starts):
                if isinstance(target, BeliefTarget) and target.is_near:
                    at = np.searchsorted(sampler.target.units, target.target.units)
                    S[at, row] = target.crossed(S[at, row], rng)
            done += sweeps
            check()


def _means(target: Target, averages: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Means and their errors (units, rows), and the largest R-hat and the smallest sample size of each row."""
    free, shape = target.free, target.free.shape
    means, errors, r_hat, samples = target.values.copy(), np.zeros(shape), np.ones(shape), np.full(shape, np.inf)
    draws = np.moveaxis(averages, 0, -1)[free]  # (free units of all rows, chains, kept)
    if len(draws):
        means[free] = draws.mean(axis=(1, 2))
        r_hat[free], samples[free], errors[free] = chain_diagnostics(draws)
    return means, errors, r_hat.max(axis=0, initial=1.0), samples.min(axis=0, initial=np.inf)


def _spread(states: np.ndarray, count: int) -> np.ndarray:
    """At most `count` states (states, units, rows), evenly from those kept (kept, units, rows, chains)."""
    kept, _, _, chains = states.shape
    chosen = np.unique(np.linspace(0, kept * chains - 1, count).round().astype(int))
    return states[chosen // chains, :, :, chosen % chains]
