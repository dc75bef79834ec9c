"""The importance check: it covers the truth as often as it says, and knows when it does not."""

from dataclasses import replace

import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidInput, MethodDoesNotApply
from plefka.inference.check_verdict import Check
from plefka.methods.posterior import LOWER_BOUND
from plefka.sampling.importance import Proposals, chain_diagnostics, smoothed, weighted_draws, widened
from plefka.sampling.state_weights import Target
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


def two_modes():
    """Two causes that explain each other away, evidence, and a solution that sits in one of the two modes."""
    W = np.zeros((3, 3))
    W[2, :2] = 8.0
    network = pf.BeliefNetwork(W, np.array([-5.0, -5.0, -9.0]))
    return network, np.array([np.nan, np.nan, 1.0]), np.array([0.99, 0.01, 1.0])


def test_a_mixture_is_a_better_proposal_than_one_of_its_parts(monkeypatch):
    monkeypatch.setattr("plefka.sampling.proposals.ROUNDS", 0)
    network, row, one = two_modes()
    both = [(np.zeros(1, int), np.arange(3), np.zeros((2, 1)), np.stack([one, one[[1, 0, 2]]])[:, :, None])]
    single = solved(network, row, means=one).check(seed=0, num_samples=4096)
    mixed = solved(network, row, means=one, proposals=both).check(seed=0, num_samples=4096)
    assert mixed.effective_samples > 3 * single.effective_samples
    assert_covers(mixed, pf.infer(network, row, "exact"))


def test_draws_are_adapted_to_a_mode_that_the_solution_does_not_have(monkeypatch):
    network, row, one = two_modes()
    found = solved(network, row, means=one).check(seed=0, num_samples=4096)
    assert_covers(found, pf.infer(network, row, "exact"))
    assert found.effective_samples > 2000
    monkeypatch.setattr("plefka.sampling.proposals.ROUNDS", 0)
    assert solved(network, row, means=one).check(seed=0, num_samples=4096).effective_samples < 1000


@pytest.mark.slow
def test_methods_that_find_a_mixture_are_checked_by_it(monkeypatch):
    """Also in the second row, of other units, and for units that the mixture does not have."""
    monkeypatch.setattr("plefka.sampling.proposals.affordable", lambda *_: None)  # no draws by findings
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
    exact = pf.infer(network, row, "exact")
    truth = exact.log_likelihood
    verdicts = {
        "within the interval. The answer can be used as it is.": (truth, False, True),
        "close to it (by less than 0.1). The answer can be used as it is.": (truth + 0.06, False, True),
        "Take the values of the samples (check.corrected()), or use a better method.": (truth + 0.5, False, False),
        "is a valid lower bound, but lies 0.5 below: too far to be used as an estimate.": (truth - 0.5, True, False),
        "no bound may": (truth + 0.5, True, False),
    }
    for words, (estimate, is_bound, trusted) in verdicts.items():
        codes = exact.codes.estimated()
        codes = codes._replace(log_partition=LOWER_BOUND) if is_bound else codes
        changes = {"means": exact.means, "log_partition": estimate, "codes": codes}
        found = solved(network, row, **changes).check(seed=0)
        assert words in found.verdict
        assert found.trusted is trusted


def judged(estimate, error=0.01, **claims):
    """A check whose draws say -3 +- 0.01, and means of 0.5 +- 0.005."""
    row = np.full(2, 0.5)
    return Check(-3.0, error, row, row / 100, **{**RELIABLE, **claims}, estimate=estimate)


RELIABLE = {"pareto_k": 0.2, "effective_samples": 1000.0, "num_samples": 4096}


@pytest.mark.parametrize("claims", [{}, {"is_bound": True}, {"is_exact": True, "is_bound": True}])
@pytest.mark.parametrize("estimate", [np.nan, -np.inf, np.inf])
def test_an_estimate_that_is_not_finite_is_not_trusted(estimate, claims):
    found = judged(estimate, **claims)
    assert not found.trusted
    assert found.verdict.endswith("The method has no finite answer: take the values of the samples.")


