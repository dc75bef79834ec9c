"""Belief propagation: messages are sent until they settle, in every row."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plefka.averages import Parents
from plefka.averages.choice import Range, range_of, states_held
from plefka.averages.parents import chance, log_odds
from plefka.errors import MethodDoesNotApply
from plefka.mean_field.untruncated import GAUSSIAN
from plefka.messages.bethe_method import Bethe
from plefka.messages.free_energy import log_likelihood
from plefka.messages.message_sweeps import Propagation, propagate, start
from plefka.messages.unit_factors import Messages, UnitFactors, Units, average_of
from plefka.methods.posterior import About, Posterior
from plefka.methods.status import IMPOSSIBLE, NOT_FINITE
from plefka.networks.propagation import fixed_point_along_edges
from plefka.reduction.dependence import where_converged, without_loops
from plefka.reduction.question import Part, Question
from plefka.solvers.loop import REACHABLE
from plefka.solvers.rounds import Criteria, Iteration, in_rounds

if TYPE_CHECKING:
    from plefka.reduction.traced_reductions import TracedBelief

FARTHEST = 600.0  # log-odds of which the chance is a number with all its digits, whatever messages add


class Beliefs(NamedTuple):
    """Where the messages ended, and what they say: beliefs, ln Z, and d ln Z / dh where that may be asked for."""

    status: Any
    steps: Any
    residual: Any
    means: Any
    log_z: Any
    slope: Any


@dataclass(frozen=True)
class FactorIteration(Iteration):
    """Messages, sweep by sweep."""

    fields: Range

    def prepare(self, question: Question) -> UnitFactors:
        return factors_of(question, self.fields)

    def advance(self, prepared: UnitFactors, state: Propagation, tol, max_steps, few) -> Propagation:
        tol = jnp.maximum(jnp.asarray(tol, prepared.h.dtype), REACHABLE * jnp.finfo(prepared.h.dtype).eps)
        return propagate(prepared, state, tol, max_steps, few)

    def answer(self, prepared: UnitFactors, state: Propagation) -> Beliefs:
        means, log_z = beliefs(prepared, state.messages), log_likelihood(prepared, state.messages)
        return Beliefs(state.status, state.steps, state.residual, means, *log_z)


def of_beliefs(method: Bethe, part: Part, *, dtype: str) -> Posterior:
    """Beliefs and Bethe's ln P(evidence) of every row of a belief network."""
    question, fields = part.question, _fields(part.question)
    storage = question.storage.prepared(tables=True)
    question = question if storage is question.storage else question.with_model(weights=storage)

    def first(rows: Any) -> Propagation:
        count = question.free[:, rows].shape[1]
        own, *up = (np.zeros((*shape, count), dtype) for shape in ((question.size,), *storage.table_shapes))
        return start(Messages(own, tuple(up)), method.damping, np)

    states = states_held(question.model.activation, storage.most_parents())
    row_work = max(4 * storage.num_edges, 4 * question.size, states)
    criteria = Criteria(float(method.tol), method.max_steps)
    found = Beliefs(*in_rounds(FactorIteration(fields), question, first, criteria, row_work=row_work, dtype=dtype))
    impossible = found.status == IMPOSSIBLE
    means = np.where(impossible & question.free, np.nan, found.means)
    wrong = ~impossible & (np.isnan(means).any(0) | np.isnan(found.log_z))
    return Posterior(
        means, np.where(impossible, np.inf, -found.log_z), np.where(wrong, NOT_FINITE, found.status), found.steps,
        np.zeros_like(found.steps), found.residual, found.slope,
        _about(question, fields, found.residual),
    )  # fmt: skip


def _fields(question: Question) -> Range:
    """The range of fields; for noisy-or all averages are products, whatever the fields."""
    linear = question.model.activation.has_linear_log_off
    return Range(is_guess=False) if linear else range_of(question.model)


def _about(question: Question, fields: Range, residual: np.ndarray | None) -> About:
    """Exact where messages are, on trees, and have stopped to change; inside a trace nobody looks."""
    average = average_of(question.model.activation, question.storage.most_parents(), fields)
    if not average.is_exact:
        return About(notes=(GAUSSIAN,))
    return About(exact_rows=None if residual is None else partial(where_converged, _on_trees, question, residual))


def _on_trees(question: Question) -> np.ndarray:
    """(rows,): where messages are exact, and no unit is so nearly excluded that its chance is not a number."""
    return without_loops(question) & (np.where(question.free, question.tilt, 0.0) > -FARTHEST).all(axis=0)


def factors_of(question: Question, fields: Range) -> UnitFactors:
    """The factors of a question that is not opened yet, with certain edges infinite."""
    opened = question.opened(certain=jnp.inf)
    return UnitFactors.of(opened, fields)


def beliefs(factors: UnitFactors, messages: Messages) -> Units:
    """The means that the messages say, and the values of units that are not free."""
    question = factors.question
    return jnp.where(question.free, chance(factors.beliefs(messages).total), question.values)


def of_traced_beliefs(method: Bethe, reduction: "TracedBelief") -> Posterior:
    """Beliefs and Bethe's ln P(evidence) of a belief network inside a user's trace; only ln P has derivatives."""
    question = reduction.question.with_model(weights=reduction.question.storage.prepared(tables=True))
    fields = _fields(question)
    factors = factors_of(question, fields)
    frozen = jax.lax.stop_gradient(factors)
    first = start(frozen.initial_messages(), method.damping, jnp)
    found = FactorIteration(fields).advance(frozen, first, method.tol, method.max_steps, 0)
    messages = jax.lax.stop_gradient(found.messages)
    log_z, slope = log_likelihood(factors, messages)
    means = jax.lax.stop_gradient(reduction.restored(beliefs(frozen, messages), slope))
    means = _predicted(frozen, messages, means)
    impossible = found.status == IMPOSSIBLE
    means = jnp.where(impossible & reduction.given.hidden, jnp.nan, means)
    wrong = ~impossible & (jnp.isnan(means).any(0) | jnp.isnan(log_z))
    status = jnp.where(wrong, NOT_FINITE, found.status)
    return Posterior(
        without_derivatives(factors, means), jnp.where(impossible, jnp.inf, -log_z), status, found.steps,
        jnp.zeros_like(found.steps), found.residual, None, _about(question, fields, None),
    )  # fmt: skip


def _predicted(factors: UnitFactors, messages: Messages, means: Units) -> Units:
    """The means with those of barren units, F under the beliefs about their parents, along the arrows."""
    barren = factors.question.barren & ~factors.question.free
    known = jnp.where(factors.question.free, factors.beliefs(messages).total, log_odds(means))

    def once(_, theta):
        found = factors.chances([Parents.of_log_odds(above) for above in factors.weights.parents(theta)])
        return jnp.where(barren, found.on - found.off, known)

    def predicted(known):
        return jnp.where(barren, chance(fixed_point_along_edges(once, None, known, least=1.0)), means)

    return jax.lax.cond(jnp.any(barren), predicted, lambda _: means, known)


@jax.custom_vjp
def without_derivatives(_: Any, means: Units) -> Units:
    """The means, which depend on all factors, though not in a way that is differentiated here."""
    return means


def _refuse(_, __):
    raise MethodDoesNotApply(
        "bethe does not apply: the derivatives of its means are not computed, only those of log_likelihood. "
        "Use a mean-field method such as G1 instead."
    )


without_derivatives.defvjp(lambda _, means: (means, None), _refuse)
