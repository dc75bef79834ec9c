"""Where a field is zero, a weight is zero, a number is missing: the corners where a limit must be taken by hand."""

from dataclasses import replace
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.errors import InvalidNetwork
from plefka.inference.solution import ABOVE_LIKELIHOODS
from plefka.mean_field.minimisation import Minimum, better
from plefka.methods.posterior import CONVERGED
from tests.quick import quick_where

TWO = pf.BeliefNetwork([[0, 0], [1.0, 0]], [0.1, 0.2])
LEAKLESS = pf.BeliefNetwork([[0, 0], [1.0, 0]], [0.5, 0.0], "noisy_or")


def difference(function, x, step=1e-6):
    """The slope of a function of one number, by central differences."""
    return (function(x + step) - function(x - step)) / (2 * step)


def with_bias(network, bias):
    return network.with_parameters((network.storage.parameters, bias))


@pytest.mark.parametrize("method", ["G12", "exact"])
def test_a_bias_that_is_no_number_ends_as_not_finite(method):
    solution = pf.infer(with_bias(TWO, np.array([np.nan, 0.2])), {}, method, throw=False)
    assert solution.status is pf.Status.NOT_FINITE


def test_an_activation_that_is_no_number_somewhere_ends_as_not_finite():
    network = pf.BeliefNetwork([[0, 0], [1.0, 0]], [0.1, -5], pf.Custom(lambda x: jnp.sqrt(x) / 10))
    assert pf.infer(network, {0: 1}, "G12", throw=False).status is pf.Status.NOT_FINITE


def test_means_can_be_differentiated_beside_a_field_of_zero():
    network = pf.BeliefNetwork([[0, 0, 0], [0, 0, 0], [1.0, 1.0, 0]], [0.5, 0.0, 0.1], "noisy_or")

    @jax.jit
    def mean(h):
        return pf.infer(with_bias(network, jnp.array([h, 0.0, 0.1])), {1: 0, 2: 1}, "G12[tol=1e-12]").means[0]

    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.grad(mean)(0.5), difference(mean, 0.5), rtol=1e-5)


def test_exact_can_be_differentiated_where_states_are_impossible():
    @jax.jit
    def log_z(w, leak):
        network = LEAKLESS.with_parameters(((jnp.array([[0, 0], [w, 0]]),), jnp.array([0.5, leak])))
        return pf.infer(network, {1: 1}, "exact").log_likelihood

    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.grad(log_z)(1.0, 0.0), difference(lambda w: log_z(w, 0.0), 1.0), rtol=1e-6)
        by_leak = (log_z(1.0, 1e-7) - log_z(1.0, 0.0)) / 1e-7
        np.testing.assert_allclose(jax.grad(log_z, argnums=1)(1.0, 0.0), by_leak, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "prune"), quick_where([("G12", True)], [("G12", True), ("SJJ", False)]))
def test_the_slope_by_a_weight_of_zero_is_a_limit(method, prune):
    """A weight of zero is no edge, and its parent is barren; next to zero it is one."""

    @jax.jit
    def answers(w):
        weights = jnp.array([[0.0, 0, 0], [0, 0, 0], [1.5, w, 0]])
        network = pf.BeliefNetwork(weights, jnp.array([0.3, -2.0, 0.1]))
        solution = pf.infer(network, {2: 1}, f"{method}[tol=1e-12]", prune=prune)
        return jnp.stack([solution.log_likelihood, solution.means[0]])

    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jacrev(answers)(0.0), difference(answers, 0.0), rtol=1e-5)


def test_single_precision_converges_inside_a_trace_as_outside():
    stack = pf.ensembles.layered((2, 4, 6), -1, 1, 50, 0)
    row = np.r_[np.full(6, np.nan), np.zeros(6)]
    status = jax.jit(lambda bias: pf.infer(with_bias(stack, bias), row, "G12").status)(jnp.asarray(stack.bias))
    assert np.all(np.asarray(status) == 1)


def test_numbers_that_are_known_can_be_used_inside_a_trace():
    outside = pf.infer(TWO, {1: 1}).log_likelihood
    assert jax.jit(lambda x: x + pf.infer(TWO, {1: 1}).log_likelihood)(1.0) == pytest.approx(1 + outside, rel=1e-6)
    assert jax.jit(lambda x: x * pf.free_energy(TWO, {1: 1}, [0.5, 1]))(1.0) > 0
    status = jax.jit(lambda bias: pf.infer(with_bias(TWO, bias), {1: 1}, "G1").status)(jnp.array([0.1, 0.2]))
    assert int(status) == 1


