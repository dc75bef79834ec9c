"""The estimators: scikit-learn's own checks, its tools, missing values, and what they refuse."""

import subprocess
import sys
import traceback
from copy import copy
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import optax
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import plefka as pf
from plefka import progress
from plefka.errors import PlefkaWarning
from plefka.sklearn import BeliefNetworkClassifier, BeliefNetworkModel
from tests.compilations import compilations

# Batches of one size and a cheap scheme: every shape is a program to compile.
QUICK = {"layers": (2,), "method": "G11", "epochs": 1, "batch_size": 8, "random_state": 0}

CHECKED = [BeliefNetworkModel(**QUICK, binarize=0.0), BeliefNetworkClassifier(**QUICK, binarize=0.0)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(CHECKED)
@pytest.mark.slow
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("kind", [BeliefNetworkModel, BeliefNetworkClassifier])
def test_without_a_threshold_only_values_that_are_not_binary_make_a_check_fail(kind):
    found = check_estimator(kind(**QUICK), on_skip=None, on_fail=None)
    failed = [check["exception"] for check in found if check["status"] == "failed"]
    assert failed
    assert all("only 0, 1 and NaN" in "".join(traceback.format_exception(error)) for error in failed)


# ---- data ------------------------------------------------------------------------------------------------------------

PAIRS = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], float)  # two patterns, each as frequent as the other
LEARNED = {"layers": (2,), "batch_size": 32, "learning_rate": 0.2, "random_state": 0}


def pairs(count=40, seed=0):
    kinds = np.random.default_rng(seed).permutation(np.arange(count) % 2)
    return PAIRS[kinds], kinds


@pytest.fixture(scope="module")
def model():
    return BeliefNetworkModel(**LEARNED, epochs=80).fit(pairs()[0])


@pytest.fixture(scope="module")
def classifier():
    X, y = pairs()
    return BeliefNetworkClassifier(**LEARNED, epochs=10).fit(X, np.array(["left", "right"])[y])


# ---- the density -----------------------------------------------------------------------------------------------------


def test_a_model_learns_two_patterns(model):
    assert model.n_iter_ == len(model.history_["objective"]) == 80
    assert model.score_is_bound_
    assert model.fitted_.network is model.network_
    assert model.score(PAIRS) == pytest.approx(model.score_samples(PAIRS).mean())
    truth = pf.infer(model.network_, np.c_[np.full((2, 2), np.nan), PAIRS], "exact").log_likelihood
    np.testing.assert_allclose(model.score_samples(PAIRS), truth, rtol=1e-12)
    assert np.all(truth > np.log(0.5) - 0.2)


def test_samples_have_the_frequencies_of_the_rows(model):
    rows = model.sample(2000, random_state=1)
    assert set(np.unique(rows)) == {0, 1}
    np.testing.assert_allclose(rows.mean(axis=0), 0.5, atol=0.1)
    np.testing.assert_allclose((rows[:, 0] == rows[:, 1]).mean(), 1, atol=0.1)
    np.testing.assert_array_equal(rows, model.sample(2000, random_state=1))


def test_a_hidden_pixel_is_restored(model):
    holes = PAIRS.copy()
    holes[0, 1] = holes[1, 1] = np.nan
    np.testing.assert_array_equal(model.impute(holes), PAIRS)
    chances = model.impute_proba(holes)
    assert chances[0, 1] > 0.8
    assert chances[1, 1] < 0.2
    np.testing.assert_array_equal(chances[~np.isnan(holes)], PAIRS[~np.isnan(holes)])


def test_a_missing_value_is_summed_out(model):
    nothing = np.full((1, 4), np.nan)
    np.testing.assert_allclose(model.score_samples(nothing), 0, atol=1e-12)


