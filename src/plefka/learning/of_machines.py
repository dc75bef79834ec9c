"""How a Boltzmann machine is learned: its methods, batches, optimisers and steps."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from plefka.exact.exact_method import Exact
from plefka.inference.library import parse_method
from plefka.learning.annealed import exact_seconds
from plefka.learning.chains import ByChains
from plefka.learning.gradients import ByMoments, ByNeighbours
from plefka.learning.machine_steps import MachineSettings, MachineSteps
from plefka.learning.pair_moments import LINEAR_RESPONSE
from plefka.learning.parameters import Parametrisation, SlowingDescent, adam, slowing_adam
from plefka.learning.patterns import Data, Patterns, complete, leaves_independent
from plefka.messages.message_methods import Bethe
from plefka.methods.for_learning import ForLearning, Persistent, PseudoLikelihood
from plefka.methods.method import Method, does_not_apply
from plefka.networks.couplings import below_diagonal

if TYPE_CHECKING:
    from plefka.learning.steps import LearningRun
    from plefka.networks.boltzmann import BoltzmannMachine

LEARNING_SECONDS = 30.0  # of all steps together, for which sums over states are taken
EXACT_STEP, SUMMED_AGAIN = 0.004, 8  # seconds of a step, and how many times as long as ln Z its moments take
BATCH_SIZE, LARGEST_BATCH = 32, 128
STEPS_OF_MANY = 64  # that chains take in an epoch, where batches can be larger


def check(machine: "BoltzmannMachine", method: Method) -> None:
    """Refuse a method that does not say how units vary together."""
    if not isinstance(method, ForLearning | Exact | Bethe) and method.name not in LINEAR_RESPONSE:
        why = "it does not say how the units of a Boltzmann machine vary together"
        raise does_not_apply(method, why, "exact, G1, G2, bethe, persistent or pseudolikelihood")


def default(machine: "BoltzmannMachine", data: Data, epochs: int, size: int | None = None) -> Method:
    """Exact where steps by sums over states are quick; else by neighbours, or chains where units are hidden.

    For so many epochs in batches of a size, unless that is given as many rows as exact steps have.
    """
    one = machine.take(0) if machine.stack is not None else machine
    if leaves_independent(one, data):
        exact = parse_method("exact")
        steps = epochs * -(-len(data) // (size or batch_size(data, exact))) * (machine.stack or 1)
        # with a weight of 1 for every coupling: a sum leaves out those of 0, and would look cheaper than it becomes
        ones = below_diagonal(one.storage.map_weights(lambda w: np.ones(np.shape(w))))
        seconds = exact_seconds(one.with_parameters((ones.parameters, one.bias)))
        if steps * (EXACT_STEP + SUMMED_AGAIN * seconds) <= LEARNING_SECONDS:
            return exact
    return parse_method("pseudolikelihood" if complete(data) else "persistent")


def batch_size(data: Data, method: Method) -> int:
    """Distinct rows for each step unless given: all, where their averages are computed once and for all.

    Of many rows that chains learn from there are more in each step, which cost little beside the chains.
    """
    if isinstance(data, Patterns) and complete(data) and not isinstance(method, PseudoLikelihood):
        return len(data)
    many = len(data) // STEPS_OF_MANY if isinstance(method, Persistent) else 0
    return min(max(many, BATCH_SIZE), LARGEST_BATCH)


def optimizer(data: Data, method: Method) -> Any:
    """What moves the parameters unless given."""
    return optimizers_of(method, is_complete=complete(data))()


def optimizers_of(method: Method, *, is_complete: bool) -> Callable[..., Any]:
    """What makes an optimiser of a step size: steps become shorter where gradients are random, or of some rows only."""
    if not isinstance(method, ForLearning):
        return adam
    return slowing_adam if is_complete or isinstance(method, PseudoLikelihood) else SlowingDescent


def settings(
    machine: "BoltzmannMachine", data: Data, method: Method, rules: Parametrisation, penalties: tuple[float, float],
    tol: float,
) -> MachineSettings:  # fmt: skip
    """What every step of a run has in common."""
    return MachineSettings(rules, *penalties, tol, machine.stack is not None)


def steps(run: "LearningRun") -> MachineSteps:
    """The steps of a run."""
    kinds: dict[Any, type[MachineSteps]] = {Persistent: ByChains, PseudoLikelihood: ByNeighbours}
    return kinds.get(type(run.method), ByMoments)(run)
