"""The importance check: it covers the truth as often as it says, and knows when it does not."""

from dataclasses import replace

import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidInput
from plefka.sampling import verdict
from plefka.sampling.diagnostics import of_chains, smoothed
from plefka.sampling.fields import Target
from plefka.sampling.importance import Proposals, weighted_draws, widened
from plefka.sampling.verdict import Check
from tests import zoo
from tests.compilations import compilations
from tests.sampling import cases

FAR = 4.5


def solved(network, row, method="G12", **changes):
    """A solution, or what is made of it by changes."""
    return replace(pf.infer(network, row, method, throw=False), **changes)


def assert_covers(found, exact):
    assert abs(found.log_likelihood - exact.log_likelihood) <= FAR * found.standard_error + 1e-12
    assert (np.abs(found.means - exact.means) <= FAR * found.means_error + 1e-12).all()


@pytest.mark.parametrize("name", zoo.ZOO)
def test_the_check_agrees_with_enumeration(name):
    network = zoo.ZOO[name]
    row = zoo.some_evidence(network)
    found, exact = solved(network, row).check(seed=4), pf.infer(network, row, "exact")
    assert found.reliable
    assert_covers(found, exact)
    assert 100 < found.effective_samples <= found.num_samples


@pytest.mark.parametrize("make", [cases.without_leak, cases.with_certain_edges, cases.tilted])
def test_impossible_draws_have_no_weight_and_soft_evidence_counts(make):
    network, evidence = make()
    exact = pf.infer(network, evidence, "exact")
    assert_covers(exact.check(seed=0), exact)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    stack = pf.ensembles.layered((2, 4, 6), -1, 1, 100, 8, "sigmoid")
    row = np.array([np.nan] * 6 + [0.0] * 6)
    exact = pf.infer(stack, row, "exact")
    checks = pf.infer(stack, row, "G12").check(seed=0)
    assert all(found.reliable for found in checks)
    covered = [low <= truth <= high for (low, high), truth in zip(
        (found.interval for found in checks), exact.log_likelihood, strict=True
    )]  # fmt: skip
    assert sum(covered) >= 88
    errors = np.array([found.standard_error for found in checks])
    z = (np.array([found.log_likelihood for found in checks]) - exact.log_likelihood) / errors
    assert z.std() == pytest.approx(1, abs=0.3)


def test_a_mixture_is_a_better_proposal_than_one_of_its_parts():
    """Two causes that explain each other away: one mean-field solution sits in one of the two modes."""
    W = np.zeros((3, 3))
    W[2, :2] = 8.0
    network = pf.BeliefNetwork(W, np.array([-5.0, -5.0, -9.0]))
    row = np.array([np.nan, np.nan, 1.0])
    one, other = np.array([0.99, 0.01, 1.0]), np.array([0.01, 0.99, 1.0])
    both = [(np.zeros(1, int), np.arange(3), np.zeros((2, 1)), np.stack([one, other])[:, :, None])]
    exact = pf.infer(network, row, "exact")
    single = solved(network, row, means=one).check(seed=0)
    mixed = solved(network, row, means=one, proposals=both).check(seed=0)
    assert mixed.effective_samples > 3 * single.effective_samples
    assert_covers(mixed, exact)


@pytest.mark.slow
def test_methods_that_find_a_mixture_are_checked_by_it(monkeypatch):
    """Also in the second row, of other units, and for units that the mixture does not have."""
    monkeypatch.setattr("plefka.sampling.checking.affordable", lambda *_: None)  # no draws by findings
    network = pf.ensembles.layered((3, 8), 0, 2, 1, 0, "noisy_or").take(0)
    rows = np.full((2, 11), np.nan)
    rows[0, 3:9], rows[1, 4:] = 1.0, 1.0
    exact = pf.infer(network, rows, "exact")
    for method in ("conditioned[G1,k=2]", "mixture[3]", "gibbs[seed=0,sweeps=100]"):
        checks = pf.infer(network, rows, method).check(seed=0)
        for row, found in enumerate(checks):
            assert abs(found.log_likelihood - exact.log_likelihood[row]) < FAR * found.standard_error
            assert (np.abs(found.means - exact.means[row]) <= FAR * found.means_error + 1e-12).all()


