"""Noisy-or: a unit stays off if neither its leak nor any parent that is on switches it on."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from plefka.networks.activations.activation import Activation, namespace

SMALLEST_FIELD = 1e-70  # a field this close to a pole keeps all four derivatives finite
SMALLEST_FIELD_SINGLE = 1e-8
CERTAIN_FIELD = 30.0  # what an infinite weight counts for in an expansion: P(off) = 1e-13


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


class NoisyOr(Activation):
    """f(x) = 1 - exp(-x) for fields x >= 0.

    A parent with weight w switches the unit on with probability 1 - exp(-w), independently of the other parents. An
    infinite weight is an edge of probability one. Write `activation="noisy_or"` for short.

    **Example:**

    >>> import numpy as np
    >>> import plefka as pf
    >>> pf.NoisyOr().probability(np.array([0.0, 0.5, 2.0])).round(3)
    array([0.   , 0.393, 0.865])
    """

    domain = (0.0, math.inf)
    allows_certain_edges = True
    has_linear_log_off = True
    has_closed_averages = True

    @property
    def name(self) -> str:
        return "noisy_or"

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
