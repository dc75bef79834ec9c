"""What every activation offers, and the namespace and the derivatives that all of them use."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plefka.runtime.plain_module import PlainModule

AnyArray = Any  # NumPy's outside a trace, JAX's inside
if TYPE_CHECKING:
    Fields = AnyArray
else:
    Fields = Float[Array | np.ndarray, "..."]


class Activation(PlainModule):
    """A function f from fields to probabilities, defined by ln f and ln(1 - f)."""

    has_linear_log_odds: ClassVar[bool] = False  # ln f - ln(1 - f) is the field itself
    allows_certain_states: ClassVar[bool] = True  # f may be 0 or 1 at a field of its domain
    has_closed_averages: ClassVar[bool] = False  # averages over parents take no sum over their states
    has_linear_log_off: ClassVar[bool] = False  # ln(1 - f) is minus the field: P(off) is a product over the parents
    allows_certain_edges: ClassVar[bool] = False  # an infinite weight means: on for certain when the parent is on
    mixes_kinds: ClassVar[bool] = False  # units are of different kinds, some of them tables
    rules_out_states: ClassVar[bool] = False  # some row of a table does
    domain: ClassVar[tuple[float, float]] = (-math.inf, math.inf)  # the fields for which f is defined

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the activation in files and tables."""

    @abstractmethod
    def log_on(self, x: Fields) -> Fields:
        """ln f(x)."""

    @abstractmethod
    def log_off(self, x: Fields) -> Fields:
        """ln(1 - f(x))."""

    def probability(self, x: Fields) -> Fields:
        """f(x)."""
        return namespace(x).exp(self.log_on(x))

    def clip(self, x: Fields) -> Fields:
        """The field without the rounding that takes it out of its domain."""
        low, high = self.domain
        xp = namespace(x)
        return xp.where(x < low, low, xp.where(x > high, high, x))  # on the border, with the slope of the inside

    def off_poles(self, x: Fields) -> Fields:
        """The field, moved into its domain and off the poles of the derivatives."""
        return self.clip(x)

    def finite_logs(self, x: Fields) -> tuple[Fields, Fields]:
        """ln f and ln(1 - f) at fields off the poles, finite even where a table rules a state out."""
        return self.log_on(x), self.log_off(x)

    def has_field(self, x: AnyArray) -> AnyArray:
        """Where x is a field (or the bias of a unit that has one), and not the number of a row of a table."""
        return np.True_

    def is_linear_off(self, h: AnyArray) -> AnyArray:
        """Which units, by their biases, have an ln(1 - f) that is minus the field."""
        return np.bool_(self.has_linear_log_off)

    def log_ratios(self, x: Float[Array, "..."], degree: int) -> list[tuple[Float[Array, "..."], Float[Array, "..."]]]:
        """The pairs (log_on, log_off) and their derivatives up to `degree`, at x."""
        return list(zip(derivatives(self.log_on, x, degree), derivatives(self.log_off, x, degree), strict=True))


def namespace(*arrays: Any) -> Any:
    """numpy where all arrays are NumPy's, else jax.numpy."""
    return np if all(isinstance(x, np.ndarray | np.generic | float | int) for x in arrays) else jnp


def derivatives(function: Callable, x: Float[Array, "..."], degree: int) -> list[Float[Array, "..."]]:
    """[function(x), function'(x), ...] up to `degree`, elementwise."""
    tower = [function]
    for _ in range(degree):
        below = tower[-1]
        tower.append(lambda x, below=below: jax.jvp(below, (x,), (jnp.ones_like(x),))[1])
    return [f(x) for f in tower]
