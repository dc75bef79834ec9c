"""The estimators of Boltzmann machines: scikit-learn's own checks, exact sums as the oracle, and what they refuse."""

from copy import copy
from dataclasses import replace
from itertools import product
from typing import Any

import jax
import numpy as np
import optax
import pandas as pd
import pytest
from scipy.special import expit, logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import BernoulliRBM
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import plefka as pf
from plefka.learning import of_machines
from plefka.sklearn import BoltzmannMachineModel, RestrictedBoltzmannMachine, machine_estimators

KINDS = [RestrictedBoltzmannMachine, BoltzmannMachineModel]
QUICK: dict[str, Any] = {"epochs": 1, "batch_size": 8, "random_state": 0}
CHECKED = [
    RestrictedBoltzmannMachine(2, binarize=0.0, **QUICK),
    BoltzmannMachineModel(binarize=0.0, **QUICK),
    BoltzmannMachineModel(2, binarize=0.0, **QUICK),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(CHECKED)
@pytest.mark.slow
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


# ---- data ------------------------------------------------------------------------------------------------------------

PAIRS = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], float)  # two patterns, each as frequent as the other
ALL = np.array(list(product((0.0, 1.0), repeat=4)))


def noisy_pairs(count=60, seed=0):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 2, count)
    return np.abs(PAIRS[kinds] - (rng.random((count, 4)) < 0.15)), kinds


def with_gaps(rows, seed=1):
    return np.where(np.random.default_rng(seed).random(rows.shape) < 0.2, np.nan, rows)


def copy_of(model: Any, **changes: Any) -> Any:
    """The same estimator, not fitted, with other parameters."""
    found: Any = clone(model)
    return found.set_params(**changes)


