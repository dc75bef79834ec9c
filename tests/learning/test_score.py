"""ln P of rows: the sum over all states against enumeration, and sampling against the sum."""

import numpy as np
import pytest

import plefka as pf
from tests.learning.test_fit import ROWS, small


@pytest.mark.parametrize("activation", ["sigmoid", "noisy_or"])
def test_the_exact_score_is_that_of_enumeration(activation):
    network = small(activation)
    rows = np.vstack([ROWS, ROWS[:2]])
    score = pf.score(network, rows)
    truth = pf.infer(network, np.hstack([np.full((6, 5), np.nan), rows]), "exact").log_likelihood
    assert score.is_exact
    np.testing.assert_allclose(score.log_likelihood, truth, rtol=1e-12)


@pytest.mark.parametrize("activation", ["sigmoid", "noisy_or"])
def test_sampling_is_within_its_errors_and_above_its_bound(activation):
    network = small(activation, seed=3)
    truth = pf.score(network, ROWS).log_likelihood
    score = pf.score(network, ROWS, seed=0, num_samples=4000, exact=False)
    assert not score.is_exact
    assert score.bound is not None
    assert score.effective is not None
    assert np.all(np.abs(score.log_likelihood - truth) < 4 * score.standard_error)
    assert np.all(score.standard_error < 0.05)
    assert np.all(score.bound < truth + 0.01)
    assert np.all((score.effective > 1000) & (score.effective <= 4000))


def test_a_seed_is_asked_for_where_the_sum_is_too_long():
    network = pf.ensembles.to_learn((20, 20), ROWS, 0)
    with pytest.raises(
        pf.errors.InvalidInput,
        match=r"add seed=0\. It is used because the 2\^40 states of the hidden units are too many",
    ):
        pf.score(network, ROWS)
    with pytest.raises(pf.errors.InvalidInput, match="states of the hidden units are too many to sum over"):
        pf.score(network, ROWS, exact=True)
    assert np.isfinite(pf.score(network, ROWS, seed=0, num_samples=50).mean)


def test_observed_units_with_children_are_named_as_the_reason():
    network = small("sigmoid")
    with pytest.raises(pf.errors.InvalidInput, match="because observed units have children"):
        pf.score(network, network.sample(seed=0, count=2))


def test_rows_come_back_in_their_order():
    network = small("sigmoid")
    rows = ROWS[[2, 0, 2, 1]]
    alone = [pf.score(network, row[None]).mean for row in rows]
    np.testing.assert_allclose(pf.score(network, rows).log_likelihood, alone, rtol=1e-12)


def test_equal_rows_share_one_error():
    """Twice the same rows tell no more about their mean."""
    network = small("sigmoid", seed=3)
    once, twice = (
        pf.score(network, rows, seed=0, num_samples=50, exact=False) for rows in (ROWS, np.vstack([ROWS, ROWS]))
    )
    assert once.mean_error > 0
    np.testing.assert_allclose(twice.mean_error, once.mean_error, rtol=1e-12)


def test_chunks_of_rows_are_scored_as_all_at_once(monkeypatch):
    network = small("sigmoid")
    rows = np.random.default_rng(0).integers(0, 2, (30, 4)).astype(float)
    whole = pf.score(network, rows).log_likelihood
    monkeypatch.setattr("plefka.learning.likelihood.SUMMED_NUMBERS", 5 * 2**5)  # five patterns at once
    np.testing.assert_allclose(pf.score(network, rows).log_likelihood, whole, rtol=1e-12)


def test_a_row_may_miss_what_no_other_row_has():
    network = small("sigmoid")
    assert pf.score(network, ROWS[3:]).mean == pytest.approx(pf.score(network, ROWS).log_likelihood[3])


@pytest.mark.parametrize("exact", [True, False])
def test_what_cannot_happen_has_no_probability(exact):
    """A noisy-or unit without a leak is off where its only cause is."""
    network = pf.BeliefNetwork.layered([[[1.0], [np.inf]]], [[0.5], [0.0, 0.0]], "noisy_or")
    rows = np.array([[1.0, 0.0], [1.0, 1.0]])  # the first is on only with the cause, and then so is the second
    score = pf.score(network, rows, exact=exact, seed=0, num_samples=50)
    assert score.log_likelihood[0] == -np.inf
    assert np.isfinite(score.log_likelihood[1])


def test_counted_columns_are_those_of_an_array():
    pd = pytest.importorskip("pandas")
    network = small("sigmoid")
    np.testing.assert_array_equal(
        pf.score(network, pd.DataFrame(ROWS)).log_likelihood, pf.score(network, ROWS).log_likelihood
    )
    with pytest.raises(pf.errors.InvalidInput, match=r"rows must have 4 columns.*got shape \(4, 2\)"):
        pf.score(network, pd.DataFrame(ROWS[:, :2]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "G99"}, "there is no method 'G99'"),
        ({"method": "exact"}, "importance sampling draws from the solution of a scheme"),
        ({"num_samples": 0}, "num_samples must be a whole number of 2 or more; got 0"),
        ({"seed": 2**63}, "seed must be a whole number from 0"),
        ({"exact": False}, "importance sampling needs a seed; add seed=0. It is used because exact=False was given"),
    ],
)
def test_options_are_checked_where_the_sum_is_exact_too(options, message):
    with pytest.raises(pf.errors.InvalidInput, match=message):
        pf.score(small("sigmoid"), ROWS, **options)
