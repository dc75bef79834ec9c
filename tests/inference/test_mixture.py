"""Mixtures of factorial distributions: a bound that is never below G1's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidMethod, MethodDoesNotApply
from plefka.mean_field.mixture_energy import information, mixture_evaluator, started
from plefka.mean_field.untruncated import Untruncated
from plefka.networks.evidence import Evidence, as_evidence
from plefka.reduction.reduce import reduce
from plefka.reduction.traced_reductions import reduce_traced
from tests import slow, zoo

OTHERS = {
    "noisy-or, sparse": "mixture[2]",
    "probit, dense": "mixture[2]",
    "complementary log-log, dense": "mixture[2,seed=0]",
}
ROUNDING = 1e-9

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", OTHERS)
def test_between_the_first_order_and_the_truth(name):
    network = zoo.ZOO[name]
    row = zoo.some_evidence(network)
    found = pf.infer(network, row, OTHERS[name])
    assert found.is_bound
    assert pf.infer(network, row, "G1").log_likelihood < found.log_likelihood + ROUNDING
    assert found.log_likelihood < slow.exact(network, row)[0] + ROUNDING


def batch(network):
    """Some evidence, all units observed, none, and drawn rows."""
    drawn = np.random.default_rng(0).choice([0.0, 1.0, np.nan], (5, network.size))
    return np.stack([zoo.some_evidence(network), np.zeros(network.size), np.full(network.size, np.nan), *drawn])


@pytest.fixture(scope="module")
def solved():
    network = zoo.ZOO["sigmoid, sparse, large weights"]
    rows = batch(network)
    return network, rows, pf.infer(network, rows, "mixture[3]")


def test_every_row_of_a_batch_is_bounded(solved):
    network, rows, found = solved
    exact = pf.infer(network, rows, "exact")
    assert found.converged.all()
    assert np.all(found.log_likelihood < exact.log_likelihood + ROUNDING)
    np.testing.assert_allclose(found.log_likelihood[1:3], exact.log_likelihood[1:3], atol=ROUNDING)


def test_three_components_are_better_than_one(solved):
    network, rows, found = solved
    first = pf.infer(network, rows, "G1")
    assert np.all(found.log_likelihood > first.log_likelihood - ROUNDING)
    assert found.log_likelihood[0] > first.log_likelihood[0] + 1e-3
    np.testing.assert_allclose(found.means[2], first.means[2], atol=1e-9)  # nothing observed: all predicted forwards


def test_one_component_is_the_first_order(solved):
    network, rows, _ = solved
    one, first = (pf.infer(network, rows, method) for method in ("mixture[1]", "G1"))
    np.testing.assert_allclose(one.log_likelihood, first.log_likelihood, atol=1e-12)
    np.testing.assert_allclose(one.means, first.means, atol=1e-12)


def test_drawn_starts_repeat_and_are_bounds_too(solved):
    network, rows, _ = solved
    found, again = (pf.infer(network, rows, "mixture[3,seed=1]", throw=False) for _ in range(2))
    np.testing.assert_array_equal(found.log_likelihood, again.log_likelihood)
    assert np.all(found.log_likelihood < pf.infer(network, rows, "exact").log_likelihood + ROUNDING)
    assert np.all(found.log_likelihood > pf.infer(network, rows, "G1").log_likelihood - ROUNDING)


def test_the_mixture_is_handed_on_for_checks(solved):
    network, rows, found = solved
    (part,) = reduce(network, as_evidence(network, rows)).parts
    log_weights, means = pf.parse_method("mixture[3]").posterior(part, dtype="float64").about.proposals
    assert log_weights.shape == (3, 8)
    assert means.shape == (3, *part.question.free.shape)
    weights = np.exp(log_weights - np.logaddexp.reduce(log_weights, axis=0))
    mean = np.einsum("kr,kur->ur", weights, means)
    right = part.narrowed(found.means.T)
    np.testing.assert_allclose(np.where(part.question.free, mean - right, 0.0), 0.0, atol=1e-9)


def test_a_stack_is_bounded_network_by_network():
    stack = pf.ensembles.layered((2, 3, 3), -3, 3, 8, 0, "sigmoid")
    row = np.where(np.arange(8) < 5, np.nan, 1.0)
    exact, first, found = (pf.infer(stack, row, method).log_likelihood for method in ("exact", "G1", "mixture[2]"))
    assert np.all((found < exact + ROUNDING) & (found > first - ROUNDING))


def test_an_effect_without_leak_is_no_trouble():
    """The first order of such an effect is infinite where no cause is on for certain."""
    W = np.zeros((4, 4))
    W[2, :2], W[3, :2] = (1.0, 0.7), (0.5, 1.2)
    network, row = pf.BeliefNetwork(W, [0.3, 0.4, 0.0, 0.0], "noisy_or"), np.array([np.nan, np.nan, 1, 1])
    first, found = (pf.infer(network, row, method, throw=False) for method in ("G1", "mixture[2]"))
    assert first.status is pf.Status.WITHOUT_LEAK
    assert found.converged
    assert np.isfinite(found.log_likelihood)
    assert np.isfinite(found.means).all()
    assert first.log_likelihood - ROUNDING <= found.log_likelihood <= slow.exact(network, row)[0] + ROUNDING


def test_a_leak_too_small_for_averages_gives_no_false_bound():
    W = np.zeros((8, 8))
    W[6:, :6] = 1.0
    network = pf.BeliefNetwork(W, np.r_[np.full(6, 1e-20), 1e-16, 1e-16], "noisy_or")
    exact, found = (pf.infer(network, {6: 1, 7: 1}, method) for method in ("exact", "mixture[2]"))
    assert exact.log_likelihood - 3 < found.log_likelihood <= exact.log_likelihood + ROUNDING
    assert found.notes == ()


# ---- the functional itself -------------------------------------------------------------------------------------------


def drawn_mixture(seed, components=3, units=4):
    rng = np.random.default_rng(seed)
    means = rng.uniform(0.05, 0.95, (components, units, 1))
    return means, rng.normal(0, 2, means.shape), np.log(rng.dirichlet(np.ones(components)))[:, None]


@pytest.mark.parametrize("seed", range(5))
def test_smoothing_never_exceeds_the_mutual_information(seed):
    u, rho, log_alpha = drawn_mixture(seed)
    S = slow.all_states(np.full(4, np.nan))
    q = np.where(S == 1, u[:, None, :, 0], 1 - u[:, None, :, 0]).prod(2)
    r, alpha = np.exp(rho[:, :, 0] @ S.T), np.exp(log_alpha[:, 0])
    mixed = alpha @ q
    truth = alpha @ (q * np.log(q / mixed)).sum(1)
    definition = alpha @ ((q * np.log(r)).sum(1) - np.log(r @ mixed))
    with jax.enable_x64(True):
        found = float(information(*map(jnp.asarray, (u, rho, log_alpha)))[0])
    assert found == pytest.approx(definition, rel=1e-10)
    assert found <= truth


def test_components_that_exclude_each_other_add_their_probabilities():
    u, log_alpha = np.array([0.0, 1.0])[:, None, None], np.log([[0.3], [0.7]])
    rho = np.array([-18.0, 18.0])[:, None, None]
    with jax.enable_x64(True):
        found = float(information(*map(jnp.asarray, (u, rho, log_alpha)))[0])
    assert found == pytest.approx(-(0.3 * np.log(0.3) + 0.7 * np.log(0.7)), abs=1e-6)


def test_along_the_pull_the_free_energy_falls_as_promised():
    network = zoo.ZOO["sigmoid, layered"]
    row = zoo.some_evidence(network)[None]
    functional = Untruncated(1)
    storage = network.storage.prepared(tables=True)
    means, _, log_alpha = drawn_mixture(0, 3, network.size)
    with jax.enable_x64(True):
        question = reduce_traced(network, Evidence(row), prune=True).question.with_model(weights=storage).opened()
        evaluate = jax.jit(mixture_evaluator(question, functional.energy, 3))
        x = started(np.asarray(question.searched), means, log_alpha).stacked()
        here = evaluate(x)
        up, down = (float(evaluate(here.theta + step * here.direction).G[0]) for step in (1e-5, -1e-5))
    slope = float(here.slope[0])
    assert slope > 0
    assert (down - up) / 2e-5 == pytest.approx(slope, rel=1e-5)


# ---- spelling, and what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", ["mixture[5]", "mixture[1]", "mixture[2,seed=0]", "mixture[3,tol=1e-07]"])
def test_spellings_read_back(spelling):
    assert str(pf.parse_method(spelling)) == spelling
    assert pf.parse_method(spelling).is_bound


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        ("mixture[0]", "components must be a whole number from 1 to 64; got 0"),
        ("mixture[two]", "components must be a whole number; got 'two'"),
        ("mixture[2,seed=-1]", r"seed must be a whole number from 0 to 2\^63 - 1; got -1"),
        ("mixture[2,tol=0]", "tol must be positive; got 0"),
        ("mixture[2,max_steps=0]", "max_steps >= 1 must hold; got 0"),
    ],
)
def test_wrong_options_are_refused(spelling, message):
    with pytest.raises(InvalidMethod, match=message):
        pf.parse_method(spelling)


def test_a_trace_is_refused():
    network = zoo.ZOO["sigmoid, layered"]
    with pytest.raises(
        MethodDoesNotApply, match="mixture does not apply: it looks at numbers, which cannot be done inside a trace"
    ):
        jax.jit(lambda row: pf.infer(network, row, "mixture[2]").log_likelihood)(np.zeros(network.size))


def test_components_that_are_impossible_are_left_out():
    """Units that follow from others for certain, as in the network asia of Lauritzen and Spiegelhalter (1988)."""
    units = [
        pf.Unit("asia", [], "noisy_or", [], -np.log(0.99)),
        pf.Unit("tub", ["asia"], "noisy_or", [np.log(0.99 / 0.95)], -np.log(0.99)),
        pf.Unit("smoke", [], "noisy_or", [], np.log(2)),
        pf.Unit("lung", ["smoke"], "noisy_or", [np.log(0.99 / 0.9)], -np.log(0.99)),
        pf.Unit("bronc", ["smoke"], "noisy_or", [np.log(0.7 / 0.4)], -np.log(0.7)),
        pf.Unit("either", ["tub", "lung"], "noisy_or", [np.inf, np.inf], 0.0),
        pf.Unit("dysp", ["bronc", "either"], pf.Table([[0.1, 0.7], [0.8, 0.9]])),
    ]
    network = pf.BeliefNetwork.of_units(units)
    truth = pf.infer(network, {"dysp": 1}, "exact").log_likelihood
    found = pf.infer(network, {"dysp": 1}, "mixture[5]", throw=False)
    assert found.status.name == "CONVERGED"
    assert found.log_likelihood == pytest.approx(truth, abs=0.01)
