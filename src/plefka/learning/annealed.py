"""ln Z of a Boltzmann machine, with rows clamped, by annealed importance sampling; exact where nothing is left."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plefka.exact.state_sum import MachineStateSum
from plefka.inference.library import parse_method
from plefka.learning.patterns import Patterns, leaves_independent
from plefka.networks.evidence import Evidence
from plefka.reduction.reduce import reduce
from plefka.sampling.coupling_chains import PairSampler
from plefka.sampling.importance import averaged

if TYPE_CHECKING:
    from plefka.networks.boltzmann import BoltzmannMachine

RUNS, TEMPERATURES = 100, 200  # of the annealing of a score
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


def log_partitions(
    machine: "BoltzmannMachine", rows: np.ndarray, seed: tuple[int, ...], runs: int, temperatures: int,
    *, seconds: float = EXACT_SECONDS,
) -> LogPartitions:  # fmt: skip
    """Of rows (rows, units) of 0, 1 and nan. `seconds`: how long an exact sum over states may take."""
    step = max(1, ANNEALED_NUMBERS // (machine.size * runs))
    parts = [
        _of_some(machine, rows[first : first + step], (*seed, first), runs, temperatures, seconds)
        for first in range(0, len(rows), step)
    ]
    return LogPartitions(*map(np.concatenate, zip(*parts, strict=True)))


def exact_sums(machine: "BoltzmannMachine", rows: np.ndarray, seconds: float) -> LogPartitions | None:
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
    machine: "BoltzmannMachine", rows: np.ndarray, seed: tuple[int, ...], runs: int, temperatures: int, seconds: float
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


class AnnealedScore(NamedTuple):
    """ln P per row, and its error by ln Z of the free machine."""

    value: float
    error: float


def annealed_score(machine: "BoltzmannMachine", data: Patterns, seed: int) -> AnnealedScore:
    """ln P per row of data, or of some of its rows, each as often as it is there."""
    some = data.thinned(MOST_SCORED_ROWS if leaves_independent(machine, data) else MOST_SAMPLED)
    return annealed_score_of_rows(machine, some.rows(), some.counts, seed)


def annealed_work(machine: "BoltzmannMachine", data: Patterns) -> int:
    """The multiply-adds of `annealed_score`, about."""
    rows = min(len(data), MOST_SCORED_ROWS)
    clamped = 0 if leaves_independent(machine, data) else min(rows, MOST_SAMPLED) * (RUNS // 4) * TEMPERATURES
    return (RUNS * TEMPERATURES + clamped + rows) * max(machine.num_edges, 1)


def annealed_score_of_rows(
    machine: "BoltzmannMachine", rows: np.ndarray, counts: np.ndarray, seed: int
) -> AnnealedScore:
    """ln P per row of rows (rows, units) of 0, 1 and nan."""
    free = log_partitions(machine, np.full((1, machine.size), np.nan), (seed, 0), RUNS, TEMPERATURES)
    clamped = log_partitions(machine, rows, (seed, 1), RUNS // 4, TEMPERATURES)
    return AnnealedScore(float(clamped.value @ counts / counts.sum() - free.value[0]), float(free.error[0]))


def independent(data: Patterns) -> float:
    """ln P per row if columns were independent of each other, each with the frequency that a machine starts with."""
    on, off = (data.counts @ (data.values == state) for state in (1, 0))
    seen = on + off + 1
    return float(np.sum(on * np.log((on + 0.5) / seen) + off * np.log((off + 0.5) / seen)) / data.total)
