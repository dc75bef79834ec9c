"""Reduction: the part of a network that the evidence speaks of gives the answers of the whole."""

import gc
import weakref
from itertools import pairwise

import jax
import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.exact import barren
from plefka.methods.posterior import normalised
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import as_evidence
from plefka.reduction import by_row, reduce
from plefka.reduction.certainty import certain
from plefka.runtime import value_cache
from tests.quick import quick_where


def two_layers(seed: int, causes: int = 12, findings: int = 20) -> pf.BeliefNetwork:
    """Causes with findings, some of them popular, sparse; no leak is zero."""
    rng = np.random.default_rng(seed)
    there = rng.random((findings, causes)) < np.where(np.arange(causes) < 2, 0.8, 0.2)
    W = np.zeros((causes + findings, causes + findings))
    W[causes:, :causes] = np.where(there, rng.uniform(0.2, 2, there.shape), 0)
    bias = np.r_[rng.uniform(0.05, 0.5, causes), rng.uniform(0.05, 0.2, findings)]
    return pf.BeliefNetwork(sp.csr_array(W), bias, "noisy_or")


def deep(seed: int) -> pf.BeliefNetwork:
    rng = np.random.default_rng(seed)
    W = np.tril(np.where(rng.random((14, 14)) < 0.3, rng.uniform(0.2, 2, (14, 14)), 0), -1)
    return pf.BeliefNetwork(sp.csr_array(W), rng.uniform(0.05, 0.4, 14), "noisy_or")


@pytest.mark.parametrize(("layers", "sizes"), [((50, 100, 200), (52, 104, 208)), ((5, 7, 40), (12, 12, 48))])
def test_layers_are_filled_up_to_shared_sizes_unless_there_are_many_weights(layers, sizes):
    network = pf.ensembles.layered(layers, -1, 1, 1, 0, "sigmoid").take(0)
    row = np.r_[np.full(sum(layers[:-1]), np.nan), np.zeros(layers[-1])]
    (part,) = reduce.reduce(network, as_evidence(network, row), prune=True).parts
    assert part.question.storage.table_shapes == list(pairwise(sizes))


PATIENTS = two_layers(0)
CASES = {
    "one patient": (PATIENTS, {12: 1, 15: 1, 19: 1, 20: 0, 13: 0}),
    "soft evidence": (PATIENTS, {12: 1, 14: 1, 15: pf.Likelihood(0.9, 0.2), 16: 0, 3: pf.Likelihood(0.1, 0.3)}),
    "a cause is known": (PATIENTS, {12: 1, 14: 1, 16: 0, 0: 1, 5: 0}),
    "a batch": (PATIENTS, [{12: 1, 13: 1, 16: 0}, {12: 0, 13: 1, 16: 0, 0: pf.Likelihood(0.5, 0.9)}, {}]),
    "three layers and more": (deep(4), {9: 1, 10: 1, 5: 0}),
}
METHODS = ["G12", "G22", "G1", "G2", "bethe", "conditioned[G2,k=2]", "mixture[2,tol=1e-8]"]
PAIRS = [(method, case) for method in METHODS for case in CASES]


def is_quick(pair: tuple[str, str]) -> bool:
    """All cases of one method, and one case of two others."""
    return pair[0] == "bethe" or (pair[1] == "soft evidence" and pair[0] in ("G12", "G1"))


@pytest.mark.parametrize(("method", "case"), quick_where(is_quick, PAIRS))
def test_a_part_answers_for_the_whole(case, method, monkeypatch):
    """What is cut out and laid out anew has the answers of all units with masks, as they are inside a trace."""
    network, evidence = CASES[case]
    found = pf.infer(network, evidence, method, throw=False)
    monkeypatch.setattr(reduce, "is_worth_it", lambda *_: False)
    whole = pf.infer(network, evidence, method, throw=False)
    np.testing.assert_allclose(found.log_likelihood, whole.log_likelihood, atol=1e-7)
    np.testing.assert_allclose(found.means, whole.means, atol=1e-5)
    assert found.is_bound == whole.is_bound
    assert found.names == whole.names
    np.testing.assert_array_equal(found.observed, whole.observed)


