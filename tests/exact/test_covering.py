"""Sums over sets of findings, beside plain sums over all states of the causes and beside elimination."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import plefka as pf
from plefka.exact import covering, state_sum
from plefka.exact.covering import CoveringSum


def row_of(rng: np.random.Generator, priors: np.ndarray, findings: int) -> CoveringSum:
    """Causes with these priors; some edges are certain, and some leaks are zero."""
    shape = findings, len(priors)
    q = rng.uniform(0, 1, shape) * (rng.random(shape) < 0.7)
    q[rng.random(shape) < 0.1] = 1
    leak = np.where(rng.random(findings) < 0.2, 0.0, 10.0 ** rng.uniform(-6, -0.1, findings))
    with np.errstate(divide="ignore"):
        theta = -np.log1p(-q)
    log_odds = np.log(priors) - np.log1p(-priors)
    return CoveringSum(log_odds[:, None], -np.log1p(-leak)[:, None], theta, np.arange(shape[1]), np.arange(findings))


def plain_sums(row: CoveringSum) -> tuple[float, np.ndarray, np.ndarray]:
    """Z, that of every cause on, and that of every finding off."""
    z, on, off = 0.0, np.zeros(len(row.log_odds)), np.zeros(len(row.leak))
    for state in product((False, True), repeat=len(row.log_odds)):
        S = np.array(state)
        weight = np.exp(row.log_odds[S, 0].sum())
        field = row.leak[:, 0] + row.theta[:, S].sum(axis=1)
        f = -np.expm1(-field)
        z, on = z + weight * f.prod(), on + weight * f.prod() * S
        off += [weight * np.exp(-field[i]) * np.delete(f, i).prod() for i in range(len(f))]
    return z, on, off


@pytest.mark.parametrize("kind", ["tiny", "any", "rare"])
@pytest.mark.parametrize("all_subtracted", [False, True])
def test_plain_sums(kind, all_subtracted, monkeypatch):
    monkeypatch.setattr(covering, "LITTLE", 0.0 if all_subtracted else 0.02)
    rng = np.random.default_rng(0)
    for _ in range(40):
        count, findings = int(rng.integers(1, 8)), int(rng.integers(1, 7))
        priors = {
            "tiny": 10.0 ** rng.uniform(-20, -1, count),
            "any": rng.uniform(0.001, 0.9, count),
            "rare": 10.0 ** rng.uniform(-6, -3, count),
        }[kind]
        row = row_of(rng, priors, findings)
        z, on, off = plain_sums(row)
        (log_z,), means, slopes = row.sums()
        if z == 0:
            assert log_z == -np.inf
            continue
        tolerance = 1e-9  # a sum may be the difference of others 1e5 times as large, and not more
        assert log_z == pytest.approx(np.log(z), abs=tolerance)
        np.testing.assert_allclose(means[:, 0], on / z, atol=tolerance)
        slope_tolerance = 1e-8 if all_subtracted else tolerance  # slopes are parts of it, and may be thousands
        np.testing.assert_allclose(slopes[:, 0], off / z, rtol=slope_tolerance, atol=slope_tolerance)


@pytest.mark.parametrize("at_once", [2**16, 2**6])
def test_several_rows_have_the_sums_of_each(at_once, monkeypatch):
    monkeypatch.setattr(covering, "ENTRIES", at_once)  # tables of one row, and of many
    rng = np.random.default_rng(3)
    for _ in range(20):
        causes, findings = int(rng.integers(1, 8)), int(rng.integers(1, 7))
        one = row_of(rng, 10.0 ** rng.uniform(-5, -0.5, causes), findings)
        lower = rng.uniform(0, 5, (causes, 9)) * (rng.random((causes, 9)) < 0.5)  # as units that are off make them
        leaks = one.leak * rng.uniform(0.5, 1, (findings, 9))
        found = replace(one, log_odds=one.log_odds - lower, leak=leaks).sums()
        for row in range(9):
            some = slice(row, row + 1)
            alone = replace(one, log_odds=one.log_odds - lower[:, some], leak=leaks[:, some]).sums()
            for numbers, number in zip(found, alone, strict=True):
                np.testing.assert_allclose(numbers[..., some], number, rtol=1e-8, atol=1e-9)


@pytest.fixture(scope="module")
def diagnosis() -> pf.BeliefNetwork:
    """Sixty causes of twenty findings; all sorts of leaks and priors."""
    rng, causes, findings = np.random.default_rng(1), 60, 20
    weights = np.zeros((causes + findings,) * 2)
    chance = rng.uniform(0.05, 0.9, (findings, causes)) * (rng.random((findings, causes)) < 0.5)
    chance[0, :3] = 1.0
    leaks, priors = 10.0 ** rng.uniform(-4, -1, findings), 10.0 ** rng.uniform(-6, -2, causes)
    leaks[1] = 0.0
    with np.errstate(divide="ignore"):
        weights[causes:, :causes] = -np.log1p(-chance)
    bias = -np.log1p(-np.r_[priors, leaks])
    return pf.BeliefNetwork(weights, bias, "noisy_or", [f"d{k}" for k in range(causes)] + [f"f{k}" for k in range(20)])


def evidence_of(row: int) -> dict:
    """Findings on and off, a root that is observed, and soft evidence."""
    on = {f"f{(k + row) % 20}": 1 for k in range(9)}
    off = {f"f{(k + row) % 20}": 0 for k in range(9, 13)}
    return {**on, **off, "d7": row % 2, "d9": pf.Likelihood(0.3, 0.9)}


def copy_of(network: pf.BeliefNetwork) -> pf.BeliefNetwork:
    """One for which nothing is planned yet."""
    return pf.BeliefNetwork(network.weights, network.bias, "noisy_or", network.names)


def by_elimination(monkeypatch, *question):
    with monkeypatch.context() as without:
        without.setattr(state_sum, "FEWEST_COVERED", 10**9)
        return pf.infer(*question, method="exact")


@pytest.mark.parametrize("row", [0, 1, 12])
def test_elimination_says_the_same(diagnosis, row, monkeypatch):
    sets, sums = [], CoveringSum.sums
    monkeypatch.setattr(CoveringSum, "sums", lambda self: sets.append(len(self.leak)) or sums(self))
    found = pf.infer(diagnosis, evidence_of(row), "auto")
    other = by_elimination(monkeypatch, copy_of(diagnosis), evidence_of(row))
    assert set(sets) == {9}
    assert found.is_exact == other.is_exact
    assert found.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-9)
    np.testing.assert_allclose(found.means[:60], other.means[:60], atol=1e-9)


def test_rows_have_the_answer_that_they_have_alone(diagnosis):
    rows = np.full((6, 80), np.nan)
    for row in range(6):
        rows[row, 60:][[(k + row) % 20 for k in range(7 + row % 3)]] = 1
    rows[5] = np.nan
    rows[5, 61] = 0  # which is summed over without sets
    together = pf.infer(diagnosis, rows, "auto")
    for row in range(6):
        alone = pf.infer(diagnosis, rows[row], "auto")
        assert together.log_likelihood[row] == pytest.approx(alone.log_likelihood, abs=1e-12)
        np.testing.assert_allclose(together.means[row], alone.means, atol=1e-11)


def test_numbers_below_those_that_can_be_held_are_left_to_elimination(monkeypatch):
    rng = np.random.default_rng(2)
    weights = np.zeros((48, 48))
    weights[40:, :40] = rng.uniform(0.1, 1, (8, 40))
    network = pf.BeliefNetwork(weights, np.r_[np.full(40, 1e-60), np.zeros(8)], "noisy_or")
    monkeypatch.setattr(covering, "LEAST_SUM", 1e-20)
    found = pf.infer(network, dict.fromkeys(range(40, 48), 1), "exact")
    other = by_elimination(monkeypatch, copy_of(network), dict.fromkeys(range(40, 48), 1))
    assert found.log_likelihood == pytest.approx(other.log_likelihood, rel=1e-12)


def test_contradictions_are_refused(diagnosis):
    evidence = {"f1": 1, **{f"d{k}": 0 for k in range(60)}}
    with pytest.raises(pf.errors.InvalidEvidence):
        pf.infer(diagnosis, evidence, "auto")
