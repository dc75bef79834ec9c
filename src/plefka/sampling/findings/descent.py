"""Minimising a smooth function of a few numbers: limited memory BFGS (Nocedal 1980), with steps that always go down.

SciPy's L-BFGS-B was measured: it calls a threaded library for matrices of twenty by twenty, so that a bound takes three
to four times as long, and its first steps are so long that some bounds are looser by up to 1.6.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

MEMORY = 10
LONGEST_STEP = 3.0
ENOUGH_DECREASE = 1e-4  # the fraction of the expected descent that a step must make
LINE_HALVINGS = 30
SMALL_CURVATURE = 1e-9  # a descent by less, relative to the value, is none
IDLE = 3  # steps of such a descent after which there is nothing more to find


class DescentPoint(NamedTuple):
    """A place, with the function's value and gradient there, and a guess of the diagonal of its Hessian."""

    at: np.ndarray
    value: float
    slope: np.ndarray
    curvature: np.ndarray  # about how fast each slope changes


def descend(
    function: Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]], at: np.ndarray, max_steps: int, tol: float
) -> DescentPoint:
    """From `at` downwards, never up, until no slope is above `tol`, no step makes a difference, or steps run out.

    The function returns its value, its gradient, and positive guesses of the second derivatives.
    """
    here, memory, steps, idle = DescentPoint(at, *function(at)), deque(maxlen=MEMORY), 1, 0
    while np.abs(here.slope).max(initial=0.0) > tol and idle < IDLE and steps < max_steps:
        there, tried = _step(function, here, _direction(here, memory))
        steps += tried
        _remember(memory, there.at - here.at, there.slope - here.slope)
        idle = idle + 1 if here.value - there.value <= SMALL_CURVATURE * (1 + abs(here.value)) else 0
        here = there
    return here


def _step(function: Callable, here: DescentPoint, direction: np.ndarray) -> tuple[DescentPoint, int]:
    """Along the direction, half as far each time until it goes down enough; no step where rounding forbids it."""
    expected = ENOUGH_DECREASE * (direction @ here.slope)
    for tried in range(LINE_HALVINGS):
        at = here.at + direction / 2**tried
        there = DescentPoint(at, *function(at))
        if there.value <= here.value + expected / 2**tried:
            return there, tried + 1
    return here, LINE_HALVINGS


def _remember(memory: deque, moved: np.ndarray, changed: np.ndarray) -> None:
    """Only steps along which the slope rises tell of a curvature that can be inverted."""
    curvature = moved @ changed
    if curvature > 1e-10 * np.sqrt((moved @ moved) * (changed @ changed)):
        memory.append((moved, changed, curvature))


def _direction(here: DescentPoint, memory: deque) -> np.ndarray:
    """Downwards: minus the slope times the inverse of the curvature that the last steps met; not too far."""
    direction = np.clip(_newton(here, memory), -LONGEST_STEP, LONGEST_STEP)
    if direction @ here.slope < 0:
        return direction
    memory.clear()
    return np.clip(-here.slope / here.curvature, -LONGEST_STEP, LONGEST_STEP)


def _newton(here: DescentPoint, memory: deque) -> np.ndarray:
    direction, factors = -here.slope, []
    for moved, changed, curvature in reversed(memory):
        factors.append(moved @ direction / curvature)
        direction = direction - factors[-1] * changed
    direction = direction / here.curvature
    for (moved, changed, curvature), factor in zip(memory, reversed(factors), strict=True):
        direction = direction + (factor - changed @ direction / curvature) * moved
    return direction
