"""Log-odds and entropies of probabilities, with their limits at 0 and 1."""

from typing import Any

import numpy as np
from jaxtyping import Float


def log_odds(probability: Any) -> Float[np.ndarray, "..."]:
    """ln p / (1 - p), infinite where it is certain."""
    p = np.asarray(probability, float)
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log1p(-p)


def difference(a: Any, b: Any) -> Float[np.ndarray, "..."]:
    """a - b of log-odds; nothing changes where both are infinite and equal."""
    a, b = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    return np.where(a == b, 0.0, np.subtract(a, b, where=a != b, out=np.zeros(a.shape)))


def entropy(p: Any) -> Float[np.ndarray, "..."]:
    """Of a unit that is on with probability p, in nats."""
    p = np.asarray(p, float)
    off = 1 - p
    return -(p * np.log(np.where(p > 0, p, 1)) + off * np.log(np.where(off > 0, off, 1)))
