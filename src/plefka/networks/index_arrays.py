"""Arrays of indices: some of all units, rows or edges as a mask, as places, and counted on."""

from typing import Any

import numpy as np


def mask_of(some: Any, size: int) -> np.ndarray:
    """(size,): which of all these are."""
    found = np.zeros(size, bool)
    found[some] = True
    return found


def places_of(some: np.ndarray, size: int) -> np.ndarray:
    """(size,): where each of all is among these, which are distinct, or -1."""
    found = np.full(size, -1)
    found[some] = np.arange(len(some))
    return found


def ranges(counts: np.ndarray) -> np.ndarray:
    """0, 1, ..., counts[0] - 1, 0, 1, ..., counts[1] - 1, ..."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
