"""Networks: a probability for every state, samples that agree with it, and storage that grows with the edges only."""

import itertools
import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.errors import InvalidEvidence
from plefka.networks.edges import Edges
from tests.quick import quick_where

NAMES = ("a", "b", "c", "d", "e", "f")


def random_weights(low, high, seed=0):
    rng = np.random.default_rng(seed)
    weights = np.tril(rng.uniform(low, high, (6, 6)), -1) * (rng.random((6, 6)) < 0.7)
    order = rng.permutation(6)
    return weights[np.ix_(order, order)], rng.uniform(max(low, 0.05), high, 6)


def layers():
    rng = np.random.default_rng(1)
    return [rng.normal(size=(2, 1)), rng.normal(size=(3, 2))], [rng.normal(size=n) for n in (1, 2, 3)]


def sparse(weights, bias):
    return sp.coo_array(weights), bias


KINDS = {
    "dense": lambda: pf.BeliefNetwork(*random_weights(-2, 2), names=NAMES),
    "sparse": lambda: pf.BeliefNetwork(*sparse(*random_weights(0, 1)), "noisy_or"),
    "layered": lambda: pf.BeliefNetwork.layered(*layers(), names=NAMES),
    "custom": lambda: pf.BeliefNetwork(*random_weights(-2, 2), lambda x: 0.5 + jnp.arctan(x) / jnp.pi),
}
ALL_STATES = np.array(list(itertools.product((0, 1), repeat=6)))
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_probabilities_of_all_states_add_up_to_one(kind):
    assert np.exp(KINDS[kind]().log_joint(ALL_STATES)).sum() == pytest.approx(1, abs=1e-12)


@every_kind
def test_log_joint_of_one_state_is_a_number(kind):
    network = KINDS[kind]()
    one = network.log_joint(ALL_STATES[37])
    assert isinstance(one, float)
    assert one == pytest.approx(network.log_joint(ALL_STATES)[37], rel=1e-14)


def assert_agree(samples, means, count):
    error = np.sqrt(means * (1 - means) / count)
    assert np.all(np.abs(samples.mean(0) - means) <= 4 * error + 1e-12)


@every_kind
@pytest.mark.parametrize("evidence", [None, {0: 1}, {1: 1, 4: 0}], ids=["free", "one", "two"])
def test_samples_agree_with_exact_means(kind, evidence):
    network, count = KINDS[kind](), 20_000
    samples = network.sample(seed=5, count=count, evidence=evidence)
    assert samples.shape == (count, 6)
    assert set(np.unique(samples)) <= {0, 1}
    assert_agree(samples, pf.infer(network, evidence, "exact").means, count)


