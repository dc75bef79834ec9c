"""BinaryImputer: gaps are filled as its density model fills them, wherever scikit-learn wants a transformer."""

from copy import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from plefka.sklearn import BinaryImputer, BoltzmannMachineModel, RestrictedBoltzmannMachine

PAIRS = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], float)
KINDS = np.random.default_rng(0).permutation(np.arange(60) % 2)
ROWS = PAIRS[KINDS]
GAPS = np.random.default_rng(1).random(ROWS.shape) < 0.2
HOLES = np.where(GAPS, np.nan, ROWS)
MODEL = BoltzmannMachineModel(method="exact", epochs=8, learning_rate=0.7, random_state=0)


def fresh(model: Any) -> Any:
    """The same estimator, not fitted."""
    return clone(model)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [BinaryImputer(BoltzmannMachineModel(method="exact", epochs=1, batch_size=8, binarize=0.0, random_state=0))]
)
@pytest.mark.slow
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def imputer():
    return BinaryImputer(MODEL).fit(HOLES)


def test_gaps_are_filled_as_the_model_fills_them(imputer):
    filled = imputer.transform(HOLES)
    np.testing.assert_array_equal(filled, imputer.estimator_.impute(HOLES))
    np.testing.assert_array_equal(filled[~GAPS], ROWS[~GAPS])
    assert np.mean(filled == ROWS) > 0.95
    chances = copy(imputer).set_params(strategy="probability").transform(HOLES)
    np.testing.assert_array_equal(chances >= 0.5, filled == 1)
    assert np.unique(chances[GAPS]).size > 2
    np.testing.assert_array_equal(imputer.transform(ROWS), ROWS)


def test_a_frame_keeps_its_names_and_its_index():
    frame = pd.DataFrame(HOLES, columns=list("abcd"), index=[f"row {k}" for k in range(60)])
    words = frame.astype(object).apply(lambda column: column.map({0: "no", 1: "yes"}))
    imputer = BinaryImputer(MODEL).set_output(transform="pandas").fit(words)
    filled = imputer.transform(words)
    assert list(filled.columns) == list(imputer.get_feature_names_out()) == list("abcd")
    pd.testing.assert_index_equal(filled.index, frame.index)
    np.testing.assert_array_equal(filled, imputer.transform(frame))
    with pytest.raises(ValueError, match="feature names"):
        imputer.transform(frame[list("dcba")])


def test_it_stands_before_others_and_beside_them():
    frame = pd.DataFrame(HOLES, columns=list("abcd")).assign(age=np.arange(60.0))
    columns = ColumnTransformer([("binary", BinaryImputer(MODEL), list("abcd")), ("other", StandardScaler(), ["age"])])
    pipeline = make_pipeline(columns, LogisticRegression())
    pipeline.set_params(columntransformer__binary__estimator__epochs=2)
    search = GridSearchCV(pipeline, {"columntransformer__binary__strategy": ["probability"]}, cv=2)
    assert search.fit(frame, KINDS).best_score_ > 0.9
    names = search.best_estimator_[0].get_feature_names_out()
    assert list(names) == [f"binary__{name}" for name in "abcd"] + ["other__age"]


def test_without_an_estimator_it_is_a_restricted_machine_with_its_own_seed(monkeypatch):
    monkeypatch.setattr(RestrictedBoltzmannMachine, "fit", lambda self, X, sample_weight: self)
    model = BinaryImputer(random_state=3).fit(HOLES).estimator_
    assert isinstance(model, RestrictedBoltzmannMachine)
    assert model.random_state == 3


def test_sparse_rows_and_weights_are_taken(imputer):
    np.testing.assert_array_equal(imputer.transform(csr_array(HOLES)), imputer.transform(HOLES))
    weights = np.where(KINDS == 1, 2, 1)
    quick = BinaryImputer(fresh(MODEL).set_params(epochs=1))
    weighted, repeated = quick.fit(HOLES, sample_weight=weights), fresh(quick).fit(np.repeat(HOLES, weights, axis=0))
    np.testing.assert_allclose(weighted.estimator_.network_.bias, repeated.estimator_.network_.bias, atol=1e-8)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": LogisticRegression()}, "'estimator' parameter of BinaryImputer must be an object implementing"),
        ({"strategy": "mean"}, "'strategy' parameter of BinaryImputer must be a str among"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        BinaryImputer(**parameters).fit(ROWS)
    with pytest.raises(NotFittedError):
        BinaryImputer().transform(ROWS)
