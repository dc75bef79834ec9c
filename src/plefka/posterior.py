"""What a method computes, row by row, before it becomes a Solution."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax


@dataclass(frozen=True)
class About:
    """What an answer is, beyond its numbers."""

    is_bound: bool | None = None  # None: what the method says of itself
    notes: tuple[str, ...] = ()  # sentences for the user: what was chosen, what was approximated
    is_exact: bool = False
    proposals: Any = None  # a mixture of factorial distributions near the posterior: log-weights (rows, k), means


class Posterior(NamedTuple):
    """Arrays with one entry for each row: NumPy's outside a trace, JAX's inside one."""

    means: Any  # (rows, units)
    free_energy: Any
    status: Any  # positions in solution.STATUS_CODES, from 1
    num_steps: Any
    num_cycles: Any
    residual: Any
    about: Any = None

    @property
    def arrays(self) -> tuple:
        """All fields but what it is about."""
        return self[:-1]

    @classmethod
    def joined(cls, parts: list["Posterior"], count: int) -> "Posterior":
        """The rows of all parts, without the padding behind the last of them."""
        return cls(*(np.concatenate(field)[:count] for field in zip(*(part.arrays for part in parts), strict=True)))


# The batch sizes that are ever compiled. Large ones are no powers of two: with units on the first axis and rows on the
# second, all units of a row would fall into the same few sets of the processor's cache.
SIZES = (1, 8, 32, 136, 520, 1000)


def normalised(log_shares: np.ndarray, axis: int) -> np.ndarray:
    """Shares that add up to one; equal ones where no component has any."""
    lost = np.isneginf(log_shares).all(axis, keepdims=True)
    return softmax(np.where(lost, 0.0, log_shares), axis)


def chunks(count: int, most: int) -> list[slice | np.ndarray]:
    """The indices of all rows in chunks of the compiled sizes, at most `most`; the last row fills the last chunk up."""
    largest = max((size for size in SIZES if size <= most), default=1)
    firsts = range(0, count, largest)
    return [_padded(first, min(first + largest, count)) for first in firsts]


def _padded(first: int, last: int) -> slice | np.ndarray:
    size = next(size for size in SIZES if size >= last - first)
    return slice(first, last) if size == last - first else np.minimum(np.arange(first, first + size), last - 1)


def on_all_cores(work: Callable[[Any], Posterior], pieces: list) -> list[Posterior]:
    """The results of all pieces in their order; compiled code lets threads run side by side, and compiles once."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(pieces) == 1 or cores == 1:
        return [work(piece) for piece in pieces]
    pool = ThreadPoolExecutor(min(cores, len(pieces)))
    try:
        return list(pool.map(work, pieces))
    finally:
        pool.shutdown(cancel_futures=True)
