"""What a method finds, row by row, before it becomes a Solution."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class Draws(NamedTuple):
    """States of the posterior, all of the same weight, and the seed of what is drawn given them."""

    states: Any  # (draws, units, rows)
    seed: int


@dataclass(frozen=True)
class About:
    """What an answer is, beyond its numbers."""

    is_bound: bool | None = None  # None: what the method says of itself
    notes: tuple[str, ...] = ()  # sentences for the user: what was chosen, what was approximated
    is_exact: bool = False
    by_field: bool = False  # whether barren units are predicted by f at the mean field
    proposals: Any = None  # (log-weights (components, rows), means (components, units, rows)) near the posterior
    contributions: Any = None  # (units, rows): of each unit to the second order, where they were asked for
    conditioned_on: Any = None  # the units of a single row that were conditioned on
    methods: Any = None  # the method that answered each row, where they were chosen
    without_leak: Any = None  # (units, rows): the units that need a leak for the answer to be finite
    draws: Draws | None = None  # from which barren units are predicted
    components: Any = None  # as proposals, where barren units are predicted from more of them
    exact_rows: Callable[[], Any] | None = None  # (rows,): where the posterior of all units together is known
    knows_parents: Any = None  # (rows,): where it is, and where barren units have parents that depend on each other
    barren: Any = None  # (rows, units): those that were predicted
    predicted: Any = None  # (rows, units): of these, those whose parents were taken to be independent of each other


class Posterior(NamedTuple):
    """Arrays whose last axis is that of the rows: NumPy's outside a trace, JAX's inside one."""

    means: Any  # (units, rows)
    free_energy: Any
    status: Any  # positions in solution.STATUS_CODES, from 1
    num_steps: Any
    num_cycles: Any
    residual: Any
    slope: Any = None  # (units, rows): d ln P / dh, where it was asked for
    about: About = About()


def with_rows(found: Posterior, rows: np.ndarray, other: Posterior) -> Posterior:
    """The same with another answer for some rows."""
    arrays = [np.array(field) for field in found[:6]]
    for array, new in zip(arrays, other[:6], strict=True):
        array[..., rows] = new
    return Posterior(*arrays, slope=found.slope, about=found.about)


def normalised(log_weights: np.ndarray, axis: int) -> np.ndarray:
    """Weights that add up to one; equal ones where no component has any."""
    lost = np.isneginf(log_weights).all(axis, keepdims=True)
    log_weights = np.where(lost, 0.0, log_weights)
    weights = np.exp(log_weights - log_weights.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)
