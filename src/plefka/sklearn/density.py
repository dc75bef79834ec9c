"""What density models of binary rows share: they learn at once or epoch by epoch, score, transform and fill gaps."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, DensityMixin, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from plefka.learning.fitted import Fitted
from plefka.sklearn.learner import LARGEST_SEED, Learner


class DensityModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, Learner):
    """A network with a unit for each column of X, and perhaps hidden ones."""

    network_: Any
    fitted_: Fitted
    n_features_in_: int
    feature_names_in_: np.ndarray

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn a network from scratch."""
        rows = self._rows(X, reset=True)
        weights = self._sample_weights(rows, sample_weight)
        self._check_columns(rows, weights)
        self._first_seed = self._seed()
        fitted = self._learn(rows, weights, self._first_seed)
        return self._keep(fitted, fitted.history)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """One epoch over these rows, from the present network and the optimiser's present state on."""
        first = not hasattr(self, "network_")
        rows = self._rows(X, reset=first)
        weights = self._sample_weights(rows, sample_weight)
        if first:
            self._first_seed = self._seed()
            network = self._start(rows, weights, self._first_seed)
            fitted = self._fitted(network, (rows, weights), self._first_seed, epochs=1)
            return self._keep(fitted, fitted.history)
        seed = self._first_seed + self.n_iter_  # another order in every epoch
        fitted = self._fitted(self.network_, (rows, weights), seed, epochs=1, earlier=self.fitted_)
        return self._keep(fitted, _joined(self.history_, fitted.history))

    def _keep(self, fitted: Fitted, history: dict[str, np.ndarray]) -> Self:
        self.fitted_, self.network_, self.history_ = fitted, fitted.network, history
        self.n_iter_ = len(history["epoch"])
        self.score_is_bound_ = self._is_bound()
        return self

    # ---- what a kind of network says ---------------------------------------------------------------------------------

    @abstractmethod
    def _is_bound(self) -> bool:
        """Whether `score_samples` never exceeds the truth."""

    @abstractmethod
    def _log_likelihood(self, rows: np.ndarray) -> np.ndarray:
        """The estimate of ln P of every row."""

    @abstractmethod
    def _means(self, rows: np.ndarray) -> np.ndarray:
        """P(on) of every unit given the row, (rows, units)."""

    # ---- the density -------------------------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> np.ndarray:
        """ln P of every row, of what is not missing in it: exact if `score_is_bound_`, else an estimate by sampling."""
        check_is_fitted(self)
        return self._log_likelihood(self._rows(X, reset=False))

    def score(self, X: Any, y: Any = None) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The mean of `score_samples`."""
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Rows drawn from the network, (n_samples, n_features)."""
        check_is_fitted(self)
        seed = int(check_random_state(random_state).randint(LARGEST_SEED))
        return self.network_.sample(seed, n_samples)[:, self._visible(self.network_)].astype(float)

    # ---- hidden units ------------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """The posterior means of the hidden units: (rows, hidden units)."""
        check_is_fitted(self)
        means = self._means(self._rows(X, reset=False))
        return np.delete(means, self._visible(self.network_), axis=1)

    def _hidden_means(self, X: Any) -> np.ndarray:
        """X as means of the hidden units."""
        check_is_fitted(self)
        means = check_array(X, dtype="float64", input_name="X")
        if means.shape[1] != self._n_features_out or means.min() < 0 or means.max() > 1:
            raise ValueError(
                f"X must have {self._n_features_out} columns, the means of the hidden units, from 0 to 1; got shape "
                f"{means.shape} with values from {means.min():g} to {means.max():g}."
            )
        return means

    @property
    def _n_features_out(self) -> int:
        return self.network_.size - self.n_features_in_

    # ---- missing values ----------------------------------------------------------------------------------------------

    def impute_proba(self, X: Any) -> np.ndarray:
        """X with P(on | the rest of the row) for every nan."""
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        return np.where(np.isnan(rows), self._means(rows)[:, self._visible(self.network_)], rows)

    def impute(self, X: Any) -> np.ndarray:
        """X with the more probable state, 0 or 1, for every nan."""
        return (self.impute_proba(X) >= 0.5).astype(float)


def _joined(earlier: dict[str, np.ndarray], later: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """One history after another; epochs and seconds are counted on."""
    counted = ("epoch", "seconds")
    return {
        name: np.concatenate([column, later[name] + (column[-1] if name in counted else 0)])
        for name, column in earlier.items()
    }
