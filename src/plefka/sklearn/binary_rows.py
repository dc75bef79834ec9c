"""What all estimators say about their input: rows of 0, 1 and nan, as arrays, sparse matrices or frames."""

import re
from abc import abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, validate_data

from plefka.errors import listed
from plefka.sklearn.containers import as_numbers
from plefka.tables.columns import is_frame
from plefka.tables.table import value_errors_as

LARGEST_SEED = 2**31 - 1
CHECKS: dict[str, Any] = {"accept_sparse": ("csr", "csc"), "dtype": np.float64, "ensure_all_finite": "allow-nan"}


@dataclass(eq=False, repr=False, kw_only=True)
class BinaryEstimator(BaseEstimator):
    """The parameters that all estimators have."""

    _parameter_constraints: ClassVar[dict] = {
        "binarize": [Real, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    binarize: float | None = None
    random_state: Any = None
    verbose: bool = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    # ---- rows --------------------------------------------------------------------------------------------------------

    def _rows(self, X: Any, *, reset: bool) -> np.ndarray:
        """X as rows of 0, 1 and nan."""
        return self._binary(validate_data(self, self._states(X, reset=reset), reset=reset, **CHECKS))

    def _learning_rows(self, X: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
        rows = self._rows(X, reset=True)
        weights = self._sample_weights(rows, sample_weight)
        self._check_columns(rows, weights)
        return rows, weights

    def _states(self, X: Any, *, reset: bool) -> Any:
        """A DataFrame with 0, 1 and nan for words, without columns that name its rows; anything else as it is."""
        if not is_frame(X) or self.binarize is not None or 0 in X.shape:
            return X
        features = None if reset else list(getattr(self, "feature_names_in_", ()))
        with value_errors_as():
            return as_numbers(X, features)

    def _binary(self, X: Any) -> np.ndarray:
        """Checked values as 0, 1 and nan; what a sparse matrix leaves out is 0."""
        X = X.toarray() if issparse(X) else X
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

    # ---- what follows from the parameters and the names --------------------------------------------------------------

    @abstractmethod
    def _visible(self, network: Any) -> slice:
        """The units that are the columns of X."""

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(LARGEST_SEED))

    def _names(self) -> list[str] | None:
        """Names for the visible units: those of the columns, unless one is such as hidden units have."""
        names = list(map(str, getattr(self, "feature_names_in_", ())))
        return None if not names or any(re.fullmatch(r"hidden\d+", name) for name in names) else names
