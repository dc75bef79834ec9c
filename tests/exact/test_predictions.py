"""Units that nothing observed depends on: their means follow from those of their parents, taken together.

The law: a method that knows ln P(evidence) and the parents exactly predicts exactly. The oracle is the sum over all
states. Every network here has barren units whose parents depend on each other, given what is observed or without it.
"""

import itertools

import numpy as np
import pytest

import plefka as pf
from plefka.exact import barren
from plefka.exact import exact_answer as exact_posterior
from plefka.exact.barren import PREDICTED
from plefka.exact.groups import Cost
from plefka.exact.plans import Plan
from plefka.networks.fields import bits
from tests.compilations import compilations
from tests.data import path_of
from tests.mixed_networks import random_units
from tests.quick import quick_where

EDGES = [(2, 0), (2, 1), (3, 0), (3, 1), (4, 3), (4, 0), (5, 3), (5, 4), (7, 6), (3, 6)]  # without 3 to 5, two trees
BARREN = [3, 4, 5]
OBSERVED = {2: 1, 7: 1}
KINDS = ("sigmoid", "noisy_or")


@pytest.fixture(autouse=True)
def no_sum_over_all_states(monkeypatch):
    """The networks here are small, so that the truth is known: they go the ways of large ones."""
    monkeypatch.setattr(exact_posterior, "FEW_STATES", 0)


def predicted(solution: pf.Solution) -> np.ndarray:
    """The units whose parents were taken to be independent of each other; outside a trace they are always known."""
    assert solution.predicted is not None
    return solution.predicted


def network_of(kind, seed, edges=EDGES, size=8):
    rng, W = np.random.default_rng(seed), np.zeros((size, size))
    for child, parent in edges:
        W[child, parent] = rng.uniform(0.5, 2.5) if kind == "noisy_or" else rng.uniform(-3, 3)
    low, high = (0.05, 0.5) if kind == "noisy_or" else (-1, 1)
    return pf.BeliefNetwork(W, rng.uniform(low, high, size), kind)


def truth(network, observed):
    """The means, by the sum over all states."""
    S = bits(np.arange(2**network.size), np.arange(network.size)).T
    log_p = network.log_joint(S.astype(float))
    fits = np.all([S[:, unit] == state for unit, state in observed.items()], axis=0) if observed else True
    p = np.where(fits, np.exp(log_p), 0.0)
    return p @ S / p.sum()


def independent(kind, seed, monkeypatch):
    """By how much the means of barren units would be off if their parents were independent."""
    network = network_of(kind, seed)
    monkeypatch.setattr(barren, "MOST_PLANNED", 0)  # so that nothing is summed over for them
    found = pf.infer(network, OBSERVED, "G1[tol=1e-12]")
    return np.abs(found.means - truth(network, OBSERVED))[BARREN].max()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "method",
    ["exact", "auto", "bethe[tol=1e-13]", "conditioned[G1,k=3]", "conditioned[exact,k=1]", "conditioned[bethe,k=1]"],
)
def test_a_method_that_is_exact_predicts_exactly(method, kind, seed):
    network = network_of(kind, seed)
    found = pf.infer(network, OBSERVED, method)
    np.testing.assert_allclose(found.means, truth(network, OBSERVED), atol=1e-9)
    assert not predicted(found).any()


