"""Gibbs sampling and annealing against the sum over all states."""

import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.errors import InvalidInput, InvalidMethod, MethodDoesNotApply, MissingExtra
from plefka.methods import Gibbs
from plefka.sampling import sweeps
from plefka.sampling.annealing import anneal, summary
from plefka.sampling.gibbs import Sampled, posterior, sample_posterior
from plefka.sampling.target import target
from plefka.sampling.visits import visits
from plefka.solution import Status
from tests import zoo
from tests.sampling import cases

GIBBS = Gibbs("gibbs", seed=1, sweeps=3000, burn=100)
FAR = 4.5  # standard errors, which nothing here should be off by
CASES = {
    **{name: (network, zoo.some_evidence(network)) for name, network in zoo.ZOO.items()},
    "noisy-or, no leak": cases.without_leak(),
    "noisy-or, certain edges": cases.with_certain_edges(),
}


@pytest.mark.parametrize("name", CASES)
def test_means_and_log_likelihood_agree_with_enumeration(name):
    network, row = CASES[name]
    found, exact = sample_posterior(GIBBS, network, row[None]), pf.infer(network, row, "exact")
    assert found.converged.all()
    assert found.advice() == ""
    assert (np.abs(found.means[0] - exact.means) <= FAR * found.means_error[0] + 1e-12).all()
    assert found.means_error.max() < 0.03
    assert abs(found.log_likelihood[0] - exact.log_likelihood) < FAR * found.log_likelihood_error[0] + 1e-12
    assert found.log_likelihood_error[0] < 0.3


def test_rows_with_different_evidence_are_sampled_side_by_side():
    network, row = CASES["sigmoid, sparse, large weights"]
    rows = np.stack([row, 1 - row, np.where(np.arange(8) == 0, 1, np.nan), np.full(8, np.nan), np.zeros(8)])
    found, exact = sample_posterior(GIBBS, network, rows), pf.infer(network, rows, "exact")
    assert (np.abs(found.means - exact.means) <= FAR * found.means_error + 1e-12).all()
    assert (np.abs(found.log_likelihood - exact.log_likelihood) <= FAR * found.log_likelihood_error + 1e-12).all()
    assert found.log_likelihood[3] == 0
    assert found.log_likelihood_error[4] == 0


def test_the_networks_of_a_stack_are_sampled_side_by_side():
    stack = pf.ensembles.layered((2, 3, 3), -1, 1, 3, 5, "sigmoid")
    row = np.array([np.nan] * 5 + [1, 0, np.nan])
    found, exact = pf.infer(stack, row, GIBBS), pf.infer(stack, row, "exact")
    np.testing.assert_allclose(found.means, exact.means, atol=0.05)
    np.testing.assert_allclose(found.log_likelihood, exact.log_likelihood, atol=0.1)


def test_a_tilt_is_soft_evidence():
    network = zoo.dense(5, -1, 1, "sigmoid", 3)
    tilt = np.array([0.5, -1.0, 0.0, 1.0, -0.4])
    row = np.array([np.nan, np.nan, np.nan, np.nan, 1.0])
    larger, constant = cases.with_virtual_children(network, tilt)
    exact = pf.infer(larger, np.r_[row, np.ones(5)], "exact")
    found = sample_posterior(GIBBS, network, row[None], tilt[None])
    assert (np.abs(found.means[0] - exact.means[:5]) <= FAR * found.means_error[0] + 1e-12).all()
    error = found.log_likelihood[0] + constant - exact.log_likelihood
    assert abs(error) < FAR * found.log_likelihood_error[0]


def test_infer_takes_it_by_name():
    network, row = CASES["noisy-or, layered"]
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
    network, row = CASES["sigmoid, sparse, large weights"]
    method = Gibbs("gibbs", seed=0, sweeps=20, burn=0)
    assert "raise sweeps" in sample_posterior(method, network, row[None]).advice()
    with pytest.raises(pf.InferenceFailed, match="sweeps"):
        pf.infer(network, row, method)


def test_chains_that_cannot_move_are_told_from_chains_that_need_not():
    """A hidden copy of a hidden cause: neither can be flipped without the other."""
    W = np.zeros((3, 3))
    W[1, 0], W[2, 1] = cases.ALWAYS, 1.0
    network = pf.BeliefNetwork(W, np.array([0.7, cases.NEVER, 0.5]), "noisy_or")
    found = sample_posterior(GIBBS, network, np.array([[np.nan, np.nan, 1.0]]))
    assert np.isinf(found.r_hat[0])
    assert "not mixed" in found.advice()
    exact = pf.infer(network, {2: 1}, "exact")
    assert abs(found.log_likelihood[0] - exact.log_likelihood) < FAR * found.log_likelihood_error[0]


def test_advice_by_what_is_wrong():
    def sampled(runs: float, possible: bool) -> Sampled:
        one, means = np.ones(1), np.zeros((1, 2))
        return Sampled(means, means, -one, one, runs * one, one, 900 * one, np.array([possible]))

    assert sampled(30, True).advice() == ""
    assert "temperatures" in sampled(2, True).advice()
    assert "no state of positive probability" in sampled(30, False).advice()


