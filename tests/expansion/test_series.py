"""Plefka's expansion to high orders: against closed forms, against 50 digits, and what the answer says."""

import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidInput, MethodDoesNotApply
from plefka.expansion import pinned as pinned_energies
from plefka.expansion.hidden_states import hidden_states
from plefka.expansion.pinned import Pinned, coefficients, exact_free_energy, with_digits
from plefka.networks.evidence import as_evidence
from tests import slow, zoo
from tests.expansion import oracles
from tests.inference.test_html import Reader
from tests.quick import quick_where

SMALL = zoo.ZOO["sigmoid, layered"]
ESPRESSO = pf.example("espresso")


def some_means(network: pf.BeliefNetwork, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.05, 0.95, network.size)


@pytest.mark.parametrize("name", zoo.ZOO)
def test_the_first_orders_are_the_closed_forms(name):
    network = zoo.ZOO[name]
    row = zoo.some_evidence(network)
    for means in (None, some_means(network)):
        found = pf.series(network, row, 4, means)
        u = found.means if means is None else means
        np.testing.assert_allclose(found.partial_sums, oracles.first_orders(network, row, u), atol=1e-9)


def test_they_are_those_that_the_schemes_of_these_orders_have():
    row, u = zoo.some_evidence(SMALL), some_means(SMALL)
    found = pf.series(SMALL, row, 4, u).partial_sums
    for order, scheme in ((1, "G1"), (4, "G4")):
        assert found[order] == pytest.approx(pf.free_energy(SMALL, row, u, scheme, prune=False), abs=1e-9)


@pytest.mark.parametrize(
    "name", quick_where(["sigmoid, sparse, large weights", "noisy-or, layered"], [*zoo.ZOO, "weak", "many units"])
)
def test_all_orders_agree_with_fifty_digits(name):
    others = {"weak": zoo.dense(5, -0.01, 0.01, "sigmoid", 3), "many units": zoo.dense(9, -2, 2, "sigmoid", 3)}
    network = {**zoo.ZOO, **others}[name]
    row = zoo.some_evidence(network) if name in zoo.ZOO else np.full(network.size, np.nan)
    row[-1] = 1
    states = hidden_states(network, as_evidence(network, row))
    theta = states.log_odds()
    found, digits = with_digits(-states.log_weights, theta, 30)
    exact = oracles.with_many_digits(-states.log_weights, theta, 30)
    off = np.array([float(abs((each - truth) / truth)) for each, truth in zip(found, exact, strict=True)])
    assert off.max() < 1e-12
    assert digits.min() > 5
    assert np.all(off < 10.0 ** (1 - digits))


def test_the_double_precision_of_other_machines_is_enough():
    """Where a long double is a double."""
    states = hidden_states(SMALL, as_evidence(SMALL, zoo.some_evidence(SMALL)))
    theta = states.log_odds()
    double = coefficients(Pinned.at(-states.log_weights, theta), 30)
    np.testing.assert_allclose(double, with_digits(-states.log_weights, theta, 30)[0], rtol=1e-9)


@pytest.mark.parametrize("name", zoo.ZOO)
def test_exact_is_the_legendre_transform(name):
    network = zoo.ZOO[name]
    row, u = zoo.some_evidence(network), some_means(network, 1)
    log_z, means = slow.exact(network, row)
    at_minimum, elsewhere = pf.series(network, row, 2), pf.series(network, row, 2, u)
    assert at_minimum.exact == pytest.approx(-log_z, abs=1e-12)
    np.testing.assert_allclose(at_minimum.means, means, atol=1e-12)
    assert elsewhere.exact == pytest.approx(oracles.legendre(network, row, u), abs=1e-9)
    assert elsewhere.exact > at_minimum.exact
    again = pf.series(network, row, 2, at_minimum.means)
    assert again.exact == pytest.approx(at_minimum.exact, abs=1e-10)


@pytest.mark.parametrize("strength", [1.0, 30.0, 300.0])
@pytest.mark.parametrize("mean", [0.5, 1e-9])
def test_the_legendre_transform_is_found_far_from_the_minimum(strength, mean):
    """G is concave in gamma, as its second derivative is minus a variance, and its slope at 0 is the mean energy."""
    pinned = Pinned.at(strength * np.random.default_rng(0).normal(size=16), np.full(4, np.log(mean / (1 - mean))))
    G = [exact_free_energy(pinned, gamma) for gamma in (0.0, 0.5, 1.0)]
    assert G[0] == pytest.approx(pinned.negative_entropy)
    assert G[1] >= (G[0] + G[2]) / 2 - 1e-9
    assert G[2] <= G[0] + pinned.mean_energy + 1e-9


def test_means_that_cannot_be_held_are_refused(monkeypatch):
    monkeypatch.setattr(pinned_energies, "MOST_STEPS", 0)
    with pytest.raises(MethodDoesNotApply, match=r"out of reach of double precision.*closer to the posterior means"):
        pf.series(SMALL, {7: 1}, 2, some_means(SMALL))