def test_hidden_means_lead_back_to_the_rows(model):
    means = model.transform(PAIRS)
    assert means.shape == (2, 2)
    np.testing.assert_allclose(model.inverse_transform(means), PAIRS, atol=0.2)
    assert list(model.get_feature_names_out()) == ["hidden0", "hidden1"]


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["sigmoid", "noisy_or"])
def test_the_way_down_is_the_network_given_the_layer_above(activation):
    model = BeliefNetworkModel((1, 2), activation, epochs=1, random_state=0).fit(pairs()[0])
    states = np.array([[1, 0, 1], [0, 1, 1]], float)
    found = model.inverse_transform(states)
    for state, row in zip(states, found, strict=True):
        evidence = np.r_[state, np.full(4, np.nan)]
        np.testing.assert_allclose(pf.infer(model.network_, evidence, "exact").means[3:], row, atol=1e-9)
    assert model.fitted_.method.name == {"sigmoid": "reweighted", "noisy_or": "em"}[activation]


def test_partial_fit_raises_the_score_and_counts_on():
    X, _ = pairs()
    model = BeliefNetworkModel(**LEARNED).partial_fit(X)
    scores = [model.score(X)] + [model.partial_fit(X).score(X) for _ in range(15)]
    assert scores[-1] > scores[0] + 0.3
    np.testing.assert_array_equal(model.history_["epoch"], np.arange(1, 17))
    assert model.n_iter_ == 16
    assert np.all(np.diff(model.history_["seconds"]) > 0)


def test_a_second_partial_fit_compiles_nothing():
    X, _ = pairs()
    model = BeliefNetworkModel(**LEARNED).partial_fit(X)
    model.partial_fit(X)  # the optimiser has a state from here on
    with compilations() as found:
        model.partial_fit(X)
    assert len(found) == 0


def test_epochs_in_parts_are_epochs_in_one_for_an_optimiser_with_a_memory():
    X, _ = pairs()
    momentum = {**LEARNED, "optimizer": optax.sgd(0.5, momentum=0.9)}
    whole = BeliefNetworkModel(**momentum, epochs=5).fit(X)
    parts = BeliefNetworkModel(**momentum)
    for _ in range(5):
        parts.partial_fit(X)
    forgetful = BeliefNetworkModel(**momentum).partial_fit(X)
    for _ in range(4):
        forgetful.fitted_ = replace(forgetful.fitted_, optimizer_state=None)
        forgetful.partial_fit(X)
    far, near = (np.abs(one.network_.bias - whole.network_.bias).max() for one in (forgetful, parts))
    assert near < 0.1 * far  # not 0, as the steps start from other means and are solved to a tolerance


def test_a_weight_is_a_repetition():
    X, _ = pairs(6)
    X[0, 2] = np.nan
    weights = np.array([3, 1, 0, 2, 1, 1])
    weighted = BeliefNetworkModel(**LEARNED, epochs=3).fit(X, sample_weight=weights)
    repeated = BeliefNetworkModel(**LEARNED, epochs=3).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.network_.bias, repeated.network_.bias, rtol=1e-12)


def test_learning_stops_by_the_rows_held_out():
    X = np.random.default_rng(0).integers(0, 2, (40, 4))
    model = BeliefNetworkModel((2,), epochs=200, batch_size=8, validation_fraction=0.25, patience=3, random_state=0)
    model.fit(X)
    assert model.fitted_.stopped is pf.Stopped.VALIDATION
    assert model.n_iter_ < 200


def test_learning_that_fails_is_warned_about(model, monkeypatch):
    failed = replace(model.fitted_, stopped=pf.Stopped.NOT_FINITE)
    monkeypatch.setattr("plefka.sklearn.learner.fit", lambda *_, **__: failed)
    with pytest.warns(ConvergenceWarning, match="Learning stopped early: no row could be solved"):
        copy(model).fit(PAIRS)


def test_doubts_about_what_was_learned_are_warned_about(model, monkeypatch):
    doubtful = replace(model.fitted_, history={**model.history_, "solved": np.full(80, 0.25)})
    monkeypatch.setattr("plefka.sklearn.learner.fit", lambda *_, **__: doubtful)
    with pytest.warns(ConvergenceWarning, match="Most rows could not be solved in the last epoch"):
        copy(model).fit(PAIRS)