def test_samples_are_those_of_their_seed():
    network = KINDS["dense"]()
    first, again, other = (network.sample(seed, 100) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_samples_know_more_than_the_means():
    """A child that copies its parent does so in every single sample."""
    network = pf.BeliefNetwork([[0, 0], [60, 0]], [0, -30])
    samples = network.sample(0, 1000)
    np.testing.assert_array_equal(samples[:, 0], samples[:, 1])
    assert 0 < samples[:, 0].mean() < 1


REPRS = {
    "dense": "<BeliefNetwork: 6 sigmoid units, 36 weights, a, b, c, ...>",
    "sparse": f"<BeliefNetwork: 6 noisy_or units, {np.count_nonzero(random_weights(0, 1)[0])} edges>",
    "layered": "<BeliefNetwork: 1 x 2 x 3 sigmoid units, 8 weights, a, b, c, ...>",
    "custom": "<BeliefNetwork: 6 custom units, 36 weights>",
}


@every_kind
def test_repr_says_what_it_is(kind):
    assert repr(KINDS[kind]()) == REPRS[kind]


def test_repr_of_a_stack():
    stack = pf.ensembles.layered((2, 4, 6), -1, 1, 1000, seed=0)
    assert repr(stack) == "<BeliefNetwork: 1,000 networks of 2 x 4 x 6 sigmoid units, 32 weights>"


def test_units_are_found_by_name_and_by_index():
    network = KINDS["dense"]()
    assert network.names == NAMES
    assert [network.index(name) for name in NAMES] == [network.index(k) for k in range(6)] == list(range(6))
    with pytest.raises(InvalidEvidence, match=r"there is no unit 'aa' in this network\. Did you mean 'a'\?"):
        network.index("aa")


def test_units_without_names_are_called_by_their_index():
    network = KINDS["sparse"]()
    assert network.names == ("0", "1", "2", "3", "4", "5")
    assert network.index("4") == network.index(4) == 4


def test_names_that_are_digits_are_names_first():
    network = pf.BeliefNetwork(np.zeros((2, 2)), [0, 0], names=("1", "0"))
    assert (network.index("0"), network.index(0)) == (1, 0)


@every_kind
def test_weights_come_back_in_the_form_they_were_given(kind):
    network = KINDS[kind]()
    weights = network.weights
    again = (
        pf.BeliefNetwork.layered(weights, np.split(network.bias, [1, 3]))
        if kind == "layered"
        else pf.BeliefNetwork(weights, network.bias, network.activation)
    )
    np.testing.assert_array_equal(network.log_joint(ALL_STATES), again.log_joint(ALL_STATES))


@every_kind
def test_with_parameters_changes_the_numbers_only(kind):
    network = KINDS[kind]()
    same = network.with_parameters(network.parameters)
    half = network.with_parameters(jax.tree.map(lambda p: p / 2, network.parameters))
    np.testing.assert_array_equal(network.log_joint(ALL_STATES), same.log_joint(ALL_STATES))
    np.testing.assert_array_equal(half.bias, network.bias / 2)
    assert half.names == network.names
    assert np.exp(half.log_joint(ALL_STATES)).sum() == pytest.approx(1, abs=1e-12)
    assert np.abs(half.log_joint(ALL_STATES) - network.log_joint(ALL_STATES)).max() > 0.01


class TestEnsembles:
    def test_shape_and_range(self):
        stack = pf.ensembles.layered((2, 4, 6), -3, 2, 500, seed=1)
        assert [W.shape for W in stack.weights] == [(500, 4, 2), (500, 6, 4)]
        assert stack.bias.shape == (500, 12)
        assert (stack.stack, stack.layers) == (500, (2, 4, 6))
        numbers = np.concatenate([W.ravel() for W in (*stack.weights, stack.bias)])
        assert -3 <= numbers.min() < -2.99
        assert 1.99 < numbers.max() <= 2
        assert abs(numbers.mean() + 0.5) < 4 * 5 / np.sqrt(12 * numbers.size)

    def test_seed_decides(self):
        first, again, other = (pf.ensembles.layered((2, 3), 0, 1, 4, seed, "noisy_or") for seed in (7, 7, 8))
        np.testing.assert_array_equal(first.bias, again.bias)
        np.testing.assert_array_equal(first.weights[0], again.weights[0])
        assert (first.weights[0] != other.weights[0]).all()
        assert first.activation.name == "noisy_or"


# ---- size ------------------------------------------------------------------------------------------------------------


def many_chains(units=200_000, length=20):
    """Chains of 20 units, and a hub that is a parent of every chain's first unit."""
    child = np.arange(1, units)
    parent = np.where(child % length == 1, 0, child - 1)
    weights = sp.csr_array((np.full(units - 1, 0.5), (child, parent)), shape=(units, units))
    return pf.BeliefNetwork(weights, np.zeros(units))


def two_wide_layers():
    rng = np.random.default_rng(0)
    sizes = (20_000, 10, 20_000)
    weights = [rng.normal(0, 0.01, (10, 20_000)), rng.normal(0, 0.01, (20_000, 10))]
    return pf.BeliefNetwork.layered(weights, [np.zeros(n) for n in sizes])


@pytest.mark.slow
@pytest.mark.parametrize("make", [many_chains, two_wide_layers])
def test_large_networks_stay_linear_in_their_edges(make):
    tracemalloc.start()
    network = make()
    rows = np.full(network.size, np.nan)
    rows[1::2] = 1.0
    solution = pf.infer(network, rows, "G12")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert solution.converged
    assert max(np.size(leaf) for leaf in jax.tree.leaves(network)) <= network.num_edges + network.size
    assert peak < 400 * (network.num_edges + network.size)  # bytes


# ---- buckets ---------------------------------------------------------------------------------------------------------


def with_hubs(units, hub, seed=0):
    """Unit 0 is a parent of `hub` others, the last unit a child of as many; unit 1 has no edge at all."""
    rng = np.random.default_rng(seed)
    weights = sp.random_array((units, units), density=2 / units, rng=rng, format="lil")
    weights = sp.lil_array(sp.tril(weights, -1))
    weights[2 : 2 + hub, 0] = rng.normal(size=(hub, 1))
    weights[units - 1, units - 1 - hub : units - 1] = rng.normal(size=(1, hub))
    weights[1, :] = 0
    weights[:, 1] = 0
    return sp.csr_array(weights)


def open_edges(weights):
    return Edges.from_scipy(weights).open(1, 1.0)


@jax.jit
def forwards_and_back(edges, z, back):
    sums, pull_back = jax.vjp(edges.power_sums, *z)
    return sums, pull_back(back)


@pytest.mark.parametrize(("units", "hub"), quick_where([(50, 40)], [(50, 40), (5_200, 5_000)]))
def test_power_sums_are_sparse_products(units, hub):
    weights = with_hubs(units, hub)
    z, back = np.random.default_rng(1).normal(size=(2, 4, units, 3))
    with jax.enable_x64(True):
        sums, transposed = forwards_and_back(open_edges(weights), tuple(z), list(back))
    for k in range(4):
        power = sp.csr_array((weights.data ** (k + 1), weights.indices, weights.indptr), shape=weights.shape)
        np.testing.assert_allclose(sums[k], power @ z[k], rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(transposed[k], power.T @ back[k], rtol=1e-11, atol=1e-11)
    assert not np.asarray(sums[0])[1].any()


@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_gradient_of_power_sums_by_the_weights(power):
    weights = with_hubs(50, 40)
    dense = pf.BeliefNetwork(weights.toarray(), np.zeros(50)).storage
    edges = pf.BeliefNetwork(weights, np.zeros(50)).storage
    z = np.random.default_rng(2).normal(size=(50, 3))
    terms = [*[None] * (power - 1), z]

    def total(w, storage):
        replaced = storage.map_weights(lambda _: w)
        return jnp.sum(jnp.sin(replaced.open(power, 1.0).power_sums(*terms)[power - 1]))

    with jax.enable_x64(True):
        terms = [None if term is None else jnp.asarray(term) for term in terms]
        gradient = jax.jit(jax.grad(total))
        by_matrix = gradient(jnp.asarray(weights.toarray()), dense)
        by_edge = gradient(jnp.asarray(weights.data), edges)
    child, parent = weights.nonzero()
    np.testing.assert_allclose(by_edge, by_matrix[child, parent], rtol=1e-10, atol=1e-12)