def test_a_shorter_series_is_the_beginning_of_a_longer_one():
    row = zoo.some_evidence(SMALL)
    long, short = pf.series(SMALL, row), pf.series(SMALL, row, 9)
    assert long.order == 30
    np.testing.assert_allclose(short.coefficients, long.coefficients[:10], rtol=1e-12)
    assert np.isnan(short.radius)
    assert "compute the series to a higher order" in short.verdict


def test_relabelling_units_changes_nothing():
    network = zoo.ZOO["sigmoid, sparse, large weights"]
    row, order = zoo.some_evidence(network), np.random.default_rng(0).permutation(network.size)
    found, other = pf.series(network, row, 20), pf.series(zoo.relabelled(network, order), row[order], 20)
    np.testing.assert_allclose(other.coefficients, found.coefficients, rtol=1e-9)
    np.testing.assert_allclose(other.means, found.means[order], atol=1e-12)
    assert other.radius == pytest.approx(found.radius, rel=1e-6)


def test_units_that_do_not_interact_end_the_series():
    independent = pf.BeliefNetwork(np.zeros((4, 4)), [0.3, -1.0, 2.0, 0.5])
    found = pf.series(independent, {3: 1})
    assert found.radius == np.inf
    assert found.converges
    assert "ends after the first order" in found.verdict
    np.testing.assert_array_equal(found.coefficients[2:], 0)
    assert found.partial_sums[1] == pytest.approx(found.exact, abs=1e-12)


@pytest.mark.parametrize("observed", [{0: 1, 1: 0, 2: 1}, {0: 1, 1: 0}])
def test_of_one_unit_or_of_none(observed):
    network = pf.BeliefNetwork([[0, 0, 0], [1, 0, 0], [2, -1, 0]], [0.5, 0, -1])
    found = pf.series(network, observed, 5)
    assert found.partial_sums[1] == pytest.approx(found.exact, abs=1e-12)
    assert found.radius == np.inf


def test_soft_evidence_counts():
    evidence = {"slow_flow": pf.Likelihood(on=0.9, off=0.2), "thin_crema": 1, "loud_hum": 0}
    found = pf.series(ESPRESSO, evidence, 2)
    solution = pf.infer(ESPRESSO, evidence, "exact")
    assert found.exact == pytest.approx(-solution.log_likelihood, abs=1e-10)
    np.testing.assert_allclose(found.means, solution.means, atol=1e-10)


def test_what_it_shows():
    found = pf.series(SMALL, zoo.some_evidence(SMALL))
    assert repr(found) == f"<Series of order 30: radius {found.radius:.4g}, exact {found.exact:.6g}>"
    text = str(found)
    assert found.verdict in text
    assert text.splitlines()[-1].split()[0] == "30"
    shown = Reader(found._repr_html_())
    assert "radius" in shown.text


# ---- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [0, 31, 2.5, True, "ten"])
def test_the_order_is_a_whole_number(order):
    with pytest.raises(InvalidInput, match="order must be a whole number from 1 to 30; got"):
        pf.series(SMALL, None, order)


def test_too_many_hidden_units():
    network = zoo.layered((17, 1), -1, 1, "sigmoid", 0)
    with pytest.raises(MethodDoesNotApply, match=r"at most 16 hidden units; got 17. Observe more units, or use"):
        pf.series(network, {17: 0})


def test_means_have_one_number_for_each_unit_inside_its_range():
    with pytest.raises(InvalidInput, match=r"means must have shape \(8,\), one for each unit; got \(2, 8\)"):
        pf.series(SMALL, None, 4, np.full((2, 8), 0.5))
    means = np.full(8, 0.5)
    means[2] = 1.0
    with pytest.raises(InvalidInput, match="strictly between 0 and 1; got 1 for unit '2'"):
        pf.series(SMALL, {7: 1}, 4, means)
    assert np.isfinite(pf.series(SMALL, {2: 1}, 4, means).exact)  # an observed unit counts with its value


def test_one_network_and_one_row():
    with pytest.raises(InvalidInput, match="series takes one BeliefNetwork or BoltzmannMachine; got a stack of 4"):
        pf.series(pf.ensembles.layered((2, 3), -1, 1, 4, seed=0), None)
    with pytest.raises(InvalidInput, match="series takes one BeliefNetwork or BoltzmannMachine; got str"):
        pf.series("espresso", None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidEvidence, match="series takes one row of evidence; got 2"):
        pf.series(SMALL, [{}, {1: 0}])


def test_every_state_must_be_possible():
    without_leak = pf.BeliefNetwork([[0, 0], [1.0, 0]], [0.3, 0.0], "noisy_or", ["cause", "effect"])
    with pytest.raises(MethodDoesNotApply, match="finite energy for every state of the hidden units; cause=0 has"):
        pf.series(without_leak, {"effect": 1})
    never = pf.BeliefNetwork([[0, 0], [0, 0]], [0.3, 0.0], "noisy_or")
    with pytest.raises(InvalidEvidence, match="the evidence is impossible"):
        pf.series(never, {1: 1})


