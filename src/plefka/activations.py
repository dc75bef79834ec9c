"""Activations: how the field of a unit sets its probability of being on (section 2 of the paper).

An activation is known by two functions of the field x, `log_on(x)` = ln f(x) and `log_off(x)` = ln(1 - f(x)), written
directly and never as the logarithm of a rounded probability. Their derivatives come from automatic differentiation;
where a closed form is known it stands beside the function as its derivative rule. Of NumPy arrays they are computed by
NumPy, which compiles nothing.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plefka.errors import InvalidInput, nearest

SMALLEST_FIELD = 1e-70  # a field this close to a pole keeps all four derivatives finite
SMALLEST_FIELD_SINGLE = 1e-8
CERTAIN_FIELD = 30.0  # what an infinite weight counts for in an expansion: P(off) = 1e-13

AnyArray = Any  # NumPy's outside a trace, JAX's inside
if TYPE_CHECKING:
    Fields = AnyArray
else:
    Fields = Float[Array | np.ndarray, "..."]


class Activation(eqx.Module):
    """A function from fields to probabilities, by the logarithms of f and 1 - f."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the activation is called in files and tables."""

    @property
    def domain(self) -> tuple[float, float]:
        """The fields for which f is defined."""
        return (-math.inf, math.inf)

    @property
    def has_linear_log_odds(self) -> bool:
        """Whether ln f - ln(1 - f) is the field itself, so that its second derivative vanishes."""
        return False

    @abstractmethod
    def log_on(self, x: Fields) -> Fields:
        """ln f(x)."""

    @abstractmethod
    def log_off(self, x: Fields) -> Fields:
        """ln(1 - f(x))."""

    @property
    def allows_certain_states(self) -> bool:
        """Whether f may be 0 or 1 at a field of its domain."""
        return True

    @property
    def has_closed_averages(self) -> bool:
        """Whether averages over independent parents take no sum over their states."""
        return False

    @property
    def has_linear_log_off(self) -> bool:
        """Whether ln(1 - f) is minus the field, so that a unit that is off is a product over its parents."""
        return False

    @property
    def allows_certain_edges(self) -> bool:
        """Whether an infinite weight has a meaning: on for certain when the parent is on."""
        return False

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


# All of these start from exp(-|x|), so that the compiler computes it once for all of them.


@jax.custom_jvp
def sigmoid(x):
    """1 / (1 + exp(-x)), without overflow and with s(1 - s) for derivative."""
    e = jnp.exp(-jnp.abs(x))
    return jnp.where(x >= 0, 1.0, e) / (1 + e)


@sigmoid.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    return sigmoid(x), _sigmoid_slope(x) * dx


