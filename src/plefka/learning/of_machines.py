"""How a Boltzmann machine is learned: by averages of a method, by the pseudo-likelihood, or by chains (chains.py)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from plefka.errors import InvalidInput
from plefka.exact.exact_method import Exact
from plefka.inference.library import parse_method
from plefka.learning.annealed import exact_seconds
from plefka.learning.chains import ByChains
from plefka.learning.machine_steps import Gradient, MachineSteps, Rows
from plefka.learning.pair_moments import LINEAR_RESPONSE, beyond_second_order, moments, outer
from plefka.learning.parameters import SlowingDescent, adam, slowing_adam
from plefka.learning.patterns import Data, Patterns, complete, coupled_within, leaves_independent
from plefka.learning.semi_restricted import SemiRestricted, neighbours_sums
from plefka.learning.steps import BatchNumber, LearningRun, RunSettings, max_steps
from plefka.messages.message_methods import Bethe
from plefka.methods.for_learning import ForLearning, Persistent, PseudoLikelihood
from plefka.methods.method import Method, does_not_apply
from plefka.networks.activations import numpy_sigmoid
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.couplings import below_diagonal

LEARNING_SECONDS = 30.0  # of all steps together, for which sums over states are taken
EXACT_STEP, SUMMED_AGAIN = 0.004, 8  # seconds of a step, and how many times as long as ln Z its moments take
BATCH_SIZE, LARGEST_BATCH = 32, 128
FREE_STEPS = 1000  # of a search, in every step, unless given
STEPS_OF_MANY = 64  # that chains take in an epoch, where batches can be larger


def check(machine: BoltzmannMachine, method: Method) -> None:
    """Refuse a method that does not say how units vary together."""
    if not isinstance(method, ForLearning | Exact | Bethe) and method.name not in LINEAR_RESPONSE:
        why = "it does not say how the units of a Boltzmann machine vary together"
        raise does_not_apply(method, why, "exact, G1, G2, bethe, persistent or pseudolikelihood")


def default(machine: BoltzmannMachine, data: Data, epochs: int, size: int | None = None) -> Method:
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


settings = RunSettings.of

# ---- where gradients come from ---------------------------------------------------------------------------------------


class ByMoments(MachineSteps):
    """Clamped and free averages by the same method: exact, G1, G2 or bethe."""

    def __init__(self, run: LearningRun):
        super().__init__(run)
        given: Any = run.method
        self.method: Method = given
        if not isinstance(given, Exact):
            self.method = replace(given, tol=run.settings.tol, max_steps=max_steps(given, FREE_STEPS))

    def of(self, number: int, machine: BoltzmannMachine, rows: Rows, when: BatchNumber) -> Gradient:
        _, evidence, counts = rows
        clamped = self.clamped(machine, rows) if self.is_complete else moments(machine, evidence, counts, self.method)
        free = moments(machine, np.full((1, machine.size), np.nan), np.ones(1), self.method)
        if not free.counted:  # the free machine has no solution
            return Gradient(0.0, 0.0, 0.0, 0 * clamped.first, jax.tree.map(np.zeros_like, clamped.second))
        self.exact_steps.add(clamped.is_exact and free.is_exact)
        n = clamped.counted
        first, second = jax.tree.map(lambda a, b: a - n * b, (clamped.first, clamped.second), (free.first, free.second))
        if self.method.name == "G2":
            stop = beyond_second_order(machine.converted(), free.first, second)
            second = jax.tree.map(lambda g, stop: np.where(stop, 0.0, g), second, stop)
        converged = clamped.converged if free.converged else 0.0
        return Gradient(clamped.log_partition - n * free.log_partition, n, converged, first, second)


class ByNeighbours(MachineSteps):
    """The pseudo-likelihood: sum_i ln P(v_i | other columns), which needs no ln Z; hidden units are summed out."""

    estimates = False

    def __init__(self, run: LearningRun):
        super().__init__(run)
        if run.data.has_gaps().any() or coupled_within(run.network, run.data.latent):
            raise InvalidInput(
                "pseudolikelihood needs rows in which nothing is missing, and hidden units that are not coupled to "
                "each other. Use persistent, bethe or G2 instead."
            )

    def of(self, number: int, machine: BoltzmannMachine, rows: Rows, when: BatchNumber) -> Gradient:
        _, evidence, c = rows
        if not self.is_complete:
            return self._with_hidden(machine.converted(), evidence, c)
        machine, S = machine.converted(), evidence.T
        x = machine.bias[:, None] + machine.storage.product(S)
        surprise = S - numpy_sigmoid(x)
        second = jax.tree.map(
            np.add, outer(machine.storage, surprise * c, S), outer(machine.storage, S * c, surprise)
        )  # fmt: skip
        value = (S * x - np.logaddexp(0.0, x)).sum(axis=0) @ c
        return Gradient(value, c.sum(), c.sum(), surprise @ c, second)

    def _with_hidden(self, machine: BoltzmannMachine, evidence: np.ndarray, c: np.ndarray) -> Gradient:
        columns, hidden = self.run.data.units, self.run.data.latent
        V, work = evidence[:, columns], len(evidence) * len(columns) * len(hidden)
        value, by = neighbours_sums(SemiRestricted.of(machine, columns, hidden), V, c, work=work)
        first, second = np.zeros(machine.size), np.zeros((machine.size,) * 2)
        first[columns], first[hidden] = by.bias, by.hidden
        second[np.ix_(columns, columns)] = by.pairs + by.pairs.T
        second[np.ix_(columns, hidden)], second[np.ix_(hidden, columns)] = by.weights, by.weights.T
        return Gradient(float(value), c.sum(), c.sum(), first, machine.storage.along(lambda i, j: second[i, j]))


def steps(run: LearningRun) -> MachineSteps:
    """The steps of a run."""
    kinds: dict[Any, type[MachineSteps]] = {Persistent: ByChains, PseudoLikelihood: ByNeighbours}
    return kinds.get(type(run.method), ByMoments)(run)