def test_an_interruption_ends_more_than_the_estimator(model, monkeypatch):
    interrupted = replace(model.fitted_, stopped=pf.Stopped.INTERRUPTED)
    monkeypatch.setattr("plefka.sklearn.learner.fit", lambda *_, **__: interrupted)
    with pytest.raises(KeyboardInterrupt):
        copy(model).fit(PAIRS)


def test_the_rows_held_out_keep_their_weights(model, monkeypatch):
    seen = {}
    monkeypatch.setattr("plefka.sklearn.learner.fit", lambda *_, **options: seen.update(options) or model.fitted_)
    X = np.repeat(PAIRS, 4, axis=0)
    copy(model).set_params(validation_fraction=0.5).fit(X, sample_weight=np.where(X[:, 0] == 1, 3.0, 1.0))
    np.testing.assert_array_equal(seen["validation_weights"], np.where(seen["validation"][:, 2] == 1, 3.0, 1.0))


def test_rows_that_are_not_solved_are_warned_about(model):
    hasty = copy(model).set_params(method="SJJ[max_steps=1]")
    with pytest.warns(ConvergenceWarning, match="2 of 2 rows: ran out of steps"):
        hasty.transform(PAIRS)


# ---- the classifier --------------------------------------------------------------------------------------------------


def test_a_classifier_tells_the_patterns_apart(classifier):
    assert list(classifier.predict(PAIRS)) == ["left", "right"]
    assert classifier.score(PAIRS, ["left", "right"]) == 1
    np.testing.assert_allclose(classifier.class_prior_, 0.5)
    assert [network.layers for network in classifier.networks_] == [(2, 4), (2, 4)]
    np.testing.assert_array_equal(classifier.n_iter_, [10, 10])


