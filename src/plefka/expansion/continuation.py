"""Where G(u, gamma) stops to be analytic in the complex plane, solved for by Newton's method.

For real gamma there is no such place: the means determine phi, and the covariance is positive. Singularities come as
pairs gamma and its conjugate, and there are two kinds. At a branch point the matrix sum_S w D D' has no inverse, so phi
stops to be a function of gamma: G has a term (gamma - gamma_c)^(3/2). At a zero, sum_S w is 0 and G has a logarithm.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from plefka.expansion.pinned import Pinned, Weights

CONTINUATION_STEPS = 16  # on the way to a singularity
CLOSE_APPROACHES = (0.95, 0.98, 0.85)  # of the way, where a search begins
FAR = 0.2  # of its distance: a point that is farther from where its search began is another one
INSIDE = 0.99  # of its distance: where there must be no other one
ROUNDS, BISECTIONS = 3, 7  # of the search for one inside, and of its distance
NEWTON_STEPS = 40
LONGEST_STEP = 0.02  # of gamma, in one step towards a singularity
STEP_HALVINGS = 7  # of a step along a path
SURPRISE = 0.3  # of a step: more than that is not to be corrected
NEWTON_TOLERANCE = 1e-9
CORRECTED = 1e-6  # a step of Newton's method after which the next one would be its square
ARC = 96  # steps along a half circle
AGREE = 1e-6


class Nearest(NamedTuple):
    """The nearest singularity; where only its distance is known, to a hundredth, that; where neither is, nan."""

    point: complex | None
    distance: float


def nearest_singularity(pinned: Pinned, guesses: Iterable[complex]) -> Nearest:
    """The nearest to 0 of the singularities close to these points, or one inside its distance that none is close to."""
    found = [point for guess in guesses if (point := _singularity(pinned, guess)) is not None]
    nearest = Nearest(point := min(found, key=abs, default=None), np.nan if point is None else abs(point))
    for _ in range(ROUNDS):
        if nearest.point is None or is_analytic_inside(pinned, INSIDE * nearest.distance):
            break
        nearest = _inside(pinned, nearest.distance)
    return nearest


def _inside(pinned: Pinned, radius: float) -> Nearest:
    """A singularity with a smaller distance, which is halved; it is searched where sum_S w D D' is closest to 0."""
    low, high = 0.0, INSIDE * radius
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_analytic_inside(pinned, middle) else (low, middle)
    if not low:
        return Nearest(None, np.nan)
    with np.errstate(all="ignore"), suppress(np.linalg.LinAlgError):
        arc = low * half_circle()
        phi = followed(pinned, arc, continued(pinned, np.linspace(0, low, CONTINUATION_STEPS + 1)))
        found = [Weights.at(pinned, *each) for each in zip(arc[1:], phi, strict=True)]
        sizes = [np.linalg.svd(each.spread, compute_uv=False)[-1] / np.abs(each.w).sum() for each in found]
        point = _singularity(pinned, arc[1 + int(np.argmin(sizes))] * (high / low))
        if point is not None and INSIDE * low < abs(point) < high / INSIDE:
            return Nearest(point, abs(point))
    return Nearest(None, (low + high) / 2)


def _singularity(pinned: Pinned, guess: complex) -> complex | None:
    """From the first place on the way there from which one of the two searches ends nearby."""
    for part in CLOSE_APPROACHES:
        begin = part * guess
        with np.errstate(all="ignore"), suppress(np.linalg.LinAlgError):
            phi = continued(pinned, np.linspace(0, begin, CONTINUATION_STEPS + 1))
            found = [search(pinned, begin, phi) for search in (_branch_point, _zero)]
            points = [point for point in found if point is not None]
            if points:
                return min(points, key=abs)
    return None


def is_analytic_inside(pinned: Pinned, radius: float) -> bool:
    """Whether following a half circle from radius to -radius leads to what is known there, from the real axis.

    A branch point between the two ways would lead to another phi, and a zero would turn the argument of Z by 2 pi.
    """
    arc = radius * half_circle()
    with np.errstate(all="ignore"), suppress(np.linalg.LinAlgError):
        begin, end = (continued(pinned, np.linspace(0, x, CONTINUATION_STEPS + 1)) for x in (radius, -radius))
        phi = list(followed(pinned, arc, begin))
        totals = [Weights.at(pinned, *each).total for each in zip(arc[1:], phi, strict=True)]
        turned = np.angle(np.divide(totals, [1.0, *totals[:-1]])).sum()
        return bool(np.abs(phi[-1] - end).max() < AGREE * (1 + np.abs(end).max()) and abs(turned) < 1)
    return False


