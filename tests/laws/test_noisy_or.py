"""All laws, of noisy-or networks; and of many rows at once, for which there are programs of their own."""

from dataclasses import replace
from functools import cached_property

import numpy as np
import pytest

import plefka as pf
from tests.laws import cases
from tests.laws.cases import OBSERVED, SIZE
from tests.laws.laws import ROUNDING, Laws, agree, law


class TestNoisyOr(Laws):
    activation = "noisy_or"

    @cached_property
    def rows(self) -> np.ndarray:
        """Each with other units observed, the first as everywhere; then all units, and none."""
        rng = np.random.default_rng(0)
        rows = np.where(rng.random((12, SIZE)) < 0.4, rng.integers(0, 2, (12, SIZE)) * 1.0, np.nan)
        rows[0], rows[-2], rows[-1] = cases.row_of(OBSERVED), np.arange(SIZE) % 2, np.nan
        return rows

    @law(cases.is_one_method, slow=cases.is_like_another)
    def test_a_batch_is_a_loop_over_its_rows(self, method):
        batch = pf.infer(self.network, self.rows, method)
        assert batch.converged.all()
        for k in (0, 3, 7):
            alone = pf.infer(self.network, self.rows[k], method)
            means, log_likelihood = batch.means[k], batch.log_likelihood[k]
            agree(replace(alone, means=means, log_partition=log_likelihood), alone, method)

    @law(cases.is_one_method, slow=cases.is_like_another)
    def test_all_observed_has_its_joint_probability_and_nothing_probability_one(self, method):
        found = pf.infer(self.network, self.rows, method).log_likelihood
        assert found[-2] == pytest.approx(self.network.log_joint(self.rows[-2]), abs=1e-9)
        assert found[-1] == pytest.approx(0, abs=1e-12)

    @law(cases.is_bound, slow=cases.is_like_another)
    def test_no_bound_of_a_batch_exceeds_the_truth(self, method):
        found, exact = (pf.infer(self.network, self.rows, m) for m in (method, "exact"))
        assert found.is_bound
        assert np.all(found.log_likelihood <= exact.log_likelihood + ROUNDING)