@pytest.mark.parametrize(
    "method",
    quick_where(["G12", "bethe"], ["G12", "bethe", "G1", "conditioned[bethe,k=2]", METHODS[-1]]),
)
def test_rows_that_speak_of_different_parts_are_a_loop(method, monkeypatch):
    # A mixture ends where its bound no longer rises, to 1e-11: of its means that says the root of it.
    near = 2e-5 if method.startswith("mixture") else 1e-6
    monkeypatch.setattr(by_row, "FEW_EDGES", 0)
    rng = np.random.default_rng(0)
    for network in (two_layers(3), deep(4)):
        rows = np.where(rng.random((7, network.size)) < 0.25, rng.integers(0, 2, (7, network.size)) * 1.0, np.nan)
        rows[:, :3] = np.nan
        found = pf.infer(network, rows, method)
        for k, row in enumerate(rows):
            alone = pf.infer(network, row, method, throw=False)
            assert found.log_likelihood[k] == pytest.approx(alone.log_likelihood, abs=1e-7)
            np.testing.assert_allclose(found.means[k], alone.means, atol=near)


@pytest.mark.parametrize("method", ["G1"])
def test_barren_units_of_barren_parents_are_the_same_inside_a_trace(method, monkeypatch):
    """Where a method knows dependent parents they are summed over outside a trace only; here nothing is."""
    network, evidence = deep(4), {0: 1}  # all that follows is barren, most of it of barren parents
    monkeypatch.setattr(barren, "MOST_PLANNED", 0)
    found = pf.infer(network, evidence, method)
    with jax.enable_x64(True):
        row = np.where(np.arange(network.size) == 0, 1.0, np.nan)
        inside = jax.jit(lambda row: pf.infer(network, row, method).means)(row)
    np.testing.assert_allclose(inside, found.means, atol=1e-9)


def test_evidence_of_similar_size_shares_its_shapes():
    network = two_layers(0)
    shapes = set()
    for seen in ({12: 1, 15: 1, 20: 0}, {13: 1, 16: 1, 17: 1, 21: 0}):
        (part,) = reduce.reduce(network, as_evidence(network, seen)).parts
        shapes.add(tuple(leaf.shape for leaf in jax.tree.leaves(part.question)))
    assert len(shapes) == 1


def test_what_is_left_is_small():
    """Findings that are off or unknown, and causes of one finding, are gone."""
    network = two_layers(0)
    (part,) = reduce.reduce(network, as_evidence(network, {12: 1, 15: 1, 20: 0})).parts
    kept = set(part.units[part.units >= 0].tolist())
    assert {12, 15} <= kept <= {*range(12), 12, 15}
    W = network.storage.to_sparse().toarray()
    assert kept - {12, 15} == set(np.flatnonzero((W[12] > 0) & (W[15] > 0)))


def test_a_finding_that_rules_its_cause_out_is_not_folded_away():
    W = np.zeros((5, 5))
    W[3, :2], W[4, :3], W[2, 1] = [np.inf, 0.5], [1, 1, 0.7], 0.4
    network = pf.BeliefNetwork(sp.csr_array(W), [0.3, 0.2, 0.1, 0.1, 0.1], "noisy_or")
    for method in ("G1", "bethe"):
        found = pf.infer(network, {3: 0, 4: 1}, method)
        assert found.means[0] == 0
        without = pf.BeliefNetwork(np.where(np.isinf(W), 0, W), network.bias, "noisy_or")
        known = pf.infer(without, {0: 0, 3: 0, 4: 1}, method)  # the same as if it had been observed
        assert found.log_likelihood == pytest.approx(known.log_likelihood, rel=1e-9)


# ---- what is certain -------------------------------------------------------------------------------------------------


CERTAIN = np.zeros((5, 5))
CERTAIN[1, 0], CERTAIN[2, 0], CERTAIN[3, 2], CERTAIN[4, 1] = np.inf, 1.0, np.inf, 2.0


