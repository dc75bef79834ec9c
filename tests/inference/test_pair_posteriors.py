"""How units vary together: beside a plain sum over all states, and how means follow soft evidence."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.errors import InvalidInput
from tests.boltzmann.test_inference import MACHINES
from tests.mixed_networks import random_units
from tests.questions.test_joint import NETWORKS, table_of
from tests.zoo import as_edges, dense

NET = dense(7, 0.2, 0.8, "noisy_or", 6, share=0.6)  # summed out, free and barren units
SIGMOID = dense(5, -1, 1, "sigmoid", 2)
SEEN = {3: 1, 5: 1}


def covariance_of(network, evidence) -> np.ndarray:
    """By the sum over all states."""
    hidden = [unit for unit in range(network.size) if not isinstance(evidence.get(unit), int)]
    C = np.zeros((network.size,) * 2)
    for i in hidden:
        for j in hidden:
            table = table_of(network, evidence, [i, j] if i != j else [i])
            on = [table.sum(axis=1)[1], table.sum(axis=0)[1]] if i != j else [table[1]] * 2
            C[i, j] = table[(1,) * table.ndim] - on[0] * on[1]
    return C


def slopes(network, evidence, units, method, step=1e-4) -> np.ndarray:
    """d means / d log-odds of some units, (units, n), by finite differences; in one batch, as each shape compiles."""
    ends = (step, -step)
    rows = [evidence | {unit: pf.Likelihood(np.exp(t), 1.0)} for unit in units for t in ends]
    up, down = pf.infer(network, rows, method).means.reshape(len(units), 2, -1).swapaxes(0, 1)
    return (up - down) / (2 * step)


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("seen", [{}, {0: 1}, {1: pf.Likelihood(0.9, 0.2)}])
def test_exact_covariances_are_sums_over_states(kind, seen):
    network = NETWORKS[kind]()
    for method in ("exact", "auto"):
        pairs = pf.infer(network, seen, method).pairs()
        np.testing.assert_allclose(pairs.covariance, covariance_of(network, seen), rtol=1e-9, atol=1e-14)
        assert pairs.accuracy is pf.Accuracy.EXACT
        assert "observed as well" in pairs.how


def test_tables_of_pairs_are_joint_answers():
    solution = pf.infer(NET, SEEN)
    pairs, table = solution.pairs(["2", "0"]), pf.joint(NET, SEEN, [2, 0]).table
    np.testing.assert_allclose(pairs["2", "0"], table, atol=1e-14)
    np.testing.assert_allclose(pairs["0", "2"], table.T, atol=1e-14)
    assert pairs.units == ("2", "0")
    np.testing.assert_array_equal(solution.covariance(units=[2, 0]), pairs.covariance)
    with pytest.raises(InvalidInput, match="'5' is not among the units of these pairs: 2, 0"):
        pairs["2", "5"]


@pytest.mark.parametrize(
    ("network", "evidence"),
    [
        (NET, SEEN),
        pytest.param(SIGMOID, {3: 1, 4: 0}, marks=pytest.mark.slow),  # ten seconds to compile, as that of edges
        (as_edges(SIGMOID), {3: 1, 4: 0}),
        (as_edges(dense(8, 0, 1, "noisy_or", 1)), {7: 1, 6: 1, 5: 0}),
        (pf.BeliefNetwork.of_units(random_units(3, 7)), {5: 1}),
        (pf.BeliefNetwork([[0, 0, 0], [2.0, 0, 0], [np.inf, 1, 0]], [0.3, 0.2, 0], "noisy_or"), {2: 1}),
        (NET, {0: 1, 3: 1, 5: 1}),
    ],
    ids=["noisy-or", "sigmoid", "edges", "noisy-or edges", "tables", "certain edges", "observed roots"],
)
@pytest.mark.parametrize("method", ["bethe[tol=1e-13]", "conditioned[bethe[tol=1e-13],k=1]"])
def test_those_of_bethe_are_how_its_means_follow_log_odds(network, evidence, method):
    pairs = pf.infer(network, evidence, method).pairs()
    hidden = [unit for unit in range(network.size) if unit not in evidence]
    some = [hidden[0], hidden[len(hidden) // 2], hidden[-1]]
    np.testing.assert_allclose(pairs.covariance[some], slopes(network, evidence, some, method), atol=1e-8)
    assert not pairs.covariance[list(evidence)].any()


@pytest.mark.parametrize("method", ["bethe[tol=1e-13]", "G1[tol=1e-13]", "G3[tol=1e-13,solve=yes]"])
@pytest.mark.parametrize("name", ["restricted", "dense, spins, temperature"])
def test_those_of_machines_too(name, method):
    machine = MACHINES[name]
    known = {0: machine.values[1]}
    C = pf.infer(machine, known, method).covariance()
    some = [1, machine.size - 1]
    np.testing.assert_allclose(C[some], slopes(machine, known, some, method), atol=1e-7)


def test_belief_propagation_on_a_tree_varies_as_it_must():
    tree = pf.BeliefNetwork(
        [[0, 0, 0, 0], [1.0, 0, 0, 0], [2.0, 0, 0, 0], [0, 0, 0.7, 0]], [-0.3, 0.1, -1, 0.2], "sigmoid"
    )
    for evidence in ({}, {3: 1}, {1: pf.Likelihood(0.9, 0.2)}):
        found = pf.infer(tree, evidence, "bethe").covariance()
        np.testing.assert_allclose(found, covariance_of(tree, evidence), atol=1e-9)


@pytest.mark.parametrize(
    ("method", "within", "how"),
    [
        ("findings[k=1]", 0.01, "observed as well"),
        ("mixture[3]", 0.01, "observed as well"),
        ("G1", 0.05, "linear response"),
        ("conditioned[bethe,k=1]", 0.02, "conditioned on"),
    ],
)
def test_every_method_is_near_and_says_how(method, within, how):
    network, seen = (SIGMOID, {3: 1, 4: 0}) if method.startswith("conditioned") else (NET, SEEN)
    pairs = pf.infer(network, seen, method).pairs()
    np.testing.assert_allclose(pairs.covariance, covariance_of(network, seen), atol=within)
    assert how in pairs.how


def test_those_of_draws_have_errors():
    pairs = pf.infer(NET, SEEN, "gibbs[seed=0]").pairs()
    assert pairs.standard_error is not None
    assert np.all(abs(pairs.covariance - covariance_of(NET, SEEN)) <= 6 * pairs.standard_error + 1e-12)
    assert 0 < pairs.standard_error.max() < 0.02
    assert pairs.accuracy is pf.Accuracy.ESTIMATE


@pytest.mark.parametrize("method", ["auto", "G1", "bethe"])
def test_a_batch_is_its_rows(method):
    rows = [{}, SEEN, {0: 1, 3: 0}]
    batch = pf.infer(NET, rows, method)
    C = batch.covariance()
    assert C.shape == (3, 7, 7)
    for row, found in zip(rows, C, strict=True):
        np.testing.assert_allclose(found, pf.infer(NET, row, method).covariance(), atol=1e-7)
    assert batch.pairs([0, 1])["0", "1"].shape == (3, 2, 2)


def test_a_stack_is_its_networks():
    stack = pf.ensembles.layered((2, 3), -1, 1, 2, 0, "sigmoid")
    C = pf.infer(stack, {4: 1}, "exact").covariance()
    np.testing.assert_allclose(C[1], pf.infer(stack.take(1), {4: 1}, "exact").covariance(), atol=1e-14)


def test_rows_without_an_answer_have_no_numbers():
    network = pf.BeliefNetwork([[0, 0, 0], [2.0, 0, 0], [0, 1, 0]], [0.1, 0, 0], "noisy_or")
    C = pf.infer(network, [{2: 1}, {0: 0, 2: 1}]).covariance()
    assert not np.isnan(C[0]).any()
    assert np.isnan(C[1]).all()


def test_a_large_network_is_cut_to_what_matters_first():
    rng, W = np.random.default_rng(0), np.zeros((660, 660))
    for finding in range(60, 660):
        W[finding, rng.choice(60, 9, replace=False)] = 1.0
    network = pf.BeliefNetwork(sp.csr_array(W), np.full(660, 0.03), "noisy_or")
    evidence, units = {600: 1, 601: 1, 602: 0}, [3, 17, 650]
    right = pf.infer(network, evidence, "exact").pairs(units)
    table = pf.joint(network, evidence, [3, 650]).table
    np.testing.assert_allclose(right["3", "650"], table, atol=1e-13)
    for method in ("bethe", "G1"):
        np.testing.assert_allclose(
            pf.infer(network, evidence, method).covariance(units=units), right.covariance, atol=0.05
        )


def test_products_are_those_of_the_matrix():
    z = np.arange(7.0)
    for method in ("exact", "bethe", "G1"):
        solution = pf.infer(NET, SEEN, method)
        np.testing.assert_allclose(solution.covariance_product(z), solution.covariance() @ z, atol=1e-8)
    with pytest.raises(InvalidInput, match=r"one number for each unit, \(7,\); got \(3,\)"):
        pf.infer(NET, SEEN).covariance_product(np.ones(3))
    with pytest.raises(InvalidInput, match="single row of evidence"):
        pf.infer(NET, [SEEN, {}]).covariance_product(z)


def test_too_much_is_refused_with_its_size(monkeypatch):
    network = pf.BeliefNetwork(np.zeros((300, 300)), np.full(300, 0.1), "noisy_or")
    solution = pf.infer(network, [{}] * 1000)
    with pytest.raises(InvalidInput, match=r"1,000 rows of 300 units would need 90,000,000, or 0.7 GiB. Pass units"):
        solution.covariance()
    monkeypatch.setattr("plefka.inference.pair_posteriors.MOST_SECONDS", 1e-9)
    with pytest.raises(InvalidInput, match="exact covariances of 5 units would take up to"):
        pf.infer(NET, SEEN, "exact").covariance()


def test_exact_tables_are_not_below_zero_by_rounding():
    pairs = pf.infer(pf.example("espresso"), {}).pairs(["limescale", "weak_pump"])
    above = replace(pairs, means=np.array([0.3, 0.3]), covariance=np.full((2, 2), 0.21 + 1e-15))
    assert (above["limescale", "weak_pump"] >= 0).all()
    assert (replace(above, accuracy=pf.Accuracy.ESTIMATE)["limescale", "weak_pump"] < 0).any()
