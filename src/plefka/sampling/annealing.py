"""Annealed populations: states that are led together from a distribution that is known to the one that is asked for.

Annealed importance sampling with resampling, also called sequential Monte Carlo or population annealing (R. Neal,
Statistics and Computing 11, 2001; K. Hukushima and Y. Iba, AIP Conf. Proc. 690, 2003; P. Del Moral, A. Doucet and A.
Jasra, J. R. Statist. Soc. B 68, 2006). As the inverse temperature beta rises from 0 to 1, each particle gains the
weight exp(rise * gain), all are swept by Gibbs sampling, and once few of a population carry its weight they are
resampled. The mean of the weights of a population is an unbiased estimate of Z at given temperatures, whether or not
the sweeps mix. Particles with a common ancestor are a family. How evenly the weight is spread over families says how
far to believe the averages of one population, whatever the sweeps achieved (H. P. Chan and T. L. Lai, Annals of
Statistics 41, 2013): of a target that does not equilibrate, a few families are left.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from plefka.methods.posterior import normalised
from plefka.sampling.importance import averaged, resampled

EVEN = 0.99  # the effective fraction of the weights that one rise of the inverse temperature leaves, at least
RESAMPLED = 0.8  # the effective fraction of a population at which it is resampled
AVERAGED = 16  # sweeps at the end, over which P(on | all others) is averaged
USUAL_TEMPERATURES = 12  # times the root of the number of units, about
TEMPERATURE_HALVINGS = 12  # of an interval, to find a rise


class AnnealedTarget(ABC):
    """What particles are led to: the weight of a state at inverse temperature beta is start(S) exp(beta gain(S)).

    Where it is another function of beta, `rising` says so. At beta = 0 states can be drawn and Z is known; at beta = 1
    it is the distribution that is asked for. What `start` returns, the particles, belongs to the target: the loop hands
    it back, and looks at nothing inside. The particles of several populations stand side by side in it, one population
    after another.
    """

    size: int  # units that are drawn
    num_averages: int  # rows of what is averaged: P(on | all others) of these units, then whatever else is wanted
    further_units: np.ndarray  # of the question, which these others are of
    log_start: float  # ln Z at beta = 0, with every constant that ln Z has at the end
    sweep_seconds: float  # predicted time of one sweep of one particle, its part of `gain` included (exact/cost.py)
    call_seconds: float = 0.0  # of one sweep besides, however few particles it has
    is_near: bool = False  # whether the start is so near to the end that weights do, without temperatures and sweeps
    enough: float = 0.01  # the standard error of ln Z from which on no population is added

    @abstractmethod
    def start(self, count: int, rng: np.random.Generator) -> Any:
        """So many particles, drawn independently at beta = 0."""

    @abstractmethod
    def gain(self, particles: Any) -> np.ndarray:
        """d ln weight / d beta of each particle, (count,), in double precision; -inf where a state is impossible."""

    def rising(self, particles: Any, beta: float) -> Callable[[float], np.ndarray]:
        """What a rise of beta adds to ln weight of each particle, (count,)."""
        gain = self.gain(particles)
        return lambda rise: rise * gain

    @abstractmethod
    def sweep(self, particles: Any, beta: float, rng: np.random.Generator, sums: np.ndarray | None = None) -> None:
        """Draw every unit given all others at beta, in place; adds what is averaged to `sums` (num_averages, count)."""

    @abstractmethod
    def take(self, particles: Any, chosen: np.ndarray) -> Any:
        """The particles with these numbers, some of them several times, which go their own ways from here on."""

    def exchange(self, particles: Any, some: slice, rng: np.random.Generator) -> None:  # noqa: B027
        """Exchange parts of states between some particles, all of the same weight, in place; it crosses between modes.

        Nothing, unless a target knows how."""

    @abstractmethod
    def states(self, particles: Any) -> np.ndarray:
        """Which of the units are on, (size, count)."""

    def corrected(self, particles: Any, log_w: np.ndarray) -> np.ndarray:
        """The ln weights (populations, count) in the end: -inf for states that were only let pass on the way."""
        return log_w

    def averages(self, particles: Any, rng: np.random.Generator) -> np.ndarray:
        """What is averaged, (num_averages, count), over some sweeps in the end."""
        is_plain = self.num_averages == self.size  # numbers between 0 and 1
        sums = np.zeros((self.num_averages, self.states(particles).shape[1]), np.float32 if is_plain else float)
        for _ in range(AVERAGED):
            self.sweep(particles, 1.0, rng, sums)
        return sums / sums.dtype.type(AVERAGED)

    def is_impossible(self) -> bool:
        """Whether it is known that no state has a positive weight."""
        return False

    def seconds(self, num_betas: float | None = None) -> tuple[float, float]:
        """Predicted time of a run, however few its particles are, and of each of them; of the usual temperatures."""
        sweeps = AVERAGED + (USUAL_TEMPERATURES * np.sqrt(self.size) if num_betas is None else num_betas)
        return sweeps * self.call_seconds, sweeps * self.sweep_seconds


class Annealed(NamedTuple):
    """Populations at inverse temperature 1; arrays are (populations, particles), or (..., populations * particles)."""

    states: np.ndarray  # (units, all particles): which are on
    log_weights: np.ndarray  # the mean of the weights of a population is an estimate of Z
    averages: np.ndarray  # (num_averages, all particles): over the last sweeps
    family: np.ndarray  # the particle of the start that each descends from, numbered within its population
    betas: list[float]  # the inverse temperatures that were swept at


def annealed(
    target: AnnealedTarget, populations: int, count: int, rng: np.random.Generator,
    betas: list[float] | None = None, *, exchanges: bool = False, even: float = EVEN,
) -> Annealed:  # fmt: skip
    """Populations of so many particles each. Inverse temperatures are found on the way from all of them, unless given.

    With temperatures that were found by another run, populations are independent, and their means of weights unbiased.
    `exchanges`: whether particles of a population may exchange parts of their states, after which families say less.
    `even`: the effective fraction of the weights that one rise leaves, where temperatures are found.
    """
    particles, log_w = target.start(populations * count, rng), np.full((populations, count), target.log_start)
    family = np.repeat(np.arange(count)[None], populations, axis=0)
    beta, passed, given = 0.0, [], iter(betas or ())
    while beta < 1:
        added = target.rising(particles, beta)
        rise = (
            1 - beta if target.is_near else next(given) - beta if betas else _rise(added, log_w.ravel(), 1 - beta, even)
        )
        log_w = log_w + added(rise).reshape(log_w.shape)
        beta = 1.0 if rise >= 1 - beta else beta + rise
        passed.append(beta)
        if target.is_near:
            break
        log_w, uneven, chosen = _resampled(log_w, rng)
        if len(uneven):
            particles, family = target.take(particles, chosen), family.ravel()[chosen].reshape(log_w.shape)
        target.sweep(particles, beta, rng)
        for population in uneven if exchanges else ():
            target.exchange(particles, slice(population * count, (population + 1) * count), rng)
    log_w, averages = target.corrected(particles, log_w), target.averages(particles, rng)
    return Annealed(target.states(particles), log_w, averages, family, passed)


def _resampled(log_w: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The weights afterwards, the populations that were resampled, and the particles of all that go on."""
    found, count, log_w = averaged(log_w), log_w.shape[1], log_w.copy()
    uneven = np.flatnonzero((found.effective < RESAMPLED * count) & np.isfinite(found.log_mean))
    chosen = np.arange(log_w.size).reshape(log_w.shape)
    for population in uneven:
        chosen[population] = chosen[population][resampled(normalised(log_w[population], 0), count, rng)]
        log_w[population] = found.log_mean[population]
    return log_w, uneven, chosen.ravel()


def _rise(added: Callable[[float], np.ndarray], log_w: np.ndarray, most: float, even: float) -> float:
    """How far the inverse temperature rises, so that what it adds to the weights is even enough."""
    if not np.isfinite(log_w).any():
        return most
    w = np.exp(log_w - log_w.max())

    def is_even(rise: float) -> bool:
        more = added(rise)
        top = more.max()
        if np.isneginf(top):
            return True
        more = np.exp(more - top)
        return (w @ more) ** 2 >= even * w.sum() * (w @ more**2)

    low, high = 0.0, most
    if is_even(most):
        return most
    for _ in range(TEMPERATURE_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_even(middle) else (low, middle)
    return max(low, most / 2**TEMPERATURE_HALVINGS)