@pytest.mark.parametrize(
    ("errors", "claim", "words", "trusted"),
    [
        (1.5, "is_bound", "within the interval", True),
        (3.0, "is_bound", "above, outside the interval but within what chance allows", True),
        (4.5, "is_bound", "which no bound may", False),
        (-4.5, "is_bound", "below, outside the interval but close to it", True),
        (-12.0, "is_bound", "is a valid lower bound, but lies 0.12 below", False),
        (3.0, "is_exact", "above, outside the interval but within what chance allows", True),
        (-3.0, "is_exact", "below, outside the interval but within what chance allows", True),
        (-4.5, "is_exact", "below, more than chance allows", False),
    ],
)
def test_only_what_chance_does_not_explain_is_called_wrong(errors, claim, words, trusted):
    found = judged(-3.0 + 0.01 * errors, **{claim: True})
    assert words in found.verdict
    assert found.trusted is trusted


@pytest.mark.parametrize("is_bound", [False, True])
@pytest.mark.parametrize("error", [1e-3, 0.01, 0.03])
@pytest.mark.parametrize("off", [0.0, 0.02, 0.06, 0.0999, 0.1001, 0.13, 0.5])
def test_only_what_is_closer_than_a_tenth_is_called_close(off, error, is_bound):
    """The same for estimates and bounds; what is trusted is at least two errors closer than that."""
    found = judged(-3.0 - off, error, is_bound=is_bound)
    assert off < 0.1 or "close to it" not in found.verdict
    assert found.trusted is (off + 2 * error <= 0.1)
    assert ("can be used as it is" in found.verdict) is found.trusted


@pytest.mark.parametrize(("off", "trusted"), [(0.0, True), (0.03, True), (0.045, False), (0.2, False), (np.nan, False)])
def test_a_mean_that_is_off_is_not_trusted_though_ln_p_is_right(off, trusted):
    found = judged(-3.0, estimated_means=np.array([0.5, 0.5 + off]))
    assert found.trusted is trusted
    assert ("mean of unit 1 lies" in found.verdict) is (not trusted and off == off)
    assert ("not numbers" in found.verdict) is (off != off)


def test_what_the_draws_do_not_decide_is_said():
    assert judged(-3.09, 0.03).verdict.endswith("raise num_samples.")
    assert judged(-3.2, 0.03).verdict.endswith("use a better method.")


@pytest.mark.parametrize(
    ("changes", "reliable", "words"),
    [
        ({"effective_samples": 3802.0, "pareto_k": 0.93}, True, "effective sample size 3,802 of 4,096"),
        ({"effective_samples": 1200.0, "pareto_k": 0.93}, False, "may outweigh all others (Pareto k = 0.93"),
        ({"effective_samples": 1200.0, "pareto_k": 0.6}, True, "usable: Pareto k = 0.60"),
        (
            {"effective_samples": 12.0, "pareto_k": 0.2},
            False,
            "The check could not confirm this answer: too few of its samples carry weight (effective sample size 12 "
            "of 4,096).",
        ),
    ],
)
def test_draws_are_judged_by_their_tail_and_by_how_many_are_effective(changes, reliable, words):
    found = judged(-3.0, **changes)
    assert found.reliable is found.trusted is reliable
    assert words in found.verdict


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


def opposite(network, row):
    """A solution that says the opposite of the truth."""
    exact = pf.infer(network, row, "exact")
    return solved(network, row, means=np.where(np.isnan(row), 1 - np.round(exact.means), row)), exact


def test_draws_that_miss_the_posterior_confirm_nothing_unless_they_are_adapted(monkeypatch):
    network = zoo.dense(12, -6, 6, "sigmoid", 9)
    row = np.where(np.arange(12) > 8, 1.0, np.nan)
    wrong, exact = opposite(network, row)
    found = wrong.check(seed=0)
    assert found.reliable
    assert not found.trusted
    assert_covers(found, exact)
    monkeypatch.setattr("plefka.sampling.proposals.ROUNDS", 0)
    found = wrong.check(seed=0, num_samples=1000)
    assert not found.reliable
    assert not found.trusted
    assert "The check could not confirm this answer: " in found.verdict
    with pytest.raises(InvalidInput, match="must be reliable to be used"):
        found.corrected()


# ---- the draws instead of the solution -------------------------------------------------------------------------------


