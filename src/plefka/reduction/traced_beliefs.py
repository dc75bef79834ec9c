"""`reduce` inside a user's trace, where numbers cannot be looked at: all units of a network, some of them masked."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import TracedEdges
from plefka.reduction.barren_means import predict_traced
from plefka.reduction.belief_reduction import masked, observed_tilt, whole
from plefka.reduction.question import Question
from plefka.reduction.summing import Given, Reduced, recovered, reduced

if TYPE_CHECKING:
    from plefka.networks.evidence import Evidence


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

    @abstractmethod
    def predicted(self, question: Question, means: Any, functional: Any) -> Any:
        """The means with those of units that are barren in this question."""


@dataclass(frozen=True, eq=False)
class TracedBelief(TracedReduction):
    """That of a belief network."""

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


def reduce_belief_traced(network: BeliefNetwork, evidence: "Evidence", *, prune: bool) -> TracedBelief:
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