def test_weighted_draws_serve_many_rows_at_once():
    network = zoo.ZOO["sigmoid, sparse, large weights"]
    rows = np.stack([zoo.some_evidence(network), 1 - zoo.some_evidence(network)])
    part = cases.part_of(network, rows)
    target = Target(part.question)
    u = np.where(target.free, 0.5, target.values)[None]
    proposals = widened(target, Proposals.of(np.zeros((1, 2)), u))
    states, log_w = weighted_draws(target, proposals, np.random.default_rng(0), 40_000)
    assert states.shape == (target.size, 2, 40_000)
    found = np.logaddexp.reduce(log_w, axis=1) - np.log(40_000) + part.constant
    np.testing.assert_allclose(found, pf.infer(network, rows, "exact").log_likelihood, atol=0.05)


def test_nothing_hidden_is_exact():
    network = zoo.ZOO["sigmoid, layered"]
    row = np.ones(network.size)
    found = solved(network, row).check(seed=0)
    assert found.log_likelihood == pytest.approx(network.log_joint(row), abs=1e-12)
    assert (found.standard_error, found.pareto_k) == (0, -np.inf)
    assert found.trusted
    assert "same weight" in found.verdict


def test_nothing_observed_is_exact_too_and_barren_units_are_predicted():
    network = zoo.ZOO["sigmoid, layered"]
    row = np.full(network.size, np.nan)
    found = solved(network, row).check(seed=0)
    assert (found.log_likelihood, found.standard_error) == (0, 0)
    assert found.trusted
    assert_covers(found, pf.infer(network, row, "exact"))


def test_draws_none_of_which_are_possible_say_that_the_posterior_was_missed():
    found = Check(-np.inf, np.inf, np.zeros(2), np.zeros(2), np.inf, 0.0, 4096, -3.0)
    assert not found.trusted
    assert "misses" in found.verdict


def test_verdicts_in_words():
    network = zoo.ZOO["sigmoid, layered"]
    row = zoo.some_evidence(network)
    truth = pf.infer(network, row, "exact").log_likelihood
    verdicts = {
        "within the interval": (truth, False, True),
        "close to it": (truth + 0.06, False, True),
        "a better method": (truth + 0.5, False, False),
        "as a bound may": (truth - 0.5, True, True),
        "no bound may": (truth + 0.5, True, False),
    }
    for words, (estimate, is_bound, trusted) in verdicts.items():
        found = solved(network, row, log_likelihood=estimate, is_bound=is_bound).check(seed=0)
        assert words in found.verdict
        assert found.trusted is trusted
    assert "estimate" not in judged(None).verdict


def judged(estimate, **claims):
    """A check whose draws say -3 +- 0.01."""
    row = np.full(2, 0.5)
    return Check(-3.0, 0.01, row, row, 0.2, 1000.0, 4096, estimate, **claims)


@pytest.mark.parametrize("claims", [{}, {"is_bound": True}, {"is_exact": True, "is_bound": True}])
@pytest.mark.parametrize("estimate", [np.nan, -np.inf, np.inf])
def test_an_estimate_that_is_not_finite_is_not_trusted(estimate, claims):
    found = judged(estimate, **claims)
    assert not found.trusted
    assert found.verdict.endswith("The method has no finite answer: take the values of the draws.")


@pytest.mark.parametrize(
    ("errors", "claim", "words", "trusted"),
    [
        (1.5, "is_bound", "within the interval", True),
        (3.0, "is_bound", "above, outside the interval but within what chance allows", True),
        (4.5, "is_bound", "which no bound may", False),
        (-4.5, "is_bound", "as a bound may", True),
        (3.0, "is_exact", "above, outside the interval but within what chance allows", True),
        (-3.0, "is_exact", "below, outside the interval but within what chance allows", True),
        (-4.5, "is_exact", "below, more than chance allows", False),
    ],
)
def test_only_what_chance_does_not_explain_is_called_wrong(errors, claim, words, trusted):
    found = judged(-3.0 + 0.01 * errors, **{claim: True})
    assert words in found.verdict
    assert found.trusted is trusted


def test_exact_answers_are_not_called_wrong_by_chance():
    network = zoo.ZOO["sigmoid, layered"]
    solution = pf.infer(network, zoo.some_evidence(network), "exact")
    checks = [solution.check(seed=seed, num_samples=500) for seed in range(200)]
    assert all(found.trusted for found in checks)
    assert any("chance allows" in found.verdict for found in checks)
    assert all("The exact value" in found.verdict for found in checks)


