"""A step of learning a Boltzmann machine: d ln P(row) / dW_ij = <S_i S_j>_clamped - <S_i S_j>_free, and so for biases.

A step asks for both averages and moves the parameters. Where they come from stands in of_machines.py and chains.py. All
numbers are sums over the rows of a batch, and of units that are 0 and 1 at temperature 1. Rows in which nothing is
hidden are what they are: their averages are computed once where all rows are one batch.
"""

from abc import abstractmethod
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plefka.inference.infer import infer
from plefka.learning.annealed import exact_seconds
from plefka.learning.gradient_step import Outcome, StepResult, TrainingState
from plefka.learning.pair_moments import Moments, outer
from plefka.learning.parameters import SlowingDescent
from plefka.learning.patterns import Patterns, Piece, complete, leaves_independent
from plefka.learning.steps import BatchNumber, LearningRun, RunSettings, Steps
from plefka.methods.posterior import Accuracy
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.evidence import Evidence
from plefka.networks.fingerprint import digest
from plefka.runtime.programs import Program

SEARCHED, FREE_ROWS = 4, 500  # rows of machines need no search: a part of its work; passes of the free machine
STEP_SECONDS = 0.05  # seconds of the exact ln Z that is computed after every epoch
GRADIENT_WORK = 2**25  # multiply-adds of the rows of a restricted machine, for the same


class Gradient(NamedTuple):
    """Sums over the rows that could be solved."""

    log_likelihood: Any
    counted: Any
    converged: Any
    first: np.ndarray  # (units,): by biases
    second: Any  # like the parameters of the machine's storage: by weights
    clamped: Any = 0.0  # (units,): the sums of the units themselves, where gradients are centred at their means


Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # numbers, evidence (rows, units) and counts


class MachineSteps(Steps):
    """The averages are NumPy's or those of `infer`; what moves the parameters is compiled."""

    memory: Any = ()

    def __init__(self, run: LearningRun):
        super().__init__(run)
        self.keeper = self
        self.whole: Moments | None = None  # of all rows, where nothing is hidden in them
        self.is_complete = complete(run.data)
        self.exact_steps: set[bool] = set()  # whether ln P of their rows was exact

    @abstractmethod
    def of(self, number: int, machine: BoltzmannMachine, rows: Rows, when: BatchNumber) -> Gradient:
        """The gradient of some rows, for a machine with its number in the stack."""

    def slope(self, number: int, machine: BoltzmannMachine, of: Gradient) -> Any:
        """Where the parameters of a machine should move to."""
        return in_own_values(machine, of)

    def take(self, state: TrainingState, piece: Piece, when: BatchNumber, *, stop: bool) -> StepResult:
        rows, machines = self.own_rows(piece), self.each(self.network(state.free))
        own = [self.of(number, machine, rows, when) for number, machine in enumerate(machines)]
        found, stopped = self._of_all_processes(own, stop)
        slopes = [self.slope(number, *each) for number, each in enumerate(zip(machines, found, strict=True))]
        slope = jax.tree.map(lambda *z: np.stack(z) if self.stack else z[0], *slopes)
        settings, average = self.run.settings, self.run.data.total / self.num_batches
        size = self.run.network.num_edges * len(machines)
        given = state, settings, self.run.network.parameters, slope, average
        optimizer = getattr(self.run.optimizer, "optimizer", self.run.optimizer)  # of one that goes on from a state
        is_quick = isinstance(optimizer, SlowingDescent) and settings.rules.is_plain and not self.stack
        after = moved_plainly(*given, optimizer) if is_quick else moved(*given, optimizer=self.run.optimizer, work=size)
        likelihood, counted, converged = (np.reshape([each[k] for each in found], self.stack) for k in range(3))
        return after, Outcome(likelihood, counted, converged, None, stopped)

    def network(self, free: Any) -> Any:
        run, rules = self.run, self.run.settings.rules
        if not rules.is_plain:
            return super().network(free)
        return run.network.with_parameters(jax.tree.map(np.where, rules.moves, free, run.network.parameters))

    def _of_all_processes(self, own: list[Gradient], stop: bool) -> tuple[list[Gradient], int]:
        """The sums over the rows of all processes, and how many of these were asked to stop."""
        if not self.run.devices.several:
            return own, 0
        leaves, structure = jax.tree.flatten(own)
        flat = np.concatenate([np.ravel(leaf) for leaf in leaves] + [[float(stop)]])
        total = self.run.devices.gathered(flat).sum(axis=0)
        ends = np.cumsum([np.size(leaf) for leaf in leaves])
        parts = [part.reshape(np.shape(leaf)) for part, leaf in zip(np.split(total[:-1], ends[:-1]), leaves)]
        return jax.tree.unflatten(structure, parts), int(total[-1])

    def identity(self) -> dict[str, Any]:
        machine = self.run.network
        return {"start": digest((machine.storage, machine.bias, machine.temperature, machine.values))}

    def exact(self, network: Any) -> Any:
        return np.reshape([self._exact(machine) for machine in self.each(network)], self.stack)

    def _exact(self, machine: BoltzmannMachine) -> float:
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

    @property
    def accuracy(self) -> Accuracy:
        """A difference of two ln Z is no bound; it is exact where both were in every step."""
        return Accuracy.EXACT if self.exact_steps == {True} else Accuracy.ESTIMATE

    @property
    def epoch_work(self) -> float:
        free = self.num_batches * FREE_ROWS * self.run.network.num_edges * (self.run.network.stack or 1)
        return super().epoch_work / SEARCHED + free

    def clamped(self, machine: BoltzmannMachine, rows: Rows) -> Moments:
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


