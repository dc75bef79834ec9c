"""What learning needs of a kind of network: a step for a batch, and estimates of ln P."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np

from plefka.inference.library import METHODS
from plefka.learning.devices import Devices
from plefka.learning.gradient_step import StepResult, TrainingState, parameters_of
from plefka.learning.parameters import Parametrisation
from plefka.learning.patterns import Data, Patterns, Piece
from plefka.methods.method import Method
from plefka.methods.posterior import Accuracy
from plefka.networks.fingerprint import activation_text, digest

ROW_WORK = 30  # passes over the edges that a row takes, about: those of a search, and a gradient


class RunSettings(eqx.Module):
    """What no step changes, where a step needs no more than this."""

    rules: Parametrisation
    l1: Any
    l2: Any
    tol: Any
    stacked: bool = eqx.field(static=True)

    @classmethod
    def of(
        cls, network: Any, data: Data, method: Method, rules: Parametrisation, penalties: tuple[float, float],
        tol: float,
    ) -> "RunSettings":  # fmt: skip
        """What every step of a run has in common."""
        return cls(rules, *penalties, tol, network.stack is not None)


class LearningRun(NamedTuple):
    """What is learned from what, and for how long."""

    network: Any  # a BeliefNetwork or a BoltzmannMachine
    settings: Any  # what no step changes
    data: Data
    held_out: Patterns | None
    method: Any
    optimizer: Any
    batch_size: int
    seed: int | None
    epochs: int
    patience: int
    devices: Devices


class BatchNumber(NamedTuple):
    """Which batch of which epoch it is."""

    epoch: int
    batch: int


def max_steps(method: Any, default: int) -> int:
    """Evaluations of a search, at most: those that the method was given, or else the default of learning."""
    usual: Any = METHODS[method.name]
    return default if method.max_steps == usual.max_steps else method.max_steps


class Steps(ABC):
    """The steps of a run."""

    estimates = True  # whether the objective estimates ln P
    keeper: Any  # its `memory` is what later steps need of earlier ones, beside the parameters: arrays for checkpoints

    def __init__(self, run: LearningRun):
        self.run = run
        self.stack = () if run.network.stack is None else (run.network.stack,)
        self.num_batches = -(-len(run.data) // run.batch_size)

    @abstractmethod
    def take(self, state: TrainingState, piece: Piece, when: BatchNumber, *, stop: bool) -> StepResult:
        """The state after the step of a batch, and what the batch has shown; `stop`: whether this process should."""

    def recall(self, memory: Any) -> None:  # noqa: B027
        """Go on with the memory of an earlier run, where this one keeps the like."""

    def identity(self) -> dict[str, Any]:
        """What identifies a run of this kind beside what all have in common: the belief network it begins with."""
        network = self.run.network
        numbers = digest((network.storage, network.bias, network.activation))
        return {"activation": activation_text(network.activation), "start": numbers}

    @abstractmethod
    def exact(self, network: Any) -> Any:
        """The exact ln P per row, or nan where that costs too much."""

    @property
    def epoch_work(self) -> float:
        """The multiply-adds of an epoch, about."""
        return float(len(self.run.data) * self.run.network.num_edges * (self.run.network.stack or 1) * ROW_WORK)

    @property
    def settled(self) -> bool:
        """Whether further epochs would change nothing."""
        return False

    def objective(self, network: Any, during: Any, epoch: int) -> Any:
        """ln P per row for the history: what all batches of the epoch have given, or another estimate."""
        return during

    @property
    @abstractmethod
    def accuracy(self) -> Accuracy:
        """What the objective is."""

    def network(self, free: Any) -> Any:
        """The network with these free numbers."""
        run, stacked = self.run, bool(self.stack)
        start, rules = run.network.parameters, run.settings.rules
        return run.network.with_parameters(parameters_of(free, rules, start, stacked=stacked, work=run.network.size))

    def each(self, network: Any) -> list[Any]:
        """The networks of a stack, or the only one."""
        return [network.take(k) for k in range(network.stack)] if self.stack else [network]

    def own_rows(self, piece: Piece) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The numbers, the evidence and the counts of the rows of a batch that are this process's to solve."""
        own = self.run.devices.share(len(piece.numbers))
        return piece.numbers[own], self.run.data.evidence(piece.values[own]), piece.counts[own]