def test_a_series_is_read_by_its_index_and_a_mask_hides():
    network = pf.BeliefNetwork(np.tril(np.full((3, 3), 2.0), -1), [0.1, -1, 1], names=["a", "b", "c"])
    frame = pd.DataFrame({"c": [1], "a": [0], "b": [np.nan]})
    expected = pf.infer(network, frame, "exact").log_likelihood[0]
    assert pf.infer(network, frame.iloc[0], "exact").log_likelihood == expected
    masked = np.ma.masked_array([0, 7, 1], mask=[False, True, False])
    assert pf.infer(network, masked, "exact").log_likelihood == expected


def test_columns_with_gaps_of_any_kind():
    network = pf.BeliefNetwork([[0, 0], [1.0, 0]], [0.1, 0.2], names=["a", "b"])
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [None, True]})
    np.testing.assert_array_equal(pf.infer(network, frame, "exact").observed, [[True, False], [False, True]])


@pytest.mark.parametrize("method", ["exact", "G12"])
def test_one_impossible_row_does_not_end_a_batch(method):
    solution = pf.infer(LEAKLESS, [[0, 1], [1, 1]], method)
    assert list(solution.status) == [pf.Status.IMPOSSIBLE, pf.Status.CONVERGED]
    assert solution.log_likelihood[0] == -np.inf
    np.testing.assert_array_equal(solution.means, [[0, 1], [1, 1]])


def test_evidence_is_checked_although_the_network_is_traced():
    with pytest.raises(pf.errors.InvalidEvidence, match="got 7"):
        jax.jit(lambda bias: pf.infer(with_bias(TWO, bias), [np.nan, 7.0]).log_likelihood)(jnp.array([0.1, 0.2]))


@pytest.mark.parametrize("method", ["G12[policy=paper,max_steps=300]", "SJJ[max_steps=300]"])
def test_extreme_weights_stay_finite_in_single_precision(method):
    stack = pf.ensembles.layered((2, 4, 6), -1000, 1000, 32, 0)
    solution = pf.infer(stack, np.r_[np.full(6, np.nan), np.zeros(6)], method, dtype="float32")
    assert np.isfinite(solution.log_likelihood).all()
    assert np.isfinite(solution.means).all()


@pytest.mark.parametrize(
    ("method", "row"), [("exact", {0: 1}), ("G12", {0: 1, 1: 0}), ("G22", {0: 1}), ("SJJ", {0: 1, 1: 0})]
)
def test_a_single_layer_is_a_network(method, row):
    network = pf.BeliefNetwork.layered([], [[0.1, -0.2]])
    expected = -np.logaddexp(0, -0.1) - (np.logaddexp(0, -0.2) if 1 in row else 0)
    assert pf.infer(network, row, method).log_likelihood == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("method", ["G1", "G2", "G2[solve=yes]", "mixture[2]", "conditioned[G2,k=1]"])
def test_a_sparse_network_without_edges_is_a_network(method):
    network = pf.BeliefNetwork(sp.csr_array((3, 3)), np.full(3, 0.3))
    found = pf.infer(network, {0: 1}, method)
    assert found.log_likelihood == pytest.approx(-np.logaddexp(0, -0.3), abs=1e-9)
    np.testing.assert_allclose(found.means, [1, *[1 / (1 + np.exp(-0.3))] * 2], atol=1e-9)


def test_likelihoods_above_one_are_no_reason_to_warn():
    network = pf.BeliefNetwork(np.zeros((2, 2)), np.zeros(2))
    for seen in (pf.Likelihood(on=90, off=20), pf.Likelihood(on=20, off=90)):
        found = pf.infer(network, {0: seen}, "G1")
        assert found.log_likelihood == pytest.approx(np.log(55))
        assert found.warnings == []
    assert replace(found, log_partition=np.log(91)).warnings == [ABOVE_LIKELIHOODS]


