"""Exact inference by elimination: the same as by the sum over all states, whatever is asked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plefka as pf
from plefka.errors import MethodDoesNotApply
from plefka.exact import cost, elimination, groups
from tests import zoo
from tests.exact.preferred_way import prefer


@pytest.fixture
def only_elimination(monkeypatch):
    prefer(monkeypatch, np.inf)


def by_both(network, evidence, **options):
    """The sum over all states, and elimination."""
    found = []
    for seconds in (0.0, np.inf):
        with pytest.MonkeyPatch.context() as patch:
            prefer(patch, seconds)
            found.append(pf.infer(network, evidence, "exact", **options))
    return found


def assert_same(first, second, within=1e-10):
    assert np.array_equal(first.status, second.status)
    possible = np.isfinite(first.log_likelihood)
    assert np.array_equal(np.isfinite(second.log_likelihood), possible)
    assert second.log_likelihood[possible] == pytest.approx(first.log_likelihood[possible], abs=within)
    assert second.means[possible] == pytest.approx(first.means[possible], abs=within)


@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize("name", zoo.ZOO)
def test_elimination_is_the_sum_over_all_states(name, prune):
    network = zoo.ZOO[name]
    row = zoo.some_evidence(network)
    rows = np.stack([row, np.where(np.arange(row.size) == 0, 1, row), np.where(row == 0, 1, row), row * np.nan])
    assert_same(*by_both(network, rows, prune=prune))


def drawn(seed, kind):
    """Edges of probability one, leaks of zero and inhibitors among them, and rows that observe different units."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 10))
    W = np.tril(rng.normal(0, 1.5, (n, n)), -1) * (rng.random((n, n)) < rng.random())
    h = rng.normal(0, 1, n)
    if kind == "noisy_or":
        W = np.abs(W) if rng.random() < 0.5 else W
        W[(rng.random((n, n)) < 0.1) & (W > 0)] = np.inf
        h = np.where(rng.random(n) < 0.2, 0.0, np.abs(h)) - np.minimum(W, 0.0).sum(1)
    rows = np.where(rng.random((3, n)) < 0.5, np.nan, rng.integers(0, 2, (3, n)))
    return pf.BeliefNetwork(W, h, kind), rows


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(["noisy_or", "sigmoid"]), prune=st.booleans())
def test_elimination_agrees_on_what_is_drawn(seed, kind, prune):
    network, rows = drawn(seed, kind)
    assert_same(*by_both(network, rows, prune=prune))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(["noisy_or", "sigmoid"]))
def test_logarithms_give_what_plain_numbers_give(seed, kind):
    network, rows = drawn(seed, kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "PLAIN_NUMBERS", elimination.LOGARITHMS)
        assert_same(*by_both(network, rows))


def test_soft_evidence_counts(only_elimination):
    network = zoo.ZOO["sigmoid, layered"]
    evidence = {0: pf.Likelihood(0.9, 0.2), 5: pf.Likelihood(0.3, 0.4), 7: 1}
    first, second = by_both(network, [evidence])
    assert_same(first, second)


def test_probabilities_that_plain_numbers_cannot_hold(only_elimination):
    """Thirty findings that share two causes, all next to impossible."""
    W, leak = np.zeros((32, 32)), np.full(32, 1e-40)
    W[2:, :2], leak[:2] = 1e-30, 1e-20
    network = pf.BeliefNetwork(W, leak, "noisy_or")
    found = pf.infer(network, dict.fromkeys(range(2, 32), 1), "exact", prune=False)
    of_one, of_both = np.log(2e-20) + 30 * np.log(1e-30 + 1e-40), 2 * np.log(1e-20) + 30 * np.log(2e-30 + 1e-40)
    assert found.log_likelihood == pytest.approx(np.logaddexp(of_one, of_both), abs=1e-9)


