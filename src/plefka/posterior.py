"""What a method computes, row by row, before it becomes a Solution."""

from typing import Any, NamedTuple

import numpy as np


class Posterior(NamedTuple):
    """Arrays with one entry for each row: NumPy's outside a trace, JAX's inside one."""

    means: Any  # (rows, units)
    free_energy: Any
    status: Any  # positions in solution.STATUS_CODES, from 1
    num_steps: Any
    num_cycles: Any
    residual: Any

    @classmethod
    def joined(cls, parts: list["Posterior"], count: int) -> "Posterior":
        """The rows of all parts, without the padding behind the last of them."""
        return cls(*(np.concatenate(field)[:count] for field in zip(*parts, strict=True)))


SIZES = (1, 8, 32, 128, 512, 2048)  # the batch sizes that are ever compiled


def chunks(count: int, most: int) -> list[np.ndarray]:
    """The indices of all rows in chunks of the compiled sizes, at most `most`; the last row fills the last chunk up."""
    largest = max((size for size in SIZES if size <= most), default=1)
    firsts = range(0, count, largest)
    return [_padded(first, min(first + largest, count)) for first in firsts]


def _padded(first: int, last: int) -> np.ndarray:
    size = next(size for size in SIZES if size >= last - first)
    return np.minimum(np.arange(first, first + size), last - 1)
