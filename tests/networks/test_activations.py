"""Activations: closed forms against automatic differentiation, and against asymptotics where rounding ruins both."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import log_ndtr

import plefka as pf
from plefka.networks.activations import SMALLEST_FIELD

DEGREE = 4
PROBIT = pf.Custom(log_on=log_ndtr, log_off=lambda x: log_ndtr(-x), name="probit")
# 1 - f = exp(-exp(x)): on unless all of a Poisson number of causes fail
CLOGLOG = pf.Custom(log_on=lambda x: jnp.log(-jnp.expm1(-jnp.exp(x))), log_off=lambda x: -jnp.exp(x), name="cloglog")

NAIVE = {
    "sigmoid": (pf.Sigmoid(), lambda x: 1 / (1 + jnp.exp(-x)), np.linspace(-6, 6, 41)),
    "noisy_or": (pf.NoisyOr(), lambda x: 1 - jnp.exp(-x), np.linspace(0.2, 6, 41)),
}


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def tower(activation, x):
    """(degree + 1, 2, points): log_on and log_off with their derivatives."""
    return np.array(eqx.filter_jit(lambda f, x: f.log_ratios(x, DEGREE))(activation, jnp.asarray(x)))


def nested_grad(function, x):
    functions = [function]
    for _ in range(DEGREE):
        functions.append(jax.grad(functions[-1]))
    return np.array(jax.jit(lambda x: [jax.vmap(f)(x) for f in functions])(jnp.asarray(x)))


@pytest.mark.parametrize("name", NAIVE)
def test_closed_forms_are_the_derivatives(name):
    activation, f, x = NAIVE[name]
    on, off = nested_grad(lambda x: jnp.log(f(x)), x), nested_grad(lambda x: jnp.log(1 - f(x)), x)
    np.testing.assert_allclose(tower(activation, x), np.stack([on, off], axis=1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAIVE)
def test_base_class_tower_is_the_same(name):
    activation, _, x = NAIVE[name]
    slow = pf.Custom(log_on=activation.log_on, log_off=activation.log_off)
    np.testing.assert_allclose(tower(activation, x), tower(slow, x), rtol=1e-12, atol=1e-14)


def test_sigmoid_tails_keep_all_digits():
    """ln f = -e^-x up to e^-2x: all derivatives have the same size, far below the rounding of f itself."""
    x = np.array([40.0, 100.0, 700.0])
    tail = np.array([(-1) ** (k + 1) * np.exp(-x) for k in range(DEGREE + 1)])
    np.testing.assert_allclose(tower(pf.Sigmoid(), x)[:, 0], tail, rtol=1e-14)
    np.testing.assert_allclose(tower(pf.Sigmoid(), -x)[0], [-x, -np.exp(-x)], rtol=1e-14)


def test_sigmoid_pair_differs_by_the_field():
    x = np.linspace(-1e6, 1e6, 2001)
    pair = tower(pf.Sigmoid(), x)
    np.testing.assert_allclose(pair[0, 0] - pair[0, 1], x, rtol=1e-15)
    np.testing.assert_allclose(pair[1, 0] - pair[1, 1], 1.0, rtol=1e-15)
    np.testing.assert_array_equal(pair[2:, 0], pair[2:, 1])


def test_noisy_or_against_long_doubles():
    x = np.geomspace(1e-12, 40, 200)
    wide = x.astype(np.longdouble)
    r = 1 / np.expm1(wide)
    log_on = np.where(x < 0.7, np.log(-np.expm1(-wide)), np.log1p(-np.exp(-wide)))
    want = np.array([log_on, r, -r * (1 + r), r * (1 + r) * (1 + 2 * r)], dtype=float)
    np.testing.assert_allclose(tower(pf.NoisyOr(), x)[:4, 0], want, rtol=1e-13)


def test_noisy_or_near_its_pole():
    """ln f = ln x - x/2 + ...: the k-th derivative goes as x^-k, finite up to the smallest field that is used."""
    x = np.array([SMALLEST_FIELD, 1e-40, 1e-20])
    want = [np.log(x), 1 / x, -1 / x**2, 2 / x**3, -6 / x**4]
    np.testing.assert_allclose(tower(pf.NoisyOr(), x)[:, 0], want, rtol=1e-14)


@pytest.mark.parametrize("name", NAIVE)
def test_probabilities_add_up(name):
    activation, _, x = NAIVE[name]
    np.testing.assert_allclose(np.exp(tower(activation, x)[0]).sum(0), 1.0, rtol=1e-14)
    np.testing.assert_allclose(activation.probability(jnp.asarray(x)), np.exp(tower(activation, x)[0, 0]), rtol=1e-14)


@pytest.mark.parametrize("name", NAIVE)
def test_no_nan_from_minus_to_plus_a_million(name):
    far = np.geomspace(1e-6, 1e6, 500)
    x = NAIVE[name][0].off_poles(jnp.asarray(np.concatenate([-far, [0.0], far])))
    assert np.isfinite(tower(NAIVE[name][0], x)).all()


@pytest.mark.parametrize("activation", [PROBIT, CLOGLOG], ids=lambda activation: activation.name)
class TestWorkedExamples:
    """Any analytic function of the field is an activation: the probit and the complementary log-log."""

    ROWS = np.array([[np.nan, np.nan, a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)])

    def network(self, activation, strength=1.0):
        weights = strength * np.array([[0.6, -0.4], [0.3, 0.5]])
        return pf.BeliefNetwork.layered([weights], [[0.2, -0.3], [0.1, -0.4]], activation)

    def test_exact_probabilities_of_all_evidence_add_up(self, activation):
        solution = pf.infer(self.network(activation), self.ROWS, "exact")
        assert np.exp(solution.log_likelihood).sum() == pytest.approx(1, abs=1e-12)

    @pytest.mark.parametrize(("method", "order"), [("G12", 2), ("G22", 3)])
    def test_error_falls_with_the_order_of_the_scheme(self, activation, method, order):
        """What is left out is of second order in the weights for G12, and of third order for G22."""
        errors = [self.error(activation, method, strength) for strength in (0.125, 0.0625)]
        assert errors[0] < 0.01
        assert errors[1] < 1.25 * errors[0] / 2**order

    def error(self, activation, method, strength):
        network = self.network(activation, strength)
        exact, scheme = pf.infer(network, self.ROWS, "exact"), pf.infer(network, self.ROWS, f"{method}[tol=1e-12]")
        assert scheme.converged.all()
        return np.abs(scheme.log_likelihood - exact.log_likelihood).max()


ALL = {"sigmoid": pf.Sigmoid(), "noisy_or": pf.NoisyOr(), "probit": PROBIT, "cloglog": CLOGLOG}


@pytest.mark.parametrize("name", ALL)
def test_gradient_of_the_free_energy_is_finite(name):
    """By the means, the weights and the biases, up to means next to 0 and 1."""
    network = pf.BeliefNetwork.layered([[[0.9, 0.4], [0.2, 1.3]]], [[0.2, 0.3], [0.1, 0.6]], ALL[name])
    row = np.array([np.nan, np.nan, 1.0, 0.0])

    def energy(u, parameters):
        return pf.free_energy(network.with_parameters(parameters), row, u, "G22")

    gradient = jax.jit(jax.grad(energy, argnums=(0, 1)))
    for u in (0.3, 1e-12, 1 - 1e-12):
        leaves = jax.tree.leaves(gradient(jnp.full(4, u), network.parameters))
        assert all(np.isfinite(leaf).all() for leaf in leaves)
        assert sum(float(jnp.abs(leaf).sum()) for leaf in leaves) > 0
