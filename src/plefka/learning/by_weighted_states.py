"""How a belief network is learned by weighted states: `reweighted`, whose proposals are means, and not the truth.

The estimate of ln P of a row is the logarithm of the mean weight of a few states, a lower bound on average; however
far the means are off, more draws bring it closer to ln P, and its gradient too.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plefka.errors import InvalidInput, MethodDoesNotApply
from plefka.inference.library import METHODS
from plefka.learning import by_free_energy
from plefka.learning.by_free_energy import SINGLE_NUMBERS, FreeEnergySteps
from plefka.learning.gradient_step import Batch, Outcome, StepSettings, TrainingState
from plefka.learning.parameters import Parametrisation, with_step_size
from plefka.learning.patterns import Data, Piece, complete
from plefka.learning.recogniser import Recogniser, recognising_step
from plefka.learning.step_trial import adam_of_any_size, with_best_step_size
from plefka.learning.steps import BatchNumber, max_steps
from plefka.learning.weighted_states import WHOLE
from plefka.mean_field.schemes import MeanField
from plefka.methods.for_learning import Recognition, Reweighted
from plefka.methods.posterior import Accuracy

if TYPE_CHECKING:
    from plefka.learning.steps import LearningRun
    from plefka.networks.belief import BeliefNetwork

SMALLEST_BATCH, LARGEST_BATCH, STEPS_OF_EPOCH = 8, 256, 16  # more steps of fewer rows, where these are few
SOLVER_STEPS = 10  # evaluations of a search: means that are a little off cost less than further ones


def check(network: "BeliefNetwork", method: Reweighted) -> None:
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
    network: "BeliefNetwork", data: Data, method: Reweighted, rules: Parametrisation, penalties: tuple[float, float],
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


def scheme_of(network: "BeliefNetwork", method: Reweighted) -> MeanField:
    """The proposal, or a scheme that any such network has."""
    found: Any = method.proposal if isinstance(method.proposal, MeanField) else METHODS["G12"]
    return found


class WeightedSteps(FreeEnergySteps):
    """A compiled step finds means, draws states from them, and follows the gradient of their mean weight."""

    def __init__(self, run: "LearningRun"):
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

    def take(
        self, state: TrainingState, piece: Piece, when: BatchNumber, *, stop: bool
    ) -> tuple[TrainingState, Outcome]:
        if when == (0, 0) and self.run.optimizer is adam_of_any_size():
            state = with_best_step_size(self, state)
        return self.step(state, piece, when, stop=stop)

    def step(
        self, state: TrainingState, piece: Piece, when: BatchNumber, *, stop: bool = False
    ) -> tuple[TrainingState, Outcome]:
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


steps = WeightedSteps
