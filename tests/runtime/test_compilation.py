"""Compile once per shape; float64 everywhere; inside the user's own jit, vmap and grad."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import plefka as pf
from plefka.methods.posterior import STATUS_CODES
from plefka.runtime import programs
from tests import zoo
from tests.compilations import compilations
from tests.quick import quick_where

NETWORK = zoo.dense(7, -1, 1, "sigmoid", 11)
ROW = zoo.some_evidence(NETWORK)


def test_a_second_call_with_the_same_shapes_compiles_nothing():
    pf.infer(NETWORK, ROW, "G12")
    with compilations() as found:
        pf.infer(NETWORK, ROW, "G12")
        pf.infer(NETWORK.with_parameters(((2 * NETWORK.weights,), -NETWORK.bias)), 1 - ROW, "G12")
        pf.infer(NETWORK, ROW, "G12[tol=1e-6,max_steps=50]")
    assert len(found) == 0


@pytest.mark.parametrize(("activation", "method"), [("sigmoid", "G12"), ("noisy_or", "bethe"), ("noisy_or", "exact")])
def test_a_stream_of_batch_sizes_compiles_a_few_times_only(activation, method):
    network = zoo.dense(7, 0, 1, activation, 13)
    network = network.with_parameters((network.parameters[0], np.r_[np.full(6, 0.3), 0.0]))  # one without leak
    sizes = np.unique(np.geomspace(1, 1500, 14).astype(int))
    with compilations() as found:
        for size in sizes:
            assert pf.infer(network, np.tile(ROW, (size, 1)), method).means.shape == (size, 7)
    assert len(found) <= 6


def test_a_stream_of_networks_compiles_a_few_times_only():
    rng = np.random.default_rng(0)

    def diagnosis(causes: int, findings: int) -> pf.BeliefNetwork:
        W = np.where(rng.random((findings, causes)) < 0.3, rng.uniform(0.1, 1.5, (findings, causes)), 0.0)
        return pf.BeliefNetwork.layered([W], [np.full(causes, 0.1), np.full(findings, 0.05)], "noisy_or")

    with compilations() as found:
        for causes, findings in zip(range(20, 60, 4), (3, 5, 7, 9, 4, 6, 8, 3, 10, 5), strict=True):
            network = diagnosis(causes, findings)
            evidence = dict.fromkeys(range(causes, causes + findings), 1)
            assert pf.infer(network, evidence, "bethe").converged
    assert len(found) <= 4


def test_a_user_who_never_heard_of_x64_gets_float64_and_keeps_float32():
    solution = pf.infer(NETWORK, ROW)
    assert isinstance(solution.means, np.ndarray)
    assert solution.means.dtype == np.float64
    assert jnp.ones(1).dtype == jnp.float32
    assert pf.infer(NETWORK, ROW, dtype="float32").means.dtype == np.float32


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def test_infer_inside_jit_and_vmap(x64):
    rows = np.stack([ROW, np.where(np.isnan(ROW), np.nan, 1 - ROW)])
    inside = jax.jit(jax.vmap(lambda row: pf.infer(NETWORK, row, "G12").log_likelihood))(jnp.asarray(rows))
    np.testing.assert_allclose(inside, pf.infer(NETWORK, rows, "G12").log_likelihood, rtol=1e-10)


def test_exact_inside_jit_and_grad(x64):
    inside = jax.jit(lambda row: pf.infer(NETWORK, row, "exact").log_likelihood)(jnp.asarray(ROW))
    assert inside == pytest.approx(pf.infer(NETWORK, ROW, "exact").log_likelihood)

    def answer(h):
        return pf.infer(with_bias(h), ROW, "exact").log_likelihood

    slope = jax.jit(jax.grad(answer))(jnp.asarray(NETWORK.bias))
    np.testing.assert_allclose(slope, finite_difference(answer), atol=1e-8)


def test_certain_edges_are_certain_inside_jit(x64):
    network = pf.BeliefNetwork([[0, 0, 0], [np.inf, 0, 0], [0, 2.0, 0]], [0.4, 0.1, 0.2], "noisy_or")

    @jax.jit
    def inside(row):
        solution = pf.infer(network, row, "exact")
        return solution.log_likelihood, solution.means, solution.status

    possible = np.array([np.nan, np.nan, 1.0])
    log_likelihood, means, status = inside(possible)
    outside = pf.infer(network, possible, "exact")
    assert log_likelihood == pytest.approx(outside.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(means, outside.means, rtol=1e-12)
    assert STATUS_CODES[status - 1] is pf.Status.CONVERGED
    log_likelihood, _, status = inside(np.array([1.0, 0.0, np.nan]))
    assert log_likelihood == -np.inf
    assert STATUS_CODES[status - 1] is pf.Status.IMPOSSIBLE


@pytest.mark.parametrize(
    ("method", "form"),
    quick_where([("G12", zoo.as_edges)], [("SJJ", zoo.as_dense), ("G12", zoo.as_edges)]),
    ids=["SJJ", "G12"],
)
def test_derivatives_of_a_solution_are_finite_differences(x64, method, form):
    network = form(NETWORK)
    method = f"{method}[tol=1e-12]"
    row = np.where(np.arange(7) == 5, 1.0, np.nan)  # unit 6 is barren

    def answer(h):
        solution = pf.infer(with_bias(h, network), row, method)
        return solution.log_likelihood + solution.means[0] + solution.means[6]

    slope = jax.jit(jax.grad(answer))(jnp.asarray(network.bias))
    np.testing.assert_allclose(slope, finite_difference(answer), atol=1e-8)


def with_bias(h, network=NETWORK):
    return network.with_parameters((network.parameters[0], h))


def finite_difference(function, step=1e-5):
    return [(function(NETWORK.bias + step * e) - function(NETWORK.bias - step * e)) / (2 * step) for e in np.eye(7)]


@pytest.mark.parametrize(
    ("method", "form"), [("G12", zoo.as_dense), ("G22", zoo.as_edges)], ids=["G12, dense", "G22, edges"]
)
def test_the_free_energy_differentiates_by_weights_biases_and_means(x64, method, form):
    network = form(zoo.ZOO["noisy-or, sparse"])
    row = zoo.some_evidence(network)
    u = np.random.default_rng(0).uniform(0.2, 0.8, network.size)

    def energy(weights, bias, u):
        return pf.free_energy(network.with_parameters((weights, bias)), row, u, method)

    weights, bias = jax.tree.map(jnp.asarray, network.parameters)
    check_grads(jax.jit(energy), (weights, bias, jnp.asarray(u)), order=1, modes=["rev"], atol=1e-5, rtol=1e-5)


def test_exact_on_a_sparse_stack_inside_jit(x64):
    network = zoo.sparse(6, -1, 1, "sigmoid", 8)
    values = network.parameters[0] * np.array([[1.0], [-0.5]])
    stack = pf.BeliefNetwork(network.storage.map_weights(lambda _: values), network.bias)
    row = zoo.some_evidence(network)

    @jax.jit
    def inside(bias):
        return pf.infer(stack.with_parameters((stack.parameters[0], bias)), row, "exact").log_likelihood

    np.testing.assert_allclose(inside(jnp.asarray(stack.bias)), pf.infer(stack, row, "exact").log_likelihood)


def test_a_process_that_lives_long_keeps_few_programs():
    rng = np.random.default_rng(0)
    for size in range(2, 8):
        W = np.tril(rng.normal(size=(size, size)), -1)
        pf.infer(pf.BeliefNetwork(W, np.zeros(size)), {size - 1: 1}, "G12")
    assert 0 < len(programs._kept) <= programs.MOST_KEPT


def test_the_program_that_was_not_used_for_longest_goes(monkeypatch):
    monkeypatch.setattr(programs, "MOST_KEPT", 2)
    square = programs.Program(lambda x: x**2)
    for size in (3, 4, 5):
        np.testing.assert_array_equal(square(np.arange(float(size)), work=1), np.arange(float(size)) ** 2)
    assert len(programs._kept) == 2
    with compilations() as found:
        square(np.arange(5.0), work=1)
        square(np.arange(3.0), work=1)
    assert len(found) == 1


def test_a_trace_in_single_precision_leaves_no_number_behind():
    """JAX remembers in which precision a trace has had an array of NumPy's; a later answer must not get that one."""
    network = zoo.layered((2, 3, 4), -1.5, 1.5, "sigmoid", 2)
    evidence = {5: 1, 6: 0, 7: 1, 8: 0}
    before = pf.infer(network, evidence, "G12", prune=False).log_likelihood
    other = zoo.layered((2, 3, 4), -1.5, 1.5, "sigmoid", 2)
    with pytest.raises(pf.errors.MethodDoesNotApply):
        jax.jit(lambda row: pf.infer(other, row, "gibbs[seed=0]").means)(np.full(9, np.nan))
    assert pf.infer(other, evidence, "G12", prune=False).log_likelihood == before
