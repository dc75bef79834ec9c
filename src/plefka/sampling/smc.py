"""`smc`: ln Z, means and draws from independent annealed populations, with standard errors from how these differ.

A first population finds the inverse temperatures, what a particle costs, and how many particles ln Z takes. Others go
through these temperatures independently, so that the mean of their Z is unbiased. How many they are is decided by the
predicted time of what was counted, never by the clock, so that the same question has the same answer.
"""

from dataclasses import dataclass

import numpy as np

from plefka.methods.posterior import CONVERGED, IMPOSSIBLE, OUT_OF_STEPS, About, JointDraws, Posterior, normalised
from plefka.progress import progress
from plefka.reduction.question import BeliefModel, Part, Question
from plefka.sampling.annealing import EVEN, Annealed, AnnealedTarget, annealed
from plefka.sampling.belief_start import belief_target
from plefka.sampling.importance import averaged, resampled
from plefka.sampling.sampling_methods import Smc
from plefka.sampling.spin_target import SpinTarget

PILOT_PARTICLES, FEWEST_PARTICLES, FEWEST_POPULATIONS = 256, 16, 8
PILOT_PART = 5  # of the budget, that the first population may take
FEWER_TEMPERATURES = 4.0  # times fewer than usual, at most, where the budget is short
FEWEST_FAMILIES = 5  # effective ones of a population, on average
DISAGREEING, DISAGREED = 0.3, 1.0  # standard deviations of ln Z of populations that should be larger, or say nothing
SINGLE_ROUNDING = 1e-7  # of single precision, below which no error is
STATES_OF_EACH, MOST_STATES = 256, 2048  # that are drawn from each population, and from all of them
PARTICLE_NUMBERS, MOST_NUMBERS = 2**20, 2**28  # units of all particles of one array, and of all populations
MOST_STATE_NUMBERS = 2**22  # units of all states of all rows that are drawn