def test_impossible_evidence_is_called_so():
    W = np.array([[0, 0, 0], [0, 0, 0], [1.0, 1.0, 0]])
    network = pf.BeliefNetwork(W, np.array([0.5, 0.5, 0.0]), "noisy_or")
    impossible, possible = pf.infer(network, np.array([[0, 0, 1], [np.nan, np.nan, 1]]), "bethe").check(seed=0)
    assert impossible.verdict.startswith("The evidence is impossible: its probability is zero")
    assert not impossible.trusted
    assert possible.trusted
    assert "impossible" not in possible.verdict


def test_a_heavy_tail_is_not_to_be_believed():
    network = zoo.dense(12, -6, 6, "sigmoid", 9)
    row = np.where(np.arange(12) > 8, 1.0, np.nan)
    means = np.where(np.isnan(row), 1 - np.round(pf.infer(network, row, "exact").means), row)
    found = solved(network, row, means=means).check(seed=0)
    assert found.pareto_k > verdict.USABLE
    assert not found.trusted
    assert "Not to be believed" in found.verdict


def test_rows_are_checked_one_by_one_and_the_seed_decides():
    network = zoo.ZOO["sigmoid, layered"]
    rows = np.stack([zoo.some_evidence(network), np.ones(network.size)])
    solved = pf.infer(network, rows, "G12")
    first, again, other = (solved.check(seed=seed) for seed in (2, 2, 7))
    assert first[0].log_likelihood == again[0].log_likelihood != other[0].log_likelihood
    assert first[0].estimate == solved.log_likelihood[0]
    assert first[1].standard_error == 0


def test_a_check_compiles_nothing():
    network = zoo.ZOO["sigmoid, layered"]
    solution = solved(network, zoo.some_evidence(network))
    with compilations() as found:
        solution.check(seed=0)
    assert not found


@pytest.mark.parametrize(("options", "message"), [({"num_samples": 3}, "num_samples"), ({"seed": -1}, "seed")])
def test_bad_input(options, message):
    network = zoo.ZOO["sigmoid, layered"]
    with pytest.raises(InvalidInput, match=message):
        solved(network, zoo.some_evidence(network)).check(**{"seed": 0, **options})


# ---- what is made of draws -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [0.3, 0.9])
def test_the_shape_of_a_tail_is_found(shape):
    rng = np.random.default_rng(0)
    log_w = np.log1p(rng.pareto(1 / shape, 20_000))
    assert smoothed(log_w)[1] == pytest.approx(shape, abs=0.15)


def test_smoothing_keeps_the_scale_of_the_weights():
    log_w = np.random.default_rng(0).normal(100, 0.5, 5000)
    lifted, k = smoothed(log_w)
    assert k < 0.5
    assert np.exp(lifted - 100).mean() == pytest.approx(np.exp(log_w - 100).mean(), rel=0.01)


def test_weights_that_come_in_few_sizes_have_no_tail_unless_one_is_rare_and_large():
    rng = np.random.default_rng(0)
    assert smoothed(np.zeros(1000))[1] == -np.inf
    assert smoothed(rng.choice([0.0, 1.0], 1000))[1] == -np.inf
    assert smoothed(np.r_[np.zeros(998), 0.5, 0.5])[1] == -np.inf
    assert smoothed(np.repeat(rng.normal(size=100), 10))[1] == -np.inf
    assert smoothed(np.r_[np.zeros(998), 5.0, 5.0])[1] == np.inf
    assert smoothed(np.r_[np.full(900, -np.inf), rng.normal(size=100)])[1] < 0.7
    assert smoothed(np.full(1000, -np.inf))[1] == np.inf


def test_chains_that_agree_and_chains_that_do_not():
    rng = np.random.default_rng(0)
    apart = rng.normal(size=(1, 4, 200)) + np.arange(4)[:, None]
    draws = np.concatenate([rng.normal(size=(1, 4, 200)), apart, np.ones((1, 4, 200)), np.ones((1, 4, 200))])
    draws[3] *= np.arange(4)[:, None]
    r_hat, size, error = of_chains(draws)
    assert r_hat[0] < 1.02 < 1.5 < r_hat[1]
    assert (r_hat[2], r_hat[3], error[2], size[3]) == (1, np.inf, 0, 1)
    assert error[0] == pytest.approx(1 / np.sqrt(800), rel=0.3)
