"""`reduce`: from a network and rows of evidence to questions, and the way back to all units of the network."""

from collections.abc import Callable
from typing import Any, TypeAlias

from plefka.networks.belief import BeliefNetwork
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.reduction.belief_reduction import ReducedTogether, reduce_belief, reduce_belief_question
from plefka.reduction.by_row import ReducedByRow
from plefka.reduction.machine_reduction import ReducedPairs, reduce_pair_question, reduce_pairs
from plefka.reduction.question import PairModel, Question
from plefka.reduction.traced_reductions import TracedReduction, reduce_belief_traced, reduce_pairs_traced

Reduction: TypeAlias = ReducedTogether | ReducedByRow | ReducedPairs
REDUCE: dict[type, Callable] = {BeliefNetwork: reduce_belief, BoltzmannMachine: reduce_pairs}
REDUCE_TRACED: dict[type, Callable] = {BeliefNetwork: reduce_belief_traced, BoltzmannMachine: reduce_pairs_traced}


def reduce(
    network: Network, evidence: Evidence, *, prune: bool = True, keep_barren: bool = False, kept: Any = False
) -> Reduction:
    """What is left to be solved of every row.

    `keep_barren`: barren units stay, and with them all that their means depend on. `kept`: units that must not be
    summed out.
    """
    return REDUCE[type(network)](network, evidence, prune=prune, keep_barren=keep_barren, kept=kept)


def reduce_traced(network: Network, evidence: Evidence, *, prune: bool = True) -> TracedReduction:
    """Inside a user's trace, where numbers cannot be looked at, and with derivatives."""
    return REDUCE_TRACED[type(network)](network, evidence, prune=prune)


def reduce_question(question: Question, *, needs_slope: bool) -> ReducedTogether | ReducedPairs:
    """A question of which more units are known is reduced again."""
    if isinstance(question.model, PairModel):
        return reduce_pair_question(question)
    return reduce_belief_question(question, needs_slope=needs_slope)
