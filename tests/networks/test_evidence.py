"""Evidence: four forms with one meaning, and rows that clamp different units."""

import numpy as np
import pandas as pd
import pytest

import plefka as pf

NAMES = ("cloudy", "sprinkler", "rain", "wet", "slippery", "tracks")
nan = np.nan


def garden():
    """cloudy -> sprinkler, rain -> wet -> slippery, tracks; the last two are barren as long as nobody looks at them."""
    weights = np.zeros((6, 6))
    weights[1, 0], weights[2, 0], weights[3, 1], weights[3, 2] = -1.2, 1.5, 1.1, 0.8
    weights[4, 3], weights[5, 3], weights[5, 4] = 0.7, -1.3, 0.4
    return pf.BeliefNetwork(weights, [0.1, -0.3, -0.5, -1.0, 0.2, 0.6], names=NAMES)


ROW = np.array([nan, 0, nan, 1, nan, nan])
SINGLE = {
    "by name": {"sprinkler": 0, "wet": 1},
    "by index": {1: 0, 3: 1},
    "by name and index": {"sprinkler": 0, 3: 1},
    "by numpy index": {np.int64(1): np.float32(0), np.int64(3): np.True_},
    "truth values": {"sprinkler": False, "wet": True},
    "digits": {"sprinkler": "0", "wet": "1"},
    "list": ROW.tolist(),
    "array": ROW,
    "narrow floats": ROW.astype(np.float32),
}
ROWS = np.array([ROW, [1, nan, nan, nan, 0, nan], [nan] * 6])
BATCH = {
    "array": ROWS,
    "frame": pd.DataFrame(ROWS, columns=list(NAMES)),
    "columns in another order": pd.DataFrame(ROWS, columns=list(NAMES)).iloc[:, ::-1],
    "missing columns": pd.DataFrame({"wet": [1, nan, nan], "slippery": [nan, 0, nan]}).assign(
        sprinkler=[0, nan, nan], cloudy=[nan, 1, nan]
    ),
    "nullable integers": pd.DataFrame(ROWS, columns=list(NAMES)).astype("Int64"),
    "nullable truth values": pd.DataFrame(ROWS, columns=list(NAMES)).astype("boolean"),
    "objects": pd.DataFrame(ROWS, columns=list(NAMES)).astype(object).where(lambda frame: frame.notna(), None),
}


def assert_same(solution, other):
    np.testing.assert_array_equal(solution.means, other.means)
    np.testing.assert_array_equal(solution.log_likelihood, other.log_likelihood)
    np.testing.assert_array_equal(solution.observed, other.observed)


@pytest.mark.parametrize("evidence", SINGLE.values(), ids=SINGLE.keys())
def test_one_row_has_one_meaning(evidence):
    solution = pf.infer(garden(), evidence)
    assert_same(solution, pf.infer(garden(), ROW))
    assert solution.means.shape == (6,)
    assert isinstance(solution.log_likelihood, float)


@pytest.mark.parametrize("evidence", BATCH.values(), ids=BATCH.keys())
def test_a_batch_has_one_meaning(evidence):
    solution = pf.infer(garden(), evidence)
    assert_same(solution, pf.infer(garden(), ROWS))
    assert solution.means.shape == (3, 6)
    assert solution.log_likelihood.shape == solution.status.shape == (3,)


@pytest.mark.parametrize("nothing", [None, {}, np.full(6, nan)], ids=["None", "empty", "nan"])
def test_nothing_observed_is_said_in_three_ways(nothing):
    solution = pf.infer(garden(), nothing)
    assert solution.log_likelihood == pytest.approx(0, abs=1e-14)
    assert not solution.observed.any()


def test_each_row_clamps_other_units():
    batch = pf.infer(garden(), ROWS)
    for k, row in enumerate(ROWS):
        alone = pf.infer(garden(), row)
        np.testing.assert_allclose(batch.means[k], alone.means, atol=1e-7)
        np.testing.assert_allclose(batch.log_likelihood[k], alone.log_likelihood, atol=1e-12)
    observed = ~np.isnan(ROWS)
    np.testing.assert_array_equal(batch.means[observed], ROWS[observed])
    np.testing.assert_array_equal(batch.observed, observed)


def test_observed_units_keep_their_value_whatever_the_means_say():
    means = np.array([0.3, 0.9, 0.6, 0.2, 0.5, 0.5])
    corrected = np.where(np.isnan(ROW), means, ROW)
    assert pf.free_energy(garden(), ROW, means) == pf.free_energy(garden(), ROW, corrected)


def test_pruning_is_what_makes_it_so():
    assert abs(pf.infer(garden(), None, "G12", prune=False).log_likelihood) > 1e-3
