"""`reduce` for Boltzmann machines inside a user's trace: what is observed becomes part of biases and of a constant.

All units stay, those that are observed as units that are 0 and not free. A free unit without free neighbours stays as
well: every method is exact for it, and the derivative by a coupling of weight 0 needs its mean.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from plefka.networks.activations import sigmoid
from plefka.networks.couplings import below_diagonal
from plefka.reduction.question import PairModel, Question
from plefka.reduction.traced_beliefs import TracedReduction
from plefka.runtime.precision import is_traced

if TYPE_CHECKING:
    from plefka.networks.boltzmann import BoltzmannMachine
    from plefka.networks.evidence import Evidence
    from plefka.networks.storage import Storage


@dataclass(frozen=True, eq=False)
class TracedPairs(TracedReduction):
    """That of a Boltzmann machine."""

    known: Any  # (units, rows): nan where free
    couplings: "Storage"  # as they were given: numbers, unless they belong to the trace
    may_be_free: np.ndarray  # (units,)
    solves: bool  # whether free units without free neighbours are solved, whatever a user says of their means

    @property
    def sums_out(self) -> bool:
        return False

    def restored(self, means: Any, slope: Any) -> Any:
        return jnp.where(self.question.free, means, self.known)

    def with_exact_means(self, means: Any) -> Any:
        if not self.solves:
            return means
        there = self.question.storage.map_weights(lambda w: (w != 0) * 1.0)
        alone = there.neighbour_sums(jnp)(self.question.free * 1.0) == 0
        return jnp.where(alone, sigmoid(self.question.model.h), means)

    def predicted(self, question: Question, means: Any, functional: Any) -> Any:
        """There is nothing to predict."""
        return means


def reduce_pairs_traced(machine: "BoltzmannMachine", evidence: "Evidence", *, prune: bool) -> TracedPairs:
    """What is left to be solved of every row, for units of 0 and 1 at temperature 1."""
    couplings, dtype = machine.storage, jnp.zeros(()).dtype
    machine = machine.with_parameters((below_diagonal(couplings).parameters, machine.bias)).converted()
    storage = machine.storage
    known = jnp.asarray(evidence.rows, dtype).T
    h = jnp.atleast_2d(jnp.asarray(machine.bias, dtype)).T
    h = h if evidence.tilt is None else h + jnp.asarray(evidence.tilt, dtype).T
    free = jnp.isnan(known)
    on = jnp.where(free, 0.0, known)
    from_known = storage.neighbour_sums(jnp)(on)
    constant = jnp.asarray(machine.constant, dtype) + (on * (h + from_known / 2)).sum(0)
    model = PairModel(storage, jnp.where(free, h + from_known, 0.0))
    question = Question(model, free, jnp.where(free, 0.5, 0.0), jnp.zeros_like(on), storage.size, constant)
    may_be_free = np.ones(machine.size, bool)
    if not is_traced(evidence.rows):
        may_be_free = np.asarray(np.isnan(evidence.rows).any(axis=0))
    return TracedPairs(question, constant, known, couplings, may_be_free, prune)