def test_draws_are_closer_to_the_truth_than_a_solution_that_is_not_trusted():
    stack = pf.ensembles.layered((2, 4, 6), -5, 5, 20, 3, "sigmoid")
    row = np.array([np.nan] * 6 + [0.0] * 6)
    exact, solution = pf.infer(stack, row, "exact"), pf.infer(stack, row, "G1")
    off = []
    for number, found in enumerate(solution.check(seed=0)):
        better = found.corrected()
        assert_covers(found, exact.row(number))
        np.testing.assert_array_equal(better.means, found.means)
        if not found.trusted:
            off.append([abs(s.log_likelihood - exact.log_likelihood[number]) for s in (better, solution.row(number))])
    assert len(off) > 3
    assert np.mean(off, axis=0) @ [10, -1] < 0  # ten times closer


def test_a_corrected_solution_says_what_it_is():
    network = zoo.ZOO["sigmoid, layered"]
    row = zoo.some_evidence(network)
    before = pf.infer(network, row, "G1")
    check = before.check(seed=0)
    found = check.corrected()
    assert (found.log_likelihood, found.standard_error) == (check.log_likelihood, check.standard_error)
    assert (found.is_bound, found.is_exact, found.checked) == (False, False, check)
    assert found.means_error is not None
    assert found.means_error.shape == found.means.shape
    assert str(found.method) == str(found.methods[0]) == "G1 corrected by its check"
    assert "averages over 4,096 weighted samples" in found.notes[0]
    assert f"G1 alone says ln P = {before.log_likelihood:.6g}" in found.notes
    with pytest.raises(MethodDoesNotApply, match="only says how a solution was found"):
        pf.infer(network, row, found.method)
    assert before.standard_error is before.means_error is None


def test_an_exact_solution_needs_no_correction():
    network = zoo.ZOO["sigmoid, layered"]
    exact = pf.infer(network, zoo.some_evidence(network), "exact")
    assert exact.check(seed=0).corrected() is exact
    with pytest.raises(InvalidInput, match="only the check of a solution"):
        judged(-3.0).corrected()


def test_more_samples_are_drawn_where_fewer_do_not_decide():
    """Unless their number is given."""
    network = zoo.ZOO["sigmoid, layered"]
    row = zoo.some_evidence(network)
    exact = pf.infer(network, row, "exact")
    drawn = []
    for off in (0.0, 0.095, 0.5):
        solution = solved(network, row, means=exact.means, log_partition=exact.log_likelihood + off)
        found, first = solution.check(seed=0), solution.check(seed=0, num_samples=4096)
        assert found.settled or found.num_samples == 2**16
        assert (found.num_samples > 4096) == (not first.settled)
        drawn.append(found.num_samples)
    assert drawn[0] == drawn[2] == 4096 < drawn[1]


def test_a_row_of_a_batch_is_checked_as_if_it_were_alone():
    network = zoo.ZOO["noisy-or, layered"]
    rows = np.stack([zoo.some_evidence(network), 1 - zoo.some_evidence(network)])
    both = pf.infer(network, rows, "conditioned[bethe,k=2]")
    for number, found in enumerate(both.check(seed=3)):
        alone = both.row(number)
        assert not alone.is_batch
        assert alone.check(seed=3 + number).log_likelihood == found.log_likelihood
        single = pf.infer(network, rows[number], "conditioned[bethe,k=2]")
        np.testing.assert_allclose(alone.means, single.means, atol=1e-9)
        assert repr(alone) == repr(single)
    assert both.row(-1).log_likelihood == both.log_likelihood[1]
    with pytest.raises(InvalidInput, match="row must be a number from 0 to 1; got 2"):
        both.row(2)


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
    r_hat, size, error = chain_diagnostics(draws)
    assert r_hat[0] < 1.02 < 1.5 < r_hat[1]
    assert (r_hat[2], r_hat[3], error[2], size[3]) == (1, np.inf, 0, 1)
    assert error[0] == pytest.approx(1 / np.sqrt(800), rel=0.3)


def test_barren_units_are_predicted_from_joint_draws_of_their_parents():
    """Parents that were summed out depend on each other given their child, and draws of them must as well."""
    solution = pf.infer(pf.example("espresso"), {"slow_flow": 1}, "exact")
    for check in (solution.check(seed=seed) for seed in range(3)):
        assert np.max(np.abs(check.means - solution.means) / (check.means_error + 1e-9)) < 4.5
