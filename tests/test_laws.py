"""Laws that hold for every network, activation and method."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import plefka as pf
from tests import slow, zoo

NETWORKS = pytest.mark.parametrize("network", zoo.ZOO.values(), ids=zoo.ZOO.keys())
EVERYTHING = pytest.mark.parametrize(("name", "method"), zoo.CASES, ids=[f"{n}-{m}" for n, m in zoo.CASES])
SCHEMES = {"G10": (1, 0, 0), "G11": (1, 1, 0), "G12": (1, 2, 0), "G13": (1, 3, 0), "G14": (1, 4, 0)}
SCHEMES |= {"G21": (2, 1, 1), "G22": (2, 2, 2), "G221": (2, 2, 1), "G212": (2, 1, 2)}


@NETWORKS
def test_exact_is_the_sum_over_all_states(network):
    row = zoo.some_evidence(network)
    log_z, means = slow.exact(network, row)
    solution = pf.infer(network, row, "exact")
    np.testing.assert_allclose(solution.log_likelihood, log_z, rtol=1e-12)
    np.testing.assert_allclose(solution.means, means, atol=1e-12)


@EVERYTHING
def test_the_gradient_vanishes_at_a_solution(name, method):
    network = zoo.ZOO[name]
    row = zoo.some_evidence(network)
    solution = pf.infer(network, row, f"{method}[tol=1e-10]", prune=False)
    with jax.enable_x64(True):
        slope = np.asarray(jax.grad(lambda u: pf.free_energy(network, row, u, method, prune=False))(solution.means))
    variance = solution.means * (1 - solution.means)
    np.testing.assert_allclose(np.where(np.isnan(row), variance * slope, 0), 0, atol=1e-9)
    assert pf.free_energy(network, row, solution.means, method, prune=False) == pytest.approx(solution.free_energy)


@EVERYTHING
def test_without_weights_every_method_is_exact(name, method):
    network = zoo.ZOO[name]
    alone = pf.BeliefNetwork(network.storage.map_weights(np.zeros_like), network.bias, network.activation)
    row = zoo.some_evidence(network)
    approximate, exact = (pf.infer(alone, row, m, prune=False) for m in (method, "exact"))
    assert approximate.log_likelihood == pytest.approx(exact.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(approximate.means, exact.means, atol=1e-8)


@EVERYTHING
def test_a_batch_is_a_loop_over_its_rows(name, method):
    network = zoo.ZOO[name]
    rows = np.where(np.random.default_rng(0).random((5, network.size)) < 0.5, 1.0, np.nan)
    rows[1, -2:] = 0
    batch = pf.infer(network, rows, method, prune=False)
    for k, row in enumerate(rows):
        single = pf.infer(network, row, method, prune=False)
        np.testing.assert_allclose(batch.means[k], single.means, atol=1e-7)
        assert batch.log_likelihood[k] == pytest.approx(single.log_likelihood, abs=1e-11)


@EVERYTHING
def test_blocks_and_edges_and_a_dense_matrix_say_the_same(name, method):
    network = zoo.ZOO[name]
    row = zoo.some_evidence(network)
    u = np.random.default_rng(1).uniform(0.1, 0.9, network.size)
    energies = [
        pf.free_energy(form, row, u, method, prune=False)
        for form in (network, zoo.as_dense(network), zoo.as_edges(network))
    ]
    np.testing.assert_allclose(energies, energies[0], rtol=1e-13)


@pytest.mark.parametrize("name", ["sigmoid, layered", "noisy-or, sparse"])
def test_relabelling_the_units_permutes_the_means(name):
    network = zoo.ZOO[name]
    order = np.random.default_rng(2).permutation(network.size)
    row = zoo.some_evidence(network)
    here = pf.infer(zoo.as_dense(network), row, "G221[tol=1e-11]")
    there = pf.infer(zoo.relabelled(network, order), row[order], "G221[tol=1e-11]")
    assert there.log_likelihood == pytest.approx(here.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(there.means, here.means[order], atol=1e-9)


@NETWORKS
@pytest.mark.parametrize("method", SCHEMES)
def test_every_closed_form_is_its_definition(network, method):
    order, degree, second = SCHEMES[method]
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


@pytest.mark.parametrize("name", [name for name in zoo.ZOO if name.startswith("sigmoid")])
def test_sjj_is_a_bound_at_any_means(name):
    network = zoo.ZOO[name]
    row = zoo.some_evidence(network)
    u = np.random.default_rng(4).uniform(0.01, 0.99, (20, network.size))
    assert np.all(-pf.free_energy(network, row, u, "SJJ", prune=False) <= slow.exact(network, row)[0])


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


@settings(max_examples=60, deadline=None)
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