@dataclass(frozen=True, eq=False)
class Populations:
    """What independent populations say of one row."""

    log_z: np.ndarray  # (populations,)
    averages: np.ndarray  # (populations, num_averages)
    families: np.ndarray  # (populations,): how many carry the weight
    states: np.ndarray  # (units, draws) of equal weight in each population, of which each has as many
    steps: int

    @classmethod
    def of(cls, found: Annealed, rng: np.random.Generator) -> "Populations":
        """The averages of each population."""
        count, weighed = found.log_weights.shape[1], averaged(found.log_weights)
        w = normalised(found.log_weights, axis=1)
        averages = np.einsum("akc,kc->ka", found.averages.reshape(-1, *w.shape), w)
        families = [1 / np.sum(np.bincount(*each, count) ** 2) for each in zip(found.family, w, strict=True)]
        chosen = [k * count + resampled(each, STATES_OF_EACH, rng) for k, each in enumerate(w)]
        states = found.states[:, np.concatenate(chosen)]
        return cls(weighed.log_mean, averages, np.array(families), states, len(found.betas))

    @staticmethod
    def joined(pieces: "list[Populations]") -> "Populations":
        """All populations of the same target."""
        log_z, averages, families, states = (
            np.concatenate([getattr(piece, name) for piece in pieces], axis=axis)
            for name, axis in (("log_z", 0), ("averages", 0), ("families", 0), ("states", 1))
        )
        return Populations(log_z, averages, families, states, pieces[0].steps)

    @property
    def weights(self) -> np.ndarray:
        """Of the populations, which add up to one."""
        return normalised(self.log_z, axis=0)

    @property
    def error(self) -> float:
        """The standard error of ln Z."""
        found = averaged(self.log_z)
        return float(np.maximum(found.standard_error, SINGLE_ROUNDING * np.maximum(1.0, abs(found.log_mean))))

    @property
    def spread(self) -> float:
        """The standard deviation of ln Z of a single population."""
        return float(self.log_z.std(ddof=1)) if np.isfinite(self.log_z).all() else np.inf

    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """The averages over all populations, and their standard errors."""
        w, count = self.weights[:, None], len(self.log_z)
        means = (w * self.averages).sum(axis=0)
        spread = ((w * (self.averages - means)) ** 2).sum(axis=0)
        return means, np.maximum(np.sqrt(spread * count / (count - 1)), 10 * SINGLE_ROUNDING * abs(means))

    def drawn(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """So many states (units, count), all of the same weight."""
        weights = np.repeat(self.weights / STATES_OF_EACH, STATES_OF_EACH)
        return self.states[:, rng.permutation(resampled(weights, count, rng))]

    @property
    def advice(self) -> str:
        """What speaks against relying on them, or nothing."""
        if np.isneginf(self.log_z).all():
            return "no particle is in a state of positive probability; the evidence may be impossible, which exact says"
        families = float(self.weights @ self.families)
        if families < FEWEST_FAMILIES:
            return f"the populations rest on {families:.1f} effective families each; raise particles and budget"
        if self.spread > DISAGREED:
            return f"the populations disagree (ln Z differs by {self.spread:.2g}); raise particles and budget"
        return ""


def posterior(method: Smc, part: Part, *, dtype: str) -> Posterior:
    """Means and ln Z of every row, each by itself; the residual is the largest standard error of a mean."""
    question, rows = part.question, part.question.num_rows
    means, means_error = np.where(question.free, 0.0, question.values), np.zeros(question.free.shape)
    num_states, slope = int(np.clip(MOST_STATE_NUMBERS // means.size, 1, MOST_STATES)), np.zeros(means.shape)
    states = np.repeat(means[None], num_states, axis=0)
    log_z, error, freedom = np.zeros((3, rows))
    status, steps, notes = np.zeros(rows, int), np.zeros(rows, int), []
    for row in progress(range(rows), "rows of evidence"):
        alone = question.take([row])
        rng = np.random.default_rng(method.seed)
        target, units = target_of(alone, rng, method.budget, slopes=part.needs_slope)
        found = sampled(method, target, rng)
        averages, errors = found.means()
        means[units, row], means_error[units, row] = averages[: target.size], errors[: target.size]
        if part.needs_slope:
            slope[target.further_units, row] = averages[target.size :]
        states[:, units, row] = found.drawn(num_states, rng).T
        log_z[row], error[row], freedom[row] = averaged(found.log_z).log_mean, found.error, len(found.log_z) - 1
        status[row], steps[row] = OUT_OF_STEPS if found.advice else CONVERGED, found.steps
        if np.isneginf(log_z[row]):
            means[units, row], means_error[units, row] = np.nan, np.nan
            status[row] = IMPOSSIBLE if target.is_impossible() else status[row]
        notes = [found.advice] if rows == 1 and found.advice else []
    about = About(
        notes=tuple(notes), error=error, means_error=means_error, degrees_of_freedom=freedom,
        draws=JointDraws(states, method.seed),
    )  # fmt: skip
    residual = means_error.max(axis=0, initial=0.0)
    slopes = slope if part.needs_slope else None
    return Posterior(means, -log_z, status, steps, np.zeros(rows, int), residual, slopes, about)


def target_of(
    question: Question, rng: np.random.Generator, budget: float, *, slopes: bool = False
) -> tuple[AnnealedTarget, np.ndarray]:
    """What is annealed for a question of one row, and the unit of the question that each of its units is."""
    if isinstance(question.model, BeliefModel):
        belief = belief_target(question, rng, budget, slopes=slopes)
        return belief, belief.target.units[belief.free]
    target = SpinTarget.of_question(question)
    return target, np.flatnonzero(question.free[:, 0])[target.order]


def sampled(method: Smc, target: AnnealedTarget, rng: np.random.Generator) -> Populations:
    """As many populations as a first one says that it takes, within the budget.

    What the populations themselves say has no part in it: stopping where they happen to agree would make their error
    too small.
    """
    calls, each = target.seconds()
    most = (method.budget / PILOT_PART - calls) / max(each, 1e-9)
    first = int(np.clip(most, FEWEST_PARTICLES, PILOT_PARTICLES))
    least = max(PILOT_PART * (calls + first * each), calls + FEWEST_POPULATIONS * FEWEST_PARTICLES * each)
    fewer = np.clip(least / method.budget, 1.0, FEWER_TEMPERATURES)
    pilot = annealed(target, 1, first, rng, even=1 / (1 + fewer**2 * (1 / EVEN - 1)))
    families = Populations.of(pilot, rng).families[0]
    variance = max(first / families - 1, 0.0)  # of ln Z, for each particle
    calls, each = target.seconds(len(pilot.betas))
    affordable = int(min(max(method.budget - calls, 0.0) / max(each, 1e-9), MOST_NUMBERS / max(target.size, 1)))
    enough = min(affordable, 1 + int(variance / target.enough**2))
    count = min(max(method.particles, int(variance / DISAGREEING**2)), affordable // FEWEST_POPULATIONS)
    count = max(count, FEWEST_PARTICLES)
    exchanges = families < FEWEST_FAMILIES  # which cost more than they gain where particles find their way alone
    return _annealed(target, max(FEWEST_POPULATIONS, enough // count), count, rng, pilot.betas, exchanges)


def _annealed(
    target: AnnealedTarget, populations: int, count: int, rng: np.random.Generator, betas: list[float], exchanges: bool
) -> Populations:
    """Independent populations, as many at once as are quick to handle."""
    together, found = max(1, PARTICLE_NUMBERS // (count * max(1, target.size))), []
    for first in progress(range(0, populations, together), "populations"):
        some = min(together, populations - first)
        found.append(Populations.of(annealed(target, some, count, rng, betas, exchanges=exchanges), rng))
    return Populations.joined(found)
