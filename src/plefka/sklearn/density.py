"""What density models of binary rows share: they score, transform, draw and fill gaps; most learn epoch by epoch."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, DensityMixin, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_array, check_is_fitted

from plefka.learning.fitted import Fitted
from plefka.runtime import extras
from plefka.sklearn.binary_rows import LARGEST_SEED, BinaryEstimator
from plefka.sklearn.containers import as_given, curve_of
from plefka.sklearn.learner import Learner, LearningData


class BinaryDensity(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, BinaryEstimator):
    """A network with a unit for each column of X, and perhaps hidden ones."""

    network_: Any
    fitted_: Fitted
    history_: dict[str, np.ndarray]
    n_features_in_: int
    feature_names_in_: np.ndarray

    @property
    def learning_curve_(self) -> Any:
        """`history_` as a DataFrame with a row for each epoch."""
        check_is_fitted(self)
        return curve_of([self.history_])

    # ---- what a kind of network says ---------------------------------------------------------------------------------

    @abstractmethod
    def _log_likelihood(self, rows: np.ndarray) -> np.ndarray:
        """The estimate of ln P of every row."""

    @abstractmethod
    def _means(self, rows: np.ndarray) -> np.ndarray:
        """P(on) of every unit given the row, (rows, units)."""

    # ---- the density -------------------------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> Any:
        """ln P of every row, of what is not missing in it: exact if `score_is_bound_`, else an estimate by sampling."""
        check_is_fitted(self)
        values = self._log_likelihood(self._rows(X, reset=False))
        return extras.pandas().Series(values, X.index, name="log_likelihood") if hasattr(X, "iloc") else values

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # pyright: ignore
        """The mean of `score_samples`, weighted if rows have weights."""
        found = np.asarray(self.score_samples(X))
        if sample_weight is None:
            return float(np.mean(found))
        weights = self._sample_weights(found, sample_weight)
        return float(np.average(found[weights > 0], weights=weights[weights > 0]))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Rows drawn from the network, (n_samples, n_features); a DataFrame if the columns of X had names."""
        check_is_fitted(self)
        seed = int(check_random_state(random_state).randint(LARGEST_SEED))
        rows = self.network_.sample(seed, n_samples)[:, self._visible(self.network_)].astype(float)
        return self._as_rows(rows, extras.pandas().DataFrame(rows) if hasattr(self, "feature_names_in_") else None)

    # ---- hidden units ------------------------------------------------------------------------------------------------

    def _check_hidden(self) -> None:
        """An AttributeError where there are none to transform rows to."""

    def transform(self, X: Any) -> np.ndarray:
        """The posterior means of the hidden units: (rows, hidden units)."""
        check_is_fitted(self)
        means = self._means(self._rows(X, reset=False))
        return np.delete(means, self._visible(self.network_), axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names for the columns of `transform`: hidden0, hidden1, ..., as hidden units of `network_` are called."""
        count = len(super().get_feature_names_out(input_features))
        return np.array([f"hidden{k}" for k in range(count)], object)

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

    def impute_proba(self, X: Any) -> Any:
        """X with P(on | the rest of the row) for every nan."""
        check_is_fitted(self)
        return self._as_rows(self._filled(X), X, getattr(X, "columns", None))

    def impute(self, X: Any) -> Any:
        """X with the more probable state, 0 or 1, for every nan."""
        check_is_fitted(self)
        return self._as_rows((self._filled(X) >= 0.5).astype(float), X, getattr(X, "columns", None))

    def _filled(self, X: Any) -> np.ndarray:
        """Rows with probabilities in their gaps; complete ones cost nothing."""
        rows = self._rows(X, reset=False).copy()
        gaps = np.isnan(rows)
        some = gaps.any(axis=1)
        if some.any():
            rows[gaps] = self._means(rows[some])[:, self._visible(self.network_)][gaps[some]]
        return rows

    def _as_rows(self, values: np.ndarray, X: Any, labels: Any = None) -> Any:
        """Values of the columns in a container like X, or as `set_output` says; `labels`: numbers that name columns."""
        is_numbered = not hasattr(self, "feature_names_in_") and labels is not None and len(labels) == values.shape[1]
        return as_given(values, X, self, lambda: labels if is_numbered else _check_feature_names_in(self))


def has_hidden(model: BinaryDensity) -> bool:
    """Whether rows can be transformed, as `available_if` asks."""
    model._check_hidden()
    return True


# Outside of the class, as scikit-learn wraps a transform inside it in a function that is always there.
for _name in ("transform", "fit_transform"):
    setattr(BinaryDensity, _name, available_if(has_hidden)(getattr(BinaryDensity, _name)))


class LearnedDensity(BinaryDensity, Learner):
    """A density model that learns by `plefka.fit`, at once or epoch by epoch."""

    _first_seed: int

    @abstractmethod
    def _is_bound(self) -> bool:
        """Whether `score_samples` never exceeds the truth."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn a network from scratch."""
        rows, weights = self._learning_rows(X, sample_weight)
        self._first_seed = self._seed()
        fitted = self._learn(rows, weights, self._first_seed, self.checkpoint)
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
            fitted = self._fitted(network, LearningData(rows, weights), self._first_seed, epochs=1)
            return self._keep(fitted, fitted.history)
        seed = self._first_seed + self.n_iter_  # another order in every epoch
        fitted = self._fitted(self.network_, LearningData(rows, weights), seed, epochs=1, earlier=self.fitted_)
        return self._keep(fitted, _joined(self.history_, fitted.history))

    def _adopted(self, fitted: Fitted, source: BinaryDensity, seed: int) -> Self:
        """With a network that was learned elsewhere, from the columns of another estimator."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(source, name):
                setattr(self, name, getattr(source, name))
        self._first_seed = seed
        return self._keep(fitted, fitted.history)

    def _keep(self, fitted: Fitted, history: dict[str, np.ndarray]) -> Self:
        self.fitted_, self.network_, self.history_ = fitted, fitted.network, history
        self.n_iter_ = len(history["epoch"])
        self.score_is_bound_ = self._is_bound()
        return self


def _joined(earlier: dict[str, np.ndarray], later: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """One history after another; epochs and seconds are counted on."""
    counted = ("epoch", "seconds")
    return {
        name: np.concatenate([column, later[name] + (column[-1] if name in counted else 0)])
        for name, column in earlier.items()
    }
