"""Belief propagation in Boltzmann machines: a message in each direction along every coupling.

What unit i says of unit j is the log-odds ln[(1 + exp(c + w)) / (1 + exp(c))], where c is what i hears from all others.
With b the beliefs in log-odds, the messages a and a' along a coupling, and c and c' the cavities b - a and b' - a',

    ln Z = sum_i ln(1 + exp(b_i)) + sum_(i, j) { ln[1 + exp(c) + exp(c') + exp(c + c' + w)]
                                                 - ln(1 + exp(b)) - ln(1 + exp(b')) }

where the messages to a unit count as 1 for off, in all three terms, so that they cancel. Sweeps are those of belief
networks. It is exact where couplings form no loop.
"""

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plefka.activations import softplus
from plefka.averages.parents import chance
from plefka.belief_propagation.factors import Messages, Rows, Units
from plefka.belief_propagation.log_odds import LogOdds
from plefka.belief_propagation.posterior import Beliefs, found_by
from plefka.belief_propagation.sweeps import Propagation, propagate, start
from plefka.methods import Bethe
from plefka.networks.storage import OpenStorage
from plefka.posterior import About, Posterior
from plefka.question import Question
from plefka.solution import NOT_FINITE
from plefka.solvers.loop import REACHABLE
from plefka.solvers.rounds import Criteria, Iteration, in_rounds

if TYPE_CHECKING:
    from plefka.reduction.reduce import Part
    from plefka.reduction.traced_pairs import TracedPairs

Table = Float[Array, "positions columns rows"]


class Couplings(eqx.Module):
    """All couplings of an opened question. Messages are those to the parents of all tables, then to the children."""

    question: Question

    @property
    def weights(self) -> OpenStorage:
        """Every coupling once."""
        return self.question.model.weights

    def split(self, messages: Messages) -> tuple[tuple, tuple]:
        """Those to parents and those to children."""
        half = len(messages.up) // 2
        return messages.up[:half], messages.up[half:]

    def beliefs(self, messages: Messages) -> LogOdds:
        """The sum of all messages to every unit, and its bias."""
        up, down = self.split(messages)
        nothing = jnp.zeros_like(self.question.tilt)
        heard = self.weights.to_parents(up) + self.weights.to_children([z.sum(0) for z in down], nothing)
        return LogOdds(self.question.model.h + self.question.tilt + heard, None)

    def cavities(self, messages: Messages, beliefs: LogOdds) -> list[tuple[Table, Table]]:
        """What parent and child of each coupling hear from all others."""
        up, down = self.split(messages)
        parents, children = self.weights.parents(beliefs.finite), self.weights.children(beliefs.finite)
        return [
            (parent - to_parent, child[None] - to_child)
            for parent, child, to_parent, to_child in zip(parents, children, up, down, strict=True)
        ]

    def update(self, messages: Messages, beliefs: LogOdds) -> tuple[Messages, Units]:
        """New messages along all couplings; no sum over states can be zero."""
        up, down = [], []
        free = self.question.free
        ends = zip(
            self.weights.tables, self.cavities(messages, beliefs), self.weights.parents(free),
            self.weights.children(free), strict=True,
        )  # fmt: skip
        for w, (parent, child), parent_free, child_free in ends:
            both = parent_free & child_free[None]
            up.append(jnp.where(both, softplus(child + w) - softplus(child), 0.0))
            down.append(jnp.where(both, softplus(parent + w) - softplus(parent), 0.0))
        return Messages(messages.own, (*up, *down)), jnp.zeros_like(self.question.tilt)

    def log_partition(self, messages: Messages) -> Rows:
        """Bethe's ln Z at these messages."""
        beliefs, free = self.beliefs(messages), self.question.free
        b = beliefs.finite
        total = jnp.where(free, softplus(b), 0.0).sum(0)
        ends = zip(
            self.weights.tables, self.cavities(messages, beliefs), self.weights.parents(b), self.weights.children(b),
            self.weights.parents(free), self.weights.children(free), strict=True,
        )  # fmt: skip
        for w, (parent, child), above, below, parent_free, child_free in ends:
            alone = jnp.logaddexp(softplus(parent), child)  # ln[1 + exp(c) + exp(c')]
            pair = jnp.logaddexp(alone, parent + child + w) - softplus(above) - softplus(below[None])
            total += jnp.where(parent_free & child_free[None], pair, 0.0).sum((0, 1))
        return total


class PairSweeping(Iteration):
    """Messages, sweep by sweep."""

    def prepare(self, question: Question) -> Couplings:
        return Couplings(question.opened())

    def advance(self, prepared: Couplings, state: Propagation, tol, max_steps, few) -> Propagation:
        dtype = prepared.question.tilt.dtype
        tol = jnp.maximum(jnp.asarray(tol, dtype), REACHABLE * jnp.finfo(dtype).eps)
        return propagate(prepared, state, tol, max_steps, few)  # type: ignore[arg-type]

    def answer(self, prepared: Couplings, state: Propagation) -> Beliefs:
        question = prepared.question
        means = jnp.where(question.free, chance(prepared.beliefs(state.messages).total), question.values)
        log_z = prepared.log_partition(state.messages)
        return Beliefs(state.status, state.steps, state.residual, means, log_z, None)


def of_pairs(method: Bethe, part: "Part", *, dtype: str) -> Posterior:
    """Beliefs and Bethe's ln Z of every row."""
    question = part.question
    storage = question.storage.prepared(tables=True)
    question = question.with_model(weights=storage)

    def first(rows: Any) -> Propagation:
        count = question.free[:, rows].shape[1]
        tables = [np.zeros((*shape, count), dtype) for shape in storage.table_shapes * 2]
        return start(Messages(np.zeros((question.size, count), dtype), tuple(tables)), method.damping, np)

    row_work = max(8 * storage.num_edges, 4 * question.size)
    criteria = Criteria(float(method.tol), method.max_steps)
    found = Beliefs(*in_rounds(PairSweeping(), question, first, criteria, row_work=row_work, dtype=dtype))
    wrong = np.isnan(found.means).any(0) | np.isnan(found.log_z)
    return Posterior(
        found.means, -found.log_z, np.where(wrong, NOT_FINITE, found.status), found.steps,
        np.zeros_like(found.steps), found.residual, None, About(),
    )  # fmt: skip


def of_traced_pairs(method: Bethe, reduction: "TracedPairs") -> Posterior:
    """Inside a user's trace: ln Z is stationary in the messages, so that its derivatives are those at fixed ones."""
    question = reduction.question.with_model(weights=reduction.question.storage.prepared(tables=True))
    sweeping = PairSweeping()
    couplings = sweeping.prepare(question)
    frozen, rows = jax.lax.stop_gradient(couplings), question.num_rows
    tables = [jnp.zeros((*w.shape[:2], rows), w.dtype) for w in frozen.weights.tables] * 2
    first = start(Messages(jnp.zeros_like(question.tilt), tuple(tables)), method.damping, jnp)
    found = sweeping.advance(frozen, first, method.tol, method.max_steps, 0)
    messages = jax.lax.stop_gradient(found.messages)
    log_z = couplings.log_partition(messages)
    means = jax.lax.stop_gradient(reduction.restored(sweeping.answer(frozen, found).means, None))
    status = jnp.where(jnp.isnan(means).any(0) | jnp.isnan(log_z), NOT_FINITE, found.status)
    return Posterior(
        found_by(couplings, means), -log_z, status, found.steps, jnp.zeros_like(found.steps), found.residual
    )