@pytest.mark.parametrize("kind", KINDS)
def test_it_matters(kind, monkeypatch):
    assert max(independent(kind, seed, monkeypatch) for seed in range(3)) > 0.02


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_observed_is_exact_as_well(kind):
    network = network_of(kind, 1)
    for method in ("exact", "bethe", "conditioned[bethe,k=1]"):
        np.testing.assert_allclose(pf.infer(network, None, method).means, truth(network, {}), atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_draws_predict_within_their_error(kind, seed):
    """Loops among the units that count, too; of noisy-or, roots that are summed out are drawn with the others."""
    network = network_of(kind, seed, [*EDGES, (7, 1), (7, 0)])
    methods = ["gibbs[seed=1]", *(["findings[k=1,samples=20000]"] if kind == "noisy_or" else [])]
    for method in methods:
        found = pf.infer(network, OBSERVED, method, throw=False)
        assert np.abs(found.means - truth(network, OBSERVED))[BARREN].max() < 0.015
        assert not predicted(found).any()


@pytest.mark.parametrize("seed", range(3))
def test_roots_that_were_summed_out_are_drawn_as_they_are(seed):
    """All hidden units that count are summed out: what is left to draw are these alone, with inhibitors among them."""
    network = network_of("noisy_or", seed)
    W = np.array(network.weights)
    W[2, 1] = -0.04
    network = pf.BeliefNetwork(W, network.bias, "noisy_or")
    found = pf.infer(network, OBSERVED, "gibbs[seed=0,sweeps=2000]")
    assert np.abs(found.means - truth(network, OBSERVED))[BARREN].max() < 0.015


@pytest.mark.parametrize("seed", quick_where([0], range(4)))
def test_units_of_different_kinds(seed):
    network = pf.BeliefNetwork.of_units(random_units(seed, 9))
    observed = {5: int(np.argmax(pf.infer(network, None, "exact").means > 0.5) != 5)}
    right = truth(network, observed)
    np.testing.assert_allclose(pf.infer(network, observed, "exact").means, right, atol=1e-9)
    found = pf.infer(network, observed, "gibbs[seed=0]", throw=False)
    assert np.abs(found.means - right).max() < 0.03


@pytest.mark.parametrize(
    ("method", "kind"),
    quick_where(
        lambda case: case != ("conditioned[bethe,k=1]", "sigmoid"),
        itertools.product(["exact", "bethe", "conditioned[bethe,k=1]"], KINDS),
    ),
)
def test_batches_equal_loops(method, kind):
    """Rows in which other units are barren."""
    network = network_of(kind, 2)
    rows = [OBSERVED, {2: 0, 7: 1}, {}, {4: 1}, {5: 0, 2: 1}, {7: 0, 0: pf.Likelihood(0.3, 0.6)}]
    together = pf.infer(network, rows, method)
    for k, row in enumerate(rows):
        alone = pf.infer(network, row, method)
        np.testing.assert_allclose(together.means[k], alone.means, atol=1e-9)
        np.testing.assert_array_equal(predicted(together)[k], predicted(alone))


@pytest.mark.parametrize("kind", KINDS)
def test_the_networks_of_a_stack(kind):
    networks = [network_of(kind, seed) for seed in range(3)]
    stack = pf.BeliefNetwork(
        np.stack([network.weights for network in networks]), np.stack([network.bias for network in networks]), kind
    )
    for method in ("exact", "bethe"):
        found = pf.infer(stack, OBSERVED, method)
        for network, means in zip(networks, found.means, strict=True):
            np.testing.assert_allclose(means, truth(network, OBSERVED), atol=1e-7)


def test_mean_field_methods_keep_their_factorised_posterior():
    network = network_of("sigmoid", 0)
    found = pf.infer(network, OBSERVED, "G1")
    np.testing.assert_array_equal(np.flatnonzero(predicted(found)), BARREN)
    chances = [
        1 / (1 + np.exp(-network.bias[3] - w)) for w in network.weights[3, [0, 1, 6]] @ bits(np.arange(8), np.arange(3))
    ]
    u = found.means[[0, 1, 6], None]
    weights = np.where(bits(np.arange(8), np.arange(3)) == 1, u, 1 - u).prod(axis=0)
    assert found.means[3] == pytest.approx(weights @ chances, abs=1e-9)


def test_inside_a_trace_nothing_is_said_of_it():
    import jax

    network = network_of("sigmoid", 0)
    means = jax.jit(lambda bias: pf.infer(pf.BeliefNetwork(network.weights, bias, "sigmoid"), OBSERVED, "exact").means)
    np.testing.assert_allclose(means(network.bias.astype(np.float32)), truth(network, OBSERVED), atol=1e-5)


# ---- what it costs ---------------------------------------------------------------------------------------------------


def layered(seed=0, causes=12, findings=40):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.1, 1.5, (findings, causes)) * (rng.random((findings, causes)) < 0.4)
    return pf.BeliefNetwork.layered([weights], [rng.uniform(0.05, 0.3, causes), np.full(findings, 0.02)], "noisy_or")


def test_groups_are_as_exact_as_the_whole(monkeypatch):
    network, observed = layered(), {12 + k: k % 2 for k in range(6)}
    whole = pf.infer(network, observed, "exact")
    assert not predicted(whole).any()
    monkeypatch.setattr(exact_posterior, "QUICK", 0.0)
    monkeypatch.setattr(barren, "LITTLE", 0.0)
    groups = pf.infer(network, observed, "exact")
    np.testing.assert_allclose(groups.means, whole.means, atol=1e-10)
    assert not predicted(groups).any()


