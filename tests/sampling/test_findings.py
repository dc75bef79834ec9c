"""`findings`: exact with all findings, a bound without draws, and within its stated error with them."""

import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidMethod, MethodDoesNotApply
from plefka.sampling.findings import findings
from tests import mixed_networks, zoo
from tests.compilations import compilations
from tests.data import names_in
from tests.exact.test_polytrees import enumerated
from tests.test_real_networks import diagnosis, errors
from tests.two_layers import exact_two_layer, two_layer, with_inhibitors

ROUNDING, FAR = 1e-9, 4.5
SEEDS = range(12)
CAUSES, MOST_FINDINGS = 12, 9


def answers(network, evidence, k):
    """Without draws, and with them."""
    return (pf.infer(network, evidence, f"findings[k={k}{more}]", throw=False) for more in (",samples=0", ""))


def standard_error(solution):
    """Of ln P, as the notes say it."""
    (note,) = [note for note in solution.notes if "standard error" in note]
    return float(note.split("standard error of ")[1].split()[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bound_that_tightens_and_an_estimate_within_its_error(seed):
    """Certain edges, findings without leak and observed causes are among these networks."""
    network, row = two_layer(seed, CAUSES, MOST_FINDINGS)
    truth, means = exact_two_layer(network, row)
    last = np.inf
    for k in (0, 1, 3, MOST_FINDINGS):
        bound, estimate = answers(network, row, k)
        assert truth - ROUNDING <= bound.log_likelihood <= last + 1e-3
        last = bound.log_likelihood
        if estimate.is_exact:
            assert estimate.log_likelihood == pytest.approx(truth, abs=ROUNDING)
            assert estimate.means[:CAUSES] == pytest.approx(means[:CAUSES], abs=1e-9)
        else:
            assert abs(estimate.log_likelihood - truth) <= FAR * standard_error(estimate) + 1e-6
            assert np.abs(estimate.means - means)[:CAUSES].max() < 0.05
            assert np.abs(estimate.means - means).max() < 0.15  # barren units are predicted from a few draws
            assert not estimate.is_bound
    assert estimate.is_exact


def test_standard_errors_are_those_of_repeated_runs():
    """Of ln P, and of the mean that is least certain."""
    network, row = two_layer(1, CAUSES, MOST_FINDINGS)
    truth, means = exact_two_layer(network, row)
    runs = [pf.infer(network, row, f"findings[k=1,samples=400,seed={seed}]", throw=False) for seed in range(60)]
    z = [(run.log_likelihood - truth) / standard_error(run) for run in runs]
    assert np.std(z) == pytest.approx(1, abs=0.3)
    assert abs(np.mean(z)) < 0.6
    found = np.array([run.means for run in runs])[:, :CAUSES]
    assert found.std(axis=0).max() == pytest.approx(np.mean([run.residual for run in runs]), rel=0.4)
    assert np.abs(found.mean(axis=0) - means[:CAUSES]).max() < 0.02


@pytest.mark.parametrize("seed", SEEDS)
def test_inhibitors_and_soft_evidence(seed):
    rng = np.random.default_rng(seed)
    network, row = with_inhibitors(rng)
    odds = np.append(rng.normal(0, 2, 6), np.zeros(4))
    evidence = {k: int(state) for k, state in enumerate(row) if state == state}
    evidence |= {k: pf.Likelihood(np.exp(min(odds[k], 0)), np.exp(min(-odds[k], 0))) for k in range(6)}
    truth, means = enumerated(network, row, odds)
    truth -= np.maximum(odds, 0).sum()
    bound, estimate = answers(network, evidence, 1)
    assert bound.log_likelihood >= truth - ROUNDING
    assert estimate.log_likelihood == pytest.approx(truth, abs=0.03)
    assert np.abs(estimate.means - means).max() < 0.05
    whole = pf.infer(network, evidence, "findings")
    assert whole.is_exact
    assert whole.log_likelihood == pytest.approx(truth, abs=ROUNDING)
    assert whole.means == pytest.approx(means, abs=1e-9)


@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_hidden_units_below_hidden_units_are_summed_over(seed, prune):
    network = zoo.dense(10, 0.1, 0.8, "noisy_or", seed, share=0.4)
    row = np.r_[np.full(6, np.nan), 1.0, 0.0, 1.0, 1.0]
    truth, means = enumerated(network, row)
    for k, near in ((0, 0.05), (4, 1e-9)):
        found = pf.infer(network, row, f"findings[k={k}]", prune=prune)
        assert found.log_likelihood == pytest.approx(truth, abs=near)
        barren = 0.1 if prune else near  # is predicted from a few draws
        children = np.asarray(network.storage.num_children()) > 0
        assert found.means[children] == pytest.approx(means[children], abs=near)
        assert found.means == pytest.approx(means, abs=max(near, barren))


def test_units_of_other_kinds_are_summed_over():
    network = pf.BeliefNetwork.of_units(mixed_networks.random_units(3, 8))
    exact = pf.infer(network, {6: 1, 7: 1}, "exact")
    for k, near in ((0, 0.05), (2, 1e-9)):
        found = pf.infer(network, {6: 1, 7: 1}, f"findings[k={k}]")
        assert found.log_likelihood == pytest.approx(exact.log_likelihood, abs=near)


def test_rows_are_a_loop_over_them_and_an_impossible_one_says_so():
    network, row = two_layer(5, CAUSES, MOST_FINDINGS)
    rng = np.random.default_rng(0)
    hidden = np.where(rng.random((6, network.size)) < 0.1, np.nan, row)
    impossible = np.r_[np.zeros(CAUSES), np.ones(MOST_FINDINGS)]
    rows = np.concatenate([hidden, impossible[None]])
    for method in ("findings[k=2]", "findings"):
        batch = pf.infer(network, rows, method)
        assert [status.name for status in batch.status] == ["CONVERGED"] * 6 + ["IMPOSSIBLE"]
        assert batch.log_likelihood[-1] == -np.inf
        for k, row in enumerate(hidden):
            alone = pf.infer(network, row, method)
            near = 1e-9 if method == "findings" else 0.05
            assert batch.log_likelihood[k] == pytest.approx(alone.log_likelihood, abs=near)
            assert batch.means[k][:12] == pytest.approx(alone.means[:12], abs=near)


def test_the_same_question_has_the_same_answer_and_compiles_nothing():
    network, row = two_layer(1, CAUSES, MOST_FINDINGS)
    with compilations() as found:
        first, again = (pf.infer(network, row, "findings[k=1]") for _ in range(2))
    assert len(found) == 0
    assert first.log_likelihood == again.log_likelihood
    np.testing.assert_array_equal(first.means, again.means)
    assert pf.infer(network, row, "findings[k=1,seed=1]").log_likelihood != first.log_likelihood


def test_few_draws_that_carry_weight_are_no_answer(monkeypatch):
    monkeypatch.setattr(findings, "FEWEST_EFFECTIVE", np.inf)
    network, row = two_layer(1, CAUSES, MOST_FINDINGS)
    assert pf.infer(network, row, "findings[k=9]").converged
    monkeypatch.setattr(findings, "is_enough", lambda *_: False)
    found = pf.infer(network, row, "findings[k=1]", throw=False)
    assert found.status is pf.Status.OUT_OF_STEPS
    with pytest.raises(pf.InferenceFailed, match=r"of findings k and samples.*effective sample size .* of 4,096 draws"):
        pf.infer(network, row, "findings[k=1]")


def test_nothing_on_is_exact():
    network, row = two_layer(1, CAUSES, MOST_FINDINGS)
    row = np.where(row == 1, np.nan, row)
    found, exact = (pf.infer(network, row, method) for method in ("findings", "exact"))
    assert found.log_likelihood == pytest.approx(exact.log_likelihood, abs=ROUNDING)
    assert found.means[:12] == pytest.approx(exact.means[:12], abs=1e-9)


def test_what_it_does_not_apply_to_is_refused(monkeypatch):
    with pytest.raises(MethodDoesNotApply, match=r"findings does not apply: it transforms noisy-or units.*Use bethe"):
        pf.infer(zoo.ZOO["sigmoid, layered"], {0: 1}, "findings")
    monkeypatch.setattr(findings, "FINDINGS_SECONDS", 0)
    network = zoo.dense(10, 0.1, 0.8, "noisy_or", 5, share=0.5)
    with pytest.raises(MethodDoesNotApply, match=r"hidden units depend on each other too strongly"):
        pf.infer(network, {8: 1, 9: 1}, "findings")


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("findings[k=-1]", "k must be 0 or more; got -1"),
        ("findings[samples=10]", "samples must be 0, or 100 or more; got 10"),
        ("findings[seed=-1]", r"seed must be a whole number from 0 to 2\^63 - 1; got -1"),
    ],
)
def test_bad_options(method, message):
    with pytest.raises(InvalidMethod, match=message):
        pf.parse_method(method)


