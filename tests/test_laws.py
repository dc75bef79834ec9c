"""Closed forms and their definitions, on networks of every kind; what holds of every method is in tests/laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import plefka as pf
from tests import slow, zoo
from tests.test_golden import SCHEMES as GOLDEN

NETWORKS = pytest.mark.parametrize("network", zoo.ZOO.values(), ids=zoo.ZOO.keys())
SCHEMES = {"G10": (1, 0, 0), "G11": (1, 1, 0), "G12": (1, 2, 0), "G13": (1, 3, 0), "G14": (1, 4, 0)}
SCHEMES |= {"G21": (2, 1, 1), "G22": (2, 2, 2), "G221": (2, 2, 1), "G212": (2, 1, 2)}
# The golden values are the same definitions, of other schemes and activations.
NOT_GOLDEN = [(n, m) for n in zoo.ZOO for m in SCHEMES if m not in GOLDEN or n == "complementary log-log, dense"]


@NETWORKS
def test_exact_is_the_sum_over_all_states(network):
    row = zoo.some_evidence(network)
    log_z, means = slow.exact(network, row)
    solution = pf.infer(network, row, "exact")
    np.testing.assert_allclose(solution.log_likelihood, log_z, rtol=1e-12)
    np.testing.assert_allclose(solution.means, means, atol=1e-12)


@pytest.mark.parametrize(("name", "method"), NOT_GOLDEN)
def test_every_closed_form_is_its_definition(name, method):
    network, (order, degree, second) = zoo.ZOO[name], SCHEMES[method]
    row = zoo.some_evidence(network)
    u = np.where(np.isnan(row), np.random.default_rng(3).uniform(0.05, 0.95, network.size), row)
    definition = slow.free_energy(network, row, u, order, degree, second)
    assert pf.free_energy(network, row, u, method, prune=False) == pytest.approx(definition, rel=1e-11)


@pytest.mark.parametrize("activation", ["sigmoid", "noisy_or"])
@pytest.mark.parametrize("method", ["exact", "G12"])
def test_a_stack_is_a_loop_over_its_networks(activation, method):
    stack = pf.ensembles.layered((2, 3, 3), 0.1, 0.6, 3, 5, activation)
    rows = np.full((3, 8), np.nan)
    rows[:, 5:] = np.eye(3)
    together = pf.infer(stack, rows, method)
    for k in range(3):
        alone = pf.infer(zoo.network_of(stack, k), rows[k], method)
        np.testing.assert_allclose(together.means[k], alone.means, atol=1e-7)
        assert together.log_likelihood[k] == pytest.approx(alone.log_likelihood, abs=1e-12)


def test_a_stack_of_sparse_networks_shares_its_edges():
    network = zoo.sparse(8, -1, 1, "sigmoid", 8)
    values = network.parameters[0] * np.array([[1.0], [-0.5]])
    stack = pf.BeliefNetwork(network.storage.map_weights(lambda _: values), network.bias)
    row = zoo.some_evidence(network)
    together = pf.infer(stack, row, "G12")
    for k in range(2):
        alone = pf.infer(zoo.network_of(stack, k), row, "G12")
        np.testing.assert_allclose(together.means[k], alone.means, atol=1e-7)


def networks(activation: str, low: float, high: float):
    """Dense networks of six units with any edges from earlier to later ones, and means to try."""
    numbers = st.floats(low, high, allow_subnormal=False)
    unit = st.floats(0.001, 0.999)
    return st.tuples(
        arrays(float, (6, 6), elements=numbers).map(lambda W: np.tril(W, -1)),
        arrays(float, 6, elements=st.floats(max(low, 0.01) if activation == "noisy_or" else low, high)),
        arrays(float, 6, elements=unit),
        st.just(activation),
    )


ROW = np.array([np.nan, np.nan, np.nan, np.nan, 1, 0])


@settings(max_examples=20, deadline=None)
@given(networks("sigmoid", -5, 5) | networks("noisy_or", 0, 2))
def test_drawn_networks_obey_the_definitions(drawn):
    W, h, u, activation = drawn
    network = pf.BeliefNetwork(W, h, activation)
    u = np.where(np.isnan(ROW), u, ROW)
    log_z, means = slow.exact(network, ROW)
    solution = pf.infer(network, ROW, "exact")
    assert solution.log_likelihood == pytest.approx(log_z, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(solution.means, means, atol=1e-9)
    for method in ("G12", "G22"):
        definition = slow.free_energy(network, ROW, u, *SCHEMES[method])
        assert pf.free_energy(network, ROW, u, method, prune=False) == pytest.approx(definition, rel=1e-8, abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(networks("sigmoid", -8, 8))
def test_sjj_never_exceeds_the_truth_on_drawn_networks(drawn):
    W, h, _, _ = drawn
    network = pf.BeliefNetwork(W, h)
    solution = pf.infer(network, ROW, "SJJ", throw=False)
    assert solution.is_bound
    assert solution.log_likelihood <= slow.exact(network, ROW)[0] + 1e-10


@settings(max_examples=60, deadline=None)
@given(networks("sigmoid", -8, 8) | networks("noisy_or", 0, 4))
def test_drawn_networks_end_with_finite_numbers_and_a_status(drawn):
    W, h, _, activation = drawn
    solution = pf.infer(pf.BeliefNetwork(W, h, activation), ROW, "G12", throw=False)
    assert isinstance(solution.status, pf.Status)
    assert np.isfinite(solution.means).all()
    assert np.isfinite(solution.log_likelihood)
