"""Belief propagation: messages are sent until they settle, in every row."""

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from plefka.averages import Parents
from plefka.averages.parents import chance, log_odds
from plefka.averages.range import Range, range_of
from plefka.belief_propagation.factors import Factors, Messages, Units, average_of
from plefka.belief_propagation.free_energy import log_likelihood
from plefka.belief_propagation.sweeps import Propagation, propagate, start
from plefka.errors import MethodDoesNotApply
from plefka.free_energies.untruncated import GAUSSIAN
from plefka.methods import Bethe
from plefka.networks.arrows import settled_along
from plefka.posterior import About, Posterior
from plefka.programs import Program
from plefka.question import Question
from plefka.solution import IMPOSSIBLE, NOT_FINITE
from plefka.solvers.loop import REACHABLE
from plefka.solvers.rounds import in_rounds

if TYPE_CHECKING:
    from plefka.reduction.reduce import Part, TracedReduction


class Answer(eqx.Module):
    """Where the messages are, and what they say: beliefs, ln Z, and d ln Z / dh where that may be asked for."""

    state: Propagation
    means: Any
    log_z: Any
    slope: Any

    @property
    def status(self):
        return self.state.status


def posterior(method: Bethe, part: "Part", *, dtype: str) -> Posterior:
    """Beliefs and Bethe's ln P of every row."""
    question = part.question
    storage = question.storage.prepared(tables=True)
    question, fields = question.with_model(weights=storage), _fields(question)
    own = np.zeros(question.free.shape, dtype)
    up = tuple(np.zeros((*shape, question.num_rows), dtype) for shape in storage.table_shapes)
    first = start(Messages(own, up), method.damping, np)
    slope = np.zeros_like(own) if question.model.activation.has_linear_log_off else None
    search = Answer(first, np.zeros_like(own), np.zeros_like(own[0]), slope)

    def advance(question: Question, search: Answer, few: int) -> Answer:
        work = max(storage.num_edges, question.size) * question.num_rows
        return _sweeps(
            question, search, float(method.tol), method.max_steps, few, fields=fields, work=4 * work, dtype=dtype
        )

    found = in_rounds(advance, question, search, max(storage.num_edges, question.size))
    state, impossible = found.state, found.status == IMPOSSIBLE
    means = np.where(impossible & question.free, np.nan, found.means)
    wrong = ~impossible & (np.isnan(means).any(0) | np.isnan(found.log_z))
    return Posterior(
        means, np.where(impossible, np.inf, -found.log_z), np.where(wrong, NOT_FINITE, found.status), state.steps,
        np.zeros_like(state.steps), state.residual, found.slope, _about(question, fields),
    )  # fmt: skip


def _fields(question: Question) -> Range:
    """The range of fields; for noisy-or all averages are products, whatever the fields."""
    linear = question.model.activation.has_linear_log_off
    return Range(is_guess=False) if linear else range_of(question.model)


def _about(question: Question, fields: Range) -> About:
    average = average_of(question.model.activation, question.storage.most_parents(), fields)
    return About(notes=() if average.is_exact else (GAUSSIAN,))


def _solve(question: Question, before: Answer, tol, max_steps, few, *, fields: Range) -> Answer:
    factors = factors_of(question, fields)
    tol = jnp.maximum(jnp.asarray(tol, factors.h.dtype), REACHABLE * jnp.finfo(factors.h.dtype).eps)
    found = propagate(factors, before.state, tol, max_steps, few)
    return Answer(found, beliefs(factors, found.messages), *log_likelihood(factors, found.messages))


_sweeps = Program(_solve)


def factors_of(question: Question, fields: Range) -> Factors:
    """The factors of a question that is not opened yet, with certain edges infinite."""
    opened = question.opened(certain=jnp.inf)
    return Factors.of(opened, fields)


def beliefs(factors: Factors, messages: Messages) -> Units:
    """The means that the messages say, and the values of units that are not free."""
    question = factors.question
    return jnp.where(question.free, chance(factors.beliefs(messages).total), question.values)


def traced(method: Bethe, reduction: "TracedReduction") -> Posterior:
    """Inside a user's trace; ln P can be differentiated, and the means cannot."""
    question = reduction.question.with_model(weights=reduction.question.storage.prepared(tables=True))
    fields = _fields(question)
    factors = factors_of(question, fields)
    frozen = jax.lax.stop_gradient(factors)
    tol = jnp.maximum(method.tol, REACHABLE * jnp.finfo(factors.h.dtype).eps)
    found = propagate(frozen, start(frozen.initial_messages(), method.damping, jnp), tol, method.max_steps)
    messages = jax.lax.stop_gradient(found.messages)
    log_z, slope = log_likelihood(factors, messages)
    means = jax.lax.stop_gradient(reduction.with_summed(beliefs(frozen, messages), slope))
    means = _predicted(frozen, messages, means)
    impossible = found.status == IMPOSSIBLE
    means = jnp.where(impossible & reduction.given.hidden, jnp.nan, means)
    wrong = ~impossible & (jnp.isnan(means).any(0) | jnp.isnan(log_z))
    status = jnp.where(wrong, NOT_FINITE, found.status)
    return Posterior(
        _found_by(factors, means), jnp.where(impossible, jnp.inf, -log_z), status, found.steps,
        jnp.zeros_like(found.steps), found.residual, None, _about(question, fields),
    )  # fmt: skip


def _predicted(factors: Factors, messages: Messages, means: Units) -> Units:
    """The means with those of barren units, F under the beliefs about their parents, along the arrows."""
    barren = factors.question.barren & ~factors.question.free
    known = jnp.where(factors.question.free, factors.beliefs(messages).total, log_odds(means))

    def once(_, theta):
        found = factors.chances([Parents.of_log_odds(above) for above in factors.weights.parents(theta)])
        return jnp.where(barren, found.on - found.off, known)

    def predicted(known):
        return jnp.where(barren, chance(settled_along(once, None, known, least=1.0)), means)

    return jax.lax.cond(jnp.any(barren), predicted, lambda _: means, known)


@jax.custom_vjp
def _found_by(_: Factors, means: Units) -> Units:
    """The means, which depend on all factors, though not in a way that is differentiated here."""
    return means


def _refuse(_, __):
    raise MethodDoesNotApply(
        "bethe does not apply: the derivatives of its means are not computed, only those of log_likelihood. "
        "Use a mean-field method such as G12 instead."
    )


_found_by.defvjp(lambda _, means: (means, None), _refuse)
