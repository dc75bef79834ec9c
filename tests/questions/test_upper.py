"""The bound from above is never below the truth, and reaches it where every finding is exact."""

import dataclasses

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
        relaxed = Transformed(problem_of(part.question), exact)
        for _ in range(10):
            z = rng.normal(0, 2, len(relaxed.transformed))
            value, gradient, _ = relaxed.bound(z)
            assert value + part.constant[0] >= truth - ROUNDING
            slopes = approx_fprime(z, lambda z, relaxed=relaxed: relaxed.bound(z)[0], 1e-7)
            assert gradient == pytest.approx(slopes, abs=1e-5)


def test_means_of_the_exact_part_are_the_posterior():
    network, row = two_layer(5, causes=12, findings=9)
    part = part_of(network, row)
    problem = problem_of(part.question)
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
    assert tight.upper == pytest.approx(truth, abs=1e-7)
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


# ---- machines, and networks of every kind ----------------------------------------------------------------------------


def grid(side, seed=0, scale=1.5):
    """A spin glass on a square, without and with fields."""
    rng, n = np.random.default_rng(seed), side * side
    W = np.zeros((n, n))
    for unit in range(n):
        row, column = divmod(unit, side)
        for other in ([unit + side] if row + 1 < side else []) + ([unit + 1] if column + 1 < side else []):
            W[unit, other] = W[other, unit] = rng.normal(0, scale)
    return pf.BoltzmannMachine(W, rng.normal(0, 0.3, n) * (seed % 2), values=(-1, 1))


def few(monkeypatch, axes):
    """No exact sums, tables of few axes, and a single other method."""
    for name, value in (("BOUNDED_SECONDS", 0), ("MOST_AXES", (axes,)), ("LOWER", ("G1",)), ("BOUND_SECONDS", 0.5)):
        monkeypatch.setattr(both, name, value)


def test_an_exact_sum_with_units_held_is_a_lower_bound_that_more_axes_raise():
    machine = grid(6, 1)
    truth = float(pf.infer(machine, None, "exact").log_partition)
    part, means = part_of(machine, np.full(36, np.nan)), pf.infer(machine, None, "minibucket[i=4]").means
    scopes = bounding_tables.bounding_tables(part.question, 4).scopes
    means = np.append(means, np.zeros(part.question.size - 36))
    found = [both._with_held_units(part, scopes, means, (widest,)) for widest in (2, 3, 4, 9)]
    assert [by for _, by, _ in found][-1] == "an exact sum with 0 units held"
    assert all(value <= truth + ROUNDING for value, *_ in found)
    assert found[-1][0] == pytest.approx(truth, abs=1e-6)
    assert found[2][0] > truth - 6


def test_short_sums_of_a_machine_are_exact_and_say_of_what():
    machine = grid(3, 1)
    solution = pf.infer(machine, {0: 1}, "exact")
    clamped, observed = pf.bounds(machine, {0: 1}), pf.bounds(machine, {0: 1}, of="log_likelihood")
    assert (clamped.of, clamped.is_exact, clamped.upper_method) == ("log_partition", True, "exact")
    assert clamped.lower == clamped.upper == pytest.approx(solution.log_partition, abs=ROUNDING)
    assert (observed.of, observed.is_exact) == ("log_likelihood", True)
    assert observed.lower == observed.upper == pytest.approx(solution.log_likelihood, abs=ROUNDING)
    assert pf.bounds(machine, dict.fromkeys(range(9), 1)).gap == 0


@pytest.mark.parametrize("seed", range(2))
def test_a_machine_is_bounded_from_both_sides(monkeypatch, seed):
    machine = grid(6, seed)
    truth = pf.infer(machine, {0: 1}, "exact")
    few(monkeypatch, axes=4)
    found, observed = pf.bounds(machine, {0: 1}), pf.bounds(machine, {0: 1}, of="log_likelihood")
    assert found.lower <= truth.log_partition <= found.upper
    assert (found.is_exact, found.upper_method) == (False, "minibucket[i=4]")
    assert observed.lower <= truth.log_likelihood <= observed.upper <= 0
    assert observed.upper_method.startswith("minibucket[i=4], less ")


def test_where_all_units_are_coupled_the_largest_eigenvalue_may_bound_more_closely(monkeypatch):
    rng, n = np.random.default_rng(0), 60
    W = np.triu(rng.normal(0, 1 / np.sqrt(n), (n, n)), 1)
    few(monkeypatch, axes=4)
    found = pf.bounds(pf.BoltzmannMachine(W + W.T, np.zeros(n), values=(-1, 1)))
    annealed = n * np.log(2) + np.log(np.cosh(W)).sum()  # the mean of Z over signs of the couplings
    assert found.upper_method == "the largest eigenvalue of the couplings"
    assert found.lower < annealed < found.upper


def test_a_machine_that_is_out_of_reach_has_no_upper_bound(monkeypatch):
    few(monkeypatch, axes=4)
    for limit in ("MOST_UNITS", "MOST_COUPLINGS"):
        monkeypatch.setattr(both, limit, 0)
    found = pf.bounds(grid(3))
    assert (found.upper, found.upper_method) == (np.inf, "no upper bound applies")
    assert np.isfinite(found.lower)


def test_deep_sigmoid_networks_are_bounded(monkeypatch):
    network = pf.ensembles.layered((4, 8, 10), -3, 3, 1, 0, "sigmoid").take(0)
    seen = dict(enumerate([1, 0] * 5, start=12))
    truth = float(pf.infer(network, seen, "exact").log_likelihood)
    few(monkeypatch, axes=6)
    found = pf.bounds(network, seen)
    assert found.lower <= truth <= found.upper < truth + 6
    assert found.upper_method == "minibucket[i=6]"


def test_a_markov_network_is_bounded(monkeypatch):
    rng = np.random.default_rng(0)
    factors = [((a, b), rng.random((2, 2)) * (rng.random((2, 2)) < 0.97)) for a in range(7) for b in range(a)]
    network = pf.MarkovNetwork(7, factors)
    truth = float(pf.infer(network, None, "exact").log_partition)
    assert pf.bounds(network).upper == pytest.approx(truth, abs=ROUNDING)
    few(monkeypatch, axes=3)
    found = pf.bounds(network)
    assert found.lower <= truth <= found.upper < np.inf
    assert found.of == "log_partition"


@pytest.mark.parametrize(
    ("network", "of", "words"), [(3, None, "one of plefka's networks"), (grid(2), "means", "of must be")]
)
def test_what_is_not_bounded_is_refused(network, of, words):
    with pytest.raises(InvalidInput, match=words):
        pf.bounds(network, of=of)


def test_the_check_knows_an_upper_bound_from_a_lower_one():
    machine = grid(4)
    found = pf.infer(machine, None, "minibucket[i=2]").check(seed=0)
    assert (found.is_upper, found.is_bound, found.contradicted) == (True, False, False)
    assert "is a valid upper bound, but lies" in found.verdict
    assert dataclasses.replace(found, estimate=found.log_likelihood - 3.0).contradicted