def numpy_sigmoid(x: np.ndarray) -> np.ndarray:
    """The same for NumPy; the import of SciPy's takes as long as to infer a small network."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1 + e)


@jax.custom_jvp
def sigmoid_off(x):
    """1 - sigmoid(x), to all its digits."""
    e = jnp.exp(-jnp.abs(x))
    return jnp.where(x >= 0, e, 1.0) / (1 + e)


@sigmoid_off.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    return sigmoid_off(x), -_sigmoid_slope(x) * dx


def _sigmoid_slope(x):
    e = jnp.exp(-jnp.abs(x))
    return e / (1 + e) ** 2


# ln(1 + e) = 2 z P(z^2) with z = e / (2 + e): atanh(z) / z on 0 <= z <= 1/3 by its interpolant at Chebyshev's points,
# within 5e-17. A log1p takes as long as five exponentials, and this takes less than one.
ATANH = (
    1.0, 0.33333333333341286, 0.199999999976438, 0.1428571455582858, 0.11111095430673142,
    0.09091429900236955, 0.07681838124445817, 0.06795652742789947, 0.04940394524382393, 0.08890381913056651,
)  # fmt: skip


@jax.jit  # traced once for each shape
def log_one_plus(x):
    """ln(1 + exp(-|x|)): what softplus adds to max(x, 0)."""
    e = jnp.exp(-jnp.abs(x))
    z = e / (2 + e)
    return 2 * z * horner(ATANH, z**2)


@jax.custom_jvp
def softplus(x):
    """ln(1 + exp(x)) = -ln sigmoid(-x), with sigmoid(x) for derivative."""
    return jnp.maximum(x, 0) + log_one_plus(x)


@softplus.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    return softplus(x), sigmoid(x) * dx


@jax.custom_jvp
def log_sigmoid(x):
    """ln sigmoid(x), with 1 - sigmoid(x) for derivative."""
    return jnp.minimum(x, 0) - log_one_plus(x)


@log_sigmoid.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    return log_sigmoid(x), sigmoid_off(x) * dx


def horner(coefficients, x):
    """sum_k coefficients_k x^k."""
    total = jnp.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


@jax.custom_jvp
def log_noisy_or(x):
    """ln(1 - exp(-x)) for x >= 0, with 1 / (exp(x) - 1) for derivative."""
    small = x < 0.7
    return jnp.where(
        small,
        jnp.log(-jnp.expm1(-jnp.where(small, x, 1.0))),
        jnp.log1p(-jnp.exp(-jnp.where(small, 1.0, x))),
    )


@log_noisy_or.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    return log_noisy_or(x), odds_against(x) * dx


@jax.custom_jvp
def odds_against(x):
    """r = 1 / (exp(x) - 1): (1 - f) / f of the noisy-or, with -r(1 + r) for derivative."""
    return 1 / jnp.expm1(x)


@odds_against.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    r = odds_against(x)
    return r, -r * (1 + r) * dx


def _numpy_softplus(x):
    """ln(1 + exp(x)), where what is no number stays so in silence."""
    with np.errstate(invalid="ignore"):
        return np.logaddexp(0, x)


class Sigmoid(Activation):
    """f(x) = 1 / (1 + exp(-x)), for any field."""

    @property
    def name(self):
        return "sigmoid"

    def clip(self, x):
        return x

    @property
    def has_linear_log_odds(self):
        return True

    @property
    def allows_certain_states(self):
        return False

    @property
    def has_closed_averages(self):
        return True

    def log_on(self, x):
        return -_numpy_softplus(-x) if namespace(x) is np else log_sigmoid(x)

    def log_off(self, x):
        return -_numpy_softplus(x) if namespace(x) is np else -softplus(x)

    def log_ratios(self, x, degree):
        """ln f and ln(1 - f) differ by x, so that all derivatives from the second on are shared."""
        off = derivatives(self.log_off, x, degree)
        on = [*derivatives(self.log_on, x, min(degree, 1)), *off[2:]]
        return list(zip(on, off, strict=True))


class NoisyOr(Activation):
    """f(x) = 1 - exp(-x), for fields that are never negative; an infinite weight is an edge of probability one."""

    @property
    def name(self):
        return "noisy_or"

    @property
    def domain(self):
        return (0.0, math.inf)

    @property
    def allows_certain_edges(self):
        return True

    @property
    def has_linear_log_off(self):
        return True

    @property
    def has_closed_averages(self):
        return True

    def off_poles(self, x):
        return namespace(x).maximum(x, SMALLEST_FIELD if x.dtype == jnp.float64 else SMALLEST_FIELD_SINGLE)

    def log_on(self, x):
        if namespace(x) is not np:
            return log_noisy_or(x)
        with np.errstate(divide="ignore"):
            return np.where(x < 0.7, np.log(-np.expm1(-np.minimum(x, 1.0))), np.log1p(-np.exp(-np.maximum(x, 0.5))))

    def log_off(self, x):
        return -x

    def probability(self, x):
        return -namespace(x).expm1(-x)


class Custom(Activation):
    """Any analytic f: `Custom(f)`, or better `Custom(log_on=..., log_off=..., domain=(low, high))`.

    The functions are written with jax.numpy, act on arrays element by element, and are differentiated automatically.
    """

    _log_on: Callable = eqx.field(static=True)
    _log_off: Callable = eqx.field(static=True)
    _name: str = eqx.field(static=True)
    _domain: tuple[float, float] = eqx.field(static=True)

    def __init__(
        self,
        f: Callable | None = None,
        *,
        log_on: Callable | None = None,
        log_off: Callable | None = None,
        domain: tuple[float, float] = (-math.inf, math.inf),
        name: str = "custom",
    ):
        if f is not None and log_on is None and log_off is None:
            log_on, log_off = _LogOf(f), _LogOfComplement(f)
        elif f is not None or log_on is None or log_off is None:
            raise InvalidInput(
                "Custom takes either f, the probability of being on, or both log_on and log_off; "
                f"got f={f!r}, log_on={log_on!r}, log_off={log_off!r}."
            )
        if not domain[0] < domain[1]:
            raise InvalidInput(f"domain must be a pair (low, high) with low < high; got {domain!r}.")
        self._log_on, self._log_off = log_on, log_off
        self._name = name
        self._domain = (float(domain[0]), float(domain[1]))

    @property
    def name(self):
        return self._name

    @property
    def domain(self):
        return self._domain

    def log_on(self, x):
        return _of_numpy(self._log_on, x) if namespace(x) is np else self._log_on(x)

    def log_off(self, x):
        return _of_numpy(self._log_off, x) if namespace(x) is np else self._log_off(x)


def _of_numpy(function: Callable, x: np.ndarray) -> np.ndarray:
    """A user's function of jax.numpy for a NumPy array, which is filled up so that few sizes are compiled."""
    x = np.asarray(x, float)
    size = 4 ** max(2, math.ceil(math.log(max(x.size, 1), 4)))
    with jax.enable_x64(True):
        found = _jitted(function)(np.resize(x, size) if x.size else np.zeros(size))
    return np.asarray(found)[: x.size].reshape(x.shape)


@lru_cache(maxsize=16)
def _jitted(function: Callable) -> Callable:
    return jax.jit(function)


class _LogOf(eqx.Module):
    f: Callable = eqx.field(static=True)

    def __call__(self, x):
        return jnp.log(self.f(x))


class _LogOfComplement(eqx.Module):
    f: Callable = eqx.field(static=True)

    def __call__(self, x):
        return jnp.log1p(-self.f(x))


ACTIVATIONS = {"sigmoid": Sigmoid, "noisy_or": NoisyOr}


def as_activation(activation: str | Activation | Callable) -> Activation:
    """The activation that a user means by a name, an activation or a function."""
    if isinstance(activation, Activation):
        return activation
    if isinstance(activation, type) and issubclass(activation, Activation):
        return activation()
    if callable(activation):
        return Custom(activation)
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise InvalidInput(
            f"activation must be one of {', '.join(ACTIVATIONS)}, or a Custom(...); got {activation!r}."
            + nearest(str(activation), ACTIVATIONS)
        )
    return ACTIVATIONS[activation]()
