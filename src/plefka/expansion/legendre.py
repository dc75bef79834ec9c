"""G(u, gamma) itself, with no expansion: the Legendre transform, for real and for complex gamma.            (9)-(12)"""

from typing import NamedTuple

import numpy as np

from plefka.expansion.pinned import Pinned

MOST_STEPS = 200
SMALL = 1e-13  # a step of phi that changes nothing
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
    """G(u, gamma) for real gamma: ln < exp(-gamma U + D phi) > is convex in phi, and Newton's method finds its lowest
    value."""
    phi, lowest = np.zeros(pinned.units), _log_average(pinned, gamma, np.zeros(pinned.units))
    for _ in range(MOST_STEPS):
        found = Weights.at(pinned, gamma, phi)
        mean = (found.away / found.total).real
        covariance = (found.spread / found.total).real - np.outer(mean, mean)
        step = -np.linalg.lstsq(covariance, mean)[0]
        if np.abs(step).max(initial=0.0) < SMALL:
            break
        phi, lowest, moved = _lower(pinned, gamma, phi, step, lowest, float(-mean @ step))
        if not moved:
            break
    return float(pinned.negative_entropy + gamma * pinned.mean_energy - lowest)


def _lower(
    pinned: Pinned, gamma: float, phi: np.ndarray, step: np.ndarray, lowest: float, gain: float
) -> tuple[np.ndarray, float, bool]:
    """The first of ever shorter steps that lowers it, or where we were: the lowest that rounding lets us see."""
    for length in 0.5 ** np.arange(60):
        value = _log_average(pinned, gamma, phi + length * step)
        if value <= lowest - LEAST_GAIN * length * gain and value < lowest:
            return phi + length * step, value, True
    return phi, lowest, False


def _log_average(pinned: Pinned, gamma: float, phi: np.ndarray) -> float:
    found = Weights.at(pinned, gamma, phi)
    return float(np.log(found.total.real) + found.shift)
