"""The logistic sigmoid and its functions. All start from exp(-|x|), so that it is computed once for all of them."""

import jax
import jax.numpy as jnp
import numpy as np

from plefka.networks.activations.activation import Activation, derivatives, namespace


@jax.custom_jvp
def sigmoid(x):
    """1 / (1 + exp(-x)), without overflow and with s(1 - s) for derivative."""
    e = jnp.exp(-jnp.abs(x))
    return jnp.where(x >= 0, 1.0, e) / (1 + e)


@sigmoid.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    e = jnp.exp(-jnp.abs(x))
    return sigmoid(x), e / (1 + e) ** 2 * dx


def numpy_sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)) of NumPy arrays. Importing SciPy's takes longer than solving a small network."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1 + e)


def numpy_softplus(x: np.ndarray) -> np.ndarray:
    """ln(1 + exp(x)) of NumPy arrays. np.logaddexp(0, x) takes four times as long, and warns of what is no number."""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


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


def log_sigmoid(x):
    """ln sigmoid(x), with sigmoid(-x) for derivative, which is 1 - sigmoid(x) to all its digits."""
    return -softplus(-x)


def horner(coefficients, x):
    """sum_k coefficients_k x^k."""
    total = jnp.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


class Sigmoid(Activation):
    """f(x) = 1 / (1 + exp(-x)) for any field x.

    The field of a unit is its log-odds of being on. Write `activation="sigmoid"` for short.

    **Example:**

    >>> import numpy as np
    >>> import plefka as pf
    >>> pf.Sigmoid().probability(np.array([-2.0, 0.0, 2.0])).round(3)
    array([0.119, 0.5  , 0.881])
    """

    has_linear_log_odds = True
    allows_certain_states = False
    has_closed_averages = True

    @property
    def name(self) -> str:
        return "sigmoid"

    def clip(self, x):
        return x

    def log_on(self, x):
        return -numpy_softplus(-x) if namespace(x) is np else log_sigmoid(x)

    def log_off(self, x):
        return -numpy_softplus(x) if namespace(x) is np else -softplus(x)

    def probability(self, x):
        return numpy_sigmoid(x) if namespace(x) is np else sigmoid(x)

    def log_ratios(self, x, degree):
        """ln f and ln(1 - f) differ by x, so that all derivatives from the second on are shared."""
        off = derivatives(self.log_off, x, degree)
        on = [*derivatives(self.log_on, x, min(degree, 1)), *off[2:]]
        return list(zip(on, off, strict=True))