def compiled() -> int:
    advance: Any = sweeps._advance
    return advance._cache_size()


def test_a_second_call_compiles_nothing():
    network, row = CASES["sigmoid, layered"]
    method = Gibbs("gibbs", seed=1, sweeps=60, burn=10)
    sample_posterior(method, network, row[None])
    before = compiled()
    sample_posterior(method, zoo.dense(9, -2, 2, "sigmoid", 4), np.where(np.arange(9) > 6, 1, np.nan)[None])
    sample_posterior(Gibbs("gibbs", seed=5, sweeps=40, burn=0, temperatures=9), network, 1 - row[None])
    assert compiled() == before


# ---- annealing -------------------------------------------------------------------------------------------------------


def test_annealing_gives_what_enumeration_gives_and_its_error_shrinks_with_the_temperatures():
    network, row = CASES["noisy-or, no leak"]
    exact = pf.infer(network, row, "exact").log_likelihood
    coarse, fine = (anneal(network, row[None], seed=2, temperatures=steps) for steps in (20, 400))
    for found in (coarse, fine):
        assert abs(found.log_likelihood[0] - exact) < FAR * found.standard_error[0]
    assert fine.standard_error[0] < coarse.standard_error[0]
    assert coarse.effective_runs[0] < fine.effective_runs[0] <= fine.num_runs


def test_without_intermediate_temperatures_annealing_weights_draws_from_the_prior():
    network, row = CASES["noisy-or, no leak"]
    found = anneal(network, row[None], seed=0, temperatures=1)
    assert found.effective_runs[0] < 20


def test_evidence_that_no_run_explains_has_probability_zero():
    dead = summary(np.full((1, 4), -np.inf))
    assert (dead.log_likelihood[0], dead.effective_runs[0]) == (-np.inf, 0)
    half = summary(np.array([[0.0, -np.inf, 0.0, -np.inf]]))
    assert half.log_likelihood[0] == pytest.approx(np.log(0.5))


# ---- what is sampled, and in which order -----------------------------------------------------------------------------


def test_units_visited_together_share_no_factor():
    rng = np.random.default_rng(0)
    W = sp.random_array((300, 300), density=0.01, rng=rng, data_sampler=rng.standard_normal)
    network = pf.BeliefNetwork(sp.tril(W, -1), np.zeros(300))
    row = np.where(np.arange(300) >= 150, 1.0, np.nan)
    part = target(network, row[None])
    adjacent = (
        np.eye(part.size)
        + sp.csr_array((np.ones(len(part.child)), (part.child, part.parent)), shape=(part.size,) * 2).toarray()
    )
    visited = []
    for table in visits(part):
        for step in table.units[: table.num_steps]:
            together = step[step < part.size]
            assert (adjacent[:, together].sum(1) <= 1).all()
            visited += together.tolist()
    assert sorted(visited) == np.flatnonzero(part.free[:, 0]).tolist()
    assert max(table.units.shape[1] for table in visits(part)) > 1


def test_a_large_sparse_network_is_visited_by_colours():
    """Independent pairs, each solved by hand."""
    pairs = 100
    parent, child = np.arange(pairs), np.arange(pairs, 2 * pairs)
    W = sp.csr_array((np.full(pairs, 2.0), (child, parent)), shape=(2 * pairs,) * 2)
    network = pf.BeliefNetwork(W, np.full(2 * pairs, -1.0))
    row = np.where(np.arange(2 * pairs) >= pairs, 1.0, np.nan)
    found = posterior(Gibbs("gibbs", seed=0, sweeps=50, burn=0, temperatures=100), network, row[None])
    prior, on, off = 1 / (1 + np.e), 1 / (1 + np.exp(-1)), 1 / (1 + np.e)
    total = prior * on + (1 - prior) * off
    np.testing.assert_allclose(found.means[0, :pairs], prior * on / total, rtol=1e-9)
    assert found.free_energy[0] == pytest.approx(-pairs * np.log(total), abs=2)


def test_findings_that_were_observed_off_become_tilts():
    network, row = cases.without_leak()
    part = target(network, row[None])
    assert 6 not in part.units
    np.testing.assert_allclose(part.tilt[:4, 0], -network.weights[6, :4])


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


def test_bad_numbers_for_annealing():
    network, row = CASES["sigmoid, layered"]
    with pytest.raises(InvalidInput, match="runs"):
        anneal(network, row[None], seed=0, runs=1)
    with pytest.raises(InvalidInput, match="seed"):
        anneal(network, row[None], seed=-1)
    with pytest.raises(InvalidInput, match="tilt"):
        anneal(network, row[None], np.zeros(3), seed=0)


def test_inside_a_trace_it_does_not_apply():
    import jax

    network, row = CASES["sigmoid, layered"]
    with pytest.raises(MethodDoesNotApply, match="trace"):
        jax.jit(lambda r: pf.infer(network, r, GIBBS).means)(row)


def test_without_arviz_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_stats.base.array", None)
    network, row = CASES["sigmoid, layered"]
    with pytest.raises(MissingExtra, match=r"plefka\[sampling\]"):
        sample_posterior(Gibbs("gibbs", seed=1, sweeps=60, burn=0), network, row[None])
