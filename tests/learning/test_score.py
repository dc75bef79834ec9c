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
    with pytest.raises(pf.errors.InvalidInput, match=r"2\^40 states are too many.*add seed=0"):
        pf.score(network, ROWS)
    with pytest.raises(pf.errors.InvalidInput, match="too long"):
        pf.score(network, ROWS, exact=True)
    assert np.isfinite(pf.score(network, ROWS, seed=0, num_samples=50).mean)


def test_rows_come_back_in_their_order():
    network = small("sigmoid")
    rows = ROWS[[2, 0, 2, 1]]
    alone = [pf.score(network, row[None]).mean for row in rows]
    np.testing.assert_allclose(pf.score(network, rows).log_likelihood, alone, rtol=1e-12)