def test_a_check_flags_an_estimate_that_is_far_off_and_trusts_a_good_one():
    network, row = two_layer(1, CAUSES, MOST_FINDINGS)
    truth, _ = exact_two_layer(network, row)
    good, wrong = (pf.infer(network, row, method) for method in ("findings[k=1]", "findings[k=0,samples=0]"))
    assert good.check(seed=0).trusted
    assert wrong.log_likelihood > truth + 0.2
    assert not wrong.check(seed=0).trusted


# ---- real diagnoses --------------------------------------------------------------------------------------------------


def assert_close(name):
    network, evidence, log_z, truth = diagnosis(name)
    found = pf.infer(network, evidence, "auto[exact=no]", check=0)
    off = abs(found.log_likelihood - log_z)
    assert (
        "auto chose findings" in found.notes[0] or off < 1e-12
    )  # of some, exact reductions leave nothing to transform
    assert not found.is_exact
    assert found.checked is not None
    assert off < 0.1 or not found.checked.trusted
    return off, np.abs(errors(found, truth)).max()


def test_some_real_diagnoses_without_exact_inference():
    off = np.array([assert_close(name) for name in names_in("promedas")[::12]])
    assert off[:, 0].mean() < 0.03
    assert off[:, 1].mean() < 0.02


@pytest.mark.slow
def test_all_real_diagnoses_without_exact_inference():
    off = np.array([assert_close(name) for name in names_in("promedas")])
    assert off.mean(axis=0) == pytest.approx([0, 0], abs=0.01)


def test_a_check_flags_belief_propagation_where_it_is_far_off():
    for name in names_in("promedas")[::12]:
        network, evidence, log_z, _ = diagnosis(name)
        found = pf.infer(network, evidence, "bethe", throw=False)
        check = found.check(seed=0)
        assert check.reliable
        assert check.log_likelihood == pytest.approx(log_z, abs=0.1)
        if abs(abs(found.log_likelihood - log_z) - 0.1) > 0.05:
            assert check.trusted == (abs(found.log_likelihood - log_z) < 0.1)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_draws_of_which_none_is_possible():
    """Forty findings that are off exclude the only causes of one that is on, in every draw, and nothing overflows."""
    W = np.full((41, 2), 7.0)
    network = pf.BeliefNetwork.layered([W], [np.full(2, 0.1), np.zeros(41)], "noisy_or")
    found = pf.infer(network, {unit: int(unit == 2) for unit in range(2, 43)}, "findings[k=0]", throw=False)
    assert found.status == pf.Status.OUT_OF_STEPS
    assert np.isfinite(found.means).all()
    assert found.log_partition_accuracy == "estimate"
