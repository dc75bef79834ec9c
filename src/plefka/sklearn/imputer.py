"""BinaryImputer: a step of a pipeline that fills in missing values by a density model of all columns."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, _fit_context, clone
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted

from plefka.sklearn.machine_estimators import RestrictedBoltzmannMachine


@dataclass(eq=False, repr=False)
class BinaryImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """x with P(x_i = 1 | what is not missing in x) for every missing x_i, or with the more probable state.

    **Parameters:**

    - `estimator`: the density model that learns from the rows, gaps included: any of `plefka.sklearn`, with `binarize`
        where values are not 0 and 1. None is a `RestrictedBoltzmannMachine` of 64 hidden units.
    - `strategy`: "state", 0 or 1, or "probability".
    - `random_state`: that of the estimator where it is None.

    Of a DataFrame, words become 0 and 1, and `set_output(transform="pandas")` keeps names and index.

    **Attributes:** `estimator_` (the model that was fitted), `n_features_in_`, `feature_names_in_`.

    >>> from plefka.sklearn import BinaryImputer
    >>> rows = [[1, 1, 0, 0], [0, 0, 1, 1]] * 10
    >>> BinaryImputer(random_state=0).fit(rows).transform([[1, float("nan"), 0, 0]])
    array([[1., 1., 0., 0.]])
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "impute", "impute_proba"]), None],
        "strategy": [StrOptions({"state", "probability"})],
        "random_state": ["random_state"],
    }
    estimator: Any = None
    strategy: str = field(default="state", kw_only=True)
    random_state: Any = field(default=None, kw_only=True)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the density of the rows."""
        own = RestrictedBoltzmannMachine(random_state=self.random_state)
        model: Any = own if self.estimator is None else clone(self.estimator)
        self.estimator_ = model.fit(X, sample_weight=sample_weight)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """X without missing values."""
        check_is_fitted(self)
        fill = self.estimator_.impute if self.strategy == "state" else self.estimator_.impute_proba
        return np.asarray(fill(X))

    @property
    def n_features_in_(self) -> int:
        """The number of columns."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The names of the columns, if X had some."""
        return self.estimator_.feature_names_in_
