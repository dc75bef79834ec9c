"""DensityModel: the families of networks are tried on rows that are held out, and the best one learns."""

from contextlib import suppress
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.model_selection import train_test_split
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if

from plefka.errors import MissingExtra
from plefka.learning.density_search import search
from plefka.learning.fitted import Fitted
from plefka.networks.belief import BeliefNetwork
from plefka.runtime.extras import pandas
from plefka.sklearn.belief_estimators import BeliefNetworkModel
from plefka.sklearn.binary_rows import BinaryEstimator
from plefka.sklearn.density import BinaryDensity, LearnedDensity, has_hidden
from plefka.sklearn.machine_estimators import BoltzmannMachineModel, RestrictedBoltzmannMachine


@dataclass(eq=False, repr=False)
class DensityModel(BinaryDensity):
    """ln P(x) of binary rows x, by the network that is most probable on held-out rows among those that are tried.

    Families of networks are tried briefly, machines with and without hidden units and belief networks, and the best
    learns in the seconds that are left. Rows consist of 0 and 1, with nan for what is missing.

    **Parameters:**

    - `budget`: seconds of one core that trying and learning may take, about.
    - `validation_fraction`: the fraction of rows that is held out, to choose and to stop by.
    - `binarize`: x > binarize becomes 1 and other values 0; None for rows that are binary already.
    - `random_state`: which rows are held out, and where learning starts from.
    - `verbose`: show a progress bar on standard error.

    **Attributes:** `network_`; `tried_`, a DataFrame of what was tried, or a list where pandas is missing; `score_`,
    `score_error_` and `score_kind_`, ln P per held-out row, its standard error and whether it is exact; `stopped_` and
    `seconds_`; `fitted_` and `history_`, as the others have them; `estimator_`, the network as one of the other
    estimators; `n_features_in_`, `feature_names_in_`.
    """

    _parameter_constraints: ClassVar[dict] = {
        **BinaryEstimator._parameter_constraints,
        "budget": [Interval(Real, 0, None, closed="neither")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    }
    budget: float = 60.0
    validation_fraction: float = field(default=0.1, kw_only=True)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Try, choose and learn."""
        rows, weights = self._learning_rows(X, sample_weight)
        rows, weights, seed = rows[weights > 0], weights[weights > 0], self._seed()
        split: Any = train_test_split(rows, weights, test_size=self.validation_fraction, random_state=seed)
        found = search(
            split[0], split[2], budget=self.budget, seed=seed, held_out=split[1],
            held_out_weights=split[3], names=self._names(), verbose=bool(self.verbose),
        )  # fmt: skip
        self.network_, self.fitted_, self.history_ = found.network, found.fitted, found.history
        self.score_, self.score_error_, self.score_kind_ = found.held_log_likelihood, found.standard_error, found.kind
        self.tried_, self.stopped_, self.seconds_ = found.tried, found.stopped, found.seconds
        with suppress(MissingExtra):
            self.tried_ = pandas().DataFrame(found.tried)
        self.estimator_ = self._estimator(found.fitted, seed)
        return self

    def _estimator(self, fitted: Fitted, seed: int) -> LearnedDensity:
        """The network as the estimator of its kind, which knows how to answer."""
        network, method = fitted.network, fitted.method
        if isinstance(network, BeliefNetwork):
            layers: Any = network.layers
            model: LearnedDensity = BeliefNetworkModel(layers[:-1], network.activation, method)
        else:
            kind = RestrictedBoltzmannMachine if network.is_restricted else BoltzmannMachineModel
            model = kind(self._n_features_out, method)
        return model._adopted(fitted, self, seed)

    def _check_hidden(self) -> None:
        if not hasattr(self, "network_"):
            raise AttributeError("Whether the network has hidden units to transform rows to is known after fit.")
        if not self._n_features_out:
            raise AttributeError("The best network has no hidden units to transform rows to; see tried_ for others.")

    @property
    def score_is_bound_(self) -> bool:
        """Whether `score_samples` never exceeds the truth."""
        return self.estimator_.score_is_bound_

    def _visible(self, network: Any) -> slice:
        return self.estimator_._visible(network)

    def _log_likelihood(self, rows: np.ndarray) -> np.ndarray:
        return self.estimator_._log_likelihood(rows)

    def _means(self, rows: np.ndarray) -> np.ndarray:
        return self.estimator_._means(rows)

    @available_if(lambda model: has_hidden(model) and hasattr(model.estimator_, "inverse_transform"))
    def inverse_transform(self, X: Any) -> Any:
        """P(on) of the visible units, given means or states of the hidden ones."""
        model: Any = self.estimator_
        return self._as_rows(np.asarray(model.inverse_transform(X)), X)
