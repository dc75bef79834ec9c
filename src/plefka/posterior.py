"""What a method finds, row by row, before it becomes a Solution."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


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
    without_leak: Any = None  # (units, rows): the units for lack of whose leak there is no answer


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


def normalised(log_weights: np.ndarray, axis: int) -> np.ndarray:
    """Weights that add up to one; equal ones where no component has any."""
    lost = np.isneginf(log_weights).all(axis, keepdims=True)
    log_weights = np.where(lost, 0.0, log_weights)
    weights = np.exp(log_weights - log_weights.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)