@pytest.mark.parametrize("prune", [True, False])
def test_an_inhibitor_that_is_next_to_certain_is_summed_out_without_loss(prune):
    W = np.zeros((3, 3))
    W[2, :2] = 0.8, -0.3
    found = pf.infer(pf.BeliefNetwork(W, [40, 45, 0.3], "noisy_or"), {0: 0, 2: 1}, "exact", prune=prune)
    assert found.log_likelihood == pytest.approx(-40 + np.log(-np.exp(-45) * np.expm1(-0.3)), abs=1e-10)
    assert found.means == pytest.approx([0, 0, 1], abs=1e-12)


def chain(length):
    return pf.BeliefNetwork(np.eye(length, k=-1) * 2, np.full(length, -1.0))


def test_a_long_chain_is_exact_where_all_its_states_are_out_of_reach():
    found = pf.infer(chain(60), {59: 1}, "exact")
    p = on = 1 / (1 + np.exp(1.0))
    for _ in range(59):
        p = p / (1 + np.exp(-1.0)) + (1 - p) * on
    assert found.log_likelihood == pytest.approx(np.log(p), abs=1e-12)
    assert found.notes == ("summed by elimination, with tables of up to 2^2 entries",)
    assert pf.infer(chain(60), {59: 1}).notes[0] == "auto chose exact: elimination"


def test_a_row_has_the_same_answer_alone_as_in_a_batch():
    rng = np.random.default_rng(0)
    network = chain(40)
    rows = np.where(rng.random((30, 40)) < 0.8, np.nan, rng.integers(0, 2, (30, 40)))
    batch = pf.infer(network, rows)
    for row, means, log_p in zip(rows, batch.means, batch.log_likelihood, strict=True):
        alone = pf.infer(network, row)
        assert alone.log_likelihood == pytest.approx(log_p, abs=1e-12)
        assert alone.means == pytest.approx(means, abs=1e-12)


def test_many_rows_are_eliminated_in_chunks(only_elimination, monkeypatch):
    network, row = zoo.ZOO["noisy-or, layered"], zoo.some_evidence(zoo.ZOO["noisy-or, layered"])
    whole = pf.infer(network, [row] * 5, "exact")
    monkeypatch.setattr(cost, "ENTRIES_AT_ONCE", 1)
    monkeypatch.setattr("plefka.exact.plans.FEW_NUMBERS", 0)  # the way there is gone again on the way back
    assert_same(whole, pf.infer(network, [row] * 5, "exact"), within=0)


def test_what_must_be_kept_is_predicted_before_it_is_computed(only_elimination, monkeypatch):
    monkeypatch.setattr(groups.Elimination, "most_gib", 1e-9)
    with pytest.raises(MethodDoesNotApply, match=r"elimination would take .* GiB of memory \(the limit is .* GiB\)"):
        pf.infer(chain(60), {59: 1}, "exact")


def test_barren_units_that_cannot_be_kept_are_predicted_and_that_is_said():
    rng = np.random.default_rng(0)
    W = (rng.random((100, 60)) < 0.8) * rng.exponential(0.1, (100, 60))
    network = pf.BeliefNetwork.layered([W], [np.full(60, 0.05), np.full(100, 0.01)], "noisy_or")
    assert network.num_edges > 4096
    found = pf.infer(network, {60: 1, 61: 1, 62: 0}, "exact")
    assert found.notes[-1].startswith("units that no observation depends on are predicted as if their parents")
    assert np.all((found.means >= 0) & (found.means <= 1))


def test_large_fields_do_not_overflow(only_elimination):
    """exp(x) of a field of 800 is no number; warnings are errors here."""
    network = pf.BeliefNetwork([[0, 0, 0], [1000, 0, 0], [900, 0, 0]], [0.1, 800, 750], "noisy_or")
    solution = pf.infer(network, {1: 1}, "exact")
    assert solution.log_likelihood == pytest.approx(0, abs=1e-12)
    assert solution.means == pytest.approx([-np.expm1(-0.1), 1, 1])
