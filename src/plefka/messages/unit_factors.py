"""The factors P(unit | parents) of a network with its evidence, and the messages they send.

The factor of unit c sends c the log-odds of F = <f(x_c)> under the cavity means of its parents, and sends parent k the
log-odds of everything below (see Average.messages). The cavity of a parent is the sum of all messages to it, without
that of this factor. A unit that is not free receives nothing: it has its value.

Bethe's estimate of ln P(evidence) is made of sums over factors and units, less what they have in common.
ln Z = sum_factors ln Z_a + sum_units ln Z_i - sum_pairs ln Z_ia does not change where a message is multiplied by a
number. With all messages to a unit i scaled to 1 for the state that it is likelier in, and theta the log-odds of that
state, Z_i = Z_ia = 1 + exp(-theta) for every factor a, and

    ln Z = sum_c ln[(1 - F_c) n_c(0) + F_c n_c(1)] + sum_(k, c) {ln[1 + exp(-cavity_kc)] - ln[1 + exp(-theta_k)]}

with k the parents of c, all in the scaled messages. Nothing is large here unless it is so in ln Z. At a fixed point
ln Z is stationary in the messages: its derivatives are those at fixed messages.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from plefka.averages import Average, Exponentials, Parents
from plefka.averages.choice import Range, activation_for
from plefka.networks.activations import Activation, AnyArray, softplus
from plefka.networks.storage import OpenStorage
from plefka.reduction.question import Question

Units = Float[Array, "units rows"]
Rows = Float[Array, " rows"]
Table = Float[Array, "positions columns rows"]


class LogOdds(eqx.Module):
    """A sum of log-odds from which a term can be taken away again, infinite ones too.

    It has its finite terms, and how many terms are +inf less how many are -inf.
    """

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


def average_of(activation: Activation, positions: int, fields: Range) -> Average:
    """How the averages over so many parents are taken; for noisy-or those of messages are products, however many."""
    activation = activation_for(activation, positions)
    is_product = activation.has_linear_log_off and not activation.mixes_kinds
    return Exponentials(0.0) if is_product else fields.average(activation, positions)


class Messages(NamedTuple):
    """Log-odds: from every factor to its unit, and to each of its parents, table by table."""

    own: AnyArray  # (units, rows)
    up: tuple[AnyArray, ...]  # (positions, columns, rows)


class Chances(NamedTuple):
    """ln <f> and ln <1 - f> of every unit under its parents."""

    on: Units
    off: Units


class UnitFactors(eqx.Module):
    """All factors of an opened question, in which the weight of a certain edge is infinite."""

    question: Question
    averages: tuple[Average, ...]
    ranges_known: bool = eqx.field(static=True)  # else fields may be beyond what the averages cover

    @classmethod
    def of(cls, question: Question, fields: Range) -> "UnitFactors":
        averages = question.model.weights.map(lambda w: average_of(question.model.activation, len(w), fields))
        return cls(question, tuple(averages), not fields.is_guess)

    @property
    def weights(self) -> OpenStorage:
        """The edges between units and their parents."""
        return self.question.model.weights

    @property
    def h(self) -> Units:
        """The biases, for every row."""
        return jnp.broadcast_to(self.question.model.h, self.question.free.shape)

    @property
    def counted(self) -> Bool[Array, "units rows"]:
        """Whose factor there is."""
        return self.question.model.counted

    def beliefs(self, messages: Messages) -> LogOdds:
        """The sum of all messages to every unit."""
        finite = self._collected(messages, finite_part) + self.question.tilt
        values = self.question.values
        known = jnp.where(values == 1, jnp.inf, jnp.where(values == 0, -jnp.inf, 0.0))
        finite = jnp.where(self.question.free, finite, known)
        if not self.question.model.activation.allows_certain_states:
            return LogOdds(finite, None)
        return LogOdds(finite, self._collected(messages, certain_part))

    def _collected(self, messages: Messages, part) -> Units:
        tables = [part(up) for up in messages.up]
        return part(messages.own) + (self.weights.to_parents(tables) if any(map(len, tables)) else 0.0)

    def cavities(self, messages: Messages, beliefs: LogOdds) -> list[Table]:
        """The messages of the parents to the factors of their children."""
        certain = [None] * len(messages.up) if beliefs.certain is None else self.weights.parents(beliefs.certain)
        parents = zip(self.weights.parents(beliefs.finite), certain, messages.up, strict=True)
        return [LogOdds(finite, sure).without(up) for finite, sure, up in parents]

    def update(self, messages: Messages, beliefs: LogOdds) -> tuple[Messages, Units]:
        """The new messages of all factors, and ln of the sum over all states of each."""
        from_below = beliefs.without(messages.own)
        cavities = self.cavities(messages, beliefs)
        free, counted = self.weights.parents(self.question.free), self.weights.children(self.counted)
        columns = zip(
            cavities, self.weights.children(self.h), self.weights.children(from_below), free, counted, strict=True
        )
        found = [_factor_messages(*table, *column) for table, column in zip(self._averaged(), columns, strict=True)]
        chances = self._of_units([table[1:] for table in found])
        own = jnp.where(self.question.free, chances.on - chances.off, 0.0)
        return Messages(own, tuple(table[0] for table in found)), self.log_sums(chances, from_below)

    def chances(self, parents: Sequence[Parents]) -> Chances:
        """Of all units, from their parents, table by table."""
        tables = zip(self._averaged(), parents, self.weights.children(self.h), strict=True)
        return self._of_units([average.chances(w, above, h) for (average, w), above, h in tables])

    def log_sums(self, chances: Chances, from_below: Units) -> Units:
        """ln[(1 - F) n(0) + F n(1)] of every factor, with the larger of n(0) and n(1) one."""
        on = chances.on + jnp.minimum(from_below, 0.0)
        off = chances.off + jnp.minimum(-from_below, 0.0)
        on, off = (jnp.where(self.counted, log, 0.0) for log in (on, off))  # both may be -inf where nobody asks
        return jnp.where(self.counted, jnp.logaddexp(on, off), 0.0)

    def log_z(self, messages: Messages) -> tuple[Rows, Units | None]:
        """Bethe's ln Z at these messages, for every row, and d ln Z / dh where units may have been summed out."""
        question, beliefs = self.question, self.beliefs(messages)
        cavities = self.cavities(messages, beliefs)
        parents = [Parents.of_log_odds(cavity) for cavity in cavities]
        factors = _off_poles(self, parents)
        chances = factors.chances(parents)
        theta, from_below = beliefs.total, beliefs.without(messages.own)
        on = theta > 0
        # log_sums has the larger of n(0) and n(1) scaled to 1; here it shall be that of the likelier state
        scale = jnp.where(factors.counted, jnp.minimum(jnp.where(on, from_below, -from_below), 0.0), 0.0)
        log_sums = factors.log_sums(chances, from_below)
        total = (log_sums - scale).sum(0)
        for cavity, parent, is_on in zip(
            cavities, factors.weights.parents(theta), factors.weights.parents(on), strict=True
        ):
            sign = jnp.where(is_on, -1.0, 1.0)
            total += (softplus(sign * cavity) - softplus(sign * parent)).sum((0, 1))
        total = total + jnp.where(on & factors.counted, question.tilt, 0.0).sum(0)
        linear = question.model.activation.has_linear_log_off
        return total, _bias_slope(chances, from_below, log_sums) if linear else None

    def _averaged(self) -> list[tuple[Average, Any]]:
        return list(zip(self.averages, self.weights.tables, strict=True))

    def _of_units(self, columns: Sequence[tuple[Any, Any]]) -> Chances:
        """From tables to units; a unit without parents has the chances of its bias."""
        if not self.ranges_known:
            tables = zip(self._averaged(), self.weights.children(self.h), columns, strict=True)
            columns = [  # no numbers where the weights of a trace take a field out of the usual range
                (jnp.where(average.covers(w, h), on, jnp.nan), jnp.where(average.covers(w, h), off, jnp.nan))
                for (average, w), h, (on, off) in tables
            ]
        f, x = self.question.model.activation, self.question.model.activation.clip(self.h)
        on = self.weights.to_children([column[0] for column in columns], f.log_on(x))
        return Chances(on, self.weights.to_children([column[1] for column in columns], f.log_off(x)))


