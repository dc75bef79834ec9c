"""How a belief network is learned by weighted states: `reweighted`, whose proposals are means, and not the truth.

The estimate of ln P of a row is the logarithm of the mean weight of a few states, a lower bound on average; however
far the means are off, more draws bring it closer to ln P, and its gradient too. The size of steps is chosen by a trial:
a few steps with each of several sizes, of which the best goes on. It counts steps and not seconds, and all sizes see
the same rows and random numbers; what it chose stands in the state of the optimiser, and so in checkpoints.
"""

from dataclasses import replace
from itertools import count, islice
from typing import Any

import jax
import numpy as np

from plefka.errors import InvalidInput, MethodDoesNotApply
from plefka.inference.library import METHODS
from plefka.learning import by_free_energy
from plefka.learning.by_free_energy import SINGLE_NUMBERS, FreeEnergySteps
from plefka.learning.gradient_step import Batch, StepResult, StepSettings, TrainingState
from plefka.learning.parameters import Parametrisation, adam_of_any_size, with_step_size
from plefka.learning.patterns import Data, Piece, complete
from plefka.learning.recogniser import Recogniser, recognising_step
from plefka.learning.steps import BatchNumber, LearningRun, max_steps
from plefka.learning.weighted_states import WHOLE
from plefka.mean_field.schemes import MeanField
from plefka.methods.for_learning import Recognition, Reweighted
from plefka.methods.posterior import Accuracy
from plefka.networks.belief import BeliefNetwork

STEP_SIZES = (0.01, 0.03, 0.1, 0.3)
TRIED_STEPS = 80  # with each size
FIRST_EPOCH = 2**20  # of trials, whose rows and random numbers are others than those of learning
SMALLEST_BATCH, LARGEST_BATCH, STEPS_OF_EPOCH = 8, 256, 16  # more steps of fewer rows, where these are few
SOLVER_STEPS = 10  # evaluations of a search: means that are a little off cost less than further ones


def check(network: BeliefNetwork, method: Reweighted) -> None:
    """Refuse proposals that there are not for this network."""
    if isinstance(method.proposal, MeanField):
        by_free_energy.check(network, method.proposal)
    elif not isinstance(method.proposal, Recognition):
        raise MethodDoesNotApply(
            f"reweighted draws from the means of a scheme with a free energy, or of recognition; got "
            f"{method.proposal}. Use reweighted[G12] instead."
        )


