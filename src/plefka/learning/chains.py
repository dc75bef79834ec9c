"""Learning by persistent chains: the free averages are those of Gibbs chains that go on from step to step.

Chains lag behind the parameters by little, as these move slowly (Tieleman, 2008). Gradients are those of the centred
machine, whose weights multiply S_i - mean of S_i (Montavon and Mueller, 2012; Cho, Raiko and Ilin, 2013). Hidden units
of a row are averaged over exactly where they are independent given the row, and by a chain of its own elsewhere. In
both, units of the last colour are averaged over in closed form. What is learned is an average of the parameters that
steps have led to. ln P per row is estimated now and then, with ln Z by annealed importance sampling.
"""

from functools import cached_property
from typing import Any

import jax
import numpy as np
import scipy.sparse as sp

from plefka.errors import InvalidInput
from plefka.exact.cost import WORK_PER_SECOND
from plefka.learning.annealed import MOST_SCORED_ROWS, frequencies
from plefka.learning.gradient_step import StepResult, TrainingState
from plefka.learning.honest_score import HonestScore
from plefka.learning.machine_steps import Gradient, MachineSteps, Rows, in_own_values
from plefka.learning.pair_moments import outer
from plefka.learning.patterns import Patterns, Piece
from plefka.learning.steps import BatchNumber, LearningRun
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.sampling.free_states import FreeStates, Single, colours_of, is_independent

MOST_STATES = 2**25  # of hidden units of all rows, that are kept from epoch to epoch
CENTRED = 0.02  # the weight of a step in the running means of units that gradients are centred at
STEP_SECONDS = 0.002  # of a step, beside its chains and rows
AVERAGED = 9  # what steps t have led to weighs as t^9
FREE, CLAMPED = range(2)  # tell the random numbers of one step apart


