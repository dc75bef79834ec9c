"""Where the gradient of a Boltzmann machine's ln P comes from: averages by a method, or the pseudo-likelihood."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from plefka.errors import InvalidInput
from plefka.exact.exact_method import Exact
from plefka.learning.machine_steps import Gradient, MachineSteps, Rows
from plefka.learning.pair_moments import beyond_second_order, moments, outer
from plefka.learning.patterns import coupled_within
from plefka.learning.semi_restricted import SemiRestricted, neighbours_sums
from plefka.learning.steps import BatchNumber, max_steps
from plefka.methods.method import Method
from plefka.networks.activations import numpy_sigmoid

if TYPE_CHECKING:
    from plefka.learning.steps import LearningRun
    from plefka.networks.boltzmann import BoltzmannMachine

FREE_STEPS = 1000  # of a search, in every step, unless given


class ByMoments(MachineSteps):
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


class ByNeighbours(MachineSteps):
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
