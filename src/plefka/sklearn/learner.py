"""What the estimators share that learn by `plefka.fit`: their parameters, and how a network is learned from rows."""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils._param_validation import Interval

from plefka.inference.infer import infer
from plefka.inference.solution import Solution
from plefka.learning.fitted import Fitted, Stopped
from plefka.learning.fitting import fit
from plefka.methods.method import Method
from plefka.sklearn.binary_rows import LARGEST_SEED, BinaryEstimator

SHORT = 10  # epochs of a fit to one of a start that is tried


class LearningData(NamedTuple):
    """Rows with their weights, and others that are held out, or none."""

    X: np.ndarray
    weights: np.ndarray
    held_out: np.ndarray | None = None
    held_out_weights: np.ndarray | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class Learner(BinaryEstimator):
    """The parameters of learning; a subclass says what is learned."""

    _parameter_constraints: ClassVar[dict] = {
        **BinaryEstimator._parameter_constraints,
        "method": [str, Method, None],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "optimizer": "no_validation",
        "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
        "l1": [Interval(Real, 0, None, closed="left")],
        "l2": [Interval(Real, 0, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "callback": [callable, None],
        "checkpoint": [str, PathLike, None],
    }
    epochs: int = 100
    batch_size: int | None = None
    optimizer: Any = None
    learning_rate: float | None = None
    l1: float = 0.0
    l2: float = 0.0
    validation_fraction: float | None = None
    patience: int = 20
    n_starts: int = 1
    callback: Callable[[dict], Any] | None = None
    checkpoint: str | PathLike | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without the callback once there is something learned: it is for the process that learns."""
        state: Any = super().__getstate__()
        return {**state, "callback": None} if hasattr(self, "fitted_") else state

    # ---- learning ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def _start(self, X: np.ndarray, weights: np.ndarray, seed: int) -> Any:
        """The network that learning starts from."""

    @abstractmethod
    def _rules(self, network: Any, rows: np.ndarray, earlier: Fitted | None) -> tuple[Method, Any]:
        """The method and the optimiser, for rows with a column for every unit; `earlier`: what is learned on from.

        Without an optimiser `fit` takes its own, which may be none at all.
        """

    def _evidence(self, network: Any, X: np.ndarray) -> np.ndarray:
        """Rows with a column for every unit, the hidden ones nan."""
        rows = np.full((len(X), network.size), np.nan)
        rows[:, self._visible(network)] = X
        return rows

    def _learn(self, X: np.ndarray, weights: np.ndarray, seed: int, checkpoint: Any = None) -> Fitted:
        """A network from scratch. Rows of weight 0 are left out."""
        data = LearningData(X[weights > 0], weights[weights > 0])
        if self.validation_fraction is not None:
            split: Any = train_test_split(*data[:2], test_size=self.validation_fraction, random_state=seed)
            data = LearningData(split[0], split[2], split[1], split[3])
        seed = self._best_start(data, seed)
        network = self._start(data.X, data.weights, seed)
        return self._fitted(network, data, seed, self.epochs, callback=self.callback, checkpoint=checkpoint)

    def _best_start(self, data: LearningData, seed: int) -> int:
        """The seed whose start is best after a tenth of the epochs, on the rows that are held out or else on all."""
        if self.n_starts == 1:
            return seed
        seeds = [seed, *map(int, np.random.RandomState(seed).randint(LARGEST_SEED, size=self.n_starts - 1))]
        if data.held_out is None:
            data = data._replace(held_out=data.X, held_out_weights=data.weights)
        scores = []
        for each in seeds:
            fitted = self._run(self._start(data.X, data.weights, each), data, each, max(1, self.epochs // SHORT))
            scores.append(np.fmax.reduce(fitted.history["validation"], initial=-np.inf))
        return seeds[int(np.argmax(scores))]

    def _fitted(
        self, network: Any, data: LearningData, seed: int, epochs: int, earlier: Fitted | None = None, **options: Any
    ) -> Fitted:
        """The network after some epochs; warnings say what may be wrong with it."""
        fitted = self._run(network, data, seed, epochs, earlier, **options)
        if fitted.stopped is Stopped.NOT_FINITE:
            warnings.warn(f"Learning stopped early: {fitted.stopped.value}.", ConvergenceWarning, stacklevel=3)
        else:
            for warning in fitted.warnings:
                warnings.warn(f"{warning[0].upper()}{warning[1:]}.", ConvergenceWarning, stacklevel=3)
        return fitted

    def _run(
        self, network: Any, data: LearningData, seed: int, epochs: int, earlier: Fitted | None = None, **options: Any
    ) -> Fitted:
        """Some epochs by `fit`; the optimiser goes on from what was learned earlier. `options`: others of `fit`."""
        rows, held_out = self._evidence(network, data.X), data.held_out
        method, optimizer = self._rules(network, rows, earlier)
        fitted = fit(
            network, rows, method, weights=data.weights,
            optimizer=optimizer and _Resumed(
                optimizer, *((None, None) if earlier is None else (earlier.optimizer_state, earlier._memory))
            ),
            epochs=epochs, batch_size=self.batch_size, seed=seed, patience=self.patience, l1=self.l1, l2=self.l2,
            validation=None if held_out is None else self._evidence(network, held_out),
            validation_weights=data.held_out_weights, verbose=bool(self.verbose), **options,
        )  # fmt: skip
        if fitted.stopped is Stopped.INTERRUPTED:
            raise KeyboardInterrupt  # whoever searches a grid wants the whole search to end
        return fitted

    # ---- inference ---------------------------------------------------------------------------------------------------

    def _solved(self, network: Any, rows: np.ndarray, method: str | Method) -> Solution:
        """Of rows with a column for every unit; a warning says how many could not be solved."""
        solution = infer(network, rows, method)
        failed = np.count_nonzero(~np.asarray(solution.converged))
        if failed:
            status = next(status for status in solution.status if status.name != "CONVERGED")
            warnings.warn(f"{failed} of {len(rows)} rows: {status.value}.", ConvergenceWarning, stacklevel=4)
        return solution


def frequencies(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """How often each column is on in the weighted rows; never 0 or 1."""
    seen = ~np.isnan(X)
    return (weights @ np.where(seen, X, 0) + 0.5) / (weights @ seen + 1)


class _Resumed(NamedTuple):
    """An optimiser that starts from a given state. It equals any with the same rule, so that they share a program."""

    optimizer: Any
    state: Any
    memory: Any = None  # of chains, which go on as well

    def init(self, parameters: Any) -> Any:
        return self.optimizer.init(parameters) if self.state is None else self.state

    def update(self, *arguments: Any) -> Any:
        return self.optimizer.update(*arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Resumed) and self.optimizer == other.optimizer

    def __hash__(self) -> int:
        return hash(self.optimizer)