def _factor_messages(average: Average, w, cavity: Table, h, from_below, free, counted) -> tuple[Table, Any, Any]:
    """The messages to the parents, where the factor counts and the parent is free, and the chances of the children."""
    parents = Parents.of_log_odds(cavity)
    if len(w) == 0:
        return cavity, *average.chances(w, parents, h)
    up, on, off = average.messages(w, parents, h, from_below)
    return jnp.where(free & counted, up, 0.0), on, off


def _bias_slope(chances: Chances, from_below: Units, log_sums: Units) -> Units:
    """d/dh of ln[(1 - F) n(0) + F n(1)], where 1 - F falls as exp(-h)."""
    on, off = (jnp.exp(jnp.minimum(sign * from_below, 0.0)) for sign in (1, -1))
    found = (on - off) * jnp.exp(chances.off - log_sums)
    return jax.lax.stop_gradient(jnp.where(jnp.isfinite(found), found, 0.0))


def _off_poles(factors: UnitFactors, parents: list[Parents]) -> UnitFactors:
    """Where a unit cannot be on, ln F has a pole: a field that small changes nothing, and keeps all slopes finite."""
    h, f = factors.question.model.h, factors.question.model.activation
    if np.isinf(f.domain).all():  # there is no pole at any field
        return factors
    excluded = jnp.isneginf(factors.chances(parents).on)
    raised = h + jax.lax.stop_gradient(jnp.where(excluded, f.off_poles(h) - h, 0.0))
    return eqx.tree_at(lambda f: f.question.model.h, factors, raised)
