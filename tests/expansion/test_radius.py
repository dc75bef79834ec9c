"""The radius of convergence: singularities that are known in closed form, and the law that it decides convergence."""

from functools import cache

import numpy as np
import pytest

import plefka as pf
from plefka.expansion.continuation import is_analytic_inside, nearest_singularity
from plefka.expansion.convergence_radius import approximant, by_ratios, guesses, poles
from plefka.expansion.hidden_states import hidden_states, unit_states
from plefka.expansion.pinned import Deviations, Pinned, coefficients
from plefka.networks.evidence import as_evidence
from plefka.paper import random_networks
from plefka.paper.experiment_settings import Ensemble
from tests import zoo
from tests.quick import quick_where

MARGIN = 1.15  # the radius is this factor away from 1, on either side, in the law below
ROW = np.array([np.nan] * 6 + [0.0] * 6)
KINDS = [("sigmoid", -1, 1), ("sigmoid", -3, 3), ("sigmoid", -5, 5), ("noisy_or", 0.2, 0.8), ("noisy_or", 0.01, 2)]
EACH = 40  # networks of each kind


@cache
def series_of(kind: int, k: int) -> tuple[pf.Series, Pinned]:
    activation, low, high = KINDS[kind]
    stack = pf.ensembles.layered((2, 4, 6), low, high, EACH, 17, activation)
    network = zoo.network_of(stack, k)
    row = ROW if activation == "sigmoid" else np.where(np.isnan(ROW), ROW, (np.arange(12) + k) % 2)
    states = hidden_states(network, as_evidence(network, row))
    return pf.series(network, row), Pinned.at(-states.log_weights, states.log_odds())


NETWORKS = [(kind, k) for kind in range(len(KINDS)) for k in range(EACH)]
SOME = [(kind, k) for kind, k in NETWORKS if k < 4]


@pytest.mark.parametrize(("kind", "k"), quick_where(SOME, NETWORKS))
def test_partial_sums_converge_where_the_radius_is_above_one_and_not_elsewhere(kind, k):
    """The errors of orders 26 to 30 against those of 11 to 15.

    At a radius R the one is about R^-15 (28 / 13)^-2.5 of the other, 0.15 R^-15: at a radius of 1 it is 0.15, and a
    margin of 1.15 in R is a factor of 8. The radius itself is checked by following G along the unit circle.
    """
    found, pinned = series_of(kind, k)
    error = np.abs(found.partial_sums - found.exact)
    early, late = error[11:16].max(), error[26:31].max()
    if found.radius > MARGIN:
        assert found.converges
        assert late < max(0.15 * early, 1e-13)
    if found.radius < 1 / MARGIN:
        assert found.converges is False
        assert late > 0.15 * early
    if found.is_established and abs(found.radius - 1) > 0.02:
        assert is_analytic_inside(pinned, 1.0) == (found.radius > 1)


def test_the_law_sees_networks_of_both_kinds():
    """Or it would say nothing."""
    radii = np.array([series_of(kind, k)[0].radius for kind, k in SOME])
    assert np.sum(radii > MARGIN) >= 4
    assert np.sum(radii < 1 / MARGIN) >= 4


@pytest.mark.parametrize(("kind", "k"), SOME)
def test_estimates_agree_with_the_singularity(kind, k):
    found, _ = series_of(kind, k)
    assert found.is_established
    assert found.radius_by_poles == pytest.approx(found.radius, rel=0.15)
    assert found.radius_by_ratios == pytest.approx(found.radius, rel=0.35)


@pytest.mark.parametrize(("kind", "k"), SOME)
def test_pade_resums_what_diverges(kind, k):
    found, _ = series_of(kind, k)
    if 0.5 < found.radius < 0.97:
        assert abs(found.pade() - found.exact) < 0.02 * abs(found.partial_sums[-1] - found.exact)
    elif found.radius > 1:
        assert found.pade() == pytest.approx(found.exact, abs=1e-5)


@pytest.mark.parametrize(("first", "second", "strength"), [(0.3, 0.6, 1.0), (0.2, 0.25, 2.0), (0.9, 0.4, -3.0)])
def test_two_units_in_closed_form(first, second, strength):
    """The probability of both on solves a quadratic equation, and G has branch points where its roots meet."""
    energies = strength * unit_states(2).prod(1)
    u = np.array([first, second])
    pinned = Pinned.at(energies, np.log(u / (1 - u)))
    c = coefficients(pinned, 30)
    found = nearest_singularity(pinned, guesses(poles(c))).point
    # with y = 1 - exp(-gamma strength), s = u_1 + u_2 and t = u_1 u_2:  (1 - s y)^2 + 4 t y (1 - y) = 0
    s, t = u.sum(), u.prod()
    y = np.roots([s**2 - 4 * t, 4 * t - 2 * s, 1.0]).astype(complex)
    turns = 2j * np.pi * np.arange(-2, 3)
    candidates = -(np.log(1 - y)[:, None] + turns) / strength
    assert found is not None
    assert np.abs(candidates - found).min() < 1e-7 * abs(found)
    assert abs(found) == pytest.approx(np.abs(candidates).min(), rel=1e-7)