@pytest.mark.parametrize(
    ("bias", "seen", "known"),
    [
        ([0.3, 0.1, 0.1, 0.1, 0.1], {1: 0}, {0: 0, 1: 0}),  # a cause that did not do what it must is not there
        ([0.3, 0.1, 0.1, 0.1, 0.1], {0: 1}, {0: 1, 1: 1}),
        ([0.3, 0.1, 0.1, 0.1, 0.1], {3: 0}, {2: 0, 3: 0}),
        ([0.0, 0.0, 0.1, 0.1, 0.0], {}, {0: 0, 1: 0, 4: 0}),  # nothing comes from nothing
        ([0.3, 0.1, 0.1, 0.1, 0.1], {4: 1}, {4: 1}),
    ],
)
def test_what_follows_for_certain_is_known(bias, seen, known):
    network = pf.BeliefNetwork(CERTAIN, bias, "noisy_or")
    row = np.full((1, 5), np.nan)
    row[0, list(seen)] = list(seen.values())
    found = certain(EdgeList.of(network.storage), network.bias[:, None], network.activation, row.T).known[:, 0]
    assert {unit: found[unit] for unit in np.flatnonzero(~np.isnan(found))} == known
    for method in ("exact", "G1", "bethe", "mixture[2]"):
        solution = pf.infer(network, seen, method)
        assert all(solution.means[unit] == state for unit, state in known.items())
        assert set(np.flatnonzero(solution.observed)) == set(seen)


@pytest.mark.parametrize("method", ["G1", "mixture[2]", "conditioned[G1,k=1]"])
def test_a_certain_edge_that_contradicts_breaks_no_bound(method):
    W = np.zeros((5, 5))
    W[1, 0], W[2:, 0] = np.inf, 2.0
    network = pf.BeliefNetwork(W, [0.1, 0.1, 1e-6, 1e-6, 1e-6], "noisy_or")
    seen = {1: 0, 2: 1, 3: 1, 4: 1}
    assert pf.infer(network, seen, method).log_likelihood <= pf.infer(network, seen, "exact").log_likelihood + 1e-9


@pytest.mark.parametrize("method", ["G1", "G12", "bethe"])
def test_a_finding_that_another_row_explains_says_nothing(method):
    """Unit 2 is on for certain in the first row alone, where it is no part of what is conditioned."""
    W = np.zeros((5, 5))
    W[2, :2], W[3, :2], W[4, :2] = np.inf, [0.4, 0.7], [0.5, 0.9]
    network = pf.BeliefNetwork(W, [0.5, 2.0, 0.1, 0.2, 0.3], "noisy_or")
    rows = np.array([[1, np.nan, 1, 1, 1], [np.nan, np.nan, 1, 1, 1]])
    together = pf.infer(network, rows, f"conditioned[{method},k=1]")
    alone = [pf.infer(network, row, f"conditioned[{method},k=1]") for row in rows]
    np.testing.assert_allclose(together.means, [found.means for found in alone], atol=1e-7)
    np.testing.assert_allclose(together.log_likelihood, [found.log_likelihood for found in alone], atol=1e-7)


def test_soft_evidence_of_a_unit_that_is_certain_counts():
    network = pf.BeliefNetwork(CERTAIN, [0.3, 0.1, 0.1, 0.1, 0.1], "noisy_or")
    seen = {0: 1, 1: pf.Likelihood(0.8, 0.1)}
    found = [pf.infer(network, seen, m).log_likelihood for m in ("exact", "G1", "bethe")]
    np.testing.assert_allclose(found, pf.infer(network, {0: 1}, "exact").log_likelihood + np.log(0.8), rtol=1e-9)


def test_a_certain_edge_between_hidden_units_makes_no_strict_bound():
    network = pf.BeliefNetwork(CERTAIN, [0.3, 0.1, 0.1, 0.1, 0.1], "noisy_or")
    found, right = (pf.infer(network, {4: 1, 2: 1}, method) for method in ("G1", "exact"))
    assert not found.is_bound
    assert any("probability one" in note for note in found.notes)
    assert right.is_bound


