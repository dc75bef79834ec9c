"""BeliefNetworkModel and BeliefNetworkClassifier: hidden layers above the columns of binary rows, and Bayes' rule."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from plefka.ensembles import around, named
from plefka.inference.solution import Solution
from plefka.learning import of_beliefs
from plefka.learning.fitted import Fitted
from plefka.learning.fitting import learning_method
from plefka.learning.likelihood import affordable
from plefka.learning.parameters import adam
from plefka.learning.patterns import Patterns, as_patterns
from plefka.learning.scoring import answering, score_patterns
from plefka.methods.for_learning import ExpectationMaximisation, ForLearning
from plefka.methods.method import Method
from plefka.networks.activations import Activation, as_activation
from plefka.networks.belief import BeliefNetwork
from plefka.runtime.precision import precision
from plefka.sklearn.binary_rows import CHECKS, LARGEST_SEED
from plefka.sklearn.containers import curve_of
from plefka.sklearn.density import LearnedDensity
from plefka.sklearn.learner import Learner, frequencies

EXACT_ROW_WORK, ANY_WORK = 2**20, 2**62  # multiply-adds of a row whose ln P is exact; and of any number of such rows
DRAWS = 200  # of states for each row, where it is not


@dataclass(eq=False, repr=False)
class LayeredLearner(Learner):
    """The parameters of both estimators; see `BeliefNetworkModel`."""

    _parameter_constraints: ClassVar[dict] = {
        **Learner._parameter_constraints,
        "layers": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "activation": [str, Activation, callable],
    }
    layers: Any = (1, 8)
    activation: str | Activation | Callable = "sigmoid"
    method: str | Method | None = None

    def _hidden_layers(self) -> tuple[int, ...]:
        layers = (self.layers,) if isinstance(self.layers, Integral) else tuple(self.layers)
        if not layers or any(not isinstance(units, Integral) or units < 1 for units in layers):
            raise ValueError(f"layers must be the sizes of one hidden layer or more, top first; got {self.layers!r}.")
        return tuple(map(int, layers))

    def _start(self, X: np.ndarray, weights: np.ndarray, seed: int) -> BeliefNetwork:
        """Random weights, and biases with which the visible units have their frequencies in the weighted rows."""
        network = around(self._hidden_layers(), frequencies(X, weights), seed, as_activation(self.activation))
        names = self._names()
        return network if names is None else named(network, names)

    def _visible(self, network: BeliefNetwork) -> slice:
        return network.visible

    def _method(self) -> Method:
        return learning_method(
            self.method, self.activation, by_steps=(self.optimizer or self.learning_rate) is not None
        )

    def _rules(self, network: BeliefNetwork, rows: np.ndarray, earlier: Fitted | None) -> tuple[Method, Any]:
        method = self._method()
        if self.optimizer is not None or self.learning_rate is not None:
            return method, self.optimizer or adam(self.learning_rate)
        if isinstance(method, ExpectationMaximisation):  # without new starts, where it goes on
            return (method if earlier is None else replace(method, starts=0)), None
        if isinstance(method, ForLearning) and earlier is None:
            return method, None
        return method, of_beliefs.optimizer(as_patterns(network, rows), method)

    def _infer(self, network: BeliefNetwork, X: np.ndarray) -> Solution:
        method = self._method()
        return self._solved(
            network, self._evidence(network, X), answering(getattr(method, "proposal", method), network)
        )


class BeliefNetworkModel(LearnedDensity, LayeredLearner):
    """ln P(x) = ln sum_h P(h) P(x | h) of binary rows x, with h the hidden units of a layered belief network.

    Rows consist of 0 and 1, with nan for what is missing, when learning and afterwards.

    **Parameters:**

    - `layers`: units of the hidden layers, top first, or a number for a single one; the columns of X are below them.
    - `activation`: "sigmoid", "noisy_or" or a `plefka.Custom`.
    - `method`: any scheme with a free energy, or one that only learns, as in `plefka.fit`; means of hidden units then
        come from what proposes its states, as in reweighted[G12], or from the default method. None is
        reweighted for the sigmoid, em for noisy-or and G12 for others; with an optimizer or a learning rate, SJJ,
        which is a bound, for the sigmoid, and G12.
    - `epochs`, `batch_size`: how often all rows are seen, and how many distinct ones in a step, or None for as many
        as `plefka.fit` takes, which are 256 for most methods.
    - `optimizer`, `learning_rate`: any optimiser of optax, or None for Adam with this rate; without either, that of
        `plefka.fit`: Adam with a rate of 0.05 for most methods.
    - `l1`, `l2`: penalties on the weights.
    - `validation_fraction`, `patience`: the fraction of rows that is held out, and the epochs without improvement on
        them after which learning stops.
    - `n_starts`: random starts; each learns for a tenth of the epochs, and the one with the highest ln P of held-out
        rows (of all rows where none are held out) goes on.
    - `callback`, `checkpoint`: as in `plefka.fit`, for `fit` and the start that goes on. A checkpoint is of one
        fit: searches must go without. A fitted model is pickled without its callback.
    - `binarize`: x > binarize becomes 1 and other values 0; None for rows that are binary already.
    - `random_state`: where the weights start from, and the order of the rows.
    - `verbose`: show a progress bar on standard error.

    Rows may be arrays, scipy.sparse matrices or DataFrames. `impute`, `sample` and the like give DataFrames for these,
    or as `set_output` says. Hidden units are called hidden0, hidden1, ...

    **Attributes:** `network_`, `fitted_` (what `plefka.fit` returned last), `history_` (arrays with an entry for each
    epoch), `learning_curve_` (the same as a DataFrame), `n_iter_` (epochs so far), `score_is_bound_` (where ln P of
    rows is exact, as it is with few hidden units; elsewhere it is estimated by importance sampling, which is below ln P
    on average), `n_features_in_`, `feature_names_in_`.
    """

    network_: BeliefNetwork

    def _is_bound(self) -> bool:
        """Whether ln P of rows is exact, however many there are."""
        units = np.arange(self.network_.size)[self._visible(self.network_)]
        one = Patterns(np.ones((1, len(units)), np.int8), np.ones(1), units, self.network_.size, np.zeros(1, int))
        return affordable(self.network_, one, EXACT_ROW_WORK) is not None

    def _log_likelihood(self, rows: np.ndarray) -> np.ndarray:
        found, seen = np.zeros(len(rows)), ~np.isnan(rows).all(axis=1)  # of what observes nothing ln P is 0
        if seen.any():
            patterns = as_patterns(self.network_, self._evidence(self.network_, rows[seen]))
            exact = None if self._is_bound() else False
            score = score_patterns(self.network_, patterns, None, self._first_seed, DRAWS, exact=exact, most=ANY_WORK)
            found[seen] = score.log_likelihood
        return found

    def _means(self, rows: np.ndarray) -> np.ndarray:
        return self._infer(self.network_, rows).means

    def inverse_transform(self, X: Any) -> Any:
        """P(on) of the visible units, given means or states of the hidden ones: f(W u + h), u the layer above them."""
        means = self._hidden_means(X)
        W, h = self.network_.weights[-1], self.network_.bias[self._visible(self.network_)]
        u = means[:, -W.shape[1] :]
        f = self.network_.activation
        with precision("float64"):
            return self._as_rows(np.asarray(f.probability(f.clip(jnp.asarray(u @ W.T + h)))), X)


@dataclass(eq=False, repr=False)
class BeliefNetworkClassifier(ClassifierMixin, LayeredLearner):
    """P(class | x) ~ P(class) P(x | class), where P(x | class) is a belief network learned from the rows of that class.

    The parameters are those of `BeliefNetworkModel`, and `priors`: the probabilities of the classes in sorted order, or
    None for their frequencies. Missing values (nan) are summed out, when learning and when predicting. A checkpoint
    "model.ckpt" is written as model-0.ckpt, model-1.ckpt, ..., one for each class.

    **Attributes:** `classes_`, `class_prior_`, `networks_` and `fitted_` (lists in the order of the classes), `n_iter_`
    (epochs for each class), `learning_curve_` (a DataFrame of them all), `n_features_in_`, `feature_names_in_`.
    """

    _parameter_constraints: ClassVar[dict] = {
        **LayeredLearner._parameter_constraints,
        "priors": ["array-like", None],
    }
    priors: Any = field(default=None, kw_only=True)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "BeliefNetworkClassifier":
        """Learn a network from the rows of every class."""
        X, y = validate_data(self, self._states(X, reset=True), y, **CHECKS)
        check_classification_targets(y)
        X, weights = self._binary(X), self._sample_weights(X, sample_weight)
        self._check_columns(X, weights)
        X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        self.classes_, members = np.unique(y, return_inverse=True)
        self.class_prior_ = self._prior(np.bincount(members, weights))
        seed = self._seed()
        self.fitted_ = [
            self._learn(X[members == k], weights[members == k], (seed + k) % LARGEST_SEED, self._checkpoint_of(k))
            for k in range(len(self.classes_))
        ]
        self.networks_ = [fitted.network for fitted in self.fitted_]
        self.n_iter_ = np.array([fitted.epochs for fitted in self.fitted_])
        return self

    def _checkpoint_of(self, k: int) -> Path | None:
        """A file for each class: model.ckpt is model-0.ckpt, model-1.ckpt, ..."""
        path = None if self.checkpoint is None else Path(self.checkpoint)
        return path and path.with_stem(f"{path.stem}-{k}")

    @property
    def learning_curve_(self) -> Any:
        """A DataFrame with a row for each epoch of each class."""
        check_is_fitted(self)
        return curve_of([fitted.history for fitted in self.fitted_], self.classes_)

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
