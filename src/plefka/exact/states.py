"""All states of some units: their numbers in blocks, and sums over them, in NumPy or in jax.numpy.

Bit k of the number of a state is the state of the k-th unit. Sums over states of both kinds of network are made of
these, in NumPy, compiled, and inside a user's trace; so are samples given evidence.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from plefka.networks.activations import namespace
from plefka.networks.fields import bits

MOST_SUMMED = 24  # units whose states are summed over in blocks: a matter of time, about ten seconds for 30 units
MOST_LISTED = 20  # units of whose states a list has one number each: a matter of memory, and of time in learning
MOST_FOLLOWED = 16  # units of whose states dozens of numbers each are held, for powers or for any derivatives
NUMBERS_AT_ONCE = 2**22  # that are held for the states of a block


class StateSums(NamedTuple):
    """Sums of the weights of states, and of values with these weights, both relative to exp(top)."""

    top: Any  # (...)
    total: Any  # (...)
    values: Any  # (k, ...)

    @classmethod
    def of(cls, log_weight: Any, values: Callable[[Any], Any] | None = None, factor: Any = None) -> "StateSums":
        """Of states along the last axis, (..., states), with weights exp(log_weight), times a factor if there is one.

        `values` makes the sums (k, ...) from weights that are relative to exp(top). All but `top` has derivatives.
        """
        xp = namespace(log_weight)
        top = (log_weight if factor is None else xp.where(factor > 0, log_weight, -xp.inf)).max(axis=-1)
        top = top if xp is np else jax.lax.stop_gradient(top)
        weight = xp.exp(log_weight - _finite(top)[..., None])
        weight = weight if factor is None else factor * weight
        return cls(top, weight.sum(axis=-1), xp.zeros_like(top) if values is None else values(weight))

    def joined(self, other: "StateSums") -> "StateSums":
        """Those of the states of both."""
        top = namespace(self.top, other.top).maximum(self.top, other.top)
        mine, theirs = (namespace(top).exp(z - _finite(top)) for z in (self.top, other.top))
        return StateSums(top, self.total * mine + other.total * theirs, self.values * mine + other.values * theirs)

    @property
    def log_total(self) -> Any:
        """ln of the sum of all weights; -inf where all states are impossible."""
        xp = namespace(self.total)
        with np.errstate(divide="ignore"):
            return _finite(self.top) + xp.log(self.total)


def _finite(top: Any) -> Any:
    """What weights are relative to: 0 where all are impossible."""
    xp = namespace(top)
    return xp.where(xp.isfinite(top), top, 0.0)


def states_in_blocks(units: int, numbers: int = 1) -> Iterator[np.ndarray]:
    """The states (units, states of a block) of so many units, of which each takes so many numbers of memory."""
    step = max(1, NUMBERS_AT_ONCE // max(1, numbers))
    for first in range(0, 2**units, step):
        yield bits(np.arange(first, min(first + step, 2**units)), np.arange(units))


def listed_weights(units: int, log_weight: Callable[[np.ndarray], np.ndarray], numbers: int) -> np.ndarray:
    """ln weight (states,) of all states of so many units, from a function of states (units, states of a block)."""
    return np.concatenate([log_weight(states) for states in states_in_blocks(units, numbers)])


def too_many_states(units: int) -> str:
    """Why so many units are not enumerated."""
    number = f" = {2.0**units:.3g}" if units < sys.float_info.max_exp else ""
    return f"enumeration would sum over 2^{units}{number} states of the hidden units (the limit is 2^{MOST_SUMMED})"
