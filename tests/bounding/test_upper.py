"""The bound from above is never below the truth, and reaches it where every finding is exact."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import plefka as pf
from plefka.bounding.transformed import Transformed
from plefka.bounding.two_layers import reduced
from plefka.bounding.upper import applies, upper_bound
from plefka.errors import InvalidInput
from tests.data import names_in
from tests.test_polytrees import enumerated
from tests.test_real_networks import diagnosis
from tests.two_layers import exact_two_layer, two_layer

ROUNDING = 1e-9
SEEDS = range(15)


def bounds(network, row, tilt=None, most=6):
    """For 0, 1, 2, ... exact findings."""
    return np.array([upper_bound(network, row, tilt, exact_findings=k).log_likelihood for k in range(most)])


def assert_is_a_bound_that_tightens(found, truth):
    assert np.all(found >= truth - ROUNDING)
    assert np.all(np.diff(found) <= ROUNDING)
    assert found[-1] == pytest.approx(truth, abs=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_never_below_the_truth_tighter_with_every_exact_finding_and_exact_with_all(seed):
    network, row = two_layer(seed, causes=12, findings=9)
    assert applies(network, row) is None
    assert_is_a_bound_that_tightens(bounds(network, row, most=10), exact_two_layer(network, row)[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_soft_evidence_on_causes_and_inhibitors(seed):
    rng = np.random.default_rng(seed)
    W = rng.exponential(1.0, (4, 6)) * rng.choice([-0.5, 0, 1], (4, 6))
    leak = -np.minimum(W, 0).sum(1) + rng.exponential(0.1, 4)
    network = pf.BeliefNetwork.layered([W], [rng.uniform(0.05, 0.5, 6), leak], "noisy_or")
    row = np.append(np.full(6, np.nan), rng.permutation([1, 1, 1, 0]))
    tilt = np.append(rng.normal(0, 2, 6), [0.5, -0.5, 0, 0])
    assert_is_a_bound_that_tightens(bounds(network, row, tilt, most=4), enumerated(network, row, tilt)[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_two_layers_of_sigmoid_units(seed):
    rng = np.random.default_rng(seed)
    network = pf.BeliefNetwork.layered([rng.normal(0, 1, (4, 6))], [rng.normal(0, 1, 6), rng.normal(0, 1, 4)])
    row = np.concatenate([[1.0, 0.0], np.full(4, np.nan), rng.integers(0, 2, 3), [np.nan]])
    truth, _ = enumerated(network, row)
    assert truth - ROUNDING <= upper_bound(network, row).log_likelihood < truth + 1


def test_any_tangents_give_a_bound_and_its_gradient_is_right():
    network, row = two_layer(1, causes=12, findings=9)
    truth, _ = exact_two_layer(network, row)
    rng = np.random.default_rng(0)
    for exact in ([], [0, 2]):
        relaxed = Transformed(reduced(network, row, np.zeros(network.size)), exact)
        for _ in range(10):
            z = rng.normal(0, 2, len(relaxed.soft))
            value, gradient, _ = relaxed.bound(z)
            assert value >= truth - ROUNDING
            slopes = approx_fprime(z, lambda z, relaxed=relaxed: relaxed.bound(z)[0], 1e-7)
            assert gradient == pytest.approx(slopes, abs=1e-5)


def test_means_of_the_exact_part_are_the_posterior():
    network, row = two_layer(5, causes=12, findings=9)
    problem = reduced(network, row, np.zeros(network.size))
    relaxed = Transformed(problem, list(range(len(problem.leak))))
    means = relaxed.minimise(np.zeros(0)).means
    hidden = np.isnan(row[:12])
    _, truth = exact_two_layer(network, row)
    assert means == pytest.approx(truth[:12][hidden & (truth[:12] > 0)], abs=1e-10)


def test_an_observed_finding_may_have_children_and_hidden_ones_without_are_left_out():
    W = np.array([[0, 0, 0, 0], [1.0, 0, 0, 0], [0.5, np.inf, 0, 0], [0.3, 0, 0.7, 0]])
    network = pf.BeliefNetwork(W, [0.3, 0.1, 0, 0.2], "noisy_or")
    for row in ([np.nan, 0, 1, np.nan], [np.nan, 1, 1, 0]):
        row = np.array(row)
        assert upper_bound(network, row).log_likelihood == pytest.approx(enumerated(network, row)[0], abs=ROUNDING)


@pytest.mark.parametrize("row", [[np.nan, 0, 1], [0, np.nan, 1], [1, 0, np.nan]])
def test_impossible_evidence_has_no_probability(row):
    W = np.array([[0, 0, 0], [np.inf, 0, 0], [1.0, 0, 0]])
    assert upper_bound(pf.BeliefNetwork(W, [0.3, 0, 0], "noisy_or"), row).log_likelihood == -np.inf


def test_causes_of_tiny_probability_do_not_underflow():
    W = np.array([[0, 0, 0], [1.0, 0, 0], [1.0, 0, 0]])
    network = pf.BeliefNetwork(W, [1e-3, 0, 0], "noisy_or")
    row, tilt = np.array([np.nan, 1, 1]), np.array([-900.0, 0, 0])
    assert upper_bound(network, row, tilt).log_likelihood >= enumerated(network, row, tilt)[0]


def test_deeper_networks_are_summed_over_or_bounded_weakly():
    rng = np.random.default_rng(0)
    network = pf.BeliefNetwork(np.tril(rng.uniform(0, 1, (7, 7)), -1), rng.uniform(0.1, 0.3, 7), "noisy_or")
    row = np.array([np.nan, np.nan, np.nan, 0, np.nan, 1, 0])
    assert "unit '1' is hidden and has parents" in str(applies(network, row))
    truth, _ = enumerated(network, row)
    assert upper_bound(network, row).log_likelihood == pytest.approx(truth, abs=ROUNDING)
    tilt = np.array([0, 1.0, 0, 0, -1.0, 0, 0])
    weak = upper_bound(network, row, tilt)
    assert weak.method == "every observed unit at its best"
    assert enumerated(network, row, tilt)[0] <= weak.log_likelihood < 1


def test_what_the_bound_is_not_for_is_said():
    wave = pf.BeliefNetwork(np.tril(np.ones((3, 3)), -1), np.zeros(3), lambda x: 0.5 + 0.1 * np.sin(x))
    assert "noisy-or and sigmoid" in str(applies(wave, np.full(3, np.nan)))
    assert upper_bound(wave, [np.nan, np.nan, 1], tilt=[0, 2.0, 0]).log_likelihood == 2
    stack = pf.ensembles.layered((2, 3), 0, 1, 2, 0, "noisy_or")
    assert "stack" in str(applies(stack, np.full(5, np.nan)))
    with pytest.raises(InvalidInput, match="stack of 2"):
        upper_bound(stack, np.full(5, np.nan))
    network, row = two_layer(0, causes=3, findings=2)
    with pytest.raises(InvalidInput, match="one number for each of 5 units"):
        upper_bound(network, row[:4])
    with pytest.raises(InvalidInput, match="0 or more"):
        upper_bound(network, row, exact_findings=-1)
    hidden = np.full(5, np.nan)
    assert "tilted" in str(applies(network, hidden, [0, 0, 0, 0, 1.0]))


@pytest.mark.parametrize(("exact_findings", "mean_gap"), [(0, 2.0), (2, 1.0)])
def test_real_diagnoses_are_bounded(exact_findings, mean_gap):
    gaps = [_gap(name, exact_findings) for name in names_in("promedas")]
    assert min(gaps) >= -ROUNDING
    assert np.mean(gaps) < mean_gap


def test_eight_exact_findings_leave_little_to_be_bounded_of_a_real_diagnosis():
    assert -ROUNDING <= _gap("or_chain_107", 8) < 0.1


def _gap(name, exact_findings):
    network, evidence, log_z, _ = diagnosis(name)
    row = np.full(network.size, np.nan)
    row[[network.index(unit) for unit in evidence]] = list(evidence.values())
    found = upper_bound(network, row, exact_findings=exact_findings)
    assert found.converged
    assert found.method.startswith("Jaakkola-Jordan, ")
    return found.log_likelihood - log_z


def test_bounds_that_agree_are_not_apart_even_where_the_evidence_is_impossible():
    assert pf.Bounds(-np.inf, -np.inf, "exact", "exact").gap == 0
    assert pf.Bounds(-np.inf, -1.0, "none", "upper").gap == np.inf
    assert pf.Bounds(-1.5, -1.0, "G1", "upper").gap == 0.5
