"""ln Z of a Boltzmann machine, with rows clamped, by annealed importance sampling; exact where nothing is left.

Few runs that find a region of high probability carry the estimate, and it is too low where none of them has: ln P is
then too high. More temperatures find more, and their number follows from how many runs carry the estimate.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from plefka.exact.cost import WORK_PER_SECOND
from plefka.exact.state_sum import MachineStateSum
from plefka.inference.library import parse_method
from plefka.learning.patterns import Patterns, leaves_independent
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.evidence import Evidence
from plefka.reduction.reduce import reduce
from plefka.sampling.coupling_chains import PairSampler
from plefka.sampling.free_states import FreeStates, colours_of
from plefka.sampling.importance import averaged

RUNS, TEMPERATURES = 100, 500  # of the annealing of a score
CARRIED, STEPPED, MORE = 0.5, 4, 4  # the share of runs that should carry it, or else so many times the temperatures
MOST_SCORED_ROWS, MOST_SAMPLED = 1024, 64  # rows whose ln P is estimated, where their own ln Z is exact, and elsewhere
EXACT_SECONDS = 0.05  # seconds of a sum over states that is done instead
ANNEALED_NUMBERS = 2**22  # of states at once


class LogPartitions(NamedTuple):
    """Of every row: ln Z with the row clamped, its standard error, and how many runs carry it (inf where exact)."""

    value: np.ndarray
    error: np.ndarray
    effective: np.ndarray

    @property
    def is_exact(self) -> bool:
        return bool(np.isinf(self.effective).all())


class AnnealingStart(NamedTuple):
    """Where annealing of the free machine starts.

    - `on`: how often units are on in the data, nan where they are hidden; nothing if that is unknown.
    - `most`: how many times as many temperatures there may be, where few runs carry the estimate.
    """

    on: np.ndarray | None = None
    most: int = 1


def log_partitions(
    machine: BoltzmannMachine, rows: np.ndarray, seed: tuple[int, ...], runs: int, temperatures: int,
    *, seconds: float = EXACT_SECONDS, start: AnnealingStart | None = None,
) -> LogPartitions:  # fmt: skip
    """Of rows (rows, units) of 0, 1 and nan; `start` is for a single row that observes nothing.

    `seconds`: how long an exact sum over states may take.
    """
    if len(rows) == 1 and np.isnan(rows).all():
        exact = exact_sums(machine, rows, seconds)
        return exact or _of_free_machine(machine, seed, runs, temperatures, start or AnnealingStart())
    step = max(1, ANNEALED_NUMBERS // (machine.size * runs))
    parts = [
        _of_some(machine, rows[first : first + step], (*seed, first), runs, temperatures, seconds)
        for first in range(0, len(rows), step)
    ]
    return LogPartitions(*map(np.concatenate, zip(*parts, strict=True)))


def exact_sums(machine: BoltzmannMachine, rows: np.ndarray, seconds: float) -> LogPartitions | None:
    """Where nothing is left to be summed over, or the sum over states takes no longer than this; else None."""
    (part,) = reduce(machine, Evidence(rows, batched=True)).parts
    question, nothing = part.question, np.zeros(len(rows))
    if not question.free.any():
        return LogPartitions(part.constant, nothing, nothing + np.inf)
    if min((exact := MachineStateSum(question)).enumeration_seconds, exact.elimination.seconds) > seconds:
        return None
    found = parse_method("exact").posterior(part, dtype="float64")
    return LogPartitions(part.constant - found.free_energy, nothing, nothing + np.inf)


def _of_some(
    machine: BoltzmannMachine, rows: np.ndarray, seed: tuple[int, ...], runs: int, temperatures: int, seconds: float
) -> LogPartitions:
    if (exact := exact_sums(machine, rows, seconds)) is not None:
        return exact
    (part,) = reduce(machine, Evidence(rows, batched=True)).parts
    question = part.question
    sampler, sequence = PairSampler(question), np.random.SeedSequence(seed)
    rng, key = np.random.default_rng(sequence), sequence.generate_state(2)
    _, log_weights = sampler.annealed(runs, np.linspace(0, 1, temperatures + 1) ** 2, key, rng)
    value, error, effective = averaged(log_weights)
    return LogPartitions(part.constant + value, error, effective)


# ---- the free machine ------------------------------------------------------------------------------------------------


def _of_free_machine(
    machine: BoltzmannMachine, seed: tuple[int, ...], runs: int, temperatures: int, start: AnnealingStart
) -> LogPartitions:
    machine, on = machine.converted(), start.on
    chains, times = _laid_out(machine, on), 1
    alone = machine.bias + machine.storage.product(np.full((machine.size, 1), 0.5))[:, 0]
    if on is not None:
        alone = np.where(np.isnan(on), alone, np.log(on) - np.log1p(-on))
    while True:
        betas, rng = np.linspace(0, 1, temperatures * times + 1), np.random.default_rng([*seed, times])
        found = LogPartitions(*averaged(chains.annealed(alone, runs, betas, rng)[None]))
        if found.effective[0] >= CARRIED * runs or times * STEPPED > start.most:
            return found
        times *= STEPPED


def _laid_out(machine: BoltzmannMachine, on: np.ndarray | None) -> FreeStates:
    """A machine of units 0 and 1, of which those that are hidden are summed out if no two of them are coupled."""
    L = sp.csr_array(machine.storage.to_sparse())
    hidden = np.arange(machine.size)[machine.visible.stop :] if on is None else np.flatnonzero(np.isnan(on))
    return FreeStates(machine, colours_of(sp.csr_array(L + L.T), hidden))


def exact_seconds(machine: BoltzmannMachine) -> float:
    """What the sum over the states of the free machine takes, about."""
    (part,) = reduce(machine, Evidence(np.full((1, machine.size), np.nan), batched=True)).parts
    return MachineStateSum(part.question).enumeration_seconds


# ---- scores ----------------------------------------------------------------------------------------------------------


class RowsScore(NamedTuple):
    """ln P per row and its standard error; of a stack one for each network."""

    value: Any
    error: Any


def annealed_score(machine: BoltzmannMachine, data: Patterns, seed: int) -> RowsScore:
    """ln P per row of data, or of some of its rows, each as often as it is there."""
    some = data.thinned(MOST_SCORED_ROWS if leaves_independent(machine, data) else MOST_SAMPLED)
    start, share = AnnealingStart(frequencies(data)), some.counts / some.total
    free = log_partitions(machine, np.full((1, machine.size), np.nan), (seed, 0), RUNS, TEMPERATURES, start=start)
    clamped = log_partitions(machine, some.rows(), (seed, 1), RUNS // 4, TEMPERATURES // 2)
    error = np.hypot(free.error[0], np.linalg.norm(clamped.error * share))
    return RowsScore(float(clamped.value @ share - free.value[0]), float(error))


def annealed_work(machine: BoltzmannMachine, data: Patterns) -> int:
    """The multiply-adds of `annealed_score`, about, of one machine."""
    machine = machine if machine.stack is None else machine.take(0)
    rows, columns = min(len(data), MOST_SCORED_ROWS), float(RUNS)
    if not leaves_independent(machine, data):
        columns += min(rows, MOST_SAMPLED) * RUNS / 8
    seconds = _laid_out(machine.converted(), None).seconds * columns * TEMPERATURES
    return int(seconds * WORK_PER_SECOND + rows * machine.num_edges)


def frequencies(data: Patterns) -> np.ndarray:
    """How often units are on; nan for those that no row observes."""
    found = np.full(data.size, np.nan)
    found[data.units] = data.frequencies()
    return found


def independent(data: Patterns, on: np.ndarray | None = None) -> float:
    """ln P per row if columns were independent of each other, and on so often, or as often as in these rows."""
    on = data.frequencies() if on is None else on
    return float(data.counts @ ((data.values == 1) @ np.log(on) + (data.values == 0) @ np.log1p(-on)) / data.total)
