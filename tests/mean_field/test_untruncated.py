"""G1 in large batches, and at the ends of what its averages are fitted for."""

from functools import partial
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.averages.choice import LEAST_REACH, range_of
from plefka.inference.library import parse_method
from plefka.mean_field.minimisation import objective_of
from plefka.mean_field.schemes import MeanField
from plefka.networks.evidence import Evidence
from plefka.reduction.question import BeliefModel
from plefka.reduction.reduce import reduce
from plefka.solvers.functional import Functional
from plefka.solvers.implicit import conjugate_gradients
from tests.zoo import ZOO, some_evidence

ABOVE_TWO = np.zeros((8, 8))
ABOVE_TWO[6:, :6] = 1.0  # six causes of two effects
BOTH_ON = {6: 1, 7: 1}
LINEAR = pf.Custom(log_on=jnp.log, log_off=lambda x: jnp.log1p(-x), domain=(0.0, 1.0))


def test_a_large_stack_converges_as_fast_as_a_small_one():
    """XLA once gave derivatives that were not those of the value, in batches of this size alone."""
    stack = pf.ensembles.layered((2, 4, 6), -1, 1, 520, 0, "sigmoid")
    found = pf.infer(stack, np.where(np.arange(12) < 6, np.nan, 0.0), "G1[max_steps=30]")
    assert found.converged.all()


@pytest.mark.parametrize("name", ["sigmoid, layered", "noisy-or, sparse", "complementary log-log, dense"])
def test_a_table_of_pairs_has_the_second_derivatives(name):
    """Products with it are those that are differentiated twice."""
    network = ZOO[name]
    row = some_evidence(network)
    rows = np.stack([row, 1 - row])
    (part,) = reduce(network, Evidence(rows, batched=True)).parts
    objective = objective_of(cast(MeanField, parse_method("G2")), part.question)
    first = objective.minimised
    by_itself, by_derivatives = first.hessian, partial(Functional.hessian, first)

    @jax.jit
    def products():
        question = objective.prepared(part.question).opened(pairs=True)
        u, z = np.random.default_rng(0).random((2, *question.free.shape))
        u, z = jnp.where(question.free, u, question.values), jnp.where(question.free, z, 0.0)
        return [jnp.where(question.free, hessian(question, u)(z), 0.0) for hessian in (by_itself, by_derivatives)]

    with jax.enable_x64(True):
        both = products()
    np.testing.assert_allclose(*both, atol=1e-8)
    assert np.abs(both[0]).max() > 0.01


@pytest.mark.parametrize("prior", [1e-2, 1e-6])
@pytest.mark.parametrize("method", ["G1", "G2"])
def test_causes_may_be_rarer_than_the_leak_of_their_effects(prior, method):
    """In a dense network the causes have places for parents too."""
    h = np.r_[np.full(6, prior), 0.3, 0.3]
    dense, edges = (pf.BeliefNetwork(W, h, "noisy_or") for W in (ABOVE_TWO, sp.csr_array(ABOVE_TWO)))
    found, right = (pf.infer(network, BOTH_ON, method) for network in (dense, edges))
    assert found.log_likelihood == pytest.approx(right.log_likelihood, abs=1e-9)
    np.testing.assert_allclose(found.means, right.means, atol=1e-7)
    exact = pf.infer(dense, BOTH_ON, "exact").log_likelihood
    assert abs(found.log_likelihood - exact) < 0.05
    assert not found.is_bound or found.log_likelihood <= exact + 1e-9


def test_rare_causes_in_a_trace():
    network = pf.BeliefNetwork(ABOVE_TWO, np.r_[np.full(6, 1e-5), 0.3, 0.3], "noisy_or")

    @jax.jit
    def log_likelihood(h):
        return pf.infer(network.with_parameters((network.parameters[0], h)), BOTH_ON, "G1").log_likelihood

    with jax.enable_x64(True):
        found = float(log_likelihood(jnp.asarray(network.bias)))
    assert found == pytest.approx(pf.infer(network, BOTH_ON, "G1").log_likelihood, abs=1e-6)