def test_restarts_are_compared_by_what_was_minimised():
    """G2 is no bound: its lowest value is not its best. Searches are compared before it is evaluated."""
    row = np.zeros(1, int)
    lower, higher = (
        Minimum(np.full((2, 1), theta), np.full(1, G), row + CONVERGED, row, row, np.zeros(1))
        for theta, G in ((0.1, 1.0), (0.8, 1.2))
    )
    for kept in (better(lower, higher), better(higher, lower)):
        assert kept.G == 1.0
        assert kept.theta[0, 0] == 0.1


def test_a_row_without_numbers_is_alone_with_that():
    stack = pf.ensembles.layered((2, 3, 3), -1, 1, 3, 0)
    row = np.where(np.arange(8) < 5, np.nan, 1.0)
    bias = np.array(stack.bias)
    bias[1, 3] = np.nan
    right, found = (pf.infer(network, row, "G2") for network in (stack, with_bias(stack, bias)))
    assert [status.name for status in found.status] == ["CONVERGED", "NOT_FINITE", "CONVERGED"]
    np.testing.assert_allclose(found.means[[0, 2]], right.means[[0, 2]], atol=1e-8)


def test_pairs_without_common_children_do_not_cancel():
    """1e3 squared twice would leave six digits, if pairs of a unit with itself were added and taken away."""
    blocks = pf.BeliefNetwork.layered([np.diag([1e3, 1e3])], [[0.1, 0.2], [0.0, 0.0]])
    dense = np.zeros((4, 4))
    dense[[2, 3], [0, 1]] = 1e3
    u, row = [0.999, 0.99, 1, 1], {2: 1, 3: 1}
    expected = pf.free_energy(pf.BeliefNetwork(dense, [0.1, 0.2, 0, 0]), row, u, "G22")
    edges = pf.free_energy(pf.BeliefNetwork(sp.csr_array(dense), [0.1, 0.2, 0, 0]), row, u, "G22")
    assert pf.free_energy(blocks, row, u, "G22") == pytest.approx(edges, rel=1e-12)
    assert expected == pytest.approx(edges, rel=1e-12)


def test_an_activation_may_be_given_as_its_class():
    assert pf.BeliefNetwork([[0.0]], [0.1], pf.NoisyOr).activation == pf.NoisyOr()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pf.BeliefNetwork(np.zeros((0, 2, 2)), np.zeros(2)), "square matrix"),
        (lambda: pf.BeliefNetwork.layered([], [[]]), "a network must have at least one unit"),
        (lambda: TWO.sample(seed=cast(int, None), count=2), "seed must be a whole number from 0"),
        (lambda: pf.infer(TWO, dtype="flaot32"), "dtype must be one of float64, float32"),
        (lambda: pf.parse_method("G12[tol=1e-3,tol=1e-4]"), "tol is given twice"),
        (lambda: pf.parse_method("G12[max_steps=1e4]"), "max_steps must be a whole number; got '1e4'"),
        (lambda: pf.parse_method("G12[restarts=1,seed=-1]"), "seed must be a whole number from 0 to"),
        (lambda: pf.ensembles.to_learn((), np.ones((2, 2)), 0), "layers must be the sizes"),
        (lambda: pf.ensembles.to_learn((2,), -np.ones((2, 2)), 0), "rows must be 0, 1 or nan"),
    ],
)
def test_what_must_hold_is_said(call, message):
    with pytest.raises(pf.errors.PlefkaError, match=message):
        call()


def test_no_spread_means_no_spread():
    network = pf.ensembles.to_learn((2,), np.array([[0.0, 1.0]]), 0, spread=0.0)
    assert not np.any(network.weights[0])


def test_weights_in_a_trace_come_as_arrays():
    with pytest.raises(InvalidNetwork, match="must be an array"):
        jax.jit(lambda w: pf.infer(pf.BeliefNetwork([[0, 0], [w, 0]], [0.1, 0.2]), {1: 1}).log_likelihood)(1.0)


@pytest.mark.parametrize("method", ["conditioned[G12,k=1]", "mixture[2,seed=0]"])
def test_no_mean_exceeds_one_by_rounding(method):
    """Averages of units that are certainly on came out as 1 + 2e-16 in a few networks of a hundred."""
    networks = pf.ensembles.layered((3, 4, 4), 0, 30, 400, 0, "noisy_or")
    means = pf.infer(networks, {7: 1, 8: 0}, method, throw=False).means
    assert np.nanmax(means) == 1
    assert np.nanmin(means) >= 0
