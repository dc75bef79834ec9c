"""`bethe`: belief propagation in belief networks and in Boltzmann machines."""

from typing import TYPE_CHECKING

from plefka.messages.coupling_messages import of_pairs, of_traced_pairs
from plefka.messages.factor_messages import of_beliefs, of_traced_beliefs
from plefka.methods.posterior import Posterior
from plefka.reduction.question import PairModel, Part
from plefka.reduction.traced_reductions import TracedBelief, TracedPairs, TracedReduction

if TYPE_CHECKING:
    from plefka.messages.bethe_method import Bethe

TRACED = {TracedBelief: of_traced_beliefs, TracedPairs: of_traced_pairs}


def posterior(method: "Bethe", part: Part, *, dtype: str) -> Posterior:
    """Beliefs and Bethe's ln Z of every row."""
    solve = of_pairs if isinstance(part.question.model, PairModel) else of_beliefs
    return solve(method, part, dtype=dtype)


def traced(method: "Bethe", reduction: TracedReduction) -> Posterior:
    """Inside a user's trace; ln P can be differentiated, and the means cannot."""
    return TRACED[type(reduction)](method, reduction)