def log_weight(machine: BoltzmannMachine, of: Moments) -> float:
    """The sum over rows of -E(S) of what was observed, which is linear in its averages."""
    pairs = jax.tree.map(lambda w, p: np.sum(np.asarray(w) * p), machine.storage.parameters, of.second)
    return float(sum(jax.tree.leaves(pairs)) + machine.bias @ of.first + machine.constant * of.counted)


def in_own_values(machine: BoltzmannMachine, gradient: Gradient) -> tuple[Any, np.ndarray]:
    """By the machine's own weights and biases: those of units 0 and 1 at temperature 1 are linear in them."""
    first, second, T = gradient.first, gradient.second, machine.temperature
    if machine.values == (0, 1):
        return jax.tree.map(lambda g: g / T, second), first / T
    ends = machine.storage.along(lambda child, parent: first[child] + first[parent])
    return jax.tree.map(lambda g, sums: (4 * g - 2 * sums) / T, second, ends), 2 * first / T


def _moved(state: TrainingState, settings: RunSettings, start: Any, slope: Any, average: Any, *, optimizer: Any):
    """The state after a step uphill, of ln P per row less the penalties.

    With l1, a weight that would change its sign becomes 0, and a weight of 0 stays so where that is steeper.
    """

    def of_one(state: TrainingState, start: Any, slope: Any) -> TrainingState:
        rules = settings.rules
        parameters, backwards = jax.vjp(lambda free: rules.parameters(free, start), state.free)
        by_penalty = jax.grad(rules.penalty)(parameters, 0.0, settings.l2)
        weights, bias = jax.tree.map(lambda p, g: p - g / average, by_penalty, slope)
        # of |w| by hand, as JAX's derivative at 0 is 1
        downhill = jax.tree.map(lambda d, w: d + settings.l1 * jnp.sign(w), weights, parameters[0]), bias
        updates, memory = optimizer.update(backwards(downhill)[0], state.optimizer, state.free)
        weights, bias = jax.tree.map(jnp.add, state.free, updates)

        def kept(new, old, slope):
            zero = (new * old < 0) | ((old == 0) & (jnp.abs(slope) <= settings.l1))
            return jnp.where(zero & (settings.l1 > 0), 0.0, new)

        weights = jax.tree.map(kept, weights, state.free[0], downhill[0])
        return TrainingState((weights, bias), memory)

    return (jax.vmap(of_one) if settings.stacked else of_one)(state, start, slope)


def moved_plainly(
    state: TrainingState, settings: RunSettings, start: Any, slope: Any, average: float, optimizer: SlowingDescent
) -> TrainingState:
    """The same of one machine whose parameters are the free numbers themselves, in NumPy."""

    def downhill(move: np.ndarray, w: np.ndarray, g: np.ndarray, *, penalised: bool) -> np.ndarray:
        penalty = settings.l1 * np.sign(w) + settings.l2 * w if penalised and (settings.l1 or settings.l2) else 0.0
        return np.where(move, penalty - g / average, 0.0)

    trees = zip((True, False), settings.rules.moves, state.free, slope, strict=True)
    gradient = tuple(jax.tree.map(partial(downhill, penalised=each), *parts) for each, *parts in trees)
    updates, memory = optimizer.update(gradient, state.optimizer)
    return TrainingState(jax.tree.map(np.add, state.free, updates), np.asarray(memory))


moved = Program(_moved)
