"""One rule for seeds: whole numbers that JAX, NumPy and JSON all take."""

from typing import Any

import numpy as np

from plefka.errors import InvalidInput

LARGEST_SEED = 2**63 - 1


def as_seed(seed: Any) -> int:
    """A plain int from any whole number."""
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or not 0 <= seed <= LARGEST_SEED:
        raise InvalidInput(f"seed must be a whole number from 0 to 2^63 - 1; got {seed!r}.")
    return int(seed)