class ByChains(MachineSteps):
    """Gradients from chains; their states are what later steps need."""

    def __init__(self, run: LearningRun):
        super().__init__(run)
        seed = run.method.seed if run.method.seed is not None else run.seed
        if seed is None:
            raise InvalidInput("persistent chains are random; pass a seed, as in fit(..., seed=0).")
        coupled, latent = pattern(run), run.data.latent
        self.seed, self.coloured = seed, colours_of(coupled, latent)
        self.is_closed = is_independent(coupled, latent) and not run.data.has_gaps().any()
        stack, size = run.network.stack or 1, run.network.size
        rng, on = np.random.default_rng([seed, FREE]), self._frequencies()
        free = (rng.random((stack, size, run.method.chains)) < on[:, None]).astype(np.int8)
        keeps = not self.is_closed and stack * len(run.data) * len(latent) <= MOST_STATES
        rows = rng.integers(0, 2, (stack, len(run.data) if keeps else 0, len(latent)), np.int8)
        start = run.settings.rules.free(run.network.parameters)
        self.memory = free, rows, np.full(self.stack, np.nan), np.tile(on, (stack, 1)), start, np.array(0)

    def _frequencies(self) -> np.ndarray:
        """How often units are on in the rows that are in memory, and 1/2."""
        data = self.run.data
        on = frequencies(data) if isinstance(data, Patterns) else np.full(self.run.network.size, 0.5)
        return np.where(np.isnan(on), 0.5, on)

    def recall(self, memory: Any) -> None:
        """Chains, running means and what is averaged go on; chains of rows do not, as the rows may be others."""
        going_on = [(each[0].shape, jax.tree.map(np.shape, each[3:])) for each in (memory, self.memory) if each]
        if len(going_on) == 2 and going_on[0] == going_on[1]:
            self.memory = memory[0].copy(), *self.memory[1:3], memory[3].copy(), *memory[4:]

    def of(self, number: int, machine: BoltzmannMachine, rows: Rows, when: BatchNumber) -> Gradient:
        machine = machine.converted()
        chains = FreeStates(machine, self.coloured)
        (first, second), n = self._clamped(number, machine, chains, rows, when)
        states = self.memory[0][number]
        S = chains.swept(states, self.run.method.sweeps, np.random.default_rng([self.seed, number, *when, FREE]))
        states[:], u = S, chains.averaged(S)
        free = u.mean(axis=1, dtype=float), outer(machine.storage, u / Single(u.shape[1]), u)
        slope, second = jax.tree.map(lambda a, b: a - n * b, (first, second), free)
        return Gradient(0.0, n, n, slope, second, first)

    def take(self, state: TrainingState, piece: Piece, when: BatchNumber, *, stop: bool) -> StepResult:
        """The step is one of the parameters that steps have led to, which are others than those learned so far."""
        after, outcome = super().take(state._replace(free=self.memory[4]), piece, when, stop=stop)
        return after._replace(free=self.learned(state.free, after.free)), outcome

    def learned(self, before: Any, after: Any) -> Any:
        """An average of where steps have led to, of about the last tenth (Shamir and Zhang, 2013): it is far ahead of
        each, as these swing, and needs no steps that end at a number of epochs that is known."""
        steps = self.memory[5] + 1
        self.memory = *self.memory[:4], after, steps
        share = (AVERAGED + 1) / (steps + AVERAGED)
        return jax.tree.map(lambda old, new: old + share * (new - old), before, after)

    def slope(self, number: int, machine: BoltzmannMachine, of: Gradient) -> Any:
        """The step of the machine's own parameters to which the slope by those of the centred machine leads.

        With E = -sum W_ij (S_i - m_i) (S_j - m_j) - ..., d ln P / dW_ij is less m_i d ln P / db_j and its like, and a
        rise of W_ij lowers b_i by m_j. Nothing of this concerns parameters that do not move.
        """
        (weights, bias), (off, on) = in_own_values(machine, of), machine.values
        moves, may = self.run.settings.rules.moves
        self.memory[3][number] += CENTRED * (of.clamped / of.counted - self.memory[3][number])
        m, b = off + (on - off) * self.memory[3][number], np.where(may, bias, 0.0)
        across = machine.storage.along(lambda child, parent: m[child] * b[parent] + b[child] * m[parent])
        weights = jax.tree.map(lambda g, more, move: np.where(move, g - more, 0.0), weights, across, moves)
        return weights, bias - machine.storage.with_parameters(weights).product(m[:, None])[:, 0]

    def _clamped(
        self, number: int, machine: BoltzmannMachine, chains: FreeStates, rows: Rows, when: BatchNumber
    ) -> tuple[tuple, float]:
        """Sums over rows, and what these weigh."""
        if self.is_complete:
            found = self.clamped(machine, rows)
            return (found.first, found.second), found.counted
        _, evidence, c = rows
        is_closed = self.is_closed
        u = chains.averaged(np.nan_to_num(evidence.T)) if is_closed else self._row_chains(number, chains, rows, when)
        return (u @ c, outer(machine.storage, u * c.astype(u.dtype), u)), float(c.sum())

    def _row_chains(self, number: int, chains: FreeStates, rows: Rows, when: BatchNumber) -> np.ndarray:
        """(units, rows) after sweeps of a chain for each row, from where the last epoch left it."""
        (numbers, evidence, _), kept, latent = rows, self.memory[1][number], self.run.data.latent
        rng, free = np.random.default_rng([self.seed, number, *when, CLAMPED]), np.isnan(evidence.T)
        S = np.where(free, rng.integers(0, 2, free.shape), evidence.T)
        if len(kept):
            S[latent] = kept[numbers].T
        S = chains.swept(S, self.run.method.sweeps, rng, free)
        if len(kept):
            kept[numbers] = S[latent].T
        return chains.averaged(S, free)

    # ---- ln P --------------------------------------------------------------------------------------------------------

    def objective(self, network: Any, during: Any, epoch: int) -> Any:
        """ln P per row, renewed where all annealing takes no more than a part of what steps have, as predicted."""
        if self._score.is_due(epoch + 1):
            self.memory = *self.memory[:2], self._score.of(network).value, *self.memory[3:]
        return self.memory[2]

    @cached_property
    def _score(self) -> HonestScore:
        """Of all rows, or of some of those in files."""
        data: Any = self.run.data
        if not isinstance(data, Patterns):
            _, values, counts = next(data.pieces(min(MOST_SCORED_ROWS, len(data)), self.seed, 0, 0, 1))
            data = Patterns(values, counts, data.units, data.size, np.arange(len(counts)))
        return HonestScore(self, data)

    @property
    def epoch_work(self) -> float:
        run = self.run
        one = run.network if run.network.stack is None else run.network.take(0)
        column, batches = FreeStates(one.converted(), self.coloured).seconds, -(-len(run.data) // run.batch_size)
        seconds = batches * (STEP_SECONDS + run.method.chains * run.method.sweeps * column) + len(run.data) * column
        return seconds * WORK_PER_SECOND * (run.network.stack or 1)


def pattern(run: LearningRun) -> sp.csr_array:
    """Which units are coupled, or may come to be: a symmetric matrix without a diagonal, of one machine."""
    one = run.network.storage if run.network.stack is None else run.network.storage.take(0)
    moves = run.settings.rules.moves[0]
    there = one.with_parameters(jax.tree.map(lambda w, move: ((w != 0) | move) * 1.0, one.parameters, moves))
    L = sp.csr_array(there.to_sparse())
    return sp.csr_array(L + L.T)
