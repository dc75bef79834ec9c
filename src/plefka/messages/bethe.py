"""`bethe`: belief propagation in belief networks, and by `coupling_messages` in Boltzmann machines.

Messages are sent until they settle, in every row.
"""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from plefka.averages import Parents
from plefka.averages.choice import Range, range_of, states_held
from plefka.averages.parents import chance, log_odds
from plefka.mean_field.untruncated import GAUSSIAN
from plefka.messages.coupling_messages import of_pairs, of_traced_pairs
from plefka.messages.message_methods import Bethe
from plefka.messages.message_sweeps import Beliefs, Sweeps, means_of, without_derivatives
from plefka.messages.unit_factors import Messages, UnitFactors, Units, average_of
from plefka.methods.posterior import IMPOSSIBLE, About, Posterior
from plefka.networks.edge_list import fixed_point_along_edges
from plefka.reduction.dependence import where_converged, without_loops
from plefka.reduction.question import PairModel, Part, Question
from plefka.reduction.traced_reductions import TracedBelief, TracedPairs, TracedReduction

FARTHEST = 600.0  # log-odds of which the chance is a number with all its digits, whatever messages add


def posterior(method: Bethe, part: Part, *, dtype: str) -> Posterior:
    """Beliefs and Bethe's ln Z of every row."""
    solve = of_pairs if isinstance(part.question.model, PairModel) else of_beliefs
    return solve(method, part, dtype=dtype)


def traced(method: Bethe, reduction: TracedReduction) -> Posterior:
    """Inside a user's trace; ln P can be differentiated, and the means cannot."""
    return TRACED[type(reduction)](method, reduction)


@dataclass(frozen=True)
class FactorSweeps(Sweeps):
    """Those of a belief network."""

    fields: Range

    def prepare(self, question: Question) -> UnitFactors:
        """The factors of a question that is not opened yet, with certain edges infinite."""
        return UnitFactors.of(question.opened(certain=jnp.inf), self.fields)


def of_beliefs(method: Bethe, part: Part, *, dtype: str) -> Posterior:
    """Beliefs and Bethe's ln P(evidence) of every row of a belief network."""
    question, fields = part.question, field_range(part.question)
    storage = question.storage.prepared(tables=True)
    question = question if storage is question.storage else question.with_model(weights=storage)
    states = states_held(question.model.activation, storage.most_parents())
    row_work = max(4 * storage.num_edges, 4 * question.size, states)
    nothing = np.zeros(question.free.shape)
    found = FactorSweeps(fields).ended(question, nothing, method, row_work=row_work, dtype=dtype)
    means = np.where((found.status == IMPOSSIBLE) & question.free, np.nan, found.means)
    return found._replace(means=means).posterior(_about(question, fields, found.residual))


def field_range(question: Question) -> Range:
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


def of_traced_beliefs(method: Bethe, reduction: TracedBelief) -> Posterior:
    """Beliefs and Bethe's ln P(evidence) of a belief network inside a user's trace; only ln P has derivatives."""
    question = reduction.question.with_model(weights=reduction.question.storage.prepared(tables=True))
    fields = field_range(question)
    sweeps = FactorSweeps(fields)
    factors = sweeps.prepare(question)
    frozen = jax.lax.stop_gradient(factors)
    shapes = [w.shape[:2] for w in frozen.weights.tables]
    first = sweeps.start(shapes, jnp.zeros_like(question.tilt), method.damping)
    found = sweeps.advance(frozen, first, method.tol, method.max_steps, 0)
    messages = jax.lax.stop_gradient(found.messages)
    log_z, slope = factors.log_z(messages)
    means = jax.lax.stop_gradient(reduction.restored(means_of(frozen, messages), slope))
    means = _predicted(frozen, messages, means)
    means = jnp.where((found.status == IMPOSSIBLE) & reduction.given.hidden, jnp.nan, means)
    beliefs = Beliefs(found.status, found.steps, found.residual, means, log_z, None)
    return beliefs.posterior(_about(question, fields, None))._replace(means=without_derivatives(factors, means))


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


TRACED = {TracedBelief: of_traced_beliefs, TracedPairs: of_traced_pairs}
