"""Belief propagation in Boltzmann machines: a message in each direction along every coupling.

What unit i says of unit j is the log-odds ln[(1 + exp(c + w)) / (1 + exp(c))], where c is what i hears from all others.
With b the beliefs in log-odds, the messages a and a' along a coupling, and c and c' the cavities b - a and b' - a',

    ln Z = sum_i ln(1 + exp(b_i)) + sum_(i, j) { ln[1 + exp(c) + exp(c') + exp(c + c' + w)]
                                                 - ln(1 + exp(b)) - ln(1 + exp(b')) }

where the messages to a unit count as 1 for off, in all three terms, so that they cancel. Sweeps are those of belief
networks. It is exact where couplings form no loop.

Where couplings are strong there may be several fixed points, one for each mode. Sweeps then start twice: without
messages, and with what units near a solution of the first order would say. The larger ln Z wins.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plefka.mean_field import machine_orders as pair_orders
from plefka.messages.message_methods import Bethe
from plefka.messages.message_sweeps import Beliefs, Propagation, Sweeps, means_of, without_derivatives
from plefka.messages.unit_factors import LogOdds, Messages, Rows, Units
from plefka.methods.posterior import CONVERGED, About, Posterior
from plefka.networks.activations import namespace, numpy_sigmoid, sigmoid, softplus
from plefka.networks.blocks import Blocks
from plefka.networks.parent_table import ParentTable
from plefka.networks.storage import OpenStorage
from plefka.reduction.dependence import coupled_in_trees, where_converged
from plefka.reduction.question import Part, Question

if TYPE_CHECKING:
    from plefka.reduction.traced_reductions import TracedPairs

FIRST_ORDER_STEPS = 30  # to a start near a solution of the first order
POSITIONS, FEWER = (2, 4, 8, 16), 3  # of a table, which must have this factor fewer entries than the matrix
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
        """The sum of all messages to every unit, its bias, and before the first sweep what it starts with."""
        up, down = self.split(messages)
        nothing = jnp.zeros_like(self.question.tilt)
        heard = self.weights.to_parents(up) + self.weights.to_children([z.sum(0) for z in down], nothing)
        return LogOdds(self.question.model.h + self.question.tilt + heard + messages.own, None)

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
        nothing = jnp.zeros_like(self.question.tilt)
        return Messages(nothing, (*up, *down)), nothing

    def log_z(self, messages: Messages) -> tuple[Rows, None]:
        """Bethe's ln Z at these messages; nobody asks for its derivatives by the biases."""
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
        return total, None


class CouplingSweeps(Sweeps):
    """Those of a Boltzmann machine."""

    directions = 2

    def prepare(self, question: Question) -> Couplings:
        return Couplings(question.opened())


def of_pairs(method: Bethe, part: Part, *, dtype: str) -> Posterior:
    """Beliefs and Bethe's ln Z of every row."""
    question = without_zeros(part.question)
    question = question.with_model(weights=question.storage.prepared(tables=True))
    row_work = max(8 * question.storage.num_edges, 4 * question.size)
    ended_from = partial(CouplingSweeps().ended, question, method=method, row_work=row_work, dtype=dtype)
    found = ended_from(np.zeros(question.free.shape))
    if (several := may_have_several(question)).any():
        found = _better(found, ended_from(second_start(question)), several)
    return found.posterior(About(exact_rows=partial(where_converged, coupled_in_trees, question, found.residual)))


def of_traced_pairs(method: Bethe, reduction: "TracedPairs") -> Posterior:
    """Inside a user's trace: ln Z is stationary in the messages, so that its derivatives are those at fixed ones."""
    question = reduction.question.with_model(weights=reduction.question.storage.prepared(tables=True))
    sweeping = CouplingSweeps()
    couplings = sweeping.prepare(question)
    frozen = jax.lax.stop_gradient(couplings)

    def ended(own: Any) -> Propagation:
        shapes = [w.shape[:2] for w in frozen.weights.tables]
        first = sweeping.start(shapes, own, method.damping)
        return sweeping.advance(frozen, first, method.tol, method.max_steps, 0)

    still = jax.lax.stop_gradient(question)
    one, several = ended(jnp.zeros_like(question.tilt)), may_have_several(still)
    two = jax.lax.cond(several.any(), lambda: ended(second_start(still)), lambda: one)
    log_zs = (frozen.log_z(each.messages)[0] for each in (one, two))
    change = _is_better(one, two, several, *log_zs)
    found = jax.tree.map(lambda old, new: jnp.where(change, new, old), one, two)
    messages = jax.lax.stop_gradient(found.messages)
    log_z, _ = couplings.log_z(messages)
    means = jax.lax.stop_gradient(reduction.restored(means_of(frozen, messages), None))
    steps = one.steps + jnp.where(several, two.steps, 0)
    beliefs = Beliefs(found.status, steps, found.residual, means, log_z, None)
    return beliefs.posterior(About())._replace(means=without_derivatives(couplings, means))


def without_zeros(question: Question) -> Question:
    """The couplings of a matrix that is mostly zeros as a table: a message costs much more than a product with 0.

    Its shape is that of the matrix and one of a few numbers of positions, and the last unit must be fill: positions
    without a coupling belong to it.
    """
    storage = question.storage
    if not (isinstance(storage, Blocks) and storage.is_dense and storage.stack is None) or question.free[-1].any():
        return question
    child, parent, weight = storage.edge_list()
    most = int(np.bincount(child, minlength=1).max())
    positions = next((count for count in POSITIONS if most <= count), storage.size)
    if FEWER * positions > storage.size:
        return question
    table = ParentTable.of_edges(child, parent, weight, (storage.size, storage.size, positions))
    return question.with_model(weights=table)


def may_have_several(question: Question) -> Any:
    """The rows (rows,) with possibly more than one fixed point: not those where sum_j tanh(|w_ij| / 4) < 1 for all i.

    Then sweeps are a contraction (J. M. Mooij and H. J. Kappen, IEEE Transactions on Information Theory 53, 2007).
    """
    free, xp = question.free, namespace(question.free)
    pulls = question.storage.map_weights(lambda w: xp.tanh(abs(w) / 4)).neighbour_sums(xp)(free * 1.0)
    return (pulls * free).max(axis=0, initial=0.0) >= 1


def second_start(question: Question) -> Any:
    """Log-odds (units, rows) beside the biases after some steps of the first order, from where `G1` starts."""
    xp = namespace(question.free)
    product = question.storage.neighbour_sums(xp)
    h, chance_of = question.model.h + question.tilt, numpy_sigmoid if xp is np else sigmoid

    def closer(_: Any, theta: Any) -> Any:
        return (theta + h + product(xp.where(question.free, chance_of(theta), 0.0))) / 2

    theta = pair_orders.iterated(FIRST_ORDER_STEPS, closer, pair_orders.start(question))
    return xp.where(question.free, theta - h, 0.0)


def _is_better(first: Any, second: Any, several: Any, log_z: Any, other_log_z: Any) -> Any:
    """In rows with several fixed points, whether only the second converged, or both did and it has the larger ln Z."""
    return several & (second.status == CONVERGED) & ((first.status != CONVERGED) | (other_log_z > log_z))


def _better(first: Beliefs, second: Beliefs, several: np.ndarray) -> Beliefs:
    """Row by row the better one."""
    with np.errstate(invalid="ignore"):
        change = _is_better(first, second, several, first.log_z, second.log_z)
    found = Beliefs(*(np.where(change, new, old) for old, new in zip(first[:5], second[:5], strict=True)), slope=None)
    return found._replace(steps=first.steps + np.where(several, second.steps, 0))