def half_circle() -> np.ndarray:
    """Points from 1 through i to -1."""
    return np.exp(1j * np.pi * np.arange(ARC + 1) / ARC)


def continued(pinned: Pinned, path: np.ndarray) -> np.ndarray:
    """phi at the end of a path that begins at gamma = 0."""
    *_, phi = followed(pinned, path, np.zeros(pinned.units, complex))
    return phi


def followed(pinned: Pinned, path: np.ndarray, phi: np.ndarray) -> Iterator[np.ndarray]:
    """phi at each further point of a path through the complex plane, from phi at its beginning."""
    for gamma, following in pairwise(path):
        phi = _moved(pinned, gamma, following, phi, STEP_HALVINGS)
        yield phi


def _moved(pinned: Pinned, gamma: complex, to: complex, phi: np.ndarray, halvings: int) -> np.ndarray:
    """phi after a step, which is halved where its beginning does not predict its end: it could lead to another phi."""
    predicted = phi + (to - gamma) * _slope(pinned, gamma, phi)
    with suppress(np.linalg.LinAlgError):
        found = _corrected(pinned, to, predicted)
        if np.abs(found - predicted).max() <= SURPRISE * np.abs(predicted - phi).max() + CORRECTED:
            return found
    if not halvings:
        raise np.linalg.LinAlgError(f"phi cannot be followed to gamma = {to}.")
    middle = (gamma + to) / 2
    return _moved(pinned, middle, to, _moved(pinned, gamma, middle, phi, halvings - 1), halvings - 1)


def _slope(pinned: Pinned, gamma: complex, phi: np.ndarray) -> np.ndarray:
    """d phi / d gamma."""
    found = Weights.at(pinned, gamma, phi)
    return np.linalg.solve(found.spread, pinned.D.first(found.w * pinned.U))


def _corrected(pinned: Pinned, gamma: complex, phi: np.ndarray) -> np.ndarray:
    """phi that holds the means, from a point nearby."""
    for _ in range(NEWTON_STEPS):
        found = Weights.at(pinned, gamma, phi)
        step = np.linalg.solve(found.spread, found.away)
        phi = phi - step
        if np.abs(step).max() < CORRECTED:
            return phi
    raise np.linalg.LinAlgError(f"Newton's method does not converge at gamma = {gamma}.")


def _branch_point(pinned: Pinned, gamma: complex, phi: np.ndarray) -> complex | None:
    """gamma, phi and a vector x with away = 0 and spread x = 0, where the length of x is held."""
    n, D, U = len(phi), pinned.D, pinned.U
    x = np.linalg.svd(Weights.at(pinned, gamma, phi).spread)[2][-1].conj()
    length = x.conj()

    def equations(found: Weights, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        along = found.w * D.linear(x)
        matrix = np.zeros((2 * n + 1, 2 * n + 1), complex)
        matrix[:n, :n] = matrix[n : 2 * n, n + 1 :] = found.spread
        matrix[:n, n], matrix[n : 2 * n, n] = -D.first(found.w * U), -D.first(along * U)
        matrix[n : 2 * n, :n], matrix[-1, n + 1 :] = D.second(along), length
        return matrix, np.concatenate([found.away, found.spread @ x, [length @ x - 1]])

    return _solved(pinned, np.concatenate([phi, [gamma], x]), equations)


def _zero(pinned: Pinned, gamma: complex, phi: np.ndarray) -> complex | None:
    """gamma and phi with away = 0 and total = 0."""

    def equations(found: Weights, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        above = np.append(-pinned.D.first(found.w * pinned.U), -(found.w @ pinned.U))
        return np.column_stack([np.vstack([found.spread, found.away]), above]), np.append(found.away, found.total)

    return _solved(pinned, np.append(phi, gamma), equations)


def _solved(pinned: Pinned, at: np.ndarray, equations: Callable[..., tuple[np.ndarray, np.ndarray]]) -> complex | None:
    """gamma where phi, gamma and what else the equations are about solve them, by Newton's method; None if far away.

    A step moves gamma by no more than a part of itself, so that it stays near its guess.
    """
    n = pinned.units
    begin = at[n]
    for _ in range(NEWTON_STEPS):
        step = np.linalg.solve(*equations(Weights.at(pinned, at[n], at[:n]), at[n + 1 :]))
        step = step / max(1.0, abs(step[n]) / (LONGEST_STEP * abs(at[n])))
        at = at - step
        if not abs(at[n] - begin) < FAR * abs(begin):
            return None
        if np.abs(step).max() < NEWTON_TOLERANCE * max(1.0, abs(at[n])):
            return complex(at[n])
    return None