def test_groups_are_exact_where_rows_observe_different_units(monkeypatch):
    """A unit that one row observes is barren in another, which a group must have summed over to answer for it."""
    monkeypatch.setattr(barren, "LITTLE", 0.0)
    monkeypatch.setattr(barren._Planner, "_alone", 0.0)  # so that every unit is a group of its own
    network, observed = network_of("noisy_or", 0), [OBSERVED, {2: 0, 5: 1}, {4: 1}]
    found = pf.infer(network, observed, "findings")
    assert not predicted(found).any()
    np.testing.assert_allclose(found.means, [truth(network, seen) for seen in observed], rtol=0, atol=1e-9)


def test_what_would_cost_too_much_is_said(monkeypatch):
    """ln P stays exact, and so do the means of the causes."""
    network, observed = layered(), {12 + k: k % 2 for k in range(6)}
    whole = pf.infer(network, observed, "exact")
    monkeypatch.setattr(exact_posterior, "may_keep_barren", lambda _, evidence: np.zeros(len(evidence.rows), bool))
    found = pf.infer(network, observed, "exact")
    assert PREDICTED in found.notes
    assert found.log_likelihood_accuracy == "exact"
    np.testing.assert_array_equal(found.accuracy == "estimate", predicted(found))
    assert not found.is_exact
    several = np.count_nonzero(network.weights[0], axis=1) > 1
    np.testing.assert_array_equal(np.flatnonzero(predicted(found)), 12 + np.flatnonzero(several & (np.arange(40) > 5)))
    np.testing.assert_allclose(found.means[:18], whole.means[:18], atol=1e-10)
    assert 1e-4 < np.abs(found.means - whole.means).max() < 0.1
    assert PREDICTED not in whole.notes


def test_belief_propagation_that_would_take_long_says_it_too(monkeypatch):
    monkeypatch.setattr(barren, "MOST_PLANNED", 0)
    network = network_of("sigmoid", 0)
    found = pf.infer(network, OBSERVED, "bethe")
    assert PREDICTED in found.notes
    np.testing.assert_array_equal(np.flatnonzero(predicted(found)), BARREN)


def test_independent_parents_take_nothing_more(monkeypatch):
    """Barren units that close no loop are exact as they are, and nothing is planned for them."""

    def refuse(*_, **__):
        raise AssertionError("planned")

    monkeypatch.setattr(barren, "planned", refuse)
    monkeypatch.setattr(exact_posterior, "QUICK", -1.0)
    monkeypatch.setattr(exact_posterior, "planned", lambda *a: barren.Predictions([], a[2]))
    network = network_of("sigmoid", 0, [(2, 0), (2, 1), (3, 2), (4, 3), (4, 5), (7, 6)])
    for method in ("bethe[tol=1e-13]", "conditioned[bethe,k=1]"):
        found = pf.infer(network, {2: 1}, method)
        np.testing.assert_allclose(found.means, truth(network, {2: 1}), atol=1e-9)
        assert not predicted(found).any()


def test_predictions_compile_nothing():
    network = network_of("sigmoid", 0)
    pf.infer(network, OBSERVED, "bethe")
    with compilations() as found:
        pf.infer(network_of("sigmoid", 5), OBSERVED, "bethe")
        pf.infer(network, OBSERVED, "exact")
    assert len(found) == 0


def test_a_large_network_without_evidence_is_exact():
    """Too wide to be summed over as a whole in a short time; its units in groups are not."""
    network = pf.load(path_of("cpcs/cpcs422b.erg.gz"))
    found = pf.infer(network.with_tables(None), None, "auto")
    assert not predicted(found).any()
    assert PREDICTED not in found.notes
    drawn = network.sample(0, 20_000).mean(axis=0)
    assert np.abs(found.means - drawn).max() < 5 * 0.5 / np.sqrt(20_000)


# ---- rows of a batch -------------------------------------------------------------------------------------------------


