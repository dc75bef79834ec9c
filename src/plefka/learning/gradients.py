"""Where the gradient of a Boltzmann machine's ln P comes from: averages by a method, or the pseudo-likelihood.

All numbers are sums over the rows of a batch, and of units that are 0 and 1 at temperature 1. Rows in which nothing is
hidden are what they are: their averages are computed once where all rows are one batch.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from plefka.errors import InvalidInput
from plefka.exact.exact_method import Exact
from plefka.inference.infer import infer
from plefka.inference.library import parse_method
from plefka.learning.annealed import exact_seconds
from plefka.learning.pair_moments import Moments, beyond_second_order, moments, outer
from plefka.learning.patterns import Patterns, complete, coupled_within, leaves_independent
from plefka.learning.semi_restricted import SemiRestricted, neighbours_sums
from plefka.learning.steps import BatchNumber, max_steps
from plefka.methods.method import Method
from plefka.networks.activations import numpy_sigmoid
from plefka.networks.couplings import below_diagonal
from plefka.networks.evidence import Evidence

if TYPE_CHECKING:
    from plefka.learning.steps import LearningRun
    from plefka.networks.boltzmann import BoltzmannMachine

STEP_SECONDS = 0.05  # seconds of the exact ln Z that is computed after every epoch
GRADIENT_WORK = 2**25  # multiply-adds of the rows of a restricted machine, for the same
LEARNING_SECONDS = 30.0  # of all steps together, for which sums over states are taken
EXACT_STEP, SUMMED_AGAIN = 0.004, 8  # seconds of a step, and how many times as long as ln Z its moments take
FREE_STEPS = 1000  # of a search, in every step, unless given


class Gradient(NamedTuple):
    """Sums over the rows that could be solved."""

    log_likelihood: Any
    counted: Any
    converged: Any
    first: np.ndarray  # (units,): by biases
    second: Any  # like the parameters of the machine's storage: by weights
    clamped: Any = 0.0  # (units,): the sums of the units themselves, where gradients are centred at their means


Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # numbers, evidence (rows, units) and counts


class Gradients(ABC):
    """Of the machines of a run."""

    memory: Any = ()
    estimates = True  # whether the objective estimates ln P

    def __init__(self, run: "LearningRun"):
        self.run = run
        self.whole: Moments | None = None  # of all rows, where nothing is hidden in them
        self.is_complete = complete(run.data)
        self.exact_steps: set[bool] = set()  # whether ln P of their rows was exact

    @abstractmethod
    def of(self, number: int, machine: "BoltzmannMachine", rows: Rows, when: BatchNumber) -> Gradient:
        """Of some rows, for a machine with its number in the stack."""

    def recall(self, memory: Any) -> None:  # noqa: B027
        """Go on with what an earlier run has kept."""

    def here(self, learned: Any) -> Any:
        """The free numbers where the next gradient is taken, which may be others than those learned so far."""
        return learned

    def learned(self, before: Any, after: Any) -> Any:
        """Those learned so far, from what they were before a step and where the step has led to."""
        return after

    def direction(self, number: int, machine: "BoltzmannMachine", slope: tuple[Any, np.ndarray], of: Gradient) -> Any:
        """Where the parameters of a machine should move to, from the slope of ln P by them, which is that of a gradient
        by units 0 and 1."""
        return slope

    def exact(self, machine: "BoltzmannMachine") -> float:
        """ln P per row where that is quickly summed: nothing is hidden, or only units that are then independent."""
        data = self.run.data
        if not isinstance(data, Patterns) or not leaves_independent(machine, data):
            return np.nan
        if exact_seconds(machine) > STEP_SECONDS:
            return np.nan
        if self.is_complete:
            clamped = self.clamped(machine, (np.arange(len(data)), data.rows(), data.counts)).log_partition
        elif len(data) * machine.num_edges <= GRADIENT_WORK:
            clamped = infer(machine, Evidence(data.rows(), batched=True), "exact").log_partition @ data.counts
        else:
            return np.nan
        return float(clamped / data.total - infer(machine, None, "exact").log_partition)

    def estimate(self, number: int, machine: "BoltzmannMachine", epoch: int) -> float:
        """ln P per row after an epoch, counted from 1; nan where what batches gave during the epoch will do."""
        return np.nan

    def clamped(self, machine: "BoltzmannMachine", rows: Rows) -> Moments:
        """The averages of complete rows, without solving anything."""
        _, S, counts = rows
        is_all = len(S) >= len(self.run.data) and not self.run.devices.several
        if self.whole is None or not is_all:
            S = S.T
            first, second = S @ counts, outer(machine.storage, S * counts, S)
            found = Moments(counts.sum(), counts.sum(), 0.0, first, second, counts.sum())
            self.whole = found if is_all else None
        else:
            found = self.whole
        return found._replace(log_partition=log_weight(machine.converted(), found))


def log_weight(machine: "BoltzmannMachine", of: Moments) -> float:
    """The sum over rows of -E(S) of what was observed, which is linear in its averages."""
    pairs = jax.tree.map(lambda w, p: np.sum(np.asarray(w) * p), machine.storage.parameters, of.second)
    return float(sum(jax.tree.leaves(pairs)) + machine.bias @ of.first + machine.constant * of.counted)


class ByMoments(Gradients):
    """Clamped and free averages by the same method: exact, G1, G2 or bethe."""

    def __init__(self, run: "LearningRun"):
        super().__init__(run)
        given: Any = run.method
        self.method: Method = given
        if not isinstance(given, Exact):
            self.method = replace(given, tol=run.settings.tol, max_steps=max_steps(given, FREE_STEPS))

    def of(self, number: int, machine: "BoltzmannMachine", rows: Rows, when: BatchNumber) -> Gradient:
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


class ByNeighbours(Gradients):
    """The pseudo-likelihood: sum_i ln P(v_i | other columns), which needs no ln Z; hidden units are summed out."""

    estimates = False

    def __init__(self, run: "LearningRun"):
        super().__init__(run)
        if run.data.has_gaps().any() or coupled_within(run.network, run.data.latent):
            raise InvalidInput(
                "pseudolikelihood needs rows in which nothing is missing, and hidden units that are not coupled to "
                "each other. Use persistent, bethe or G2 instead."
            )

    def of(self, number: int, machine: "BoltzmannMachine", rows: Rows, when: BatchNumber) -> Gradient:
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

    def _with_hidden(self, machine: "BoltzmannMachine", evidence: np.ndarray, c: np.ndarray) -> Gradient:
        columns, hidden = self.run.data.units, self.run.data.latent
        V, work = evidence[:, columns], len(evidence) * len(columns) * len(hidden)
        value, by = neighbours_sums(SemiRestricted.of(machine, columns, hidden), V, c, work=work)
        first, second = np.zeros(machine.size), np.zeros((machine.size,) * 2)
        first[columns], first[hidden] = by.bias, by.hidden
        second[np.ix_(columns, columns)] = by.pairs + by.pairs.T
        second[np.ix_(columns, hidden)], second[np.ix_(hidden, columns)] = by.weights, by.weights.T
        return Gradient(float(value), c.sum(), c.sum(), first, machine.storage.along(lambda i, j: second[i, j]))


def default_method(machine: "BoltzmannMachine", data: Any, steps: int) -> Method:
    """Exact where so many steps by sums over states are quick; else by neighbours, or chains where units are hidden."""
    if leaves_independent(machine, data):
        # with a weight of 1 for every coupling: a sum leaves out those of 0, and would look cheaper than it becomes
        ones = below_diagonal(machine.storage.map_weights(lambda w: np.ones(np.shape(w))))
        seconds = exact_seconds(machine.with_parameters((ones.parameters, machine.bias)))
        if steps * (EXACT_STEP + SUMMED_AGAIN * seconds) <= LEARNING_SECONDS:
            return parse_method("exact")
    return parse_method("pseudolikelihood" if complete(data) else "persistent")
