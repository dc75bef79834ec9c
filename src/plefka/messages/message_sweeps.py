"""Sweeps: all factors send their messages at once, again and again, until nothing changes.

New messages are mixed with old ones. The step, which is one minus the damping, adapts row by row: it grows as long as
sweeps go on in the same direction, and shrinks where the beliefs turn back. On the ensembles of the paper all rows
converge; with weights four times as large half as many rows fail as with a constant step of 0.7, in fewer sweeps.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from plefka.averages.parents import chance
from plefka.errors import MethodDoesNotApply
from plefka.messages.message_methods import Bethe
from plefka.messages.unit_factors import LogOdds, Messages, Rows, Units
from plefka.methods.posterior import CONVERGED, IMPOSSIBLE, NOT_FINITE, OUT_OF_STEPS, RUNNING, About, Posterior
from plefka.networks.activations import namespace
from plefka.reduction.question import Question
from plefka.solvers.loop import REACHABLE, repeated
from plefka.solvers.rounds import Criteria, Iteration, in_rounds

TURNED = 0.25  # of the last change taken back: too much
SHRINK, GROW = 0.7, 0.1  # what the step is multiplied with then, and the rate at which it grows again
SWEEPS_WITHOUT_GAIN = 30  # sweeps after which that rate is half as large
SMALLEST_STEP = 0.02


class Propagation(NamedTuple):
    """Messages after some sweeps, and how they change; the last axis of every array is that of the rows."""

    messages: Messages
    change: Any  # (units, rows) of the beliefs, in the last sweep
    step: Any  # (rows,) how much of the new messages is taken; 0 where a row has ended
    residual: Any
    status: Int[Array | np.ndarray, " rows"]
    steps: Int[Array | np.ndarray, " rows"]


class Beliefs(NamedTuple):
    """Where the messages ended, and what they say: beliefs, ln Z, and d ln Z / dh where that may be asked for."""

    status: Any
    steps: Any
    residual: Any
    means: Any
    log_z: Any
    slope: Any

    def posterior(self, about: About) -> Posterior:
        """The answer, of which the status says where it is not one."""
        xp, impossible = namespace(self.log_z), self.status == IMPOSSIBLE
        wrong = ~impossible & (xp.isnan(self.means).any(0) | xp.isnan(self.log_z))
        return Posterior(
            self.means, xp.where(impossible, xp.inf, -self.log_z), xp.where(wrong, NOT_FINITE, self.status),
            self.steps, xp.zeros_like(self.steps), self.residual, self.slope, about,
        )  # fmt: skip


class Sweeps(Iteration):
    """Messages, sweep by sweep. What is prepared has the `beliefs`, the `update` and the `log_z` of messages."""

    directions: ClassVar[int] = 1  # of the messages along an edge, each of which has tables like those of the weights

    def start(self, tables: Sequence[tuple[int, ...]], own: Any, damping: float) -> Propagation:
        """Before the first sweep: these messages to units (units, rows), and 0 along the edges of tables so large."""
        xp, row = namespace(own), own[0] * 0.0
        along = tuple(xp.zeros((*shape, len(row)), own.dtype) for shape in [*tables] * self.directions)
        steps, infinite = xp.zeros(len(row), int), xp.full_like(row, xp.inf)
        nothing = xp.zeros_like(own)
        return Propagation(Messages(own, along), nothing, row + (1 - damping), infinite, steps + RUNNING, steps)

    def ended(self, question: Question, own: np.ndarray, method: Bethe, *, row_work: int, dtype: str) -> Beliefs:
        """Where the sweeps of all rows end that start so."""
        criteria = Criteria(float(method.tol), method.max_steps)

        def first(rows: Any) -> Propagation:
            return self.start(question.storage.table_shapes, own[:, rows].astype(dtype), method.damping)

        return Beliefs(*in_rounds(self, question, first, criteria, row_work=row_work, dtype=dtype))

    def advance(self, prepared: Any, state: Propagation, tol: Any, max_steps: Any, few: Any) -> Propagation:
        """Sweeps until all but `few` rows have ended: the residual is at most tol, the row fails, or steps run out."""
        dtype = prepared.question.tilt.dtype
        tol = jnp.maximum(jnp.asarray(tol, dtype), REACHABLE * jnp.finfo(dtype).eps)

        def body(carried):
            state, beliefs = carried
            return sweep(prepared, state, beliefs, tol, max_steps)

        first = state, prepared.beliefs(state.messages)
        return repeated(body, first, lambda carried: carried[0].status, few)[0]

    def answer(self, prepared: Any, state: Propagation) -> Beliefs:
        means, log_z = means_of(prepared, state.messages), prepared.log_z(state.messages)
        return Beliefs(state.status, state.steps, state.residual, means, *log_z)


def means_of(factors: Any, messages: Messages) -> Units:
    """The means that the messages say, and the values of units that are not free."""
    question = factors.question
    return jnp.where(question.free, chance(factors.beliefs(messages).total), question.values)


def sweep(factors: Any, state: Propagation, before: LogOdds, tol, max_steps) -> tuple[Propagation, LogOdds]:
    """One sweep of all rows; what has ended stays as it is."""
    running = state.status == RUNNING
    new, log_sums = factors.update(state.messages, before)
    messages = jax.tree.map(lambda old, new: mix(old, new, state.step), state.messages, new)
    beliefs = factors.beliefs(messages)
    change = jnp.where(factors.question.free, chance(beliefs.total) - chance(before.total), 0.0)
    residual = largest_change(state, before, messages, beliefs)
    steps = state.steps + running
    status = jnp.where(residual <= tol, CONVERGED, jnp.where(steps < max_steps, RUNNING, OUT_OF_STEPS))
    status = jnp.where(jnp.isnan(residual), NOT_FINITE, status)
    status = jnp.where(jnp.isneginf(log_sums).any(0), IMPOSSIBLE, status)
    status = jnp.where(running, status, state.status)
    step = next_step(jnp, state.step, state.change, change, state.steps)
    found = Propagation(
        messages, change, jnp.where(status == RUNNING, step, 0.0), jnp.where(running, residual, state.residual),
        status, steps,
    )  # fmt: skip
    return found, beliefs


def mix(old, new, step):
    """old + step (new - old); what becomes certain does so at once."""
    difference = new - old
    return jnp.where(step == 0, old, jnp.where(jnp.isfinite(difference), old + step * difference, new))


def next_step(xp: Any, step: Any, before: Any, change: Any, steps: Any, most: float = 1.0) -> Any:
    """Smaller where the beliefs turn back, and larger elsewhere, but the less so the longer it takes."""
    turned = (before * change).sum(0) < -TURNED * (before**2).sum(0)
    grown = xp.minimum(step * (1 + GROW * SWEEPS_WITHOUT_GAIN / (SWEEPS_WITHOUT_GAIN + steps)), most)
    return xp.where(turned, xp.maximum(step * SHRINK, SMALLEST_STEP), grown)


def largest_change(state: Propagation, before: LogOdds, messages: Messages, beliefs: LogOdds) -> Rows:
    """By how much the sweep, without damping, changes a belief or a message, as a change of a mean.

    A change d of log-odds x moves a mean by d / 4 at most, and for large |x| by d / 4 |x|: tiny means count as well.
    """
    pairs = [(before.total, beliefs.total), *zip(state.messages.up, messages.up, strict=True)]
    largest = jnp.zeros_like(state.step)
    for old, new in pairs:
        step = jnp.where(old == new, 0.0, new - old) / (4 * jnp.maximum(jnp.abs(new), 1.0))
        step = jnp.where(jnp.isinf(new) & jnp.isfinite(old), jnp.inf, step)
        largest = jnp.maximum(largest, jnp.abs(step).max((*range(new.ndim - 1),), initial=0.0))
    return largest / jnp.where(state.step > 0, state.step, 1.0)


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
