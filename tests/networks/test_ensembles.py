"""The ensembles of section 4.1 of the paper, in small: 2,000 networks each, and three standard errors."""

import functools

import numpy as np
import pytest

import plefka as pf
from tests.quick import quick_where

COUNT = 2000
BOTTOM_OFF = np.r_[np.full(6, np.nan), np.zeros(6)]
EXPECTED = {"G11": -0.0403, "G12": 0.0156, "SJJ": 0.0158, "G221": 0.0015, "G22": 0.0005}
PRINTED = 0.00005  # half a unit of the last digit given


@functools.cache
def ensemble(low: float, high: float) -> tuple[pf.BeliefNetwork, np.ndarray]:
    stack = pf.ensembles.layered((2, 4, 6), low, high, COUNT, 2001, "sigmoid")
    return stack, pf.infer(stack, BOTTOM_OFF, "exact").log_likelihood


@pytest.mark.parametrize("method", EXPECTED)
def test_small_weights_have_the_known_mean_error(method):
    stack, log_z = ensemble(-1, 1)
    solution = pf.infer(stack, BOTTOM_OFF, method)
    error = solution.log_likelihood / log_z - 1  # (62)
    assert solution.converged.all()
    assert abs(error.mean() - EXPECTED[method]) < 3 * error.std() / np.sqrt(COUNT) + PRINTED


@pytest.mark.parametrize(
    "method", quick_where(["G12", "G22", "SJJ"], ["G11", "G12", "G13", "G14", "G21", "G221", "G22", "SJJ"])
)
def test_large_weights_converge_too(method):
    stack, log_z = ensemble(-5, 5)
    solution = pf.infer(stack, BOTTOM_OFF, method)
    assert solution.converged.mean() >= 0.999
    assert np.isfinite(solution.means).all()
    assert np.isfinite(solution.log_likelihood).all()
    if solution.is_bound:
        assert np.all(solution.log_likelihood <= log_z + 1e-10)
