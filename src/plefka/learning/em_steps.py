"""Expectation maximisation of noisy-or networks with hidden units: an epoch is three steps, of which two are a leap.

An expectation step finds how often each coin (a prior, a leak, a link) was thrown and was on, and a maximisation step
sets it to that share: p = on / thrown, with the cases that are added to all. A penalty on the weights, -ln(1 - p), adds
cases that are off. Coins that are shared are counted together.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from plefka.errors import InvalidInput, MethodDoesNotApply
from plefka.learning.checkpoint import digest
from plefka.learning.factor_starts import factor_start
from plefka.learning.family_counts import LARGEST_LEAK
from plefka.learning.gradient_step import Outcome, TrainingState
from plefka.learning.parameters import Parametrisation
from plefka.learning.patterns import Data, Patterns, Piece
from plefka.learning.records import leap
from plefka.learning.steps import BatchNumber, Steps
from plefka.learning.weighted_states import IMPOSSIBLE, Families, RowStates, SharedStates, Tally
from plefka.methods.posterior import Accuracy
from plefka.networks.fingerprint import activation_text
from plefka.tables.dataset import MISSING

if TYPE_CHECKING:
    from plefka.learning.steps import LearningRun
    from plefka.networks.belief import BeliefNetwork
    from plefka.methods.method import Method

START_ROWS, SHORT, WARM = 3000, 30, 8  # rows that starts are compared on, their steps, and searches before the first
LEAST = 1e-300  # a number that is learned stays above 0, where it could never leave
GAIN = 0.6  # of statistics with several batches: step t counts as (t + 2)^-0.6 (Cappe & Moulines 2009)
SETTLED = 1e-5  # a gain per row and epoch that is none
NEWTON = 20  # steps, where weights have a quadratic penalty


class EmSettings(NamedTuple):
    """What no step changes."""

    rules: Parametrisation
    l1: float
    l2: float
    tol: float
    stacked: bool = False


class NoOptimizer(NamedTuple):
    """In the place of an optimiser: maximisation steps need none."""

    def init(self, free: Any) -> tuple:
        """Nothing to remember."""
        return ()

    def update(self, gradient: Any, state: tuple, free: Any = None) -> tuple[Any, tuple]:
        """Nothing moves."""
        return jax.tree.map(lambda z: 0.0 * z, gradient), state


NO_OPTIMIZER = NoOptimizer()


def check(network: "BeliefNetwork", method: "Method") -> None:
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


def states_of(families: Families, values: np.ndarray, most: int) -> Any:
    """What takes the expectation steps of these rows."""
    return SharedStates(families, values) if SharedStates.applies(families, values) else RowStates(families, values, most)


def float_array(z: Any) -> np.ndarray:
    """As numbers."""
    return np.asarray(z, float)


class Maximisation:
    """From a tally to the numbers: what moves, what moves together, what is added to the counts."""

    def __init__(self, families: Families, run: "LearningRun"):
        rules, parameters = run.settings.rules, run.network.parameters
        self.moves = families.matrix(jax.tree.map(float_array, rules.moves_in(parameters))) > 0
        self.groups = families.matrix(jax.tree.map(float_array, rules.groups)).astype(int)
        self.l1, self.l2 = run.settings.l1 * run.data.total, run.settings.l2 * run.data.total
        cases = run.method.smoothing
        self.on, self.off = np.zeros(self.moves.shape), np.full(self.moves.shape, float(cases))
        self.on[:, 0] = self.off[:, 0] = cases / 2
        self.off[:, 1:] += self.l1

    def of(self, fields: np.ndarray, share: np.ndarray, acted: np.ndarray) -> np.ndarray:
        """The numbers after a step."""
        on = -np.expm1(-fields) * share
        off = np.maximum(acted - on, 0.0) + self.off
        on = on + self.on
        if self.groups.any():
            together = (self.groups > 0) & self.moves
            for counts in (on, off):
                sums = np.bincount(self.groups[together], counts[together], self.groups.max() + 1)
                counts[together] = sums[self.groups[together]]
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.log1p(on / off)
            if self.l2:
                for _ in range(NEWTON):  # on / (e^x - 1) = off + l2 x, in ln x
                    slope = on / np.expm1(best) - off - self.l2 * best
                    bend = on * np.exp(best) / np.expm1(best) ** 2 + self.l2
                    best = np.where(self._penalised, best * np.exp(np.clip(slope / (bend * best), -1, 1)), best)
        return np.where(self.moves & (on + off > 0), np.clip(best, LEAST, LARGEST_LEAK), fields)

    @property
    def _penalised(self) -> np.ndarray:
        return np.arange(self.moves.shape[1]) > 0

    def log_prior(self, fields: np.ndarray) -> float:
        """What is added to ln P of all rows, of numbers that move."""
        x = np.where(self.moves, fields, 1.0)
        return float((self.on * np.log(-np.expm1(-x)) - self.off * x - self.l2 / 2 * x**2 * self._penalised)[self.moves].sum())



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

    def __init__(self, run: "LearningRun"):
        super().__init__(run)
        if not isinstance(run.data, Patterns):
            raise InvalidInput(f"{run.method} keeps its rows in memory; pass stream=False, or take G12 instead.")
        if run.optimizer is not NO_OPTIMIZER:
            raise InvalidInput(f"{run.method} takes no steps of an optimizer; leave it out, or take G12 instead.")
        self.families, self.data = Families(run.network), run.data
        self.values = values_of(run.data)
        self.states = states_of(self.families, self.values, run.method.states)
        self.maximisation = Maximisation(self.families, run)
        self.keeper = Keeper(self.states, self.maximisation.moves.shape, batches=self.num_batches > 1)
        self.seed = next(z for z in (run.method.seed, run.seed, 0) if z is not None)

    def take(
        self, state: TrainingState, piece: Piece, when: BatchNumber, *, stop: bool
    ) -> tuple[TrainingState, Outcome]:
        rng = np.random.default_rng([self.seed, 1, *when])
        places = np.flatnonzero(piece.counts)
        rows, counts = piece.numbers[places], piece.counts[places]
        fields = self.families.matrix(self.network(state.free).parameters)
        if when == (0, 0):
            fields = self._start(fields)
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

    # ---- starts ------------------------------------------------------------------------------------------------------

    def _start(self, own: np.ndarray) -> np.ndarray:
        """The best of the network's own numbers and some factorisations of the rows, after a few steps of some rows."""
        network, data, method = self.run.network, self.data, self.run.method
        layers = network.layers or ()
        visible = np.arange(network.size - layers[-1], network.size) if len(layers) == 2 else np.zeros(0)
        edges = self.maximisation.moves[:, 1:].sum()
        free = np.array_equal(np.sort(data.units), visible) and edges == network.num_edges
        if not free or not method.starts or not self.maximisation.moves[:, 0].all() or self.maximisation.groups.any():
            return own
        order = np.random.default_rng([self.seed, 0]).permutation(len(data))[:START_ROWS]
        found = [self._tried(own, order, None)]
        for number in range(method.starts):
            rng = np.random.default_rng([self.seed, 0, number])
            priors, links, leaks = factor_start(self.values[order][:, visible], data.counts[order], layers[0], rng)
            p = np.zeros_like(own)
            p[: layers[0], 0], p[visible, 0], p[visible, 1:] = priors, leaks, links
            found.append(self._tried(-np.log1p(-p), order, rng))
        return max(found, key=lambda each: each[0])[1]

    def _tried(self, fields: np.ndarray, rows: np.ndarray, rng: Any) -> tuple[float, np.ndarray]:
        """ln P of some rows and the numbers, after a few steps of these."""
        rng, counts, every = np.random.default_rng(self.seed) if rng is None else rng, self.data.counts[rows], np.arange(len(rows))
        states, value = states_of(self.families, self.values[rows], self.run.method.states), -np.inf
        warm(states, fields, every, counts, rng)
        scale = self.data.total / counts.sum()
        for _ in range(SHORT):
            share, acted, log_p = states.step(fields, every, counts, rng)
            value, fields = log_p @ counts, self.maximisation.of(fields, share * scale, acted * scale)
        return value, fields

    def _refuse_impossible(self, rows: np.ndarray) -> None:
        if len(rows):
            row = np.flatnonzero(np.isin(self.data.which, rows))[0]
            raise InvalidInput(
                f"row {row} of rows (of those with a weight) has probability zero in the network, in which 0 stays 0 "
                "and 1 stays 1, or no state was found in which it has not. Correct it, or begin with small "
                "probabilities instead of 0."
            )

    # ---- what came of it ---------------------------------------------------------------------------------------------

    def identity(self) -> dict[str, Any]:
        network = self.run.network
        return {
            "activation": activation_text(network.activation),
            "start": digest((network.storage, network.bias, network.activation)),
        }

    def exact(self, network: Any) -> Any:
        if not self.states.exact:
            return np.nan
        found = self.states.step(self.families.matrix(network.parameters), np.arange(len(self.values)), self.data.counts)
        return found.log_likelihood @ self.data.counts / self.data.total

    def validation(self, network: Any, held_out: Patterns) -> Any:
        states = states_of(self.families, values_of(held_out), self.run.method.states)
        rows, fields = np.arange(len(held_out)), self.families.matrix(network.parameters)
        warm(states, fields, rows, held_out.counts, np.random.default_rng(self.seed))
        return states.step(fields, rows, held_out.counts).log_likelihood @ held_out.counts / held_out.total

    @property
    def settled(self) -> bool:
        """Whether the last epoch made no difference any more."""
        return bool(self.keeper.progress[1])

    @property
    def accuracy(self) -> Accuracy:
        """Exact where all states of every row are summed over, else a sum over some of them."""
        return Accuracy.EXACT if self.states.exact else Accuracy.LOWER_BOUND


def values_of(data: Patterns) -> np.ndarray:
    """0, 1 or MISSING of all units, (rows, units)."""
    values = np.full((len(data), data.size), MISSING, np.int8)
    values[:, data.units] = data.values
    return values


def warm(states: Any, fields: np.ndarray, rows: np.ndarray, counts: np.ndarray, rng: np.random.Generator) -> None:
    """Search for good states of some rows before the first step."""
    for _ in range(0 if states.exact else WARM):
        states.step(fields, rows, counts, rng)
