"""BeliefNetworkModel: the density of binary rows, by a network with hidden layers above them."""

from typing import Any, cast

import jax.numpy as jnp
import numpy as np

from plefka.mean_field.schemes import MeanField
from plefka.networks.belief import BeliefNetwork
from plefka.runtime.precision import precision
from plefka.sklearn.density import DensityModel
from plefka.sklearn.layered import LayeredLearner


class BeliefNetworkModel(DensityModel, LayeredLearner):
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

    def _is_bound(self) -> bool:
        functional, network = cast(MeanField, self.fitted_.method).functional, self.network_
        return functional.is_bound_of(network.activation, network.storage.most_parents())

    def _log_likelihood(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self._infer(self.network_, rows).log_likelihood)

    def _means(self, rows: np.ndarray) -> np.ndarray:
        return self._infer(self.network_, rows).means

    def inverse_transform(self, X: Any) -> np.ndarray:
        """P(on) of the visible units, given means or states of the hidden ones: f(W u + h), u the layer above them."""
        means = self._hidden_means(X)
        W, h = self.network_.weights[-1], self.network_.bias[self._visible(self.network_)]
        u = means[:, -W.shape[1] :]
        f = self.network_.activation
        with precision("float64"):
            return np.asarray(f.probability(f.clip(jnp.asarray(u @ W.T + h))))
