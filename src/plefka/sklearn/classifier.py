"""BeliefNetworkClassifier: one network for each class, and Bayes' rule."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from plefka.sklearn.layered import LayeredLearner
from plefka.sklearn.learner import LARGEST_SEED


@dataclass(eq=False, repr=False)
class BeliefNetworkClassifier(ClassifierMixin, LayeredLearner):
    """P(class | x) ~ P(class) P(x | class), where P(x | class) is a belief network learned from the rows of that class.

    The parameters are those of `BeliefNetworkModel`, and `priors`: the probabilities of the classes in sorted order, or
    None for their frequencies. Missing values (nan) are summed out, when learning and when predicting.

    **Attributes:** `classes_`, `class_prior_`, `networks_` and `fitted_` (lists in the order of the classes), `n_iter_`
    (epochs for each class), `n_features_in_`, `feature_names_in_`.
    """

    _parameter_constraints: ClassVar[dict] = {
        **LayeredLearner._parameter_constraints,
        "priors": ["array-like", None],
    }
    priors: Any = field(default=None, kw_only=True)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "BeliefNetworkClassifier":
        """Learn a network from the rows of every class."""
        X, y = validate_data(self, self._states(X, reset=True), y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        X, weights = self._binary(X), self._sample_weights(X, sample_weight)
        self._check_columns(X, weights)
        X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        self.classes_, members = np.unique(y, return_inverse=True)
        self.class_prior_ = self._prior(np.bincount(members, weights))
        seed = self._seed()
        self.fitted_ = [
            self._learn(X[members == k], weights[members == k], (seed + k) % LARGEST_SEED)
            for k in range(len(self.classes_))
        ]
        self.networks_ = [fitted.network for fitted in self.fitted_]
        self.n_iter_ = np.array([fitted.epochs for fitted in self.fitted_])
        return self

    def _prior(self, weight: np.ndarray) -> np.ndarray:
        """The priors that were given, or the fractions of the rows that are of each class."""
        if self.priors is None:
            return weight / weight.sum()
        priors = np.asarray(self.priors, float)
        if priors.shape != weight.shape or priors.min() < 0 or not np.isclose(priors.sum(), 1):
            raise ValueError(
                f"priors must be {len(weight)} probabilities that sum to 1, one for each class; got {self.priors!r}."
            )
        return priors

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """ln P(class) + ln P(row | class), (rows, classes)."""
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        solutions = [self._infer(network, rows) for network in self.networks_]
        log_likelihood = np.column_stack([solution.log_likelihood for solution in solutions])
        converged = np.column_stack([solution.converged for solution in solutions])  # without any, the prior decides
        log_likelihood = np.where(
            converged, log_likelihood, np.where(converged.any(axis=1, keepdims=True), -np.inf, 0.0)
        )
        with np.errstate(divide="ignore"):
            return log_likelihood + np.log(self.class_prior_)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """ln P(class | row), (rows, classes)."""
        joint = self.predict_joint_log_proba(X)
        return joint - logsumexp(joint, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> np.ndarray:
        """P(class | row), (rows, classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row."""
        best = self.predict_joint_log_proba(X).argmax(axis=1)
        return self.classes_[best]
