"""BeliefNetworkModel: the density of binary rows, by a network with hidden layers above them."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, DensityMixin, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from plefka.learning.fitted import Fitted
from plefka.networks.belief import BeliefNetwork
from plefka.precision import precision
from plefka.sklearn.learner import LARGEST_SEED, Learner


class BeliefNetworkModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, Learner):
    """ln P(x) = ln sum_h P(h) P(x | h) of binary rows x, with h the hidden units of a layered belief network.

    Rows consist of 0 and 1, with nan for what is missing, when learning and afterwards.

    **Parameters:**

    - `layers`: units of the hidden layers, top first; the columns of X are the layer below them.
    - `activation`: "sigmoid", "noisy_or" or a `plefka.Custom`.
    - `method`: any scheme with a free energy. None is SJJ for the sigmoid, which is a bound, and G12 for others.
    - `epochs`, `batch_size`: how often all rows are seen, and how many distinct ones in a step.
    - `optimizer`, `learning_rate`: any optimiser of optax, or None for Adam with this rate.
    - `l1`, `l2`: penalties on the weights.
    - `validation_fraction`, `patience`: the fraction of rows that is held out, and the epochs without improvement on
        them after which learning stops.
    - `binarize`: x > binarize becomes 1 and other values 0; None for rows that are binary already.
    - `random_state`: where the weights start from, and the order of the rows.
    - `verbose`: show a progress bar on standard error.

    **Attributes:** `network_`, `fitted_` (what `plefka.fit` returned last), `history_` (arrays with an entry for each
    epoch), `n_iter_` (epochs so far), `score_is_bound_`, `n_features_in_`, `feature_names_in_`.
    """

    network_: BeliefNetwork
    fitted_: Fitted
    n_features_in_: int
    feature_names_in_: np.ndarray

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BeliefNetworkModel":
        """Learn a network from scratch."""
        rows = self._rows(X, reset=True)
        weights = self._sample_weights(rows, sample_weight)
        self._check_columns(rows, weights)
        self._first_seed = self._seed()
        fitted = self._learn(rows, weights, self._first_seed)
        return self._keep(fitted, fitted.history)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BeliefNetworkModel":
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
        state = self.fitted_.optimizer_state
        fitted = self._fitted(self.network_, (rows, weights), seed, epochs=1, state=state)
        return self._keep(fitted, _joined(self.history_, fitted.history))

    def _keep(self, fitted: Fitted, history: dict[str, np.ndarray]) -> "BeliefNetworkModel":
        self.fitted_, self.network_, self.history_ = fitted, fitted.network, history
        self.n_iter_ = len(history["epoch"])
        self.score_is_bound_ = fitted.method.is_bound
        return self

    # ---- the density -------------------------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> np.ndarray:
        """The estimate of ln P of every row, of what is not missing in it; a lower bound if `score_is_bound_`."""
        check_is_fitted(self)
        return self._infer(self.network_, self._rows(X, reset=False)).log_likelihood

    def score(self, X: Any, y: Any = None) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The mean of `score_samples`."""
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Rows drawn from the network, (n_samples, n_features)."""
        check_is_fitted(self)
        seed = int(check_random_state(random_state).randint(LARGEST_SEED))
        return self.network_.sample(seed, n_samples)[:, self._n_features_out :].astype(float)

    # ---- hidden units ------------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """The posterior means of the hidden units, top layer first: (rows, hidden units)."""
        check_is_fitted(self)
        return self._infer(self.network_, self._rows(X, reset=False)).means[:, : self._n_features_out]

    def inverse_transform(self, X: Any) -> np.ndarray:
        """P(on) of the visible units, given means or states of the hidden ones: f(W u + h), u the layer above them."""
        check_is_fitted(self)
        means = check_array(X, dtype="float64", input_name="X")
        if means.shape[1] != self._n_features_out or means.min() < 0 or means.max() > 1:
            raise ValueError(
                f"X must have {self._n_features_out} columns, the means of the hidden units, from 0 to 1; got shape "
                f"{means.shape} with values from {means.min():g} to {means.max():g}."
            )
        W, h = self.network_.weights[-1], self.network_.bias[self._n_features_out :]
        u = means[:, -W.shape[1] :]
        f = self.network_.activation
        with precision("float64"):
            return np.asarray(f.probability(f.clip(jnp.asarray(u @ W.T + h))))

    @property
    def _n_features_out(self) -> int:
        return self.network_.size - self.n_features_in_

    # ---- missing values ----------------------------------------------------------------------------------------------

    def impute_proba(self, X: Any) -> np.ndarray:
        """X with P(on | the rest of the row) for every nan."""
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        means = self._infer(self.network_, rows).means[:, self._n_features_out :]
        return np.where(np.isnan(rows), means, rows)

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
