"""Sums of log-odds from which a term can be taken away again, infinite ones too: what a unit hears from all but one."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class LogOdds(eqx.Module):
    """A sum of log-odds: its finite terms, and how many terms are +inf less how many are -inf."""

    finite: Float[Array, "*units rows"]
    certain: Float[Array, "*units rows"] | None  # None where no term can be infinite

    @property
    def total(self) -> Float[Array, "*units rows"]:
        """The sum; certainty outweighs all else."""
        if self.certain is None:
            return self.finite
        return jnp.where(self.certain == 0, self.finite, jnp.where(self.certain > 0, jnp.inf, -jnp.inf))

    def without(self, term: Float[Array, "*units rows"]) -> Float[Array, "*units rows"]:
        """The sum of all other terms."""
        if self.certain is None:
            return self.finite - term
        return LogOdds(self.finite - finite_part(term), self.certain - certain_part(term)).total


def finite_part(term: Float[Array, "..."]) -> Float[Array, "..."]:
    """The term, or 0 where it is infinite."""
    return jnp.where(jnp.isinf(term), 0.0, term)


def certain_part(term: Float[Array, "..."]) -> Float[Array, "..."]:
    """1 for +inf, -1 for -inf, else 0."""
    return jnp.where(jnp.isinf(term), jnp.sign(term), 0.0)


def of_state(values: Float[Array, "..."]) -> Float[Array, "..."]:
    """+inf for a unit that is on, -inf for one that is off, and 0 for any other value."""
    return jnp.where(values == 1, jnp.inf, jnp.where(values == 0, -jnp.inf, 0.0))
