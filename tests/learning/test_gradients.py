"""The gradient of a step of learning is the slope of what infer reports, for every scheme and activation."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plefka as pf
from plefka.inference.library import parse_method
from plefka.learning.by_free_energy import settings as settings_of
from plefka.learning.gradient_step import Batch, StepSettings, solve_rows
from plefka.learning.parameters import parametrisation
from plefka.learning.patterns import as_patterns
from plefka.mean_field.schemes import MeanField
from plefka.runtime.precision import precision
from plefka.solvers.policies import Monotone
from tests.learning.test_fit import ROWS, small
from tests.quick import quick_where

APPLY = {
    "sigmoid": ("G10", "G11", "G12", "G13", "G14", "G21", "G22", "G221", "G212", "SJJ"),
    "noisy_or": ("G10", "G11", "G12", "G13", "G14", "G21", "G22", "G221", "G212"),
    "probit": ("G11", "G12", "G22", "G221"),
}
QUICK = [("sigmoid", "G12"), ("sigmoid", "G22"), ("noisy_or", "G11"), ("noisy_or", "G12"), ("probit", "G12")]


def probit():
    return pf.Custom(
        log_on=jax.scipy.stats.norm.logcdf, log_off=lambda x: jax.scipy.stats.norm.logcdf(-x), name="probit"
    )


def careful(network: pf.BeliefNetwork, method: str) -> StepSettings:
    """As for a step of learning, but every row is solved until it converges."""
    chosen, rules = parse_method(method), parametrisation(network, None, None, None)
    assert isinstance(chosen, MeanField)
    settings = settings_of(network, as_patterns(network, ROWS), chosen, rules, (0.0, 0.0), 1e-12)
    return replace(settings, policy=Monotone(), max_steps=300)


def batch_of(rows) -> Batch:
    return Batch(jnp.asarray(rows), np.ones(len(rows)), 1.0, jnp.zeros((1, *rows.shape)))


@pytest.mark.parametrize(
    ("activation", "method"),
    quick_where(QUICK, [(f, m) for f, methods in APPLY.items() for m in methods]),
)
def test_the_gradient_of_a_step_is_the_slope_of_the_estimate(activation, method):
    network = small(probit() if activation == "probit" else activation)
    settings = careful(network, method)
    rows = as_patterns(network, ROWS).rows()
    direction = jax.tree.map(lambda p: np.random.default_rng(p.size).normal(size=p.shape), network.parameters)
    with precision("float64"):

        def total(parameters):
            return -solve_rows(settings, parameters, batch_of(rows))[0].sum()

        estimate_and_gradient = jax.jit(jax.value_and_grad(total))

        def estimate(shift):
            moved = jax.tree.map(lambda p, d: p + shift * d, network.parameters, direction)
            return float(estimate_and_gradient(moved)[0])

        gradient = estimate_and_gradient(network.parameters)[1]
        h = 1e-4
        by_difference = (8 * (estimate(h) - estimate(-h)) - (estimate(2 * h) - estimate(-2 * h))) / (12 * h)
    by_gradient = sum(np.vdot(g, d) for g, d in zip(*map(jax.tree.leaves, (gradient, direction)), strict=True))
    np.testing.assert_allclose(by_gradient, by_difference, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("method", ["G12", "SJJ"])
def test_the_estimate_of_a_step_is_what_infer_reports(method):
    network = small("sigmoid")
    settings = careful(network, method)
    rows = as_patterns(network, ROWS).rows()
    with precision("float64"):
        G = jax.jit(lambda p: solve_rows(settings, p, batch_of(rows))[0])(network.parameters)
        G = np.asarray(G)
    np.testing.assert_allclose(-G, pf.infer(network, rows, f"{method}[tol=1e-12]").log_likelihood, rtol=1e-10)
