"""How a belief network is learned: each kind of method has a module of its own."""

from types import ModuleType
from typing import Any

from plefka.errors import InvalidInput, MethodDoesNotApply
from plefka.inference.library import METHODS
from plefka.learning import by_free_energy, by_weighted_states, em_steps
from plefka.learning.patterns import Data
from plefka.mean_field.schemes import MeanField
from plefka.methods.for_learning import ExpectationMaximisation, Reweighted
from plefka.methods.method import Method
from plefka.networks.belief import BeliefNetwork

KINDS: dict[type, ModuleType] = {
    MeanField: by_free_energy,
    Reweighted: by_weighted_states,
    ExpectationMaximisation: em_steps,
}


def learner(method: Method) -> Any:
    """The module for a method: what it refuses, its batches, its optimizer, its settings and its steps."""
    for kind, module in KINDS.items():
        if isinstance(method, kind):
            return module
    raise MethodDoesNotApply(f"{method} has no free energy to learn by. Use reweighted or G12 instead.")


def check(network: BeliefNetwork, method: Method) -> None:
    """Refuse what cannot be learned, or not by this method."""
    kind = learner(method)
    if network.activation.mixes_kinds:
        raise InvalidInput(
            "fit learns the weights and biases of units that are all of one kind; this network has units of different "
            "kinds or tables. Fit a network with a single activation."
        )
    kind.check(network, method)


def default(network: BeliefNetwork, data: Data, epochs: int, size: int | None) -> Method:
    """The method unless one is given."""
    check(network, METHODS["G12"])
    return METHODS["G12"]


def optimizer(data: Data, method: Method) -> Any:
    """What moves the parameters unless given."""
    return learner(method).optimizer(data, method)
