"""The orders of Plefka's expansion, whole: against sums over all states, and against the expansion's own definition."""

import numpy as np
import pytest

import plefka as pf
from plefka.errors import MethodDoesNotApply
from tests import slow, zoo
from tests.quick import quick_where
from tests.test_golden import cases_of, energy_of_the_others, one_part_each, row_of, side_by_side

ORDERS = {2: "G2[full=yes]", 3: "G3", 4: "G4"}
NETWORK = zoo.ZOO["probit, dense"]
ROWS = np.array([[np.nan] * 5 + [0, 1, 1], [np.nan] * 4 + [1, 0, 1, 0], [1, np.nan, np.nan, 0, np.nan, 1, 1, 0]])
MEANS = np.random.default_rng(0).uniform(0.1, 0.9, ROWS.shape)


@pytest.mark.parametrize(
    ("activation", "order"), [("sigmoid", 2), ("sigmoid", 3), ("sigmoid", 4), ("noisy_or", 4), ("probit", 4)]
)
def test_golden_values(activation, order):
    network, _ = side_by_side(activation, "sparse")
    rows, means = one_part_each(activation, row_of), one_part_each(activation, lambda case: case["u"])
    G = pf.free_energy(network, rows, means, ORDERS[order], prune=False) - energy_of_the_others(activation)
    golden = [case["free_energy_at_u"][f"G{order}"] for case in cases_of(activation)]
    np.testing.assert_allclose(G, golden, rtol=1e-9)


@pytest.mark.parametrize("order", ORDERS)
def test_orders_are_derivatives_by_the_strength_of_the_energy(order):
    """In rows with five, four and three hidden units."""
    found = pf.free_energy(NETWORK, ROWS, MEANS, ORDERS[order], prune=False)
    expected = [expanded(row, u, order) for row, u in zip(ROWS, MEANS, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def expanded(row, u, order):
    """The Taylor polynomial about gamma = 0 of G(gamma), at gamma = 1."""
    states, hidden = slow.all_states(row), np.isnan(row)
    E = -slow.log_probabilities(NETWORK, states)
    gammas = 0.3 * np.cos(np.pi * (np.arange(12) + 0.5) / 12)
    G = [legendre(gamma * E, states[:, hidden], u[hidden]) for gamma in gammas]
    return np.polynomial.Polynomial.fit(gammas, G, 11).convert().coef[: order + 1].sum()


def legendre(E, S, u):
    """max over theta of theta u - ln sum_S exp(theta S - E): the free energy with the means held at u."""
    theta = np.log(u / (1 - u))
    for _ in range(50):
        log_p = S @ theta - E
        p = np.exp(log_p - np.logaddexp.reduce(log_p))
        away = S - p @ S
        theta = theta + np.linalg.solve((p * away.T) @ away, u - p @ S)
    return theta @ u - np.logaddexp.reduce(S @ theta - E)


def test_the_fourth_order_solved_for_itself_is_close_to_exact():
    stack = pf.ensembles.layered((2, 3, 4), -1, 1, 8, 0, "sigmoid")
    row = np.where(np.arange(9) < 5, np.nan, 0.0)
    exact, found = (pf.infer(stack, row, method) for method in ("exact", "G4[solve=yes]"))
    assert found.converged.all()
    assert not found.is_bound
    np.testing.assert_allclose(found.log_likelihood, exact.log_likelihood, atol=1e-3)
    np.testing.assert_allclose(found.means, exact.means, atol=1e-3)


def test_what_can_be_summed_out_is_not_enumerated():
    weights = np.zeros((17, 17))
    weights[16, :16] = 0.3  # sixteen causes of one effect
    network = pf.BeliefNetwork(weights, np.full(17, 0.2), "noisy_or")
    exact, found = (pf.infer(network, {16: 1}, method) for method in ("exact", "G3"))
    assert found.log_likelihood == pytest.approx(exact.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(found.means, exact.means, atol=1e-12)


@pytest.mark.parametrize("method", quick_where(["G3"], ["G3", "G2[full=yes]", "G4"]))
def test_a_unit_without_leak_has_no_orders(method):
    W = np.zeros((4, 4))
    W[2, :2], W[3, :2] = (1.0, 0.7), (0.5, 1.2)
    network = pf.BeliefNetwork(W, [0.3, 0.4, 0.0, 0.0], "noisy_or")
    assert pf.infer(network, {2: 1, 3: 1}, method, throw=False).status is pf.Status.WITHOUT_LEAK


@pytest.mark.parametrize("method", ORDERS.values())
def test_too_many_states_are_refused_before_computing(method):
    network = zoo.layered((13, 1), -1, 1, "sigmoid", 0)
    with pytest.raises(MethodDoesNotApply, match=r"sum over 2\^13 states.*the limit is 2\^12\). Use G2 instead"):
        pf.infer(network, {13: 0}, method)


@pytest.mark.parametrize("spelling", ["G3", "G4[solve=yes]", "G2[solve=yes,full=yes]", "G3[tol=1e-10]"])
def test_spellings_read_back(spelling):
    assert str(pf.parse_method(spelling)) == spelling
