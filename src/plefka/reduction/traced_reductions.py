"""`reduce` inside a user's trace, where numbers cannot be looked at: all units of a network, some of them masked.

In a belief network the units that were summed out or are barren are masked. In a Boltzmann machine what is observed
becomes part of biases and of a constant, and the observed units are 0 and not free. A free unit without free neighbours
stays: every method is exact for it, and the derivative by a coupling of weight 0 needs its mean.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, cast

import jax.numpy as jnp
import numpy as np

from plefka.networks.activations import sigmoid
from plefka.networks.belief import BeliefNetwork
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.couplings import below_diagonal
from plefka.networks.edge_list import TracedEdges
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.networks.storage import Storage
from plefka.reduction.barren_means import predict_traced
from plefka.reduction.question import PairModel, Question
from plefka.reduction.reduce import masked, observed_tilt
from plefka.reduction.summing import Given, Reduced, recovered, reduced, whole
from plefka.runtime.precision import is_traced


@dataclass(frozen=True, eq=False)
class TracedReduction:
    """A question of all units, the way back from its answer, and what methods do differently by the kind of network."""

    question: Question
    constant: Any  # (rows,): what is to be added to ln P

    @property
    @abstractmethod
    def sums_out(self) -> bool:
        """Whether units of this network may be summed out, so that d ln P / dh is wanted for the way back."""

    @abstractmethod
    def restored(self, means: Any, slope: Any) -> Any:
        """The means (units, rows) with those of units that are masked, from d ln P / dh where units are summed out."""

    def with_exact_means(self, means: Any) -> Any:
        """Means (units, rows) that a user gives, where units that are solved exactly have their own."""
        return means

    def predicted(self, question: Question, means: Any, functional: Any) -> Any:
        """The means with those of units that are barren in this question, if there are such."""
        return means


@dataclass(frozen=True, eq=False)
class TracedBelief(TracedReduction):
    """The reduction of a belief network."""

    given: Given
    left: Reduced

    @property
    def sums_out(self) -> bool:
        return self.given.activation.has_linear_log_off

    def restored(self, means: Any, slope: Any) -> Any:
        if not self.sums_out:
            return means
        summed = self.left.summed
        return self.given.edges.where_any(
            summed, lambda: jnp.where(summed, recovered(self.given, self.left, slope)[0], means), means
        )

    def predicted(self, question: Question, means: Any, functional: Any) -> Any:
        return predict_traced(question, means, functional.chance)


def reduce_belief_traced(network: BeliefNetwork, evidence: Evidence, *, prune: bool) -> TracedBelief:
    """Of a belief network: what was summed out or is barren is masked."""
    rows = jnp.asarray(evidence.rows, jnp.zeros(()).dtype)
    given = Given(
        TracedEdges.of(network.storage, len(rows)), jnp.atleast_2d(jnp.asarray(network.bias)).T, network.activation,
        rows.T, jnp.zeros_like(rows.T) if evidence.tilt is None else jnp.asarray(evidence.tilt, rows.dtype).T,
    )  # fmt: skip
    left = reduced(given) if prune else whole(given)
    constant = left.constant + observed_tilt(given)
    question = replace(masked(network.storage, given, left), constant=constant)
    return TracedBelief(question, constant, given, left)


@dataclass(frozen=True, eq=False)
class TracedPairs(TracedReduction):
    """The reduction of a Boltzmann machine."""

    known: Any  # (units, rows): nan where free
    couplings: Storage  # as they were given: numbers, unless they belong to the trace
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


def reduce_pairs_traced(machine: BoltzmannMachine, evidence: Evidence, *, prune: bool) -> TracedPairs:
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


REDUCE_TRACED = {BeliefNetwork: reduce_belief_traced, BoltzmannMachine: reduce_pairs_traced}


def reduce_traced(network: Network, evidence: Evidence, *, prune: bool = True) -> TracedReduction:
    """Inside a user's trace, where numbers cannot be looked at, and with derivatives."""
    return cast(Any, REDUCE_TRACED[type(network)])(network, evidence, prune=prune)
