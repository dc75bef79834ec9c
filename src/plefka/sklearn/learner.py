"""What the estimators share: their parameters, their rows, and how a network is learned from them."""

import warnings
from abc import abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, validate_data

from plefka.errors import listed
from plefka.inference.infer import infer
from plefka.inference.solution import Solution
from plefka.learning.fitted import Fitted, Stopped
from plefka.learning.fitting import fit
from plefka.methods.method import Method
from plefka.runtime import extras
from plefka.tables.columns import Columns, Roles, id_note, is_frame, of_frame, reason_for_id
from plefka.tables.table import value_errors_as
from plefka.tables.values import NO_STATE, is_numeric, states_of

LARGEST_SEED = 2**31 - 1


@dataclass(eq=False, repr=False, kw_only=True)
class Learner(BaseEstimator):
    """The parameters that all estimators have; a subclass says what is learned."""

    _parameter_constraints: ClassVar[dict] = {
        "method": [str, Method, None],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "optimizer": "no_validation",
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "l1": [Interval(Real, 0, None, closed="left")],
        "l2": [Interval(Real, 0, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "binarize": [Real, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    epochs: int = 100
    batch_size: int | None = 256
    optimizer: Any = None
    learning_rate: float | None = 0.05
    l1: float = 0.0
    l2: float = 0.0
    validation_fraction: float | None = None
    patience: int = 20
    binarize: float | None = None
    random_state: Any = None
    verbose: bool = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # ---- rows --------------------------------------------------------------------------------------------------------

    def _rows(self, X: Any, *, reset: bool) -> np.ndarray:
        """X as rows of 0, 1 and nan."""
        checked: Any = validate_data(
            self, self._states(X, reset=reset), reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        return self._binary(checked)

    def _states(self, X: Any, *, reset: bool) -> Any:
        """A DataFrame with 0, 1 and nan for words, without columns that name its rows; anything else as it is."""
        if not is_frame(X) or self.binarize is not None or 0 in X.shape:
            return X
        features = None if reset else list(getattr(self, "feature_names_in_", ()))
        with value_errors_as():
            return as_numbers(X, features)

    def _binary(self, X: np.ndarray) -> np.ndarray:
        if self.binarize is not None:
            return np.where(np.isnan(X), np.nan, np.greater(X, self.binarize))
        odd = ~(np.isnan(X) | (X == 0) | (X == 1))
        if odd.any():
            row, column = np.argwhere(odd)[0]
            raise ValueError(
                f"Input X must contain only 0, 1 and NaN (missing) for {type(self).__name__}; got "
                f"{X[row, column]:g} in row {row}, column {column}. Set binarize=0.5, or another threshold, to turn "
                "x > threshold into 1."
            )
        return X

    def _check_columns(self, X: np.ndarray, weights: np.ndarray) -> None:
        """Nothing can be learned about a column without a value."""
        unseen = np.flatnonzero(np.isnan(X[weights > 0]).all(axis=0))
        if len(unseen):
            raise ValueError(
                f"Every column of X must have a value somewhere; always missing: {listed(unseen)}. "
                "Leave these columns out."
            )

    def _sample_weights(self, X: np.ndarray, sample_weight: Any) -> np.ndarray:
        return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))

    # ---- learning ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def _start(self, X: np.ndarray, weights: np.ndarray, seed: int) -> Any:
        """The network that learning starts from."""

    @abstractmethod
    def _rules(self, network: Any, rows: np.ndarray, earlier: Fitted | None) -> tuple[Method, Any]:
        """The method and the optimiser, for rows with a column for every unit; `earlier`: what is learned on from."""

    @abstractmethod
    def _visible(self, network: Any) -> slice:
        """The units that are the columns of X."""

    def _evidence(self, network: Any, X: np.ndarray) -> np.ndarray:
        """Rows with a column for every unit, the hidden ones nan."""
        rows = np.full((len(X), network.size), np.nan)
        rows[:, self._visible(network)] = X
        return rows

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(LARGEST_SEED))

    def _names(self) -> list[str] | None:
        """Those of the columns, if they have any."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(map(str, names))

    def _learn(self, X: np.ndarray, weights: np.ndarray, seed: int) -> Fitted:
        """A network from scratch. Rows of weight 0 are left out."""
        X, weights = X[weights > 0], weights[weights > 0]
        held_out = None, None
        if self.validation_fraction is not None:
            split: Any = train_test_split(X, weights, test_size=self.validation_fraction, random_state=seed)
            X, weights, held_out = split[0], split[2], (split[1], split[3])
        network = self._start(X, weights, seed)
        return self._fitted(network, (X, weights), seed, epochs=self.epochs, held_out=held_out)

    def _fitted(
        self, network: Any, data: tuple, seed: int, *, epochs: int, held_out=(None, None), earlier: Fitted | None = None
    ) -> Fitted:
        """The network after some epochs on rows with weights; the optimiser goes on from what was learned earlier."""
        (X, weights), (validation, validation_weights) = data, held_out
        rows = self._evidence(network, X)
        method, optimizer = self._rules(network, rows, earlier)
        fitted = fit(
            network, rows, method, weights=weights,
            optimizer=_Resumed(optimizer, None if earlier is None else earlier.optimizer_state),
            epochs=epochs, batch_size=self.batch_size, seed=seed, patience=self.patience, l1=self.l1, l2=self.l2,
            validation=None if validation is None else self._evidence(network, validation),
            validation_weights=validation_weights, verbose=bool(self.verbose),
        )  # fmt: skip
        if fitted.stopped is Stopped.INTERRUPTED:
            raise KeyboardInterrupt  # whoever searches a grid wants the whole search to end
        if fitted.stopped is Stopped.NOT_FINITE:
            warnings.warn(f"Learning stopped early: {fitted.stopped.value}.", ConvergenceWarning, stacklevel=3)
        else:
            for warning in fitted.warnings:
                warnings.warn(f"{warning[0].upper()}{warning[1:]}.", ConvergenceWarning, stacklevel=3)
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

    def init(self, parameters: Any) -> Any:
        return self.optimizer.init(parameters) if self.state is None else self.state

    def update(self, *arguments: Any) -> Any:
        return self.optimizer.update(*arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Resumed) and self.optimizer == other.optimizer

    def __hash__(self) -> int:
        return hash(self.optimizer)


def as_numbers(frame: Any, features: Collection[str] | None = None) -> Any:
    """A DataFrame of numbers with the same names; `features` are columns that are known to be some.

    Columns that name the rows are left out, and a warning says so.
    """
    columns, labels = of_frame(frame), _labels(frame)
    names = columns.names or []
    reasons = {
        at: "" if name in (features or ()) else reason_for_id(columns, at, features) for at, name in enumerate(names)
    }
    kept = [at for at in reasons if not reasons[at]]
    Roles([], None, {}, [id_note(names[at], why, "feature") for at, why in reasons.items() if why]).report()
    values = np.column_stack([_numbers(columns, at) for at in kept]) if kept else np.zeros((len(columns), 0))
    return extras.pandas().DataFrame(values, columns=[labels[at] for at in kept])


def _labels(frame: Any) -> list[Any]:
    """Names of columns, which may be numbers."""
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _numbers(columns: Columns, at: int) -> np.ndarray:
    """Numbers as they are, words as states."""
    values = columns.values[at]
    if is_numeric(values):
        return np.asarray(values, float)
    found = states_of(values)
    odd = np.flatnonzero(found == NO_STATE)
    if len(odd):
        where = f"{columns.place(odd[0])}, {columns.column_text(at)}"
        raise ValueError(f"Input X must contain only 0, 1 and NaN (missing); got {values[odd[0]]!r} in {where}.")
    return found