def test_the_classifier_obeys_bayes(classifier):
    rows = np.array([[1, np.nan, 0, 1], [np.nan, 0, np.nan, 0]])
    evidence = np.c_[np.full((2, 2), np.nan), rows]
    joint = 0.5 * np.exp([pf.infer(net, evidence, "SJJ").log_likelihood for net in classifier.networks_]).T
    np.testing.assert_allclose(classifier.predict_proba(rows), joint / joint.sum(1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(np.exp(classifier.predict_log_proba(rows)), classifier.predict_proba(rows))


def test_without_a_value_the_prior_remains():
    X, y = pairs()
    classifier = BeliefNetworkClassifier(**LEARNED, epochs=1, priors=[0.9, 0.1]).fit(X, y)
    np.testing.assert_allclose(classifier.predict_proba(np.full((1, 4), np.nan)), [[0.9, 0.1]])


def test_values_may_be_missing_when_learning():
    X, y = pairs()
    X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    classifier = BeliefNetworkClassifier(**LEARNED, epochs=10).fit(X, y)
    np.testing.assert_array_equal(classifier.predict(PAIRS), [0, 1])
    np.testing.assert_array_equal(
        classifier.predict([[1, np.nan, np.nan, np.nan], [np.nan, 0, np.nan, np.nan]]), [0, 1]
    )


@pytest.mark.parametrize("kind", [BeliefNetworkModel, BeliefNetworkClassifier])
def test_a_column_without_a_value_is_refused(kind):
    X, y = pairs()
    X[:, 3] = np.nan
    with pytest.raises(ValueError, match="Every column of X must have a value somewhere; always missing: 3"):
        kind(**LEARNED, epochs=2).fit(X, y)


def test_a_network_that_does_not_solve_a_row_cannot_win_it(classifier, monkeypatch):
    """A free energy without a bottom has an ln P as high as you like."""
    first = classifier.networks_[0]

    def infer(network, rows):
        solved = network is not first
        return SimpleNamespace(log_likelihood=np.array([-2.0 if solved else 1e3]), converged=np.array([solved]))

    monkeypatch.setattr(classifier, "_infer", infer, raising=False)
    np.testing.assert_allclose(classifier.predict_proba(PAIRS[:1]), [[0, 1]])


def test_a_row_that_no_network_solves_is_left_to_the_prior(classifier, monkeypatch):
    class Unsolved:
        log_likelihood = np.array([np.nan])
        converged = np.array([False])

    monkeypatch.setattr(classifier, "_infer", lambda network, rows: Unsolved, raising=False)
    np.testing.assert_allclose(classifier.predict_proba(PAIRS[:1]), [[0.5, 0.5]])


# ---- scikit-learn's tools --------------------------------------------------------------------------------------------


def test_a_model_is_a_step_of_a_pipeline():
    X, y = pairs()
    pipeline = make_pipeline(BeliefNetworkModel(**LEARNED, epochs=20), LogisticRegression()).fit(X, y)
    assert pipeline.score(X, y) == 1


def test_a_grid_search_chooses_by_the_score():
    X, _ = pairs()
    search = GridSearchCV(BeliefNetworkModel(**LEARNED), {"epochs": [1, 30]}, cv=2).fit(X)
    assert search.best_params_ == {"epochs": 30}


def test_a_clone_learns_the_same(classifier):
    X, y = pairs()
    again: Any = clone(classifier)
    assert not hasattr(again, "networks_")
    again.fit(X, y)
    np.testing.assert_array_equal(again.networks_[1].bias, classifier.networks_[1].bias)


def test_names_of_columns_are_kept_and_compared():
    X, _ = pairs()
    frame = pd.DataFrame(X, columns=list("abcd")).astype("Int64").mask(pd.DataFrame(X, columns=list("abcd")) > 2)
    frame.loc[0, "a"] = pd.NA
    model = BeliefNetworkModel(**LEARNED, epochs=1).fit(frame)
    assert list(model.feature_names_in_) == list("abcd")
    assert model.set_output(transform="pandas").transform(frame).columns[0] == "hidden0"
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[list("dcba")])


def test_names_of_columns_become_names_of_units(tmp_path):
    X, y = pairs()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = BeliefNetworkModel(**LEARNED, epochs=1).fit(frame)
    hidden = model.network_.size - 4
    assert model.network_.names == (*(f"hidden{k}" for k in range(hidden)), *"abcd")
    assert len(model.get_feature_names_out()) == hidden
    assert pf.score(model.network_, frame).mean == pytest.approx(pf.score(model.network_, X).mean, abs=1e-14)
    assert BeliefNetworkModel(**LEARNED, epochs=1).fit(X).network_.given_names is None
    classifier = BeliefNetworkClassifier(**LEARNED, epochs=1).fit(frame, y)
    assert all(network.names[-4:] == tuple("abcd") for network in classifier.networks_)


def test_frames_of_words_and_with_ids_are_those_of_numbers():
    X, y = pairs()
    numbers = pd.DataFrame(X, columns=list("abcd"))
    words = numbers.astype(object).apply(lambda column: column.map({0: "no", 1: "yes"}))
    words.insert(0, "patient", [f"p{k}" for k in range(len(X))])
    for kind, targets in ((BeliefNetworkModel, ()), (BeliefNetworkClassifier, (y,))):
        plain: Any = kind(**LEARNED, epochs=1).fit(numbers, *targets)
        with pytest.warns(PlefkaWarning, match="the column 'patient' is not a feature and holds text"):
            found: Any = kind(**LEARNED, epochs=1).fit(words, *targets)
        assert list(found.feature_names_in_) == list("abcd")
        answer = "score_samples" if kind is BeliefNetworkModel else "predict_proba"
        with pytest.warns(PlefkaWarning, match="used to identify the rows"):
            np.testing.assert_array_equal(getattr(found, answer)(words), getattr(plain, answer)(numbers))
    words.loc[2, "b"] = "maybe"
    with pytest.raises(
        ValueError, match=r"Input X must contain only 0, 1 and NaN \(missing\); got 'maybe' in row 2, co"
    ):
        BeliefNetworkModel(**LEARNED, epochs=1).fit(words.drop(columns="patient"))


def test_a_threshold_makes_rows_binary():
    X, _ = pairs()
    grey = np.where(X == 1, 0.9, 0.2)
    grey[0, 0] = X[0, 0] = np.nan
    black = BeliefNetworkModel(**LEARNED, epochs=2).fit(X)
    np.testing.assert_array_equal(
        BeliefNetworkModel(**LEARNED, epochs=2, binarize=0.5).fit(grey).score_samples(grey), black.score_samples(X)
    )


def test_the_bar_is_shown_on_request(monkeypatch, capsys):
    monkeypatch.setattr("plefka.progress.QUIET_SECONDS", 0.0)
    monkeypatch.setitem(progress.STYLE[False], "mininterval", 0.0)
    for verbose, shown in ((False, False), (True, True)):
        BeliefNetworkModel(**LEARNED, epochs=2, verbose=verbose).fit(pairs()[0])
        assert ("learning by SJJ" in capsys.readouterr().err) is shown


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [BeliefNetworkModel, BeliefNetworkClassifier])
def test_values_that_are_not_binary_are_refused(kind, model, classifier):
    with pytest.raises(
        ValueError, match=rf"only 0, 1 and NaN .* for {kind.__name__}; got 3 in row 1, column 0. Set bin"
    ):
        kind().fit([[0, 1], [3, 1]], [0, 1])
    fitted = model if kind is BeliefNetworkModel else classifier
    with pytest.raises(ValueError, match=r"got 0.5 in row 0, column 2"):
        getattr(fitted, "transform" if kind is BeliefNetworkModel else "predict")([[0, 1, 0.5, 1]])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"layers": ()}, r"layers must be the sizes of one hidden layer or more, top first; got \(\)"),
        ({"layers": (2, 0)}, "layers must be the sizes"),
        ({"epochs": 0}, "'epochs' parameter of BeliefNetworkModel must be an int in the range"),
        ({"validation_fraction": 1.5}, "'validation_fraction' parameter"),
        ({"method": "G99"}, "there is no method 'G99'"),
        ({"activation": "noisy_or", "method": "SJJ"}, "SJJ does not apply"),
        ({"activation": "relu"}, "activation must be one of sigmoid, noisy_or"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        BeliefNetworkModel(**parameters).fit(PAIRS)


@pytest.mark.parametrize("priors", [[1.0], [0.5, 0.6], [1.5, -0.5]])
def test_priors_are_probabilities(priors):
    with pytest.raises(ValueError, match="priors must be 2 probabilities that sum to 1, one for each class"):
        BeliefNetworkClassifier(priors=priors).fit(PAIRS, [0, 1])


@pytest.mark.parametrize("means", [[[0.5]], [[0.5, 2.0]], [[-0.1, 0.5]]])
def test_what_is_no_mean_of_the_hidden_units_is_refused(model, means):
    with pytest.raises(ValueError, match="X must have 2 columns, the means of the hidden units, from 0 to 1"):
        model.inverse_transform(means)


@pytest.mark.parametrize("verb", ["sample", "score", "transform", "inverse_transform", "impute"])
def test_what_was_not_fitted_says_so(verb):
    with pytest.raises(NotFittedError):
        getattr(BeliefNetworkModel(), verb)(*([] if verb == "sample" else [PAIRS]))


def test_the_extra_is_named_where_scikit_learn_is_missing():
    program = "import sys; sys.modules['sklearn'] = None\nimport plefka.sklearn"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "plefka.sklearn needs scikit-learn, which is not installed" in done.stderr
    assert "pip install 'plefka[learn]'" in done.stderr
