"""Gibbs sampling and annealing against the sum over all states."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.errors import InvalidMethod, MethodDoesNotApply, MissingExtra
from plefka.inference.library import parse_method
from plefka.methods.posterior import Status
from plefka.reduction.question import Part
from plefka.sampling import belief_start
from plefka.sampling.gibbs import AnnealedRow, Sampled, anneal, sample_posterior
from plefka.sampling.gibbs_sweeps import Sampler
from plefka.sampling.importance import averaged
from plefka.sampling.sampling_methods import Gibbs
from plefka.sampling.visits import visits
from tests import zoo
from tests.compilations import compilations
from tests.quick import quick_where
from tests.sampling import cases

GIBBS = Gibbs("gibbs", seed=1, sweeps=3000, burn=100)
FAR = 4.5  # standard errors, which nothing here should be off by
CASES = {
    **{name: (zoo.ZOO[name], zoo.some_evidence(zoo.ZOO[name])) for name in ("sigmoid, layered", "probit, dense")},
    "noisy-or, no leak": cases.without_leak(),
    "noisy-or, certain edges": cases.with_certain_edges(),
    "soft evidence": cases.tilted(),
}


@pytest.mark.parametrize("name", quick_where(["noisy-or, no leak", "soft evidence"], CASES))
def test_means_and_log_likelihood_agree_with_enumeration(name):
    part = cases.part_of(*CASES[name])
    found, exact = sample_posterior(GIBBS, part.question), parse_method("exact").posterior(part, dtype="float64")
    assert found.converged.all()
    assert found.advice() == ""
    assert (np.abs(found.means - exact.means) <= FAR * found.means_error + 1e-12).all()
    assert found.means_error.max() < 0.03
    assert abs(found.log_likelihood[0] + exact.free_energy[0]) < FAR * found.log_likelihood_error[0] + 1e-12
    assert found.log_likelihood_error[0] < 0.3
    if part.needs_slope:
        np.testing.assert_allclose(found.slope, np.asarray(exact.slope), rtol=0.15, atol=0.1)


@pytest.mark.parametrize("name", quick_where(["noisy-or, certain edges"], CASES))
def test_units_that_were_summed_out_or_are_barren_agree_with_enumeration_too(name):
    network, evidence = CASES[name]
    found, exact = (pf.infer(network, evidence, method) for method in (GIBBS, "exact"))
    np.testing.assert_allclose(found.means, exact.means, atol=0.04)


@pytest.mark.slow
def test_rows_with_different_evidence_are_sampled_side_by_side():
    network, row = (
        zoo.ZOO["sigmoid, sparse, large weights"],
        zoo.some_evidence(zoo.ZOO["sigmoid, sparse, large weights"]),
    )
    rows = np.stack([row, 1 - row, np.where(np.arange(8) == 0, 1, np.nan), np.full(8, np.nan), np.zeros(8)])
    found, exact = pf.infer(network, rows, GIBBS), pf.infer(network, rows, "exact")
    np.testing.assert_allclose(found.means, exact.means, atol=0.05)
    np.testing.assert_allclose(found.log_likelihood, exact.log_likelihood, atol=0.1)
    assert found.log_likelihood[3] == 0
    assert found.log_likelihood[4] == pytest.approx(exact.log_likelihood[4], abs=1e-12)


def test_the_networks_of_a_stack_are_sampled_side_by_side():
    stack = pf.ensembles.layered((2, 3, 3), -1, 1, 3, 5, "sigmoid")
    row = np.array([np.nan] * 5 + [1, 0, np.nan])
    found, exact = pf.infer(stack, row, GIBBS), pf.infer(stack, row, "exact")
    np.testing.assert_allclose(found.means, exact.means, atol=0.05)
    np.testing.assert_allclose(found.log_likelihood, exact.log_likelihood, atol=0.1)


def test_infer_takes_it_by_name():
    network, row = zoo.ZOO["noisy-or, layered"], zoo.some_evidence(zoo.ZOO["noisy-or, layered"])
    solution = pf.infer(network, row, "gibbs[seed=3,sweeps=1000,burn=100]")
    assert solution.status is Status.CONVERGED
    assert solution.num_steps == 1100
    assert 0 < solution.residual < 0.03
    assert not solution.is_bound


def test_the_seed_decides_everything():
    network, row = CASES["sigmoid, layered"]
    first, again, other = (
        pf.infer(network, row, f"gibbs[seed={seed},sweeps=100,burn=10]", throw=False) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.means, again.means)
    assert first.log_likelihood == again.log_likelihood
    assert first.log_likelihood != other.log_likelihood


def test_too_few_sweeps_do_not_converge_and_say_what_to_do():
    network, row = (
        zoo.ZOO["sigmoid, sparse, large weights"],
        zoo.some_evidence(zoo.ZOO["sigmoid, sparse, large weights"]),
    )
    method = Gibbs("gibbs", seed=0, sweeps=20, burn=0)
    (note,) = pf.infer(network, row, method, throw=False).notes
    assert "raise sweeps" in note
    with pytest.raises(pf.InferenceFailed, match="sweeps"):
        pf.infer(network, row, method)


def with_copy() -> Part:
    """A hidden cause with a hidden copy that both findings depend on: neither can be flipped without the other."""
    W = np.zeros((4, 4))
    W[1, 0], W[2:, 1], W[2:, 0] = cases.ALWAYS, 1.0, 0.5
    network = pf.BeliefNetwork(W, np.array([0.7, cases.NEVER, 0.5, 0.5]), "noisy_or")
    return cases.part_of(network, {2: 1, 3: 1})


def test_chains_that_cannot_move_are_told_from_chains_that_need_not(monkeypatch):
    monkeypatch.setattr(belief_start, "NEAR", 2.0)  # no states are proposed
    part = with_copy()
    found, exact = sample_posterior(GIBBS, part.question), parse_method("exact").posterior(part, dtype="float64")
    assert np.isinf(found.r_hat[0]) or found.apart[0] > 6  # in different places, or all of them in one
    assert not found.converged.any()
    assert "not mixed" in found.advice()
    assert abs(found.log_likelihood[0] + exact.free_energy[0]) < FAR * found.log_likelihood_error[0]


def test_proposed_states_cross_where_single_flips_cannot():
    part = with_copy()
    found, exact = sample_posterior(GIBBS, part.question), parse_method("exact").posterior(part, dtype="float64")
    assert found.converged.all()
    assert (np.abs(found.means - exact.means) <= FAR * found.means_error + 1e-12).all()


def test_chains_that_are_all_in_one_mode_are_told_by_the_populations():
    """Two modes of which the rarer one has a twentieth: no chain may be there, and R-hat sees nothing."""
    W = np.zeros((6, 6))
    W[1:, 0] = 30.0
    machine = pf.BoltzmannMachine(W + W.T, np.r_[-75.0 - 3.0, np.full(5, -15.0)])
    found = pf.infer(machine, None, "gibbs[seed=0,chains=2]", throw=False)
    truth = pf.infer(machine, None, "exact").means
    assert found.status is not Status.CONVERGED or np.abs(found.means - truth).max() < 0.02


def test_errors_of_chains_that_stay_in_one_mode_reach_as_far_as_the_populations_say():
    """Two modes of which the rarer one has a thirteenth."""
    machine = pf.BoltzmannMachine(8.0 - 8.0 * np.eye(5), np.full(5, 0.25), values=(-1, 1))
    for seed in range(3):
        found = pf.infer(machine, None, f"gibbs[seed={seed},sweeps=200,burn=20]", throw=False)
        assert not found.converged
        assert (np.abs(found.means - 1 / (1 + np.exp(-2.5))) <= 2 * np.asarray(found.means_error)).all()


def test_rows_of_tables_of_which_nothing_is_left_are_answered():
    network = pf.MarkovNetwork(2, [((0, 1), [[1, 0], [2, 4]])])
    found = pf.infer(network, [{0: 1, 1: 1}, {0: 0, 1: 1}], "gibbs[seed=0,sweeps=100]")
    assert found.log_partition.tolist() == pytest.approx([np.log(4), -np.inf])


def test_advice_by_what_is_wrong():
    def sampled(runs: float, possible: bool, apart: float = 0.0) -> Sampled:
        one, means = np.ones(1), np.zeros((2, 1))
        return Sampled(
            means, means, means, -one, one, runs * one, one, 900 * one, apart * one, np.array([possible]),
            np.zeros((0, 2, 1)),
        )  # fmt: skip

    assert sampled(30, True).advice() == ""
    assert "temperatures" in sampled(2, True).advice()
    assert "no state of positive probability" in sampled(30, False).advice()
    assert "20.0 standard errors from annealing" in sampled(30, True, 20.0).advice()


def test_a_second_call_compiles_nothing():
    network, row = CASES["sigmoid, layered"]
    pf.infer(network, row, Gibbs("gibbs", seed=1, sweeps=60, burn=10), throw=False)
    other, given = zoo.dense(9, -2, 2, "sigmoid", 4), np.where(np.arange(9) > 6, 1, np.nan)
    with compilations() as found:
        pf.infer(other, given, Gibbs("gibbs", seed=1, sweeps=60, burn=10), throw=False)
        pf.infer(network, 1 - row, Gibbs("gibbs", seed=5, sweeps=40, burn=0, temperatures=9), throw=False)
    assert not found


# ---- annealing -------------------------------------------------------------------------------------------------------


def annealed(name: str, seed: int, temperatures: int) -> AnnealedRow:
    return anneal(Gibbs("gibbs", seed=seed, temperatures=temperatures), cases.part_of(*CASES[name]).question)


@pytest.mark.parametrize("is_near", [True, False])
def test_annealing_gives_what_enumeration_gives_and_its_error_shrinks_with_the_temperatures(is_near, monkeypatch):
    """Temperatures are annealing steps, or else as many more draws."""
    monkeypatch.setattr(belief_start, "NEAR", 0.0 if is_near else 2.0)
    part = cases.part_of(*CASES["noisy-or, no leak"])
    exact = -parse_method("exact").posterior(part, dtype="float64").free_energy[0]
    coarse, fine = (annealed("noisy-or, no leak", 2, steps) for steps in (2, 400))
    for each in (coarse, fine):
        found = averaged(each.found.log_z)
        assert abs(found.log_mean - exact) < FAR * found.standard_error
    assert fine.found.error < coarse.found.error
    assert coarse.effective < fine.effective


def test_evidence_that_no_run_explains_has_probability_zero():
    dead = averaged(np.full((1, 4), -np.inf))
    assert (dead.log_mean[0], dead.effective[0]) == (-np.inf, 0)
    half = averaged(np.array([[0.0, -np.inf, 0.0, -np.inf]]))
    assert half.log_mean[0] == pytest.approx(np.log(0.5))


# ---- the order of visits ---------------------------------------------------------------------------------------------


def test_units_visited_together_share_no_factor():
    rng = np.random.default_rng(0)
    W = sp.random_array((300, 300), density=0.01, rng=rng, data_sampler=rng.standard_normal)
    network = pf.BeliefNetwork(sp.tril(W, -1), np.zeros(300))
    question = cases.part_of(network, np.where(np.arange(300) >= 150, 1.0, np.nan)).question
    target = Sampler(question).target
    edges, free = target.edges, np.flatnonzero(target.free[:, 0])
    adjacent = np.eye(edges.size)
    adjacent[edges.child, edges.parent] = 1
    visited = []
    for table in visits(edges, free):
        for step in table.units[: table.num_steps]:
            together = step[step < edges.size]
            assert (adjacent[:, together].sum(1) <= 1).all()
            visited += together.tolist()
    assert sorted(visited) == free.tolist()
    assert max(table.units.shape[1] for table in visits(edges, free)) > 1


def test_a_large_sparse_network_is_visited_by_colours():
    """Independent pairs, each solved by hand."""
    pairs = 100
    parent, child = np.arange(pairs), np.arange(pairs, 2 * pairs)
    W = sp.csr_array((np.full(pairs, 2.0), (child, parent)), shape=(2 * pairs,) * 2)
    network = pf.BeliefNetwork(W, np.full(2 * pairs, -1.0))
    row = np.where(np.arange(2 * pairs) >= pairs, 1.0, np.nan)
    found = pf.infer(network, row, Gibbs("gibbs", seed=0, sweeps=50, burn=0, temperatures=100), throw=False)
    prior, on, off = 1 / (1 + np.e), 1 / (1 + np.exp(-1)), 1 / (1 + np.e)
    total = prior * on + (1 - prior) * off
    np.testing.assert_allclose(found.means[:pairs], prior * on / total, rtol=1e-9)
    assert found.log_likelihood == pytest.approx(pairs * np.log(total), abs=2)


# ---- errors ----------------------------------------------------------------------------------------------------------


def test_a_seed_must_be_given():
    with pytest.raises(MethodDoesNotApply, match=r"gibbs\[seed=0\]"):
        pf.infer(zoo.ZOO["sigmoid, layered"], None, "gibbs")


@pytest.mark.parametrize(
    ("options", "message"),
    [("sweeps=3", "sweeps must be 10"), ("chains=1", "chains must be 2"), ("burn=-1", "burn"), ("seed=-1", "seed")],
)
def test_bad_options(options, message):
    with pytest.raises(InvalidMethod, match=message):
        pf.parse_method(f"gibbs[{options}]")


def test_inside_a_trace_it_does_not_apply():
    import jax

    network, row = CASES["sigmoid, layered"]
    with pytest.raises(MethodDoesNotApply, match="trace"):
        jax.jit(lambda r: pf.infer(network, r, GIBBS).means)(row)


def test_without_arviz_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_stats.base.array", None)
    network, row = CASES["sigmoid, layered"]
    with pytest.raises(MissingExtra, match=r"plefka\[sampling\]"):
        pf.infer(network, row, Gibbs("gibbs", seed=1, sweeps=60, burn=0))
