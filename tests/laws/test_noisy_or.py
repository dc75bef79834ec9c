"""All laws, of noisy-or networks; and of many rows at once, for which there are programs of their own."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import plefka as pf
from plefka.inference.library import METHODS
from plefka.methods.method import Method
from tests.laws import cases
from tests.laws.cases import OBSERVED, SIZE
from tests.laws.laws import ROUNDING, Laws, agree, law


@cache
def rows() -> np.ndarray:
    """Each with other units observed, the first as everywhere; then all units, and none."""
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((8, SIZE)) < 0.4, rng.integers(0, 2, (8, SIZE)) * 1.0, np.nan)
    rows[0], rows[-2], rows[-1] = cases.row_of(OBSERVED), np.arange(SIZE) % 2, np.nan
    return rows


@cache
def answered(method: Method) -> pf.Solution:
    """All rows, by a method."""
    return pf.infer(cases.network_with("noisy_or"), rows(), method)


class TestNoisyOr(Laws):
    activation = "noisy_or"

    @law(cases.is_one_method, slow=cases.is_like_another)
    def test_a_batch_is_a_loop_over_its_rows(self, method, solution):
        batch = answered(method)
        assert batch.converged.all()
        for k in (0, 3, 5):
            alone = pf.infer(self.network, rows()[k], method) if k else solution
            means, log_likelihood = batch.means[k], batch.log_likelihood[k]
            agree(replace(alone, means=means, log_partition=log_likelihood), alone, method)

    @law(cases.is_one_method, slow=cases.is_like_another)
    def test_all_observed_has_its_joint_probability_and_nothing_probability_one(self, method):
        found = answered(method).log_likelihood
        assert found[-2] == pytest.approx(self.network.log_joint(rows()[-2]), abs=1e-9)
        assert found[-1] == pytest.approx(0, abs=1e-12)

    @law(cases.is_bound, slow=cases.is_like_another)
    def test_no_bound_of_a_batch_exceeds_the_truth(self, method):
        found, exact = answered(method), answered(METHODS["exact"])
        assert found.is_bound
        assert np.all(found.log_likelihood <= exact.log_likelihood + ROUNDING)
