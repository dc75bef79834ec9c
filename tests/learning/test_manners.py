"""What users of scikit-learn expect of all estimators: sparse rows, frames, weights, restarts, checkpoints, workers."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array, csr_array, csr_matrix
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import plefka as pf
from plefka.errors import InvalidInput
from plefka.sklearn import (
    BeliefNetworkClassifier,
    BeliefNetworkModel,
    BoltzmannMachineModel,
    RestrictedBoltzmannMachine,
    learner,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # G11 is quick and no bound

PAIRS = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], float)
KINDS = np.random.default_rng(0).permutation(np.arange(40) % 2)
ROWS = np.abs(PAIRS[KINDS] - (np.random.default_rng(2).random((40, 4)) < 0.1))
HOLES = np.where(np.random.default_rng(1).random(ROWS.shape) < 0.2, np.nan, ROWS)
QUICK: dict[str, Any] = {"epochs": 3, "batch_size": 64, "random_state": 0}
MODELS: dict[str, Any] = {
    "belief": BeliefNetworkModel((2,), method="G11", **QUICK),
    "restricted": RestrictedBoltzmannMachine(2, "exact", **QUICK),
    "machine": BoltzmannMachineModel(2, "exact", **QUICK),
}
RAISE: Any = "raise"
CLASSIFIER = BeliefNetworkClassifier((2,), method="G11", **QUICK)
FRAME = pd.DataFrame(HOLES, columns=list("abcd"), index=[f"row {k}" for k in range(40)])


def fresh(model: Any) -> Any:
    """The same estimator, not fitted."""
    return clone(model)


@pytest.fixture(params=MODELS)
def model(request) -> Any:
    return fresh(MODELS[request.param])


# ---- sparse rows -----------------------------------------------------------------------------------------------------


def test_sparse_rows_are_those_of_arrays(model):
    dense, other = model.fit(HOLES), fresh(model).fit(csr_array(HOLES))
    for verb in ("score_samples", "transform"):
        for sparse in (csr_array, csc_array, csr_matrix):
            np.testing.assert_array_equal(getattr(other, verb)(sparse(HOLES)), getattr(dense, verb)(HOLES))
    np.testing.assert_array_equal(other.impute(csr_array(HOLES[:5])), dense.impute(HOLES[:5]))
    assert dense.partial_fit(HOLES).score(HOLES) == other.partial_fit(csc_array(HOLES)).score(HOLES)


def test_a_classifier_takes_sparse_rows_and_has_a_curve_for_each_class():
    words = np.array(["left", "right"])[KINDS]
    dense, other = (fresh(CLASSIFIER).fit(rows(HOLES), words) for rows in (np.array, csr_array))
    np.testing.assert_array_equal(other.predict_proba(csr_array(HOLES)), dense.predict_proba(HOLES))
    np.testing.assert_array_equal(other.predict(csc_array(HOLES)), dense.predict(HOLES))
    assert list(dense.learning_curve_["class"]) == ["left"] * 3 + ["right"] * 3
    assert list(dense.learning_curve_["epoch"]) == [1, 2, 3] * 2


def test_sparse_values_that_are_not_binary_are_refused():
    with pytest.raises(ValueError, match=r"only 0, 1 and NaN .* got 3 in row 1, column 0"):
        fresh(MODELS["restricted"]).fit(csr_array([[0, 1], [3, 1]]))


# ---- frames ----------------------------------------------------------------------------------------------------------


NAMELESS = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


@NAMELESS
def test_frames_come_back_with_names_and_index(model):
    model.fit(FRAME)
    for verb in ("impute", "impute_proba"):
        filled = getattr(model, verb)(FRAME)
        assert list(filled.columns) == list("abcd")
        pd.testing.assert_index_equal(filled.index, FRAME.index)
        np.testing.assert_array_equal(filled, getattr(model, verb)(HOLES))
        assert isinstance(getattr(model, verb)(HOLES), np.ndarray)
    scores = model.score_samples(FRAME)
    pd.testing.assert_series_equal(
        scores, pd.Series(model.score_samples(HOLES), FRAME.index, name="log_likelihood"), check_exact=True
    )
    drawn = model.sample(3, random_state=0)
    assert list(drawn.columns) == list("abcd")
    np.testing.assert_array_equal(drawn, fresh(model).fit(HOLES).sample(3, random_state=0))
    if hasattr(model, "inverse_transform"):
        means = model.set_output(transform="pandas").transform(FRAME)
        assert list(means.columns) == ["hidden0", "hidden1"]
        back = model.inverse_transform(means)
        assert list(back.columns) == list("abcd")
        pd.testing.assert_index_equal(back.index, FRAME.index)


def test_set_output_holds_for_what_fills_and_draws():
    model = fresh(MODELS["restricted"]).fit(HOLES)
    assert isinstance(model.sample(2), np.ndarray)
    model.set_output(transform="pandas")
    for found in (model.sample(2), model.impute(HOLES), model.inverse_transform([[0, 1]])):
        assert list(found.columns) == ["x0", "x1", "x2", "x3"]
    with config_context(transform_output="pandas"):
        assert isinstance(fresh(model).fit(HOLES).impute(HOLES), pd.DataFrame)


def test_words_and_ids_come_back_as_numbers_of_the_features():
    words = FRAME.astype(object).apply(lambda column: column.map({0: "no", 1: "yes"}))
    words.insert(0, "patient", [f"p{k}" for k in range(40)])
    model = fresh(MODELS["restricted"]).fit(FRAME)
    with pytest.warns(pf.errors.PlefkaWarning, match="patient"):
        pd.testing.assert_frame_equal(model.impute(words), model.impute(FRAME))


def test_columns_that_are_numbers_keep_them():
    model = fresh(MODELS["restricted"]).fit(pd.DataFrame(HOLES))
    assert list(model.impute(pd.DataFrame(HOLES)).columns) == [0, 1, 2, 3]


def test_machines_can_be_stacked_with_names():
    """The columns of the second are called hidden0, hidden1, as its own hidden units are."""
    first = fresh(MODELS["restricted"])
    second = fresh(first).set_params(binarize=0.5, n_hidden=1)
    stack = make_pipeline(first, second).set_output(transform="pandas").fit(FRAME)
    assert list(stack.transform(FRAME).columns) == ["hidden0"]
    assert list(second.sample(2).columns) == ["hidden0", "hidden1"]
    assert second.network_.given_names is None


# ---- weights ---------------------------------------------------------------------------------------------------------


def test_a_score_has_weights():
    model = fresh(MODELS["restricted"])
    weights = np.r_[np.zeros(10), np.arange(30)]
    model.fit(HOLES)
    assert model.score(HOLES, sample_weight=weights) == pytest.approx(
        model.score(np.repeat(HOLES, weights.astype(int), 0))
    )
    with pytest.raises(ValueError, match="sample_weight"):
        model.score(HOLES, sample_weight=[1.0, 2.0])


def test_weights_are_routed_through_a_search():
    weights = np.where(KINDS == 1, 3.0, 0.0) + 1e-9
    with config_context(enable_metadata_routing=True):
        model = fresh(MODELS["restricted"]).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"epochs": [3]}, cv=2).fit(HOLES, sample_weight=weights)
    plain = search.best_estimator_.score(HOLES[KINDS == 1])
    assert search.best_estimator_.score(HOLES, sample_weight=weights) == pytest.approx(plain, abs=1e-6)
    assert plain > search.best_estimator_.score(HOLES[KINDS == 0])


# ---- learning --------------------------------------------------------------------------------------------------------


def test_a_number_of_layers_is_one_layer():
    one, other = (BeliefNetworkModel(layers, method="G11", **QUICK).fit(ROWS) for layers in (3, (3,)))
    assert one.network_.layers == (3, 4)
    np.testing.assert_array_equal(one.network_.bias, other.network_.bias)
    for wrong in (0, "8", 2.5):
        with pytest.raises(ValueError, match="'layers' parameter of BeliefNetworkModel must be an int in the range"):
            BeliefNetworkModel(wrong).fit(ROWS)


def test_the_learning_curve_has_a_row_for_each_epoch():
    model = fresh(MODELS["restricted"])
    curve = model.fit(ROWS).partial_fit(ROWS).learning_curve_
    assert list(curve["epoch"]) == [1, 2, 3, 4]
    assert set(model.history_) == set(curve.columns)
    np.testing.assert_array_equal(curve["objective"], model.history_["objective"])
    assert len(pf.plots.history(model.fitted_).lines) > 0
    assert not hasattr(fresh(model), "learning_curve_")


def test_the_best_of_several_starts_goes_on(monkeypatch):
    model = fresh(MODELS["restricted"])
    seen, values = [], iter([-3.0, -1.0, -2.0])
    plain = learner.fit

    def spy(network, rows, *arguments, **options):
        fitted = plain(network, rows, *arguments, **options)
        seen.append((options["seed"], options["epochs"], options.get("callback"), fitted.network.bias))
        if options["validation"] is not None:
            fitted.history["validation"][:] = next(values)
        return fitted

    monkeypatch.setattr(learner, "fit", spy)
    callback = [].append
    model.set_params(n_starts=3, epochs=20, callback=callback).fit(ROWS)
    assert [epochs for _, epochs, _, _ in seen] == [2, 2, 2, 20]
    assert [each for _, _, each, _ in seen] == [None, None, None, callback]
    assert len({seed for seed, *_ in seen}) == 3
    assert seen[3][0] == seen[1][0]
    assert model.n_iter_ == 20
    np.testing.assert_array_equal(model.network_.bias, seen[3][3])


def test_a_callback_sees_epochs_and_may_stop():
    model = fresh(MODELS["restricted"])
    entries: list[dict] = []
    model.set_params(callback=lambda entry: entries.append(entry) or len(entries) == 2).fit(ROWS)
    assert [entry["epoch"] for entry in entries] == [1, 2]
    assert model.fitted_.stopped is pf.Stopped.CALLBACK
    again = pickle.loads(pickle.dumps(model))  # although a lambda cannot be pickled
    assert again.callback is None
    assert again.score(ROWS) == model.score(ROWS)
    assert fresh(model).callback is model.callback
    model.partial_fit(ROWS)
    assert len(entries) == 2


def test_a_checkpoint_is_gone_on_from(tmp_path):
    model = fresh(MODELS["restricted"])
    whole = fresh(model).fit(ROWS)
    model.set_params(checkpoint=tmp_path / "run", callback=lambda entry: entry["epoch"] == 2).fit(ROWS)
    assert model.n_iter_ == 2
    model.set_params(callback=None).fit(ROWS)
    np.testing.assert_array_equal(model.network_.bias, whole.network_.bias)
    with pytest.raises(InvalidInput, match="checkpoint"):
        fresh(model).fit(ROWS[:20])


def test_a_classifier_has_a_checkpoint_for_each_class(tmp_path):
    path = tmp_path / "run.ckpt"
    model = fresh(CLASSIFIER).set_params(checkpoint=str(path)).fit(ROWS, KINDS)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run-0.ckpt", "run-1.ckpt"]
    again: Any = fresh(model).fit(ROWS, KINDS)
    np.testing.assert_array_equal(again.networks_[1].bias, model.networks_[1].bias)


# ---- workers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "answers"), [("reweighted[G11]", "G11"), ("reweighted", "SJJ")])
def test_methods_that_only_learn_leave_answers_to_others(method, answers):
    model = BeliefNetworkModel((2,), method=method, epochs=1, random_state=0).fit(ROWS)
    means = pf.infer(model.network_, np.c_[np.full((2, 2), np.nan), PAIRS], answers).means
    np.testing.assert_allclose(model.transform(PAIRS), means[:, :2], atol=1e-6)


def test_a_method_without_an_optimizer_learns_and_goes_on():
    model = BeliefNetworkModel(2, "noisy_or", "em", epochs=2, random_state=0).fit(ROWS)
    before = model.score(ROWS)
    assert model.partial_fit(ROWS).score(ROWS) > before - 0.05
    assert model.n_iter_ == 3
    assert model.transform(ROWS).shape == (40, 2)
    with pytest.raises(InvalidInput, match="em takes no steps of an optimizer"):
        BeliefNetworkModel(2, "noisy_or", "em", learning_rate=0.1).fit(ROWS)


@pytest.mark.slow
def test_workers_find_what_one_process_finds(model):
    alone, together = (cross_val_score(model, csr_array(ROWS), cv=2, n_jobs=jobs) for jobs in (None, 2))
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    search = GridSearchCV(model, {"epochs": [1, 3]}, cv=2, n_jobs=2, error_score=RAISE).fit(FRAME)
    assert search.best_estimator_.score(FRAME) > -4
    with pytest.raises(ValueError, match="only 0, 1 and NaN"):
        GridSearchCV(model, {"epochs": [1]}, cv=2, n_jobs=2, error_score=RAISE).fit(3 * ROWS)
