"""G(u, gamma) itself, with no expansion: the Legendre transform, for real and for complex gamma.            (9)-(12)"""

import math
from typing import NamedTuple

import numpy as np

from plefka.errors import MethodDoesNotApply
from plefka.expansion.pinned import Pinned

LARGEST_MOVE = 2.0  # by how much gamma U may change at once, over all states
MOST_PARTS = 1000  # of the way to gamma
MOST_STEPS = 100  # of Newton's method, for each of them
HELD = 1e-6  # in standard deviations of a unit: how far a mean may be off
LEAST_GAIN = 1e-4  # of what a Newton step promises


class Weights(NamedTuple):
    """exp(-gamma U + D phi) of all states, and the averages that Newton's method needs. Only their ratios matter."""

    w: np.ndarray  # (states,)
    total: complex  # Z, over exp(shift)
    shift: float
    away: np.ndarray  # (units,): sum_S w D, zero where the means are u
    spread: np.ndarray  # (units, units): sum_S w D D'

    @classmethod
    def at(cls, pinned: Pinned, gamma: complex, phi: np.ndarray) -> "Weights":
        exponent = -gamma * pinned.U + pinned.D.linear(phi)
        shift = float(np.max(exponent.real))
        w = pinned.p * np.exp(exponent - shift)
        return cls(w, w.sum(), shift, pinned.D.first(w), pinned.D.second(w))


def exact_free_energy(pinned: Pinned, gamma: float = 1.0) -> float:
    """G(u, gamma) for real gamma, where ln < exp(-gamma U + D phi) > is convex in phi and has its lowest value.

    phi is followed from gamma = 0 in steps in which the weights of states change little.
    """
    before = phi = np.zeros(pinned.units)
    steps = min(math.ceil(abs(gamma) * float(np.ptp(pinned.U)) / LARGEST_MOVE), MOST_PARTS)
    for part in gamma * np.arange(1, steps + 1) / max(steps, 1):
        before, phi = phi, _lowest(pinned, part, 2 * phi - before)
    found = Weights.at(pinned, gamma, phi)
    if np.abs(found.away / found.total).max(initial=0.0) > HELD:
        raise MethodDoesNotApply(
            "the external fields that hold the means are out of reach of double precision: energies are too large, or "
            "means too close to 0 or 1. Use means closer to the posterior means."
        )
    return float(pinned.negative_entropy + gamma * pinned.mean_energy - math.log(found.total.real) - found.shift)


def _lowest(pinned: Pinned, gamma: float, phi: np.ndarray) -> np.ndarray:
    """By Newton's method, with steps that are shortened until they lower it."""
    value = _log_average(pinned, gamma, phi)
    for _ in range(MOST_STEPS):
        found = Weights.at(pinned, gamma, phi)
        mean = (found.away / found.total).real
        covariance = (found.spread / found.total).real - np.outer(mean, mean)
        step = -np.linalg.lstsq(covariance, mean)[0]
        following, lower = _lower(pinned, gamma, phi, step, value, float(-mean @ step))
        if not lower < value:
            break
        phi, value = following, lower
    return phi


def _lower(
    pinned: Pinned, gamma: float, phi: np.ndarray, step: np.ndarray, value: float, gain: float
) -> tuple[np.ndarray, float]:
    """The first of ever shorter steps that lowers it, or where we were: the lowest that rounding lets us see."""
    for length in 0.5 ** np.arange(30):
        lower = _log_average(pinned, gamma, phi + length * step)
        if lower < value - LEAST_GAIN * length * gain:
            return phi + length * step, lower
    return phi, value


def _log_average(pinned: Pinned, gamma: float, phi: np.ndarray) -> float:
    found = Weights.at(pinned, gamma, phi)
    return float(np.log(found.total.real) + found.shift)
