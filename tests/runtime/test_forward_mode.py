"""Derivatives in forward mode, and second ones: those of exact inference are right, all others are refused in words."""

from itertools import product

import jax
import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.errors import MethodDoesNotApply
from plefka.runtime.reverse_mode import reverse_mode_only
from tests.quick import quick_where

W = np.array([[0.0, 0, 0], [1.0, 0, 0], [0.5, 0.7, 0]])
BIAS = np.array([0.1, 0.2, 0.3], np.float32)


def log_likelihood(bias, method):
    return pf.infer(pf.BeliefNetwork(W, bias, "sigmoid"), {2: 1}, method).log_likelihood


@pytest.mark.slow
def test_of_exact_inference_they_are_those_of_reverse_mode():
    forwards, backwards = (derivative(log_likelihood)(BIAS, "exact") for derivative in (jax.jacfwd, jax.jacrev))
    np.testing.assert_allclose(forwards, backwards, rtol=1e-5)


@pytest.mark.parametrize("method", ["G12", "G1", "bethe", "SJJ"])
def test_they_are_refused_with_what_to_use_instead(method):
    with pytest.raises(MethodDoesNotApply, match=rf"^{method} does not apply.*got forward mode.*Use jax.grad, jax.vjp"):
        jax.jacfwd(log_likelihood)(BIAS, method)


@pytest.mark.slow
def test_so_are_those_of_a_free_energy():
    network, means = pf.BeliefNetwork(sp.csr_array(W), BIAS, "sigmoid"), np.array([0.4, 0.6, 1.0], np.float32)

    def free_energy(means):
        return pf.free_energy(network, {2: 1}, means, "G22")

    assert np.isfinite(jax.grad(free_energy)(means)).all()
    with pytest.raises(MethodDoesNotApply, match=r"^G22 does not apply"):
        jax.jacfwd(free_energy)(means)


def test_other_errors_of_a_trace_stay_as_they_are():
    with pytest.raises(TypeError, match="something else"), reverse_mode_only("G12"):
        raise TypeError("something else")


SECOND = {"forwards over reverse": jax.hessian, "reverse over reverse": lambda f: jax.jacrev(jax.jacrev(f))}


ONE_BY_ONE = ("bethe", "forwards over reverse", False)  # every operation is compiled by itself


@pytest.mark.parametrize(
    ("method", "second", "jitted"),
    quick_where(lambda case: case != ONE_BY_ONE, product(["bethe", "G1"], SECOND, [False, True])),
)
def test_second_derivatives_are_refused(method, second, jitted):
    """They would hold the messages, or the means, fixed: of bethe they were off by half."""
    function = jax.jit(log_likelihood, static_argnums=1) if jitted else log_likelihood
    error, words = MethodDoesNotApply, rf"^{method} does not apply: .*Use .*the method exact"
    if jitted and method == "G1" and SECOND[second] is jax.hessian:  # JAX refuses this itself, outside of our reach
        error, words = TypeError, "forward-mode"
    with pytest.raises(error, match=words):
        SECOND[second](function)(BIAS, method)


def test_second_derivatives_of_exact_inference_are_differences_of_the_first():
    first = jax.jit(jax.grad(log_likelihood), static_argnums=1)
    step = np.float32(0.05)
    right = [(first(BIAS + step * d, "exact") - first(BIAS - step * d, "exact")) / (2 * step) for d in np.eye(3)]
    second = jax.jit(jax.hessian(log_likelihood), static_argnums=1)(BIAS, "exact")
    np.testing.assert_allclose(second, right, atol=2e-3)