def test_shares_where_no_component_has_any_are_equal():
    """Such as those of a row of a batch that is impossible: units outside the part get numbers all the same."""
    shares = normalised(np.array([[0.0, np.log(3)], [-np.inf, -np.inf], [-np.inf, 2.0]]), axis=1)
    np.testing.assert_allclose(shares, [[0.25, 0.75], [0.5, 0.5], [0, 1]])


def test_a_huge_network_can_be_asked_without_evidence(monkeypatch):
    """A single row of a huge network is reduced alone, which has nothing to start from where nothing is observed."""
    alone = pf.infer(PATIENTS, {})
    monkeypatch.setattr(by_row, "FEW_EDGES", 0)
    monkeypatch.setattr(by_row, "MANY_EDGES", 0)
    found = pf.infer(PATIENTS, {})
    assert found.log_likelihood == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(found.means, alone.means, rtol=1e-12)


def test_the_edges_of_a_network_are_listed_once_and_then_forgotten():
    storage = pf.BeliefNetwork(sp.csr_array([[0, 0], [0.5, 0]]), [0.0, 0.0]).storage
    edges = EdgeList.of(storage)
    assert EdgeList.of(storage) is edges
    assert any(known[1] is edges for known in value_cache._known.values())
    del storage
    gc.collect()
    assert not any(known[1] is edges for known in value_cache._known.values())


def machine_and_row():
    machine = pf.BoltzmannMachine([[0, 1.0, 0.5], [1.0, 0, -1.0], [0.5, -1.0, 0]], [0.1, -0.2, 0.3])
    return machine, np.array([1.0, np.nan, np.nan])


@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize("method", ["G1", "exact"])
@pytest.mark.parametrize(
    "asked", [machine_and_row, lambda: (two_layers_of_noisy_or(), np.array([np.nan] * 3 + [1.0, 0.0]))]
)
def test_a_reduction_that_is_kept_does_not_change_with_the_evidence(asked, method, prune):
    network, row = asked()
    first = pf.infer(network, row, method, prune=prune)
    unit = int(np.flatnonzero(row == 1)[0])
    before = row.copy()
    row[unit] = 0
    again = pf.infer(network, before, method, prune=prune)
    assert again.means[unit] == 1
    np.testing.assert_array_equal(first.means, again.means)


def two_layers_of_noisy_or():
    return pf.BeliefNetwork.layered([np.full((2, 3), 0.7)], [np.full(3, 0.2), np.full(2, 0.1)], activation="noisy_or")


def test_a_reduction_that_is_kept_knows_the_biases_of_its_network():
    network = two_layers_of_noisy_or()
    row = np.array([np.nan] * 3 + [1.0, 0.0])
    before = pf.infer(network, row, "G1").log_likelihood
    np.asarray(network.bias)[:] = 1.5
    fresh = pf.BeliefNetwork.layered([np.full((2, 3), 0.7)], [np.full(3, 1.5), np.full(2, 1.5)], activation="noisy_or")
    assert pf.infer(network, row, "G1").log_likelihood == pf.infer(fresh, row, "G1").log_likelihood != before


def test_networks_are_not_kept_by_their_reductions():
    rng = np.random.default_rng(0)
    for size in ((6, 8), (60, 80)):
        network = pf.BeliefNetwork.layered(
            [rng.uniform(0, 1, size[::-1])], [np.full(n, 0.1) for n in size], activation="noisy_or"
        )
        rows = np.full((3, sum(size)), np.nan)
        rows[np.arange(3), size[0] + np.arange(3)] = 1
        pf.infer(network, rows, "bethe")
        alive = weakref.ref(network)
        del network
        gc.collect()
        assert alive() is None


def test_impossible_evidence_is_refused_alike_where_exact_inference_is_forbidden():
    network = pf.BeliefNetwork([[0.0, 0.0], [1.0, 0.0]], [0.1, 0.0], "noisy_or")
    for method in ("auto", "auto[exact=no]"):
        with pytest.raises(pf.errors.InvalidEvidence, match="the evidence is impossible"):
            pf.infer(network, {0: 0, 1: 1}, method)