def patients(seed, causes=6, findings=6, count=8, special=True):
    """A dense diagnosis network, perhaps with a certain edge and an inhibitor, and rows that observe other findings."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.1, 1.5, (findings, causes))
    if special:
        weights[0, 0], weights[1, 1] = np.inf, -0.05
    leak = rng.uniform(0.06, 0.2, findings)
    network = pf.BeliefNetwork.layered([weights], [rng.uniform(0.02, 0.3, causes), leak], "noisy_or")
    rows = np.full((count, network.size), np.nan)
    for row in rows:
        known = rng.integers(1, findings)
        row[causes + rng.permutation(findings)[:known]] = rng.random(known) < 0.6
    return network, rows


@pytest.mark.parametrize("method", ["exact", "auto"])
@pytest.mark.parametrize("seed", range(3))
def test_findings_that_were_not_looked_at_are_exact(method, seed, monkeypatch):
    """Each as the ratio of two sums: they are not part of the tables."""
    network, rows = patients(seed)
    monkeypatch.setattr(exact_posterior.ReducedRows, "of", without_barren(exact_posterior.ReducedRows.of))
    found = pf.infer(network, rows, method)
    assert not predicted(found).any()
    for row, means in zip(rows, found.means, strict=True):
        observed = {unit: int(row[unit]) for unit in np.flatnonzero(~np.isnan(row))}
        np.testing.assert_allclose(means, truth(network, observed), atol=1e-12)


def without_barren(of):
    def small_only(*arguments, **how):
        assert not how["keep_barren"]
        return of(*arguments, **how)

    return small_only


@pytest.mark.parametrize("limits", [{}, {"QUICK": 0.0}, {"QUICK": 0.0, "AS_LONG": 4}, {"QUICK": 0.0, "AS_LONG": 0}])
@pytest.mark.parametrize("method", ["exact", "auto"])
def test_what_is_affordable_is_decided_for_every_row(method, limits, monkeypatch):
    """So that a row of a batch has the answer that it has alone, whatever the limits are."""
    network, rows = patients(5, causes=10, findings=9)
    for name, value in limits.items():
        monkeypatch.setattr(exact_posterior, name, value)
    together = pf.infer(network, rows, method)
    for k, row in enumerate(rows):
        alone = pf.infer(network, row, method)
        np.testing.assert_array_equal(predicted(together)[k], predicted(alone))
        np.testing.assert_allclose(together.means[k], alone.means, atol=1e-12)
        assert together.log_likelihood[k] == pytest.approx(alone.log_likelihood, abs=1e-12)
    if limits.get("AS_LONG") == 0 and method == "auto":
        assert PREDICTED in together.notes


def test_rows_of_the_same_form_are_planned_once():
    from plefka.exact.ordering import small_plan

    network, rows = patients(0, causes=10, findings=9, count=20, special=False)
    small_plan.cache_clear()
    found = pf.infer(network, rows, "exact")
    assert found.converged.all()
    assert small_plan.cache_info().currsize <= 9  # by how many of nine findings are on


def test_a_finding_that_must_be_on():
    """To see it off would contradict the evidence."""
    weights = np.array([[np.inf, 0.0, 0.3], [0.7, 0.6, 0.5], [np.inf, 0.4, 0.0]])
    network = pf.BeliefNetwork.layered([weights], [np.full(3, 0.2), np.array([0.0, 0.1, 0.1])], "noisy_or")
    rows = [{0: 1}, {3: 1, 2: 0}, {3: 0}, {4: 1}]
    for k, row in enumerate(rows):
        found = pf.infer(network, rows, "exact").means[k]
        np.testing.assert_allclose(found, truth(network, row), atol=1e-12)


@pytest.mark.parametrize("method", ["exact", "auto"])
@pytest.mark.parametrize("count", [1, 8])
def test_barren_units_of_small_networks_are_part_of_the_sum(method, count, monkeypatch):
    network, rows = patients(3, count=count, causes=6, findings=5)
    by_ratios = pf.infer(network, rows, method)
    monkeypatch.undo()
    monkeypatch.setattr("plefka.exact.barren.BarrenRatios.of", None)
    found = pf.infer(network, rows, method)
    assert not predicted(found).any()
    np.testing.assert_allclose(found.means, by_ratios.means, rtol=1e-12)
    np.testing.assert_allclose(found.log_likelihood, by_ratios.log_likelihood, rtol=1e-13)


def test_rows_that_other_methods_answer_are_reduced_as_they_need_them(monkeypatch):
    """Where the budget is too short for any sum, whether or not states are few."""
    network, _ = patients(3, causes=6, findings=5, special=False)
    observed, method = {6: 1, 7: 1, 8: 1}, "auto[budget=1e-7s]"
    expected = pf.infer(network, observed, method, check=False)
    monkeypatch.undo()
    found = pf.infer(network, observed, method, check=False)
    assert not expected.is_exact
    np.testing.assert_array_equal(found.means, expected.means)
    assert found.log_likelihood == expected.log_likelihood


@pytest.mark.parametrize(("width", "at_once"), [(12, 2**10), (19, 8), (20, 1), (21, 1), (24, 1)])
def test_rows_are_eliminated_one_by_one_where_only_a_few_fit_together(width, at_once):
    assert Cost.of(Plan((), width, 1.0, 1.0, 1.0, 1.0)).at_once == at_once