def test_certain_units_are_refused():
    certain = pf.BeliefNetwork([[0, 0], [1.0, 0]], [2000.0, 0.0])
    with pytest.raises(MethodDoesNotApply, match="unit '0' has posterior log-odds of 2000"):
        pf.series(certain, {1: 1})


@pytest.mark.parametrize(("m", "n"), [(6, 5), (11, None), (0, 11)])
def test_degrees_that_the_order_does_not_give(m, n):
    found = pf.series(SMALL, zoo.some_evidence(SMALL), 10)
    with pytest.raises(InvalidInput, match="m \\+ n must not exceed the order of the series, which is 10; got m = "):
        found.pade(m, n)


@pytest.mark.parametrize("degree", [-1, 2.0, True])
def test_degrees_are_whole_numbers(degree):
    found = pf.series(SMALL, zoo.some_evidence(SMALL), 10)
    with pytest.raises(InvalidInput, match="m must be a whole number from 0 on; got"):
        found.pade(degree, 2)


# ---- the energy of the paper's schemes -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", zoo.ZOO)
@pytest.mark.parametrize("degree", [1, 2])
def test_the_truncated_energy_has_the_schemes_as_its_first_orders(name, degree):
    network = zoo.ZOO[name]
    row, u = zoo.some_evidence(network), some_means(network)
    found = pf.series(network, row, 2, u, taylor=degree).partial_sums
    for order in (1, 2):
        scheme = pf.free_energy(network, row, u, f"G{order}{degree}", prune=False)
        assert found[order] == pytest.approx(scheme, rel=1e-10)


@pytest.mark.parametrize("degree", [3, 4])
def test_higher_degrees_have_theirs(degree):
    row, u = zoo.some_evidence(SMALL), some_means(SMALL)
    found = pf.series(SMALL, row, 1, u, taylor=degree).partial_sums[1]
    assert found == pytest.approx(pf.free_energy(SMALL, row, u, f"G1{degree}", prune=False), rel=1e-10)


def test_the_truncated_energy_of_every_state_is_that_of_the_slow_sum():
    """All orders follow from these energies, and the Legendre transform."""
    network, u = zoo.ZOO["noisy-or, layered"], some_means(zoo.ZOO["noisy-or, layered"])
    row = zoo.some_evidence(network)
    u = np.where(np.isnan(row), u, row)
    found = pf.series(network, row, 30, u, taylor=2)
    hidden = u[np.isnan(row)]
    theta, states = np.log(hidden) - np.log1p(-hidden), slow.all_states(row)
    numbers = states[:, np.isnan(row)] @ 2 ** np.arange(np.isnan(row).sum())
    energies = slow.expanded_energy(network, states, u, 2)[np.argsort(numbers)]
    np.testing.assert_allclose(found.coefficients, with_digits(energies, theta, 30)[0], rtol=1e-7)
    assert found.exact == pytest.approx(exact_free_energy(Pinned.at(energies, theta)), abs=1e-9)


def test_the_truncated_energy_counts_soft_evidence():
    """It is linear in the states, so that it moves the mean energy alone."""
    row, u = zoo.some_evidence(SMALL), some_means(SMALL)
    likelihood = pf.Likelihood(on=0.9, off=0.2)
    soft = {0: likelihood} | {int(k): int(row[k]) for k in np.flatnonzero(~np.isnan(row))}
    plain, found = (pf.series(SMALL, evidence, 6, u, taylor=2).coefficients for evidence in (row, soft))
    added = -(u[0] * np.log(likelihood.on) + (1 - u[0]) * np.log(likelihood.off))
    np.testing.assert_allclose(found - plain, [0, added, 0, 0, 0, 0, 0], atol=1e-10)


@pytest.mark.parametrize("taylor", [0, 5, 1.5, True, "two"])
def test_a_degree_without_a_scheme_is_refused(taylor):
    with pytest.raises(InvalidInput, match=r"taylor must be None or a whole number from 1 to 4, as in G11 to G14; got"):
        pf.series(SMALL, {7: 1}, taylor=taylor)


def test_a_network_without_fields_has_no_truncated_energy():
    machine = pf.ensembles.spin_glass(4, count=1, seed=0, scale=0.5, field=0.5).take(0)
    certain = pf.BeliefNetwork([[0, 0], [np.inf, 0]], [0.5, 0.5], "noisy_or")
    with pytest.raises(MethodDoesNotApply, match=r"Boltzmann machines and tables have none. Leave taylor out."):
        pf.series(machine, None, taylor=2)
    with pytest.raises(MethodDoesNotApply, match="taylor needs finite weights"):
        pf.series(certain, {1: 1}, taylor=2)
