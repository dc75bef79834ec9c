"""DensityModel around a search of its own: it answers like the estimator of the kind of network that was found."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import plefka as pf
from plefka.learning.density_search import Found
from plefka.methods.posterior import Accuracy
from plefka.sklearn import DensityModel, density_model

NAMES = list("abcd")
PAIRS = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], float)
ROWS = np.abs(PAIRS[np.arange(60) % 2] - (np.random.default_rng(0).random((60, 4)) < 0.1))


def found(kind, rows, weights=None, *, budget, seed, held_out, held_out_weights, names, verbose):
    """A network that learned a little from all rows; what it scores is made up."""
    table: Any = rows if names is None else pd.DataFrame(rows, columns=names)
    if kind == "belief":
        start: Any = pf.ensembles.to_learn((2,), table, seed)
    else:
        hidden = 0 if kind == "visible" else 2
        start = pf.ensembles.machine_to_learn(hidden, table, seed, restricted=kind == "restricted")
    hidden = np.full((len(rows), start.size - rows.shape[1]), np.nan)
    evidence = np.hstack([hidden, rows] if kind == "belief" else [rows, hidden])
    method = {"belief": "G11", "visible": "exact"}.get(kind, "persistent")
    fitted = pf.fit(start, evidence, method, weights=weights, epochs=1, batch_size=64, seed=seed, verbose=bool(verbose))
    tried = [{"family": kind, "settings": {"budget": budget}, "held_log_likelihood": -2.0, "seconds": 0.1}]
    return Found(fitted.network, tried, -2.0, 0.1, Accuracy.EXACT, 0.1, fitted.stopped, fitted.history, fitted)


@pytest.fixture(params=["restricted", "hidden", "visible", "belief"])
def kind(request, monkeypatch):
    monkeypatch.setattr(density_model, "search", partial(found, request.param))
    return request.param


@pytest.fixture
def restricted(monkeypatch):
    monkeypatch.setattr(density_model, "search", partial(found, "restricted"))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([DensityModel(0.01, binarize=0.0, random_state=0)])
@pytest.mark.slow
def test_scikit_learn_is_content(restricted, estimator, check):
    check(estimator)


def test_it_answers_as_the_network_that_was_found(kind):
    frame = pd.DataFrame(ROWS, columns=NAMES).mask(np.random.default_rng(1).random(ROWS.shape) < 0.1)
    model: Any = DensityModel(random_state=0).fit(frame)
    assert list(model.feature_names_in_) == NAMES
    pd.testing.assert_series_equal(model.score_samples(frame), model.estimator_.score_samples(frame))
    pd.testing.assert_frame_equal(model.impute(frame), model.estimator_.impute(frame))
    pd.testing.assert_frame_equal(model.sample(5, 0), model.estimator_.sample(5, 0))
    assert model.score(frame) == pytest.approx(np.mean(model.score_samples(frame)))
    assert len(model.learning_curve_) == 1
    assert list(model.tried_["family"]) == [kind]
    assert (model.score_, model.score_error_, model.score_kind_) == (-2.0, 0.1, "exact")
    assert hasattr(model, "transform") is (kind != "visible")
    assert hasattr(model, "inverse_transform") is (kind in ("restricted", "belief"))
    if kind == "visible":
        with pytest.raises(AttributeError) as error:
            model.transform(frame)
        assert "The best network has no hidden units" in str(error.value.__cause__)
    else:
        np.testing.assert_array_equal(model.transform(frame), model.estimator_.transform(frame))
    if hasattr(model, "inverse_transform"):
        answering: Any = model.estimator_
        found = [each.inverse_transform(np.eye(2)) for each in (model, answering)]
        np.testing.assert_array_equal(*found)


def test_before_it_is_fitted_nothing_is_known_of_hidden_units():
    for name in ("transform", "fit_transform", "inverse_transform"):
        with pytest.raises(AttributeError) as error:
            getattr(DensityModel(), name)
        assert "is known after fit" in str(error.value.__cause__)


def test_rows_of_weight_0_are_left_out_and_others_held_out(monkeypatch):
    seen: dict[str, Any] = {}

    def spy(rows, weights, *, held_out, **options):
        seen.update(rows=rows, weights=weights, held_out=held_out, **options)
        return found("restricted", rows, weights, held_out=held_out, **options)

    monkeypatch.setattr(density_model, "search", spy)
    weights = np.where(ROWS[:, 0] == 1, 2.0, 0.0)
    DensityModel(7.5, validation_fraction=0.25, random_state=0).fit(ROWS, sample_weight=weights)
    count = int((weights > 0).sum())
    assert len(seen["rows"]) + len(seen["held_out"]) == count
    assert len(seen["held_out"]) == -(-count // 4)
    assert set(seen["weights"]) == set(seen["held_out_weights"]) == {2.0}
    assert (seen["budget"], seen["names"], seen["verbose"]) == (7.5, None, False)


def test_a_grid_search_takes_it(restricted):
    search = GridSearchCV(DensityModel(random_state=0), {"budget": [1.0, 2.0]}, cv=2).fit(ROWS)
    assert search.best_estimator_.score(ROWS) == pytest.approx(search.score(ROWS))


@pytest.mark.parametrize(("parameters", "name"), [({"budget": 0}, "budget"), ({"validation_fraction": 1}, "valid")])
def test_parameters_that_make_no_sense_are_refused(parameters, name):
    with pytest.raises(ValueError, match=f"'{name}.*' parameter of DensityModel must be a float in the range"):
        DensityModel(**parameters).fit(ROWS)


def test_what_was_not_fitted_says_so():
    for verb in ("score", "impute", "score_samples"):
        with pytest.raises(NotFittedError):
            getattr(DensityModel(), verb)(ROWS)
    assert not hasattr(DensityModel(), "learning_curve_")
