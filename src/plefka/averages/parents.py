"""Independent parents, by both of their probabilities: 1 - u keeps its digits where u is next to one."""

from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plefka.networks.activations import log_one_plus, log_sigmoid, sigmoid, softplus

LARGEST_EXPONENT = 700.0  # a probability that is not zero stays at least 1e-304

Table = Float[Array, "..."]


class Parents(eqx.Module):
    """u, 1 - u and ln u - ln(1 - u), which is infinite where a parent is certain; a sequence of positions."""

    on: Table
    off: Table
    log_odds: Table

    @classmethod
    def of_means(cls, u: Table) -> "Parents":
        """Differentiable by u from 0 to 1."""
        return cls(u, 1 - u, log_odds(u))

    @classmethod
    def of_log_odds(cls, theta: Table) -> "Parents":
        """To all digits of both probabilities."""
        return cls(chance(theta), chance(-theta), theta)

    @property
    def rows(self) -> int:
        return self.on.shape[-1]

    def __len__(self) -> int:
        return len(self.on)

    def __getitem__(self, positions: int | slice) -> "Parents":
        return jax.tree.map(lambda x: x[positions], self)

    def __iter__(self) -> Iterator["Parents"]:
        return (self[position] for position in range(len(self)))


def chance(theta: Float[Array, "..."]) -> Float[Array, "..."]:
    """sigma(theta), which is never 0 where theta is finite."""
    return sigmoid(jnp.where(jnp.isinf(theta), theta, jnp.maximum(theta, -LARGEST_EXPONENT)))


def log_odds(u: Float[Array, "..."]) -> Float[Array, "..."]:
    """theta with sigma(theta) = u, infinite at 0 and 1."""
    inner = (u > 0) & (u < 1)
    safe = jnp.where(inner, u, 0.5)
    return jnp.where(inner, jnp.log(safe) - jnp.log1p(-safe), jnp.where(u > 0, jnp.inf, -jnp.inf))


# The three fields of Parents move together: the derivatives below are by `on`, which counts for all of them.


@jax.custom_jvp
def log_tilt(t: Float[Array, "..."], parents: Parents) -> Float[Array, "..."]:
    """ln(1 - u + u exp(t)) = softplus(t + theta) - softplus(theta), for any t and for u up to 0 and 1."""
    theta = parents.log_odds
    certain = jnp.isinf(theta)
    safe = jnp.where(certain, 0.0, theta)
    return jnp.where(certain, jnp.where(theta > 0, t, 0.0), softplus(t + safe) - softplus(safe))


@log_tilt.defjvp
def _(primals, tangents):
    (t, parents), (dt, moved) = primals, tangents
    return log_tilt(t, parents), tilted_mean(t, parents) * dt + tilted_slope(t, parents) * moved.on


@jax.custom_jvp
def tilted_mean(t: Float[Array, "..."], parents: Parents) -> Float[Array, "..."]:
    """u exp(t) / (1 - u + u exp(t)): the mean of a unit under a tilt."""
    theta = parents.log_odds
    certain = jnp.isinf(theta)  # which no tilt changes
    return sigmoid(jnp.where(certain, theta, t + jnp.where(certain, 0.0, theta)))


@tilted_mean.defjvp
def _(primals, tangents):
    (t, parents), (dt, moved) = primals, tangents
    p = tilted_mean(t, parents)
    q = tilted_mean(-t, Parents(parents.off, parents.on, -parents.log_odds))
    total = _tilted_sum(t, parents)
    return p, p * q * dt + jnp.exp(-jnp.abs(t)) / total / total * moved.on


def tilted_slope(t: Float[Array, "..."], parents: Parents) -> Float[Array, "..."]:
    """(exp(t) - 1) / (1 - u + u exp(t)): the derivative of log_tilt by u."""
    gain = jnp.expm1(-jnp.abs(t))
    slope = jnp.where(t > 0, -gain, gain) / _tilted_sum(t, parents)
    limit = jnp.finfo(t.dtype).max
    return jnp.clip(slope, -limit, limit)


def _tilted_sum(t, parents: Parents):
    """1 - u + u exp(t), divided by the larger of 1 and exp(t); never zero."""
    e, on, off = jnp.exp(-jnp.abs(t)), parents.on, parents.off
    return jnp.maximum(jnp.where(t > 0, on + off * e, off + on * e), jnp.finfo(t.dtype).tiny)


@jax.custom_jvp
def log_mix(parent: Parents, off: Float[Array, "..."], on: Float[Array, "..."]) -> Float[Array, "..."]:
    """ln[(1 - u) exp(off) + u exp(on)]; where both are the same, not even rounding is added."""
    a, b = log_terms(parent, off, on)
    return jnp.where(off == on, off, jnp.maximum(a, b) + log_one_plus(jnp.where(a == b, 0.0, a - b)))


@log_mix.defjvp
def _(primals, tangents):
    (parent, off, on), (moved, d_off, d_on) = primals, tangents
    mixed = log_mix(parent, off, on)
    scale = jnp.where(jnp.isneginf(mixed), 0.0, mixed)
    largest = np.log(jnp.finfo(mixed.dtype).max) - 1
    fractions = [jnp.exp(term - scale) for term in log_terms(parent, off, on)]
    slopes = [jnp.exp(jnp.minimum(term - scale, largest)) for term in (off, on)]
    return mixed, fractions[0] * d_off + fractions[1] * d_on + (slopes[1] - slopes[0]) * moved.on


def log_terms(parent: Parents, off, on):
    """ln[(1 - u) exp(off)] and ln[u exp(on)]."""
    return off - softplus(parent.log_odds), on + log_sigmoid(parent.log_odds)
