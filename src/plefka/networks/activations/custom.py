"""Activations that a user writes, as a probability or as two logarithms."""

import math
from collections.abc import Callable
from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidInput
from plefka.networks.activations.activation import Activation, namespace


class Custom(Activation):
    """Your own activation: any analytic function from the field of a unit to its probability of being on.

    **Arguments:**

    - `f`: the probability of being on. Alternatively, and with better precision for probabilities close to 0 or 1:
    - `log_on`, `log_off`: ln f and ln(1 - f).
    - `domain`: the interval (low, high) of fields for which the functions are defined.
    - `name`: the name of the activation in files and tables.

    The functions must be written with jax.numpy and act on arrays element by element. They are differentiated
    automatically.

    **Example:**

    >>> import plefka as pf
    >>> from jax.scipy.stats import norm
    >>> probit = pf.Custom(log_on=norm.logcdf, log_off=norm.logsf, name="probit")
    >>> pf.BeliefNetwork([[0, 0], [1.5, 0]], [0.0, -1.0], probit)
    <BeliefNetwork: 2 probit units, 4 weights>
    """

    _log_on: Callable = eqx.field(static=True)
    _log_off: Callable = eqx.field(static=True)
    _name: str = eqx.field(static=True)
    domain: tuple[float, float] = eqx.field(static=True)  # pyright: ignore[reportIncompatibleVariableOverride]

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
        self.domain = (float(domain[0]), float(domain[1]))  # pyright: ignore

    @property
    def name(self) -> str:
        return self._name

    def named(self, name: str) -> "Custom":
        """This activation by another name."""
        return Custom(log_on=self._log_on, log_off=self._log_off, domain=self.domain, name=name)

    def log_on(self, x):
        return _of_numpy(self._log_on, x) if namespace(x) is np else self._log_on(x)

    def log_off(self, x):
        return _of_numpy(self._log_off, x) if namespace(x) is np else self._log_off(x)


_jitted = lru_cache(maxsize=16)(jax.jit)


def _of_numpy(function: Callable, x: np.ndarray) -> np.ndarray:
    """A user's function of jax.numpy for a NumPy array, which is filled up so that few sizes are compiled."""
    x = np.asarray(x, float)
    size = 4 ** max(2, math.ceil(math.log(max(x.size, 1), 4)))
    with jax.enable_x64(True):
        found = _jitted(function)(np.resize(x, size) if x.size else np.zeros(size))
    return np.asarray(found)[: x.size].reshape(x.shape)


class _LogOf(eqx.Module):
    f: Callable = eqx.field(static=True)

    def __call__(self, x):
        return jnp.log(self.f(x))


class _LogOfComplement(eqx.Module):
    f: Callable = eqx.field(static=True)

    def __call__(self, x):
        return jnp.log1p(-self.f(x))