def test_a_leak_below_what_averages_are_fitted_for_is_refused():
    network = pf.BeliefNetwork(ABOVE_TWO, np.r_[np.full(6, 1e-20), 1e-16, 1e-16], "noisy_or")
    exact, found = (pf.infer(network, BOTH_ON, method, throw=False) for method in ("exact", "G1"))
    assert found.status is pf.Status.WITHOUT_LEAK
    assert "'6', '7'" in found.notes[-1]
    assert found.log_likelihood == -np.inf
    decided = pf.infer(network, dict.fromkeys(range(6), 0) | BOTH_ON, "G1")
    assert decided.log_likelihood == pytest.approx(2 * np.log(1e-16), rel=1e-6)
    assert decided.log_likelihood < exact.log_likelihood


def test_the_functional_is_infinite_where_it_is():
    network = pf.BeliefNetwork([[0, 0, 0], [0, 0, 0], [1.0, 0.7, 0]], [0.3, 0.4, 0.0], "noisy_or")
    half, sure = (pf.free_energy(network, {2: 1}, u, "G1", prune=False) for u in ([0.5, 0.5, 1], [1.0, 0.5, 1]))
    assert half == np.inf
    assert np.isfinite(sure)


def test_a_pole_of_a_state_that_is_never_taken_does_not_matter():
    """Unit 2 cannot be on without a cause. It is off, and on, and hidden with nothing below it."""
    W = np.zeros((4, 4))
    W[2, :2], W[3, :2], W[1, 0] = (0.3, 0.4), (0.2, 0.3), 0.4
    network = pf.BeliefNetwork(W, [0.4, 0.3, 0.0, 0.3], LINEAR)
    rows = np.array([[np.nan, np.nan, state, 1] for state in (0, 1, np.nan)])
    exact, first, second = (pf.infer(network, rows, method) for method in ("exact", "G1", "G2"))
    assert [status.name for status in first.status] == ["CONVERGED", "NOT_FINITE", "CONVERGED"]
    assert np.all(first.log_likelihood <= exact.log_likelihood + 1e-9)
    for found in (first, second):
        np.testing.assert_allclose(found.log_likelihood[[0, 2]], exact.log_likelihood[[0, 2]], atol=0.1)
        np.testing.assert_allclose(found.means[[0, 2]], exact.means[[0, 2]], atol=0.05)


def test_biases_of_roots_do_not_widen_the_quadrature():
    h = np.r_[1e3, np.zeros(7)]
    for network in (
        pf.BeliefNetwork(sp.csr_array(ABOVE_TWO), h),
        pf.BeliefNetwork.layered([np.ones((2, 6))], [h[:6], h[6:]]),
    ):
        model = BeliefModel(network.storage, h[:, None], network.activation, np.ones((8, 1), bool))
        assert range_of(model).reach == LEAST_REACH


def test_rows_are_solved_for_themselves():
    A = jnp.array([[2.0, 0.5], [0.5, 1.0]])
    b = jnp.array([[1.0, jnp.nan, 1e-9], [2.0, 1.0, 0.0]])
    found = conjugate_gradients(lambda z: A @ z, b)
    np.testing.assert_allclose(A @ found[:, [0, 2]], b[:, [0, 2]], rtol=1e-5, atol=1e-14)
    assert np.isnan(found[:, 1]).all()


@pytest.mark.parametrize("method", ["G1", "mixture[2]", "conditioned[G1,k=2]"])
@pytest.mark.parametrize("lowest", [0.3, 0.01])
def test_inhibitors_break_no_bound(method, lowest):
    W = np.zeros((10, 10))
    W[8, :8], W[9, :8] = -(0.6 - lowest) / 8, np.linspace(-0.05, 0.4, 8)
    network = pf.BeliefNetwork(W, [1.0] * 8 + [0.6, 0.3], "noisy_or")
    found, right = (pf.infer(network, {8: 1, 9: 1}, m) for m in (method, "exact"))
    assert found.is_bound
    assert right.log_likelihood - 0.1 < found.log_likelihood <= right.log_likelihood + 1e-9
