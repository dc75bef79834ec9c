"""How a belief network is learned by the free energy of a scheme: what a step is, and the estimates of ln P."""

from typing import Any

import numpy as np

from plefka.errors import MethodDoesNotApply
from plefka.learning import likelihood
from plefka.learning.gradient_step import Batch, StepResult, StepSettings, TrainingState, step
from plefka.learning.parameters import Parametrisation, adam
from plefka.learning.patterns import Data, Piece, batch_places, complete
from plefka.learning.steps import BatchNumber, LearningRun, Steps, max_steps
from plefka.mean_field.minimisation import random_start
from plefka.mean_field.schemes import HigherOrder, MeanField
from plefka.mean_field.taylor import Taylor
from plefka.methods.method import Method
from plefka.methods.posterior import Accuracy
from plefka.networks.belief import BeliefNetwork
from plefka.solvers.policies import POLICIES, Monotone

BATCH_SIZE = 256
SOLVER_STEPS = 50  # evaluations of a search unless given; from the solution of the epoch before, few rows need as many
DEPTH, DEPTH_IN_SINGLE = 2, 3  # steps remembered: from so good a start, more cost more than they save
SINGLE_TOLERANCE = 1e-4  # from which on single precision finds the means: at 1e-5 residuals were up to 1.3e-5
SINGLE_NUMBERS = 2**20  # of an epoch: rows times edges from which on it halves the time
STEP_COST = 10_000  # what a step costs by itself, in numbers that it works on
OPTIMISED_AFTER = 2**11  # steps, from which on it pays to optimise their program, whatever is still to come
EPOCHS_AHEAD = 16  # that most runs do at least
MOST_STARTS = 2**25  # numbers that are kept for the next epoch to start from
STORED = np.float32


def check(network: BeliefNetwork, method: MeanField) -> None:
    """Refuse what cannot be learned by this method."""
    if isinstance(method, HigherOrder):
        raise MethodDoesNotApply(f"{method} is not minimised by its means, or not in closed form. Use G1 instead.")
    method.check(network)


def batch_size(data: Data, method: Method) -> int:
    """Distinct rows for each step unless given."""
    return BATCH_SIZE


def optimizer(data: Data, method: Method) -> Any:
    """What moves the parameters unless given."""
    return adam()


def settings(
    network: BeliefNetwork, data: Data, method: MeanField, rules: Parametrisation, penalties: tuple[float, float],
    tol: float,
) -> StepSettings:  # fmt: skip
    """What every step of a run has in common."""
    stacked, functional = network.stack is not None, method.functional
    storage = network.storage.take(0) if stacked else network.storage
    storage = storage.prepared(pairs=functional.needs_pairs, tables=functional.needs_tables)
    in_single = (
        len(data) * network.num_edges >= SINGLE_NUMBERS
        and tol >= SINGLE_TOLERANCE
        and isinstance(functional, Taylor)
        and not network.activation.allows_certain_states
    )
    policy = Monotone(DEPTH_IN_SINGLE if in_single else DEPTH) if method.policy == "monotone" else None
    return StepSettings(
        storage,
        network.activation,
        rules,
        *penalties,
        tol,
        max_steps(method, SOLVER_STEPS),
        functional,
        policy or POLICIES[method.policy],
        stacked,
        in_single,
    )


class Starts:
    """The solutions of the last epoch, for units that are hidden in every row, while they are few enough to keep."""

    def __init__(self, data: Data, stack: tuple[int, ...]):
        self.latent, self.stack = data.latent, stack
        shape = (*stack, len(data), len(self.latent))
        self.kept = bool(np.prod(shape) <= MOST_STARTS)
        self.memory = np.zeros(shape if self.kept else (*stack, 0, len(self.latent)), STORED)

    def read(self, index: np.ndarray, width: int) -> np.ndarray:
        theta = np.zeros((*self.stack, len(index), width))
        if self.kept:
            theta[..., self.latent] = self.memory[..., index, :]
        return theta

    def write(self, index: np.ndarray, theta: np.ndarray) -> None:
        """The solutions of some rows; `theta` may have more of them, which only filled up the batch."""
        if self.kept:
            found = theta.astype(STORED)[..., : len(index), :][..., self.latent]
            self.memory[..., index, :] = np.where(np.isfinite(found), found, 0.0)


class FreeEnergySteps(Steps):
    """A compiled step solves the rows of a batch and differentiates their free energy, see gradient_step.py."""

    def __init__(self, run: LearningRun):
        super().__init__(run)
        self.keeper = Starts(run.data, self.stack)
        self.num_searched = run.data.num_searched(run.network.layers)
        self.summed = likelihood.affordable(run.network, run.data)

    @property
    def scheme(self) -> Any:
        """Whose means are searched."""
        return self.run.method

    def take(self, state: TrainingState, piece: Piece, when: BatchNumber, *, stop: bool) -> StepResult:
        run, devices, places = self.run, self.run.devices, len(piece.numbers)
        numbers, rows, counts = self.own_rows(piece)
        average = run.data.total / self.num_batches
        batch = Batch(rows, counts, average, self._starts(numbers, places, when), self.noise(places, when))
        state, outcome = step(
            state, run.settings, run.network.parameters,
            devices.placed(batch, places, stacked=bool(self.stack), stop=stop),
            optimizer=run.optimizer, mesh=devices.mesh, keep=self.keeper.kept or devices.mesh is None,
            work=self.work(when.epoch),
        )  # fmt: skip
        self.keeper.write(piece.numbers[: np.count_nonzero(piece.counts > 0)], outcome.theta)
        return state, outcome

    def noise(self, places: int, when: BatchNumber) -> np.ndarray | None:
        """The random numbers of a batch, for this process's rows: none, as the means that are searched are those."""
        return None

    def _starts(self, numbers: np.ndarray, places: int, when: BatchNumber) -> np.ndarray:
        """Where the searches of this process's rows start: (starts, rows, units), of a stack with a leading axis.

        The first is the solution of the epoch before. With `restarts` there are random means as well, which every batch
        of every epoch draws anew from the method's seed.
        """
        method, width = self.scheme, self.num_searched
        last = self.keeper.read(numbers, width)[..., None, :, :]
        if not method.restarts:
            return last
        generator = np.random.default_rng([method.seed or 0, *when])  # of the batch, whichever run comes to it
        own = random_start(generator, (method.restarts, places, width))[:, self.run.devices.share(places)]
        return np.concatenate([last, np.broadcast_to(own, (*self.stack, *own.shape))], axis=-3)

    def work(self, epoch: int) -> int:
        run = self.run
        places = batch_places(run.batch_size, len(run.data), run.devices.count)
        numbers = run.network.num_edges * places * (run.network.stack or 1) + STEP_COST
        return (epoch + EPOCHS_AHEAD) * self.num_batches * numbers // OPTIMISED_AFTER

    def exact(self, network: Any) -> Any:
        if self.summed is None:
            return np.full(self.stack, np.nan)
        return likelihood.exact(network, self.summed) @ self.summed.counts / self.summed.total

    @property
    def accuracy(self) -> Accuracy:
        """Exact where nothing is hidden, so that nothing is approximated."""
        if complete(self.run.data):
            return Accuracy.EXACT
        storage, f = self.run.settings.storage, self.run.settings.activation
        is_bound = self.run.settings.functional.is_bound_of(f, storage.most_parents())
        return Accuracy.LOWER_BOUND if is_bound else Accuracy.ESTIMATE


steps = FreeEnergySteps
