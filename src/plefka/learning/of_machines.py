"""How a Boltzmann machine is learned: d ln P(row) / dW_ij = <S_i S_j>_clamped - <S_i S_j>_free, and so for biases.

A step asks for both averages and moves the parameters. Where they come from stands in gradients.py and chains.py.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from plefka.inference.library import parse_method
from plefka.learning.chains import ByChains
from plefka.learning.checkpoint import digest
from plefka.learning.gradient_step import Outcome, TrainingState
from plefka.learning.gradients import ByMoments, ByNeighbours, Gradient, Gradients, default_method
from plefka.learning.pair_moments import check as check_moments
from plefka.learning.parameters import Parametrisation, SlowingDescent, adam, slowing_adam, slowing_descent
from plefka.learning.patterns import Data, Patterns, Piece, complete
from plefka.learning.steps import BatchNumber, Steps
from plefka.methods.for_learning import ForLearning, Persistent, PseudoLikelihood
from plefka.methods.method import Method
from plefka.methods.posterior import Accuracy
from plefka.runtime.programs import Program

if TYPE_CHECKING:
    from plefka.learning.steps import LearningRun
    from plefka.networks.boltzmann import BoltzmannMachine

SEARCHED, FREE_ROWS = 4, 500  # rows of machines need no search: a part of its work; passes of the free machine
BATCH_SIZE, LARGEST_BATCH = 32, 128
STEPS_OF_MANY = 64  # that chains take in an epoch, where batches can be larger
EPOCHS = 100  # of fit, unless given


class MachineSettings(eqx.Module):
    """What no step changes."""

    rules: Parametrisation
    l1: Any
    l2: Any
    tol: Any
    stacked: bool = eqx.field(static=True)


def check(machine: "BoltzmannMachine", method: Method) -> None:
    """Refuse a method that a machine cannot be learned by."""
    if not isinstance(method, ForLearning):
        check_moments(method)


def default(machine: "BoltzmannMachine", data: Data, epochs: int = EPOCHS, size: int | None = None) -> Method:
    """The method unless one is given, for so many epochs in batches of a size, which may be given too."""
    one, exact = machine.take(0) if machine.stack is not None else machine, parse_method("exact")
    steps = epochs * -(-len(data) // (size or batch_size(data, exact)))
    return default_method(one, data, steps * (machine.stack or 1))


def batch_size(data: Data, method: Method) -> int:
    """Distinct rows for each step unless given: all, where their averages are computed once and for all.

    Of many rows that chains learn from there are more in each step, which cost little beside the chains.
    """
    if isinstance(data, Patterns) and complete(data) and not isinstance(method, PseudoLikelihood):
        return len(data)
    many = len(data) // STEPS_OF_MANY if isinstance(method, Persistent) else 0
    return min(max(many, BATCH_SIZE), LARGEST_BATCH)


def spread(data: Data, method: Method, size: int) -> Data:
    """The rows as batches have them."""
    return data


def optimizer(data: Data, method: Method) -> Any:
    """What moves the parameters unless given."""
    return optimizers_of(method, is_complete=complete(data))()


def optimizers_of(method: Method, *, is_complete: bool) -> Callable[..., Any]:
    """What makes an optimiser of a step size: steps become shorter where gradients are random, or of some rows only."""
    if not isinstance(method, ForLearning):
        return adam
    return slowing_adam if is_complete or isinstance(method, PseudoLikelihood) else slowing_descent


def settings(
    machine: "BoltzmannMachine", data: Data, method: Method, rules: Parametrisation, penalties: tuple[float, float],
    tol: float,
) -> MachineSettings:  # fmt: skip
    """What every step of a run has in common."""
    return MachineSettings(rules, *penalties, tol, machine.stack is not None)


class MachineSteps(Steps):
    """The averages are NumPy's or those of `infer`; what moves the parameters is compiled."""

    def __init__(self, run: "LearningRun"):
        super().__init__(run)
        kinds: dict[Any, type[Gradients]] = {Persistent: ByChains, PseudoLikelihood: ByNeighbours}
        self.keeper = self.gradients = kinds.get(type(run.method), ByMoments)(run)

    def take(
        self, state: TrainingState, piece: Piece, when: BatchNumber, *, stop: bool
    ) -> tuple[TrainingState, Outcome]:
        numbers, rows, counts = self.own_rows(piece)
        here = self.gradients.here(state.free)
        machines = self.each(self.network(here))
        found = [self.gradients.of(k, machine, (numbers, rows, counts), when) for k, machine in enumerate(machines)]
        found, stopped = self._of_all_processes(found, stop)
        slopes = [
            self.gradients.direction(k, machine, in_own_values(machine, each), each)
            for k, (machine, each) in enumerate(zip(machines, found, strict=True))
        ]
        slope = jax.tree.map(lambda *z: np.stack(z) if self.stack else z[0], *slopes)
        settings, average = self.run.settings, self.run.data.total / self.num_batches
        size = self.run.network.num_edges * len(machines)
        given = TrainingState(here, state.optimizer), settings, self.run.network.parameters, slope, average
        optimizer = getattr(self.run.optimizer, "optimizer", self.run.optimizer)  # of one that goes on from a state
        is_quick = isinstance(optimizer, SlowingDescent) and settings.rules.is_plain and not self.stack
        after = moved_plainly(*given, optimizer) if is_quick else moved(*given, optimizer=self.run.optimizer, work=size)
        state = after._replace(free=self.gradients.learned(state.free, after.free))
        likelihood, counted, converged = (np.reshape([each[k] for each in found], self.stack) for k in range(3))
        return state, Outcome(likelihood, counted, converged, None, stopped)

    def recall(self, memory: Any) -> None:
        self.gradients.recall(memory)

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
        return self._of_each(network, lambda _, machine: self.gradients.exact(machine))

    def objective(self, network: Any, during: Any, epoch: int) -> Any:
        found = self._of_each(network, lambda number, machine: self.gradients.estimate(number, machine, epoch + 1))
        return np.where(np.isnan(found), during, found)

    @property
    def accuracy(self) -> Accuracy:
        """A difference of two ln Z is no bound; it is exact where both were in every step."""
        return Accuracy.EXACT if self.gradients.exact_steps == {True} else Accuracy.ESTIMATE

    @property
    def estimates(self) -> bool:
        return self.gradients.estimates

    @property
    def epoch_work(self) -> float:
        if isinstance(self.gradients, ByChains):
            return self.gradients.epoch_work
        free = self.num_batches * FREE_ROWS * self.run.network.num_edges * (self.run.network.stack or 1)
        return super().epoch_work / SEARCHED + free

    def _of_each(self, network: Any, function: Callable[[int, "BoltzmannMachine"], float]) -> Any:
        return np.reshape([function(*machine) for machine in enumerate(self.each(network))], self.stack)


def in_own_values(machine: "BoltzmannMachine", gradient: Gradient) -> tuple[Any, np.ndarray]:
    """By the machine's own weights and biases: those of units 0 and 1 at temperature 1 are linear in them."""
    first, second, T = gradient.first, gradient.second, machine.temperature
    if machine.values == (0, 1):
        return jax.tree.map(lambda g: g / T, second), first / T
    ends = machine.storage.along(lambda child, parent: first[child] + first[parent])
    return jax.tree.map(lambda g, sums: (4 * g - 2 * sums) / T, second, ends), 2 * first / T


def _moved(state: TrainingState, settings: MachineSettings, start: Any, slope: Any, average: Any, *, optimizer: Any):
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
    state: TrainingState, settings: MachineSettings, start: Any, slope: Any, average: float, optimizer: SlowingDescent
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
steps = MachineSteps
