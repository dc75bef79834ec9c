"""Belief propagation: exact without loops, as good as is known of it with loops, and the same however it is called."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.errors import InvalidMethod, MethodDoesNotApply
from plefka.methods.posterior import IMPOSSIBLE, Status
from plefka.networks.evidence import as_evidence
from plefka.paper.random_networks import observe
from plefka.reduction.reduce import reduce
from tests import polytrees, zoo
from tests.quick import quick_where

SIZE = 10
NOTHING = pf.Likelihood(on=1.0, off=1.0)  # soft evidence that says nothing: the program for soft evidence serves all


def stack(networks) -> pf.BeliefNetwork:
    """Small networks as one dense stack, filled up with units that nothing leads to: all stacks share a program."""
    W, h = np.zeros((len(networks), SIZE, SIZE)), np.full((len(networks), SIZE), 0.5)
    for k, network in enumerate(networks):
        W[k, : network.size, : network.size] = sp.csr_array(network.storage.to_sparse()).toarray()
        h[k, : network.size] = network.bias
    return pf.BeliefNetwork(W, h, networks[0].activation)


def tree_of(activation: str, seed: int, certain: float = 0.0) -> tuple[pf.BeliefNetwork, dict]:
    """A network without loops, and evidence that can happen, some of it soft."""
    network, row = polytrees.polytree(seed, 3, SIZE, activation, certain=certain)
    rng = np.random.default_rng(seed)
    evidence: dict = {unit: state for unit, state in enumerate(row) if state == state}
    soft = next((unit for unit in rng.permutation(SIZE) if unit not in evidence), None)
    if soft is not None:
        evidence[int(soft)] = pf.Likelihood(on=rng.uniform(0.1, 1), off=rng.uniform(0.1, 1))
    return network, evidence


def assert_same(found, right, **tolerance):
    np.testing.assert_allclose(found.log_likelihood, right.log_likelihood, **tolerance)
    np.testing.assert_allclose(found.means, right.means, **tolerance)


# ---- no loops: exact -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", quick_where(["sigmoid", "noisy_or"], ["sigmoid", "noisy_or", "probit"]))
def test_exact_without_loops(activation):
    certain = 0.2 if activation == "noisy_or" else 0.0
    trees, evidence = zip(*(tree_of(activation, seed, certain) for seed in range(32)), strict=True)
    networks = stack(trees)
    found, right = (pf.infer(networks, list(evidence), method) for method in ("bethe[tol=1e-12]", "exact"))
    assert found.converged.all()
    assert_same(found, right, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("activation", "certain", "stored"), [("sigmoid", 0, zoo.as_edges), ("noisy_or", 0.01, zoo.as_dense)]
)
def test_exact_with_three_hundred_parents(activation, certain, stored):
    network, row = polytrees.polytree(1, 300, 320, activation, certain=certain)
    found = pf.infer(stored(network), row, "bethe[tol=1e-12]")
    log_p, means = polytrees.exact(network, row)
    assert found.log_likelihood == pytest.approx(log_p, abs=1e-9)
    np.testing.assert_allclose(found.means, means, atol=1e-9)


LOGISTIC = pf.Custom(log_on=lambda x: -jnp.logaddexp(0.0, -x), log_off=lambda x: -jnp.logaddexp(0.0, x))


def chain(size: int) -> np.ndarray:
    return np.diag(np.full(size - 1, 4.0), -1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "weights",
    [
        pytest.param(chain(14), id="one"),
        pytest.param(np.stack([chain(14), -chain(14)]), id="stack", marks=pytest.mark.slow),
    ],
)
def test_parents_are_counted_one_by_one_in_a_wide_dense_network(weights):
    """Fourteen units with one parent each: their states are summed over, and nothing is taken as normal."""
    network = pf.BeliefNetwork(weights, np.full(14, -1.0), LOGISTIC)
    found, right = (pf.infer(network, {13: 1}, method) for method in ("bethe[tol=1e-12]", "exact"))
    assert found.notes == ()
    assert_same(found, right, atol=1e-9)


@pytest.mark.slow
def test_bounds_of_a_wide_dense_network_are_bounds():
    network = pf.BeliefNetwork(chain(14), np.full(14, -1.0), LOGISTIC)
    found = pf.infer(network, {13: 1}, "G1")
    assert found.is_bound
    assert found.notes == ()
    assert -pf.free_energy(network, {13: 1}, found.means, "G1") == pytest.approx(found.log_likelihood, abs=1e-9)


# ---- beliefs next to certainty ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [40.0, 800.0])
@pytest.mark.parametrize(
    ("activation", "weight", "row"), [("sigmoid", -1000.0, [np.nan, 1, 1, 1]), ("noisy_or", 1000.0, [np.nan, 0, 1, 1])]
)
def test_a_cause_that_is_all_but_certain_can_be_off(activation, weight, row, bias):
    W = np.zeros((4, 4))
    W[1:, 0] = weight, 1.0, 0.5
    network = pf.BeliefNetwork(W, [bias, 0.1, 0.2, 0.3], activation)
    found, right = (pf.infer(network, np.array(row), method) for method in ("bethe[tol=1e-12]", "exact"))
    assert_same(found, right, rtol=1e-12, atol=1e-12)
    assert found.means[0] < 1e-15


def test_a_cause_that_is_all_but_certain_among_many():
    """More parents than states are summed over for: by characteristic functions."""
    W = np.zeros((9, 9))
    W[8, :7] = -100.0, 0.5, -0.5, 1.0, 0.3, -2.0, 0.7
    W[7, 0] = 1.0
    network = pf.BeliefNetwork(W, np.r_[40.0, np.zeros(8)])
    found, right = (pf.infer(network, {7: 1, 8: 1}, method) for method in ("bethe[tol=1e-12]", "exact"))
    assert_same(found, right, rtol=1e-10, atol=1e-10)


def test_a_strong_cause_that_is_on_does_not_make_its_effect_impossible_to_be_off():
    network = noisy_or({(1, 0): 50.0, (2, 0): 1.0}, [0.5, 0.1, 0.2])
    found, right = (pf.infer(network, {0: 1, 1: 0}, method) for method in ("bethe", "exact"))
    assert_same(found, right, rtol=1e-12)


# ---- noisy-or at its limits ------------------------------------------------------------------------------------------


def noisy_or(edges: dict[tuple[int, int], float], bias: list[float]) -> pf.BeliefNetwork:
    W = np.zeros((len(bias), len(bias)))
    for (child, parent), weight in edges.items():
        W[child, parent] = weight
    return pf.BeliefNetwork(W, bias, "noisy_or")


def solved(cases: list[tuple[pf.BeliefNetwork, dict]], method: str):
    """All cases in one stack, of a size whose program is there already."""
    networks, evidence = zip(*(cases * 10)[:20], strict=True)
    rows = [{SIZE - 1: NOTHING} | row for row in evidence]
    return pf.infer(stack(networks), rows, method)


def test_tiny_probabilities_keep_their_digits():
    tiny = 1e-12
    cases = [
        (noisy_or({(2, 0): 1.0, (2, 1): 0.5}, [tiny, 3 * tiny, tiny]), {2: 1}),
        (noisy_or({(1, 0): 1.0, (2, 1): 2.0, (3, 1): 0.1}, [tiny, tiny, tiny, tiny]), {2: 1, 3: 0}),
        (noisy_or({(2, 0): 1.0, (2, 1): 0.5, (3, 1): 2.0, (4, 2): 1.0}, [tiny] * 5), {4: 1}),
    ]
    found, right = (solved(cases, method) for method in ("bethe[tol=1e-12]", "exact"))
    np.testing.assert_allclose(found.means, right.means, rtol=1e-9)
    np.testing.assert_allclose(found.log_likelihood, right.log_likelihood, rtol=1e-9)


def test_certain_edges_and_units_without_leak():
    certain = np.inf
    cases = [
        (noisy_or({(2, 0): certain, (2, 1): certain, (3, 1): 0.7}, [0.2, 0.1, 0.0, 0.0]), {2: 1, 3: 0}),
        (noisy_or({(2, 0): certain, (2, 1): 0.4, (3, 1): certain}, [0.2, 0.1, 0.0, 0.3]), {2: 0, 3: 1}),
        (noisy_or({(1, 0): 0.4, (2, 1): 0.3, (3, 2): certain}, [0.2, 0.0, 0.0, 0.0]), {3: 1}),  # all must be on
    ]
    found, right = (solved(cases, method) for method in ("bethe[tol=1e-12]", "exact"))
    assert found.converged.all()
    assert_same(found, right, atol=1e-12)
    np.testing.assert_allclose(found.means[2, :4], 1, rtol=1e-15)


def test_inhibitors_that_leave_a_field_of_zero():
    """No rounding takes a field below 0, however likely it is that all inhibitors are on."""
    cases = [(noisy_or({(1, 0): -0.3, (2, 0): -0.2}, [bias, 0.3, 0.2]), {1: 1, 2: 1}) for bias in (1.0, 20.0, 60.0)]
    found, right = (solved(cases, method) for method in ("bethe[tol=1e-12]", "exact"))
    assert found.converged.all()
    assert_same(found, right, atol=1e-12)
    # Each finding is off for certain where just one of the causes is on: around this loop log-odds grow at every sweep.
    weights = {(2, 0): 0.8, (2, 1): -0.3, (3, 1): 0.5, (3, 0): -0.2, (4, 2): 1.0, (4, 3): 0.7}
    loop = noisy_or(weights, [0.4, 0.5, 0.3, 0.2, 0.1])
    found = pf.infer(loop, {2: 1, 3: 1}, "bethe", throw=False)
    both = pf.infer(loop, {0: 1, 1: 1, 2: 1, 3: 1}, "exact")
    assert found.log_likelihood == pytest.approx(both.log_likelihood, abs=1e-12)
    np.testing.assert_allclose(found.means, both.means, atol=1e-12)


def test_what_cannot_be_is_found_out_by_the_messages():
    """One finding needs a cause that is on, the other needs all of its causes off."""
    network = noisy_or({(2, 0): 1.0, (2, 1): 1.0, (3, 0): np.inf, (3, 1): np.inf}, [0.5, 0.5, 0.0, 0.1])
    rows = [{2: 1, 3: 0, SIZE - 1: NOTHING}, {2: 1, 3: 1, SIZE - 1: NOTHING}] * 10
    networks = stack([network] * 20)
    (part,) = reduce(networks, as_evidence(networks, rows), prune=False).parts
    found = pf.METHODS["bethe"].posterior(part, dtype="float64")
    assert (found.status[::2] == IMPOSSIBLE).all()
    assert np.isposinf(found.free_energy[::2]).all()
    assert np.isfinite(found.free_energy[1::2]).all()
    assert set(pf.infer(networks, rows, "bethe").status) == {Status.IMPOSSIBLE, Status.CONVERGED}


# ---- loops: as good as is known --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("activation", "low", "high", "observed", "mean_error"),
    quick_where(
        lambda case: case[2] in (5, 0.8),
        [
            ("sigmoid", -1, 1, "off", 0.0005),
            ("sigmoid", -5, 5, "off", 0.006),
            ("noisy_or", 0, 0.25, "likeliest", 0.0),
            ("noisy_or", 0, 0.25, "unlikeliest", 0.0042),
            ("noisy_or", 0.2, 0.8, "likeliest", 0.0057),
            ("noisy_or", 0.2, 0.8, "unlikeliest", 0.0016),
        ],
    ),
)
def test_ensembles_of_the_paper(activation, low, high, observed, mean_error):
    """E = -G / ln Z - 1; what an independent prototype measured, within the error of 500 networks."""
    networks = pf.ensembles.layered((2, 4, 6), low, high, 500, 1, activation)
    rows, _, log_z = observe(networks, observed)
    found = pf.infer(networks, rows, "bethe")
    assert found.converged.all()
    error = np.abs(found.log_likelihood / log_z - 1)
    assert abs(error.mean() - mean_error) < 4 * error.std() / np.sqrt(len(error)) + 1e-4
    assert found.num_steps.max() <= 200


# ---- the same, however it is called ----------------------------------------------------------------------------------

LAYERED = zoo.layered((3, 4), -2, 2, "sigmoid", 1)
ROW = np.array([np.nan, np.nan, np.nan, 1, 0, np.nan, 1])


def test_nothing_but_barren_units_is_predicted_exactly():
    """Of a network without loops, with nothing observed, all means are those of the prior."""
    network, _ = polytrees.polytree(7, 3, 7, "sigmoid")
    _, means = polytrees.exact(network, np.full(7, np.nan))
    found = pf.infer(zoo.as_dense(network), None, "bethe")
    np.testing.assert_allclose(found.means, means, atol=1e-12)
    assert found.log_likelihood == 0


@pytest.mark.parametrize(
    "network",
    [pf.BeliefNetwork(sp.csr_array((2, 2)), [1.0, -2.0]), pf.BeliefNetwork.layered([], [[1.0, -2.0]])],
    ids=["sparse", "layered"],
)
def test_units_without_any_edges(network):
    found = pf.infer(network, {0: 0}, "bethe")
    assert found.log_likelihood == pytest.approx(-np.logaddexp(0, 1))
    assert found.means[1] == pytest.approx(1 / (1 + np.exp(2)))


# ---- inside a trace --------------------------------------------------------------------------------------------------


def log_likelihood(parameters, network, row, method):
    return pf.infer(network.with_parameters(parameters), row, method, throw=False).log_likelihood


@pytest.mark.parametrize("activation", quick_where(["noisy_or"], ["sigmoid", "noisy_or"]))
def test_derivatives_of_the_log_likelihood_are_exact_without_loops(activation):
    with jax.enable_x64(True):
        tree, row = polytrees.polytree(3, 3, 6, activation)
        network = zoo.as_dense(tree)
        by_bethe, by_exact = (
            jax.jit(jax.grad(lambda p, method=method: log_likelihood(p, network, row, method)))(network.parameters)
            for method in ("bethe[tol=1e-12]", "exact")
        )
        np.testing.assert_allclose(by_bethe[1], by_exact[1], atol=1e-9)
        edges = network.weights != 0  # an edge that is none closes a loop
        np.testing.assert_allclose(by_bethe[0][0][edges], by_exact[0][0][edges], atol=1e-9)


def test_fields_beyond_the_usual_range_are_not_a_number_in_a_trace():
    W = np.zeros((14, 14))
    W[13, :13] = 100, -90, 80, -70, 60, 50, -40, 35, -33, 71, -67, 20, -10
    network, row = pf.BeliefNetwork(W, np.r_[np.zeros(13), 3.0]), np.r_[np.full(13, np.nan), 1.0]
    small = network.with_parameters(((W / 10,), network.bias))
    with jax.enable_x64(True):
        traced = jax.jit(lambda parameters: log_likelihood(parameters, network, row, "bethe"))
        found = traced(network.parameters), traced(small.parameters)
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(pf.infer(small, row, "exact").log_likelihood, abs=1e-9)


@pytest.mark.slow
def test_derivatives_of_means_are_refused():
    with pytest.raises(MethodDoesNotApply, match="derivatives of its means"):
        jax.grad(lambda h: pf.infer(LAYERED.with_parameters((LAYERED.parameters[0], h)), ROW, "bethe").means[0])(
            jnp.asarray(LAYERED.bias)
        )


# ---- spelling --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["bethe", "bethe[damping=0.3]", "bethe[tol=1e-10,max_steps=20,damping=0.5]"])
def test_spelling_reads_back(text):
    method = pf.parse_method(text)
    assert str(method) == text
    assert pf.parse_method(str(method)) == method
    assert not method.is_bound


@pytest.mark.parametrize(
    ("text", "message"), [("tol=0", "tol must be positive"), ("max_steps=0", "max_steps"), ("damping=1", "damping < 1")]
)
def test_options_that_cannot_be(text, message):
    with pytest.raises(InvalidMethod, match=message):
        pf.parse_method(f"bethe[{text}]")