@pytest.mark.parametrize("strength", [0.5, 2.0])
def test_without_fields_the_singularities_are_zeros_of_the_partition_function(strength):
    """Two spins: Z is cosh(gamma strength), which is 0 at i pi / 2."""
    spins = 2 * unit_states(2) - 1
    pinned = Pinned.at(-strength * spins.prod(1), np.zeros(2))
    c = coefficients(pinned, 30)
    zero = np.pi / 2 / strength
    assert nearest_singularity(pinned, guesses(poles(c))).point == pytest.approx(1j * zero, rel=1e-9)
    assert by_ratios(c).radius == pytest.approx(zero, rel=0.01)
    assert is_analytic_inside(pinned, 0.98 * zero)
    assert not is_analytic_inside(pinned, 1.02 * zero)


def made_up(ratios: float, by_poles: float, circles: float = np.nan) -> pf.Series:
    return pf.Series(np.ones(31), np.ones(31), 0.0, np.ones(2), ratios, by_poles, circles, None)


def test_a_series_that_is_only_estimated_is_decided_with_a_margin():
    assert made_up(1.3, 1.2).converges is True
    assert made_up(0.7, 0.8).converges is False
    assert made_up(1.05, 1.3).converges is None
    assert made_up(0.95, 0.8).converges is None
    undecided = made_up(1.05, 0.98)
    assert "not decided" in undecided.verdict
    assert "only estimated, as 1.05 from ratios of coefficients and 0.98 from Padé poles" in undecided.verdict


def test_a_distance_by_circles_decides_with_a_smaller_margin():
    assert made_up(0.8, 1.2, 1.03).converges is True
    assert made_up(1.2, 1.2, 0.97).converges is False
    assert made_up(1.2, 1.2, 1.01).converges is None
    assert "Circles around 0 show" in made_up(1.2, 1.2, 0.97).verdict


def test_a_singularity_of_a_rare_unit_that_the_coefficients_do_not_show():
    """Its amplitude is small, so that thirty orders do not see it. Circles do, and so do the orders up to 200."""
    network = zoo.network_of(random_networks.draw(Ensemble("sigmoid", -5, 5), 0, 90, 1), 0)
    found = pf.series(network, ROW)
    states = hidden_states(network, as_evidence(network, ROW))
    c = coefficients(Pinned.at(-states.log_weights, states.log_odds(), np.longdouble), 200)
    n = np.arange(60, 201)
    fall = np.polyfit(n, np.log(np.abs(c[n])).astype(float) + 2.5 * np.log(n), 1)[0]
    assert np.exp(-fall) == pytest.approx(found.radius, rel=0.05)
    assert found.radius_by_poles == pytest.approx(0.683, abs=0.01)
    assert found.radius_by_circles == pytest.approx(0.53, abs=0.01)
    assert found.converges is False


def test_ratios_of_a_known_series():
    n = np.arange(31)
    for radius, angle, exponent in ((1.7, 1.1, 1.5), (0.6, 2.2, 0.0)):
        c = np.append(0.0, n[1:] ** -(1.0 + exponent) * radius ** -n[1:] * np.cos(angle * n[1:] + 0.4))
        assert by_ratios(c).radius == pytest.approx(radius, rel=0.01)


# ---- Padé approximants -----------------------------------------------------------------------------------------------


def test_a_quotient_is_found_again_even_with_too_high_degrees():
    n = np.arange(21)
    c = 2 * 3.0**-n - (-0.5) ** n  # 2 / (1 - z / 3) - 1 / (1 + z / 2)
    for m, k in ((1, 2), (8, 8), (3, 10)):
        found = approximant(c, m, k)
        assert found.at(5.0) == pytest.approx(2 / (1 - 5 / 3) - 1 / 3.5, rel=1e-6)
        np.testing.assert_allclose(sorted(np.real(found.poles()[0])), [-2, 3], rtol=1e-6)


def test_a_logarithm_beyond_its_radius():
    c = np.append(0.0, -((-1.0) ** np.arange(1, 31)) / np.arange(1, 31))
    assert approximant(c, 15, 15).at(3.0).real == pytest.approx(np.log(4.0), abs=1e-9)
    assert approximant(c, 6, 0).at(0.5).real == pytest.approx(c[:7] @ 0.5 ** np.arange(7), rel=1e-12)


# ---- sums over states ------------------------------------------------------------------------------------------------


def test_sums_unit_by_unit_equal_products_of_matrices():
    rng = np.random.default_rng(0)
    theta, w, phi = rng.normal(size=5), rng.normal(size=32) + 1j, rng.normal(size=5)
    quick = Deviations.at(theta)
    slow = quick._replace(table=None)
    u = 1 / (1 + np.exp(-theta))
    D = (unit_states(5) - u) / np.sqrt(u * (1 - u))
    for found in (quick, slow):
        np.testing.assert_allclose(found.linear(phi), D @ phi, atol=1e-12)
        np.testing.assert_allclose(found.first(w), w @ D, atol=1e-12)
        np.testing.assert_allclose(found.second(w), (D.T * w) @ D, atol=1e-12)
