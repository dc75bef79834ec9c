"""The bound from above is never below the truth, and reaches it where every finding is exact."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import approx_fprime

import plefka as pf
from plefka.errors import InvalidInput
from plefka.exact import bounding_tables
from plefka.networks.evidence import Evidence
from plefka.questions import bounds as both
from plefka.reduction.question import Part
from plefka.reduction.reduce import reduce
from plefka.sampling.findings.findings import BEST_TANGENTS, problem_of
from plefka.sampling.findings.transformed import Transformed
from tests.data import names_in
from tests.exact.test_polytrees import enumerated
from tests.test_real_networks import diagnosis
from tests.two_layers import exact_two_layer, two_layer, with_inhibitors

ROUNDING = 1e-9
SEEDS = range(15)


def part_of(network, row, tilt=None) -> Part:
    """What is left of one row."""
    (part,) = reduce(network, Evidence(np.array([row]), None if tilt is None else np.array([tilt]))).parts
    return part


def upper_bound(part, exact_findings=12):
    """By findings that are transformed."""
    found = pf.parse_method(f"findings[k={exact_findings},samples=0]").posterior(part, dtype="float64")
    assert found.converged.all()
    return float(part.constant[0] - found.free_energy[0])


def by_mini_buckets(part) -> float:
    return float(part.constant[0] - pf.parse_method("minibucket").posterior(part, dtype="float64").free_energy[0])


def upper(network, row, tilt=None) -> float:
    return upper_bound(part_of(network, row, tilt))


def bounds(network, row, tilt=None, most=6):
    """For 0, 1, 2, ... exact findings."""
    part = part_of(network, row, tilt)
    return np.array([upper_bound(part, exact_findings=k) for k in range(most)])


def assert_is_a_bound_that_tightens(found, truth):
    assert np.all(found >= truth - ROUNDING)
    assert np.all(np.diff(found) <= ROUNDING)
    assert found[-1] == pytest.approx(truth, abs=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_never_below_the_truth_tighter_with_every_exact_finding_and_exact_with_all(seed):
    network, row = two_layer(seed, causes=12, findings=9)
    assert_is_a_bound_that_tightens(bounds(network, row, most=10), exact_two_layer(network, row)[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_soft_evidence_on_causes_and_inhibitors(seed):
    rng = np.random.default_rng(seed)
    network, row = with_inhibitors(rng)
    tilt = np.append(rng.normal(0, 2, 6), [0.5, -0.5, 0, 0])
    assert_is_a_bound_that_tightens(bounds(network, row, tilt, most=4), enumerated(network, row, tilt)[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_two_layers_of_sigmoid_units(seed):
    rng = np.random.default_rng(seed)
    network = pf.BeliefNetwork.layered([rng.normal(0, 1, (4, 6))], [rng.normal(0, 1, 6), rng.normal(0, 1, 4)])
    row = np.concatenate([[1.0, 0.0], np.full(4, np.nan), rng.integers(0, 2, 3), [np.nan]])
    truth, _ = enumerated(network, row)
    assert truth - ROUNDING <= by_mini_buckets(part_of(network, row)) < truth + 1


def test_any_tangents_give_a_bound_and_its_gradient_is_right():
    network, row = two_layer(1, causes=12, findings=9)
    truth, _ = exact_two_layer(network, row)
    rng = np.random.default_rng(0)
    part = part_of(network, row)
    for exact in ([], [0, 2]):
        relaxed = Transformed(problem_of(part.question, 0), exact)
        for _ in range(10):
            z = rng.normal(0, 2, len(relaxed.transformed))
            value, gradient, _ = relaxed.bound(z)
            assert value + part.constant[0] >= truth - ROUNDING
            slopes = approx_fprime(z, lambda z, relaxed=relaxed: relaxed.bound(z)[0], 1e-7)
            assert gradient == pytest.approx(slopes, abs=1e-5)


def test_means_of_the_exact_part_are_the_posterior():
    network, row = two_layer(5, causes=12, findings=9)
    part = part_of(network, row)
    problem = problem_of(part.question, 0)
    relaxed = Transformed(problem, list(range(len(problem.leak))))
    means = relaxed.minimise(np.zeros(0), BEST_TANGENTS).means
    _, truth = exact_two_layer(network, row)
    assert len(means) > 1
    assert means == pytest.approx(truth[part.units[problem.units]], abs=1e-10)


def test_an_observed_finding_may_have_children_and_hidden_ones_without_are_left_out():
    W = np.array([[0, 0, 0, 0], [1.0, 0, 0, 0], [0.5, np.inf, 0, 0], [0.3, 0, 0.7, 0]])
    network = pf.BeliefNetwork(W, [0.3, 0.1, 0, 0.2], "noisy_or")
    for row in ([np.nan, 0, 1, np.nan], [np.nan, 1, 1, 0]):
        row = np.array(row)
        assert upper(network, row) == pytest.approx(enumerated(network, row)[0], abs=ROUNDING)


@pytest.mark.parametrize("row", [[np.nan, 0, 1], [0, np.nan, 1], [1, 0, np.nan]])
def test_impossible_evidence_has_no_probability(row):
    W = np.array([[0, 0, 0], [np.inf, 0, 0], [1.0, 0, 0]])
    found = pf.bounds(pf.BeliefNetwork(W, [0.3, 0, 0], "noisy_or"), row)
    assert (found.lower, found.upper, found.gap) == (-np.inf, -np.inf, 0)


def test_causes_of_tiny_probability_do_not_underflow():
    W = np.array([[0, 0, 0], [1.0, 0, 0], [1.0, 0, 0]])
    network = pf.BeliefNetwork(W, [1e-3, 0, 0], "noisy_or")
    row, tilt = np.array([np.nan, 1, 1]), np.array([-900.0, 0, 0])
    assert upper(network, row, tilt) >= enumerated(network, row, tilt)[0] - ROUNDING


def test_deeper_networks_are_summed_over_or_bounded(monkeypatch):
    """Where hidden units depend on each other too much to be summed over, mini-buckets bound them."""
    rng = np.random.default_rng(0)
    network = pf.BeliefNetwork(np.tril(rng.uniform(0, 1, (7, 7)), -1), rng.uniform(0.1, 0.3, 7), "noisy_or")
    row, soft = (
        np.array([np.nan, np.nan, np.nan, 0, np.nan, 1, 0]),
        {1: pf.Likelihood(0.5, 0.2), 4: pf.Likelihood(0.2, 0.5)},
    )
    evidence = {**{unit: int(state) for unit, state in enumerate(row) if state == state}, **soft}
    exact = pf.bounds(network, evidence)
    tilt = np.log([1, 2.5, 1, 1, 0.4, 1, 1])
    truth = enumerated(network, row, tilt)[0] + np.log(0.1)
    assert (exact.lower_method, exact.upper_method) == ("exact", "exact")
    assert exact.upper == pytest.approx(truth, abs=ROUNDING)
    monkeypatch.setattr(both, "BOUNDED_SECONDS", 0)
    tight = pf.bounds(network, evidence)
    assert tight.upper_method == "findings[samples=0]"
    assert tight.upper == pytest.approx(truth, abs=ROUNDING)
    assert upper_bound(part_of(network, row, tilt), exact_findings=0) > tight.upper - np.log(0.1)
    monkeypatch.setattr("plefka.sampling.findings.findings.FINDINGS_SECONDS", 0)
    weak = pf.bounds(network, evidence)
    assert weak.upper_method == "minibucket[i=14]"
    assert weak.lower <= truth <= weak.upper + ROUNDING < truth + 1e-6


def test_units_of_another_kind_are_tables_or_left_out(monkeypatch):
    wave = pf.BeliefNetwork(np.tril(np.ones((3, 3)), -1), np.zeros(3), lambda x: 0.5 + 0.1 * jnp.sin(x))
    part = part_of(wave, [np.nan, np.nan, 1], tilt=[0, 2.0, 0])
    f = lambda x: 0.5 + 0.1 * np.sin(x)  # noqa: E731
    chances = [0.5 * (f(a) if b else 1 - f(a)) * f(a + b) * np.exp(2 * b) for a in (0, 1) for b in (0, 1)]
    assert by_mini_buckets(part) == pytest.approx(np.log(sum(chances)), abs=1e-7)
    monkeypatch.setattr(bounding_tables, "WIDEST_UNIT", 1)
    assert by_mini_buckets(part) == pytest.approx(
        np.log(1 + np.exp(2)), abs=1e-7
    )  # only the prior of the first unit is left


def test_edges_of_probability_one_between_hidden_units_leave_no_strict_lower_bound(monkeypatch):
    W = np.zeros((5, 5))
    W[1, 0], W[2, :2], W[3:, 1:3] = np.inf, 0.5, 1.0
    monkeypatch.setattr(both, "BOUNDED_SECONDS", 0)
    found = pf.bounds(pf.BeliefNetwork(W, np.full(5, 0.2), "noisy_or"), {3: 1, 4: 1})
    assert found.lower == -np.inf < found.upper


def test_bounds_are_for_one_row():
    stack = pf.ensembles.layered((2, 3), 0, 1, 2, 0, "noisy_or")
    with pytest.raises(InvalidInput, match="a single network and a single row"):
        pf.bounds(stack)


@pytest.mark.slow
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
    return upper_bound(part_of(network, row), exact_findings=exact_findings) - log_z


def test_bounds_that_agree_are_not_apart_even_where_the_evidence_is_impossible():
    assert pf.Bounds(-np.inf, -np.inf, "exact", "exact").gap == 0
    assert pf.Bounds(-np.inf, -1.0, "none", "upper").gap == np.inf
    assert pf.Bounds(-1.5, -1.0, "G1", "upper").gap == 0.5