def batch_size(data: Data, method: Reweighted) -> int:
    """Distinct rows for each step unless given: a power of 2."""
    return int(np.clip(2 ** (len(data) // STEPS_OF_EPOCH).bit_length() // 2, SMALLEST_BATCH, LARGEST_BATCH))


def optimizer(data: Data, method: Reweighted) -> Any:
    """What moves the parameters unless given."""
    return adam_of_any_size()


def settings(
    network: BeliefNetwork, data: Data, method: Reweighted, rules: Parametrisation, penalties: tuple[float, float],
    tol: float,
) -> StepSettings:  # fmt: skip
    """What every step of a run has in common."""
    own = by_free_energy.settings(network, data, scheme_of(network, method), rules, penalties, tol)
    seen = data.units[~data.has_gaps()]  # in every row
    drawn = np.setdiff1d(np.flatnonzero(network.storage.num_children() > 0), seen)
    numbers = len(data) * network.num_edges * method.draws
    in_single = numbers >= SINGLE_NUMBERS and not network.activation.allows_certain_states
    steps = max_steps(method.proposal, SOLVER_STEPS) if isinstance(method.proposal, MeanField) else 0
    return replace(own, max_steps=steps, drawn=drawn, draws_in_single=in_single)


def scheme_of(network: BeliefNetwork, method: Reweighted) -> MeanField:
    """The proposal, or a scheme that any such network has."""
    found: Any = method.proposal if isinstance(method.proposal, MeanField) else METHODS["G12"]
    return found


class WeightedSteps(FreeEnergySteps):
    """A compiled step finds means, draws states from them, and follows the gradient of their mean weight."""

    def __init__(self, run: LearningRun):
        super().__init__(run)
        proposal, given = run.method.proposal, run.method.seed
        self.seed: Any = run.seed if given is None else given
        if self.seed is None:
            raise InvalidInput("the states that are drawn are random; pass a seed, as in fit(..., seed=0).")
        if isinstance(proposal, Recognition):
            self.keeper = Recogniser(run.data, run.settings.drawn, proposal.units, self.seed, self.stack)

    @property
    def scheme(self) -> Any:
        return scheme_of(self.run.network, self.run.method)

    def take(self, state: TrainingState, piece: Piece, when: BatchNumber, *, stop: bool) -> StepResult:
        if when == (0, 0) and self.run.optimizer is adam_of_any_size():
            state = with_best_step_size(self, state)
        return self.step(state, piece, when, stop=stop)

    def step(self, state: TrainingState, piece: Piece, when: BatchNumber, *, stop: bool = False) -> StepResult:
        """One step, by whatever the means come from."""
        if not isinstance(self.keeper, Recogniser):
            return super().take(state, piece, when, stop=stop)
        run, noise = self.run, self._noise(len(piece.numbers), when)  # of all processes, each of which does the same
        batch = Batch(run.data.evidence(piece.values), piece.counts, run.data.total / self.num_batches, None, noise)
        state, self.keeper.memory, outcome = recognising_step(
            state, self.keeper.memory, run.settings, run.network.parameters, batch, self.keeper.inputs,
            optimizer=run.optimizer, work=self.work(when.epoch),
        )  # fmt: skip
        return state, outcome

    def with_step_size(self, state: TrainingState, size: Any) -> TrainingState:
        """The state with another size of the steps, which the recognition network takes too."""
        if isinstance(self.keeper, Recogniser):
            weights, optimizer = self.keeper.memory
            self.keeper.memory = weights, with_step_size(optimizer, size)
        return state._replace(optimizer=with_step_size(state.optimizer, size))

    def noise(self, places: int, when: BatchNumber) -> np.ndarray:
        return self._noise(places, when)[self.run.devices.share(places)]

    def _noise(self, places: int, when: BatchNumber) -> np.ndarray:
        """Of all rows of the batch, whichever process works on them."""
        shape = places, self.run.method.draws, len(self.run.settings.drawn)
        return np.random.default_rng([self.seed, *when]).integers(WHOLE, size=shape, dtype=np.uint32)

    def work(self, epoch: int) -> int:
        return super().work(epoch) * self.run.method.draws

    @property
    def accuracy(self) -> Accuracy:
        """A lower bound on average over draws, and so an estimate."""
        return Accuracy.EXACT if complete(self.run.data) else Accuracy.ESTIMATE


# ---- the size of steps -----------------------------------------------------------------------------------------------


def with_best_step_size(steps: WeightedSteps, state: TrainingState) -> TrainingState:
    """The state with the step size that leads to the highest estimate of ln P, of a stack network by network."""
    memory, reached = steps.keeper.memory, []
    for size in STEP_SIZES:
        steps.keeper.memory = jax.tree.map(np.copy, memory)  # which some steps write into
        reached.append(_reached(steps, steps.with_step_size(state, size)))
    steps.keeper.memory = memory
    best = np.argmax(np.where(np.isfinite(reached), reached, -np.inf), axis=0)
    return steps.with_step_size(state, np.asarray(STEP_SIZES)[best])


def _reached(steps: WeightedSteps, state: TrainingState) -> Any:
    """The estimate per row in the last third of the steps."""
    run, total, counted = steps.run, 0.0, 0.0
    batches = (
        (BatchNumber(epoch, number), piece)
        for epoch in count(FIRST_EPOCH)
        for number, piece in enumerate(run.data.pieces(run.batch_size, run.seed, epoch, 0, run.devices.count))
    )
    for step, (when, piece) in enumerate(islice(batches, TRIED_STEPS)):
        state, outcome = steps.step(state, piece, when)
        if step >= TRIED_STEPS * 2 // 3:
            total, counted = total + outcome.log_likelihood, counted + outcome.counted
    with np.errstate(divide="ignore", invalid="ignore"):
        return total / counted


steps = WeightedSteps