MODELS: dict[str, Any] = {
    "restricted": RestrictedBoltzmannMachine(3, learning_rate=0.1, epochs=30, random_state=0),
    "visible": BoltzmannMachineModel(learning_rate=0.3, epochs=10, random_state=0),
    "hidden": BoltzmannMachineModel(2, "exact", learning_rate=0.3, epochs=10, random_state=0),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    found = copy_of(MODELS[request.param]).fit(noisy_pairs()[0])
    assert np.abs(found.machine_.weights).max() > 0.5  # a law of independent units would say little
    return found


@pytest.fixture(scope="module")
def restricted():
    return copy_of(MODELS["restricted"]).fit(noisy_pairs()[0])


def enumerated(model: Any, rows: np.ndarray) -> Any:
    """ln sum exp(-E) over the hidden units of complete rows."""
    hidden = np.array(list(product((0.0, 1.0), repeat=model.machine_.size - rows.shape[1])))
    states = np.array([[*row, *state] for row in rows for state in hidden])
    return logsumexp(model.machine_.log_joint(states).reshape(len(rows), -1), axis=1)


# ---- the density -----------------------------------------------------------------------------------------------------


def test_scores_are_those_of_the_sum_over_all_states(model):
    log_weights = enumerated(model, ALL)
    log_z: Any = logsumexp(log_weights)
    np.testing.assert_allclose(model.log_partition_, log_z, rtol=1e-12)
    np.testing.assert_allclose(model.score_samples(ALL), log_weights - log_z, atol=1e-10)
    assert model.score(PAIRS) == pytest.approx(model.score_samples(PAIRS).mean())
    assert model.score_is_bound_
    assert model.log_partition_error_ == 0
    assert model.network_ is model.machine_ is model.fitted_.network


@pytest.mark.parametrize("column", range(4))
def test_a_missing_value_is_summed_out(model, column):
    holes, on, off = ALL.copy(), ALL.copy(), ALL.copy()
    holes[:, column], on[:, column], off[:, column] = np.nan, 1, 0
    both = np.stack([model.score_samples(on), model.score_samples(off)])
    np.testing.assert_allclose(model.score_samples(holes), np.logaddexp(*both), atol=1e-10)
    chance = expit(both[0] - both[1])
    np.testing.assert_allclose(model.impute_proba(holes)[:, column], chance, atol=1e-10)
    np.testing.assert_array_equal(model.impute(holes)[:, column], chance >= 0.5)
    if hasattr(model, "transform"):
        mixed = chance[:, None] * model.transform(on) + (1 - chance[:, None]) * model.transform(off)
        np.testing.assert_allclose(model.transform(holes), mixed, atol=1e-10)


def test_a_row_without_a_value_is_certain(model):
    np.testing.assert_allclose(model.score_samples(np.full((1, 4), np.nan)), 0, atol=1e-10)


def test_draws_have_the_probabilities_of_the_scores(model):
    rows = model.sample(4000, random_state=0)
    assert rows.shape == (4000, 4)
    found = (rows[:, None] == ALL).all(axis=2).mean(axis=0)
    np.testing.assert_allclose(found, np.exp(model.score_samples(ALL)), atol=0.03)
    np.testing.assert_array_equal(rows, model.sample(4000, random_state=0))


def test_two_patterns_are_learned():
    rows = np.repeat(PAIRS, 20, axis=0)
    model = RestrictedBoltzmannMachine(2, learning_rate=0.2, random_state=0).fit(rows)
    assert np.all(model.score_samples(PAIRS) > np.log(0.5) - 0.1)
    assert model.n_iter_ == len(model.history_["objective"]) == 100
    np.testing.assert_allclose(model.inverse_transform(model.transform(PAIRS)), PAIRS, atol=0.2)
    assert np.abs(np.diff(model.transform(PAIRS), axis=0)).max() > 0.8


def test_a_machine_without_hidden_units_has_the_correlations_of_the_rows():
    rows = noisy_pairs(200)[0]
    model = BoltzmannMachineModel(epochs=150, learning_rate=0.1, random_state=0).fit(rows)
    p = np.exp(model.score_samples(ALL))
    np.testing.assert_allclose((ALL.T * p) @ ALL, rows.T @ rows / len(rows), atol=1e-3)


# ---- hidden units ----------------------------------------------------------------------------------------------------


def test_the_transform_is_that_of_scikit_learn_with_the_same_weights(restricted):
    W, b, c = restricted.machine_.weights, restricted.machine_.bias[:4], restricted.machine_.bias[4:]
    means = restricted.transform(ALL)
    np.testing.assert_allclose(means, expit(ALL @ W + c), rtol=1e-12)
    other = BernoulliRBM(3, n_iter=1, random_state=0).fit(ALL)
    other.components_, other.intercept_visible_, other.intercept_hidden_ = W.T, b, c
    np.testing.assert_allclose(means, other.transform(ALL), rtol=1e-12)
    assert list(restricted.get_feature_names_out()) == [f"hidden{k}" for k in range(3)]


def test_the_way_down_is_the_machine_given_the_hidden_units(restricted):
    states = np.array(list(product((0.0, 1.0), repeat=3)))
    given = np.c_[np.full((8, 4), np.nan), states]
    means = pf.infer(restricted.machine_, given, "exact").means[:, :4]
    np.testing.assert_allclose(restricted.inverse_transform(states), means, rtol=1e-10)
    with pytest.raises(ValueError, match="X must have 3 columns, the means of the hidden units, from 0 to 1"):
        restricted.inverse_transform(ALL)


def test_without_hidden_units_there_is_no_transform():
    plain, hidden = BoltzmannMachineModel(), BoltzmannMachineModel(2)
    for name in ("transform", "fit_transform"):
        assert not hasattr(plain, name)
        assert hasattr(hidden, name)
        with pytest.raises(AttributeError, match="no attribute") as error:
            getattr(plain, name)
        assert "Without hidden units there is nothing to transform rows to. Add some" in str(error.value.__cause__)
    assert not hasattr(hidden, "inverse_transform")


# ---- where sums are long ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "answers"), [("persistent", "G2"), ("G2", "G2"), ("bethe", "bethe")])
def test_rows_that_leave_many_units_are_answered_by_a_method(restricted, monkeypatch, method, answers):
    model = RestrictedBoltzmannMachine(3, method, learning_rate=0.1, epochs=2, random_state=0).fit(noisy_pairs()[0])
    assert model.score_is_bound_  # all sums are short
    monkeypatch.setattr(machine_estimators, "SCORE_WORK", 3)
    assert not model.partial_fit(noisy_pairs()[0]).score_is_bound_
    rows = with_gaps(noisy_pairs()[0])[:6]
    complete = ~np.isnan(rows).any(axis=1)
    assert 0 < complete.sum() < 6
    evidence = np.c_[rows, np.full((6, 3), np.nan)]
    exact, found = (pf.infer(model.machine_, evidence, by) for by in ("exact", answers))
    np.testing.assert_allclose(model.transform(rows)[complete], exact.means[complete, 4:], atol=1e-12)
    np.testing.assert_allclose(model.transform(rows)[~complete], found.means[~complete, 4:], atol=1e-6)
    expected = np.where(complete, exact.log_partition, found.log_partition) - model.log_partition_
    np.testing.assert_allclose(model.score_samples(rows), expected, atol=1e-6)


def test_rows_that_are_not_solved_are_warned_about(restricted, monkeypatch):
    hasty = copy(restricted)
    hasty.fitted_ = replace(restricted.fitted_, method=pf.parse_method("G2[max_steps=1]"))
    monkeypatch.setattr(machine_estimators, "SCORE_WORK", 3)
    with pytest.warns(ConvergenceWarning, match="2 of 2 rows: ran out of steps"):
        hasty.transform(np.full((2, 4), np.nan))


def test_the_sampled_ln_z_is_near_the_exact_one_and_kept(monkeypatch):
    rows = noisy_pairs()[0]
    exact = RestrictedBoltzmannMachine(3, "persistent", epochs=5, random_state=0).fit(rows)
    monkeypatch.setattr(machine_estimators, "SCORE_SECONDS", 0.0)
    first, second = (copy_of(exact).fit(rows) for _ in range(2))
    np.testing.assert_array_equal(first.machine_.weights, exact.machine_.weights)
    assert 0 < first.log_partition_error_ < 0.1
    assert abs(first.log_partition_ - exact.log_partition_) < 5 * first.log_partition_error_
    assert first.log_partition_ == second.log_partition_
    monkeypatch.setattr(machine_estimators, "log_partitions", None)  # it is not computed again
    np.testing.assert_allclose(first.score_samples(rows) + first.log_partition_, enumerated(first, rows), rtol=1e-10)


# ---- learning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_values_may_be_missing_when_learning(name):
    rows = with_gaps(noisy_pairs()[0])
    model = copy_of(MODELS[name], method="exact", epochs=40).fit(rows)
    assert np.all(model.score_samples(PAIRS) > np.log(0.1))  # of 16 states


@pytest.mark.parametrize("name", MODELS)
def test_epochs_in_parts_are_epochs_in_one_for_an_optimiser_with_a_memory(name):
    rows = noisy_pairs()[0]
    start = copy_of(MODELS[name], optimizer=optax.sgd(0.5, momentum=0.9), batch_size=64)
    whole, parts = copy_of(start, epochs=4).fit(rows), copy_of(start)
    for _ in range(4):
        parts.partial_fit(rows)
    np.testing.assert_allclose(parts.machine_.weights, whole.machine_.weights, atol=1e-12)
    np.testing.assert_array_equal(parts.history_["epoch"], np.arange(1, 5))
    assert parts.n_iter_ == 4


def test_learning_goes_on_with_the_method_and_the_steps_that_it_began_with():
    rows = noisy_pairs()[0]
    model = BoltzmannMachineModel(random_state=0).partial_fit(rows)
    assert str(model.fitted_.method) == "exact"
    assert str(model.partial_fit(with_gaps(rows)).fitted_.method) == "exact"
    chains = BoltzmannMachineModel(1, batch_size=100, random_state=0)
    for _ in range(3):
        chains.partial_fit(rows)
    assert str(chains.fitted_.method) == "persistent"
    assert [int(count) for count in jax.tree.leaves(chains.fitted_.optimizer_state)] == [3]  # steps become shorter


@pytest.mark.parametrize(
    ("hidden", "gaps", "makes"),
    [(0, False, "slowing_adam"), (0, True, "SlowingDescent"), (2, False, "SlowingDescent")],
)
@pytest.mark.parametrize("rate", [None, 0.02])
def test_optimisers_are_those_of_fit(monkeypatch, hidden, gaps, makes, rate):
    """Unless a rate is given, learning is that of `pf.fit` with the same start and seed."""
    rows = with_gaps(noisy_pairs()[0]) if gaps else noisy_pairs()[0]
    seen = []
    plain = getattr(of_machines, makes)
    monkeypatch.setattr(of_machines, makes, lambda *size: seen.append(size) or plain(*size))
    model = BoltzmannMachineModel(hidden, "persistent", epochs=2, learning_rate=rate, random_state=0).fit(rows)
    assert seen == [() if rate is None else (rate,)]
    if rate is None:
        seed = np.random.RandomState(0).randint(2**31 - 1)
        start = pf.ensembles.machine_to_learn(hidden, rows, seed, restricted=False)
        evidence = np.c_[rows, np.full((len(rows), hidden), np.nan)]
        fitted = pf.fit(start, evidence, "persistent", epochs=2, seed=seed, verbose=False)
        np.testing.assert_allclose(model.machine_.weights, fitted.network.weights, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", ["exact", "persistent"])
def test_a_weight_is_a_repetition(name, method):
    rows = with_gaps(noisy_pairs(6)[0])
    weights = np.array([3, 1, 0, 2, 1, 1])
    start = copy_of(MODELS[name], method=method, epochs=3)
    weighted = copy_of(start).fit(rows, sample_weight=weights)
    repeated = copy_of(start).fit(np.repeat(rows, weights, axis=0))
    np.testing.assert_allclose(weighted.machine_.weights, repeated.machine_.weights, atol=1e-10)


def test_learning_stops_by_the_rows_held_out():
    rows = np.random.default_rng(0).integers(0, 2, (40, 4))
    model = BoltzmannMachineModel(epochs=300, validation_fraction=0.25, patience=3, random_state=0).fit(rows)
    assert model.fitted_.stopped is pf.Stopped.VALIDATION
    assert model.n_iter_ < 300


# ---- scikit-learn's tools --------------------------------------------------------------------------------------------


def test_a_machine_is_a_step_of_a_pipeline(restricted):
    rows, kinds = noisy_pairs()
    assert make_pipeline(copy_of(restricted), LogisticRegression()).fit(rows, kinds).score(rows, kinds) > 0.8


@pytest.mark.parametrize("kind", KINDS)
def test_a_grid_search_chooses_by_the_score(kind):
    search = GridSearchCV(kind(1, "exact", random_state=0, learning_rate=0.1), {"epochs": [1, 30]}, cv=2)
    assert search.fit(noisy_pairs()[0]).best_params_ == {"epochs": 30}


def test_a_clone_learns_the_same(model):
    again = copy_of(model)
    assert not hasattr(again, "machine_")
    again.fit(noisy_pairs()[0])
    np.testing.assert_array_equal(again.machine_.weights, model.machine_.weights)


@pytest.mark.parametrize("name", MODELS)
def test_names_of_columns_become_names_of_units(name):
    frame = pd.DataFrame(noisy_pairs()[0], columns=list("abcd"))
    model = copy_of(MODELS[name], epochs=1).fit(frame)
    hidden = model.machine_.size - 4
    assert model.machine_.names == (*"abcd", *(f"hidden{k}" for k in range(hidden)))
    assert list(model.feature_names_in_) == list("abcd")
    if hidden:
        out = model.set_output(transform="pandas").transform(frame)
        assert list(out.columns) == list(model.get_feature_names_out())
    with pytest.raises(ValueError, match="feature names"):
        model.score(frame[list("dcba")])


def test_a_threshold_makes_rows_binary(restricted):
    rows = noisy_pairs()[0]
    grey = copy_of(restricted, binarize=0.5).fit(np.where(rows == 1, 0.9, 0.2))
    np.testing.assert_array_equal(grey.score_samples(0.8 * ALL), restricted.score_samples(ALL))


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_values_that_are_not_binary_are_refused(kind, model):
    with pytest.raises(ValueError, match=rf"only 0, 1 and NaN .* for {kind.__name__}; got 3 in row 1, column 0"):
        kind().fit([[0, 1], [3, 1]])
    with pytest.raises(ValueError, match=r"got 0.5 in row 0, column 2"):
        model.score([[0, 1, 0.5, 1]])


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_without_a_value_is_refused(kind):
    rows = noisy_pairs()[0]
    rows[:, 3] = np.nan
    with pytest.raises(ValueError, match="Every column of X must have a value somewhere; always missing: 3"):
        kind().fit(rows)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            RestrictedBoltzmannMachine(0),
            "'n_hidden' parameter of RestrictedBoltzmannMachine must be an int in the range",
        ),
        (BoltzmannMachineModel(-1), "'n_hidden' parameter of BoltzmannMachineModel must be an int in the range"),
        (BoltzmannMachineModel(batch_size=0), "'batch_size' parameter"),
        (BoltzmannMachineModel(learning_rate=0.0), "'learning_rate' parameter"),
        (BoltzmannMachineModel(method="G99"), "there is no method 'G99'"),
        (RestrictedBoltzmannMachine(method="SJJ"), "SJJ does not apply"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(PAIRS)


def test_columns_with_names_of_hidden_units_give_none_to_the_network():
    frame = pd.DataFrame(PAIRS, columns=["a", "b", "hidden0", "d"])
    model = RestrictedBoltzmannMachine(2, epochs=1).fit(frame)
    assert model.network_.given_names is None
    assert list(model.impute(frame).columns) == list(frame.columns)


@pytest.mark.parametrize("verb", ["sample", "score", "transform", "inverse_transform", "impute"])
def test_what_was_not_fitted_says_so(verb):
    with pytest.raises(NotFittedError):
        getattr(RestrictedBoltzmannMachine(), verb)(*([] if verb == "sample" else [PAIRS]))


@pytest.mark.parametrize("name", ["machine_", "log_partition_", "log_partition_error_"])
def test_what_was_not_fitted_has_no_results(name):
    with pytest.raises(NotFittedError):
        getattr(RestrictedBoltzmannMachine(), name)
    assert not hasattr(RestrictedBoltzmannMachine(), name)


def test_rows_with_long_sums_are_annealed(monkeypatch):
    """Their ln P is what the exact sum says, but for the error of sampling."""
    model = RestrictedBoltzmannMachine(n_hidden=3, epochs=20, random_state=0).fit(PAIRS)
    holes = np.where(np.eye(4) > 0, np.nan, ALL[:4])
    exact = model.score_samples(holes)
    monkeypatch.setattr("plefka.sklearn.machine_estimators.SCORE_WORK", 0)
    np.testing.assert_allclose(model.score_samples(holes), exact, atol=0.1)
