"""Expectation maximisation of noisy-or networks with hidden units: an epoch is three steps, of which two are a leap.

With several batches it is a step for each of them, on statistics that remember earlier ones.
"""

from typing import Any

import numpy as np

from plefka.errors import InvalidInput, MethodDoesNotApply
from plefka.learning.factor_starts import FactorStarts
from plefka.learning.gradient_step import Outcome, StepResult, TrainingState
from plefka.learning.maximisation import Maximisation
from plefka.learning.parameters import adam
from plefka.learning.patterns import Data, Patterns, Piece
from plefka.learning.records import leap
from plefka.learning.row_states import states_of, warm
from plefka.learning.shared_states import IMPOSSIBLE, Families, Tally
from plefka.learning.steps import BatchNumber, LearningRun, RunSettings, Steps
from plefka.methods.method import Method
from plefka.methods.posterior import Accuracy
from plefka.networks.belief import BeliefNetwork

GAIN = 0.6  # of statistics with several batches: step t counts as (t + 2)^-0.6 (Cappe & Moulines 2009)
STEPS_WORK = 10  # multiply-adds of an epoch's steps for each case and coin, about
SETTLED = 1e-5  # a gain per row and epoch that is none


def check(network: BeliefNetwork, method: Method) -> None:
    """Refuse what has no such steps."""
    f = network.activation
    if f.mixes_kinds or not f.has_linear_log_off or f.has_linear_log_odds:
        raise MethodDoesNotApply(
            f"{method} is for networks whose units are all noisy-or; this one has {f.name} units. Use G12 or SJJ."
        )
    if network.stack is not None:
        raise MethodDoesNotApply(f"{method} learns one network, from several starts of its own: pass network.take(0).")
    if any(np.any(np.asarray(w) < 0) for w in (network.storage.extreme_sums()[0], network.bias)):
        raise MethodDoesNotApply(f"{method} needs weights and leaks of 0 or more. Use G12, with these frozen.")


def batch_size(data: Data, method: Method) -> int:
    """Distinct rows for each step unless given: all of them."""
    return len(data)


def optimizer(data: Data, method: Method) -> Any:
    """In the place of one: maximisation steps need none."""
    return adam()


class Keeper:
    """What later steps need of earlier ones: the states of rows, and statistics of several batches."""

    def __init__(self, states: Any, shape: tuple[int, ...], *, batches: bool):
        self.states, self.progress = states, np.array([-np.inf, 0.0])  # the value of the last epoch; whether it settled
        self.sums = np.zeros((2, *shape) if batches else 0)

    @property
    def memory(self) -> tuple:
        return self.progress, self.sums, self.states.memory

    @memory.setter
    def memory(self, memory: tuple) -> None:
        self.progress, self.sums, self.states.memory = memory


class ExpectationSteps(Steps):
    """Every epoch takes steps of all rows, each from where the last one led; with several batches, one of each."""

    def __init__(self, run: LearningRun):
        super().__init__(run)
        if not isinstance(run.data, Patterns):
            raise InvalidInput(f"{run.method} keeps its rows in memory; pass stream=False, or take G12 instead.")
        if run.optimizer is not adam():
            raise InvalidInput(f"{run.method} takes no steps of an optimizer; leave it out, or take G12 instead.")
        self.families, self.data = Families(run.network), run.data
        self.values = run.data.whole_values()
        self.states = states_of(self.families, self.values, run.method.states)
        self.maximisation = Maximisation(self.families, run)
        self.keeper = Keeper(self.states, self.maximisation.moves.shape, batches=self.num_batches > 1)
        self.seed = next(z for z in (run.method.seed, run.seed, 0) if z is not None)

    def take(self, state: TrainingState, piece: Piece, when: BatchNumber, *, stop: bool) -> StepResult:
        rng = np.random.default_rng([self.seed, 1, *when])
        places = np.flatnonzero(piece.counts)
        rows, counts = piece.numbers[places], piece.counts[places]
        fields = self.families.matrix(self.network(state.free).parameters)
        if when == (0, 0):
            fields = FactorStarts(self.families, self.maximisation, self.run, self.seed).best(fields, self.values)
        if when.epoch == 0:
            warm(self.states, fields, rows, counts, rng)
        found = self.states.step(fields, rows, counts, rng)
        self._refuse_impossible(rows[found.log_likelihood < IMPOSSIBLE])
        value = float(found.log_likelihood @ counts)
        after = self._after_batch(fields, found, when) if self.num_batches > 1 else self._leapt(fields, found, value)
        stopped = int(self.run.devices.gathered(np.array([stop])).sum()) if self.run.devices.several else 0
        free = self.run.settings.rules.free(self.families.parameters(after))
        return TrainingState(free, state.optimizer), Outcome(value, counts.sum(), counts.sum(), None, stopped)

    def _leapt(self, fields: np.ndarray, found: Tally, value: float) -> np.ndarray:
        """Where three steps lead, and whether the epoch before still made a difference."""
        every, counts, shape = np.arange(len(self.values)), self.data.counts, fields.shape
        value += self.maximisation.log_prior(fields)
        self.keeper.progress = np.array([value, value - self.keeper.progress[0] < SETTLED * self.data.total])

        def step(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray, None]:
            x = flat.reshape(shape)
            share, acted, log_p = self.states.step(x, every, counts)
            value = np.array([log_p @ counts + self.maximisation.log_prior(x)])
            return self.maximisation.of(x, share, acted).ravel(), value, None

        second = self.maximisation.of(fields, found.share, found.acted).ravel()
        return leap(step, np.zeros(fields.size, int), fields.ravel(), second).reshape(shape)

    def _after_batch(self, fields: np.ndarray, found: Tally, when: BatchNumber) -> np.ndarray:
        """Where statistics of this batch and earlier ones lead, of which the latest count most."""
        own = np.stack([-np.expm1(-fields) * found.share, found.acted]) * self.num_batches
        number = when.epoch * self.num_batches + when.batch
        gain = 1.0 if number == 0 else (number + 2.0) ** -GAIN
        self.keeper.sums = (1 - gain) * self.keeper.sums + gain * own
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.nan_to_num(self.keeper.sums[0] / -np.expm1(-fields))
        return self.maximisation.of(fields, share, self.keeper.sums[1])

    def _refuse_impossible(self, rows: np.ndarray) -> None:
        if len(rows):
            row = np.flatnonzero(np.isin(self.data.which, rows))[0]
            raise InvalidInput(
                f"row {row} of rows (of those with a weight) has probability zero in the network, in which 0 stays 0 "
                "and 1 stays 1, or no state was found in which it has not. Correct it, or begin with small "
                "probabilities instead of 0."
            )

    # ---- what came of it ---------------------------------------------------------------------------------------------

    def exact(self, network: Any) -> Any:
        if not self.states.exact:
            return np.nan
        found = self.states.step(
            self.families.matrix(network.parameters), np.arange(len(self.values)), self.data.counts
        )
        return found.log_likelihood @ self.data.counts / self.data.total

    @property
    def epoch_work(self) -> float:
        cases = self.states.cases * self.maximisation.moves.size
        return float(cases * STEPS_WORK)

    @property
    def settled(self) -> bool:
        """Whether the last epoch made no difference any more."""
        return bool(self.keeper.progress[1])

    @property
    def accuracy(self) -> Accuracy:
        """Exact where all states of every row are summed over, else a sum over some of them."""
        return Accuracy.EXACT if self.states.exact else Accuracy.LOWER_BOUND


settings, steps = RunSettings.of, ExpectationSteps
