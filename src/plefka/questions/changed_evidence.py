"""Rows of evidence that differ from a given one in an observation or two, answered in one batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput
from plefka.inference.contradictions import with_contradiction
from plefka.inference.exclusive import with_group
from plefka.inference.infer import DEFAULT_METHOD, infer
from plefka.inference.solution import InferenceFailed, Solution
from plefka.methods.method import Method
from plefka.methods.posterior import EXACT, OBSERVED, Accuracy, Status
from plefka.networks.belief import BeliefNetwork
from plefka.networks.evidence import Evidence, as_evidence
from plefka.networks.hierarchy import with_implied
from plefka.networks.intervention import intervened

UNKNOWN = np.nan  # in a change: whatever was known of the unit is forgotten
Change = Mapping[int, float]


@dataclass(frozen=True, eq=False)
class ChangedEvidence:
    """A row of evidence, and the method that answers what would be if it were another."""

    network: BeliefNetwork
    evidence: Evidence
    method: str | Method

    @classmethod
    def of(
        cls, network: BeliefNetwork, evidence: Any, method: str | Method | None, verb: str,
        *, do: Any = None, exclusive: Any = None,
    ) -> "ChangedEvidence":  # fmt: skip
        """Of a single network and a single row; `do` and `exclusive` as for `infer`."""
        if not isinstance(network, BeliefNetwork) or network.stack is not None:
            kind = "a stack" if isinstance(network, BeliefNetwork) else type(network).__name__
            advice = " Its units have no causes: use infer, joint or most_probable." * (kind == "BoltzmannMachine")
            raise InvalidInput(f"{verb} takes one BeliefNetwork; got {kind}.{advice}")
        given = as_evidence(network, evidence, takes_group=True)
        if len(given.rows) > 1:
            raise InvalidEvidence(f"{verb} takes one row of evidence; got {len(given.rows)}. Ask about one at a time.")
        network, given = intervened(network, given, do)
        return cls(network, with_group(network, given, exclusive), method or DEFAULT_METHOD)

    @property
    def hidden(self) -> np.ndarray:
        """Which units are hidden, (n,): neither observed nor implied by what is."""
        return np.isnan(with_implied(self.network, self.evidence.rows)[0])

    def hidden_unit(self, unit: str | int, need: str) -> int:
        """The place of a unit, which must be hidden."""
        place = self.network.index(unit)
        if not self.hidden[place]:
            name = self.network.names[place]
            raise InvalidEvidence(f"{need}; {name!r} is observed. Leave it out of the evidence.")
        return place

    def answers(self, changes: Sequence[Change], wanted: np.ndarray | None = None) -> Solution:
        """As `solutions`, where the first row must have an answer."""
        solution = self.solutions(changes, wanted)
        if solution.status[0] is not Status.CONVERGED:
            raise InferenceFailed(with_contradiction(solution.row(0)))
        return solution

    def solutions(self, changes: Sequence[Change], wanted: np.ndarray | None = None) -> Solution:
        """A batch with a row for each change.

        `wanted`: (units,), those whose means are asked for; all of them, unless given.
        """
        given = self.evidence.take(np.zeros(len(changes), int))
        rows = given.rows.copy()
        tilt = None if given.tilt is None else given.tilt.copy()
        for row, change in enumerate(changes):
            for unit, state in change.items():
                rows[row, unit] = state
                if tilt is not None and np.isnan(state):
                    tilt[row, unit] = 0.0
        changed = given._replace(rows=rows, tilt=tilt, batched=True, wanted=wanted)
        return infer(self.network, changed, self.method, throw=False)


def weakest(codes: Any) -> Accuracy:
    """What a number is that follows from several: exact where all of them are, or observed."""
    codes = np.asarray(codes)
    return Accuracy.EXACT if np.all((codes == EXACT) | (codes == OBSERVED)) else Accuracy.ESTIMATE


def how_computed(method: str, accuracies: Sequence[Accuracy]) -> str:
    """The line of a printed result that says by what it was computed, and what its numbers are."""
    if all(each is Accuracy.EXACT for each in accuracies):
        return f"computed by {method}; all numbers are exact"
    some = any(each is Accuracy.EXACT for each in accuracies)
    return f"computed by {method}{'; numbers with ~ are estimates' if some else ', an approximation'}"


def mark_of(accuracy: Accuracy, accuracies: Sequence[Accuracy]) -> str:
    """What stands in front of a number that is an estimate beside others that are exact."""
    return "~" if accuracy is Accuracy.ESTIMATE and Accuracy.EXACT in accuracies else ""
