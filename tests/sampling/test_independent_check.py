"""The check shares nothing with what it checks: no wrong answer is trusted, in whatever mode it was found."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import plefka as pf
from plefka.inference.check_text import NOT_CONVERGED
from plefka.methods.posterior import Status
from plefka.networks.belief import BeliefNetwork
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.evidence import as_evidence
from plefka.reduction.reduce import REDUCE
from plefka.sampling.importance import averaged
from plefka.sampling.populations import PopulationProposal
from tests import zoo
from tests.boltzmann.test_real_machines import read

FAR = 4.5
SOFT = {0: pf.Likelihood(0.3, 0.9), 1: 1}
GLASS = pf.ensembles.spin_glass(8, 1, 3, scale=2.0, field=0.3, temperature=1.3).take(0)
MACHINES = {
    "spins": (GLASS, None),
    "spins, evidence": (GLASS, SOFT),
    "zeros and ones": (GLASS.converted((0, 1), 2.0), SOFT),
    "restricted": (pf.BoltzmannMachine.restricted(np.eye(3, 4), np.zeros(3), np.ones(4), constant=7.0), {0: 1}),
    "all observed": (GLASS, dict.fromkeys(range(8), 1)),
    "large numbers": (pf.BoltzmannMachine([[0, 900.0], [900.0, 0]], [-2e4, 3e4]), None),
}
QUESTIONS: dict[str, tuple[Any, Any]] = {
    **MACHINES,
    **{name: (network, zoo.some_evidence(network)) for name, network in zoo.ZOO.items() if network.stack is None},
}


def shifted(solution, *, log_z=0.0, mean=0.0):
    """The solution with another ln Z, or with another mean of the hidden unit that is least decided."""
    means = np.array(solution.means)
    unit = int(np.argmin(np.where(solution.observed, 1.0, np.abs(means - 0.5))))
    means[unit] += mean if means[unit] < 0.5 else -mean
    return replace(solution, log_partition=solution.log_partition + log_z, means=means)


@pytest.mark.parametrize("name", QUESTIONS)
def test_exact_answers_are_trusted_and_shifted_ones_are_not(name):
    exact = pf.infer(*QUESTIONS[name], "exact")
    for claim in (exact, replace(exact, codes=exact.codes.estimated())):
        assert claim.check(seed=0).trusted
        assert not shifted(claim, log_z=0.2).check(seed=1).trusted
        assert not shifted(claim, log_z=-0.2).check(seed=2).trusted
        if not exact.observed.all():
            assert not shifted(claim, mean=0.2).check(seed=3).trusted


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.CONVERGED])
def test_what_has_not_converged_is_never_trusted(status):
    for network, evidence in (QUESTIONS["spins"], QUESTIONS["sigmoid, layered"]):
        check = replace(pf.infer(network, evidence, "exact"), status=status).check(seed=0)
        assert not check.trusted
        assert check.verdict.endswith(NOT_CONVERGED)


def test_the_check_reduces_nothing(monkeypatch):
    solutions = [pf.infer(*QUESTIONS[name], "exact") for name in ("spins, evidence", "noisy-or, layered")]
    solutions.append(pf.infer(pf.example("espresso"), {"slow_flow": 1}, "bethe"))

    def refuse(*_, **__):
        raise AssertionError("the check must not use the reduction")

    for kind in (BeliefNetwork, BoltzmannMachine):
        monkeypatch.setitem(REDUCE, kind, refuse)
    monkeypatch.setattr("plefka.reduction.reduce.recovered", refuse)
    monkeypatch.setattr("plefka.reduction.recovery._Chunk.answers", refuse)
    assert all(np.isfinite(solution.check(seed=0).log_likelihood) for solution in solutions)


def test_an_exact_mean_that_a_clipped_slope_made_zero_is_found():
    """One cause of forty findings, of which one is on: a limit on slopes once gave 1.1e-18 for 1, with ln P right."""
    names = [f"finding {k}" for k in range(40)]
    findings = {"finding": names, "cause": ["flu"] * 40, "probability": [0.999] * 40}
    network = pf.BeliefNetwork.diagnosis({"cause": ["flu"], "prior": [0.1]}, findings)
    solution = pf.infer(network, {name: int(name == names[0]) for name in names}, "exact")
    means = np.array(solution.means)
    means[network.index("flu")] = 1.1e-18
    check = replace(solution, means=means).check(seed=0)
    assert not check.trusted
    assert "The mean of 'flu' lies 1 below that of the samples" in check.verdict
    assert check.means[network.index("flu")] == pytest.approx(1.0)


# ---- answers in one of several modes -------------------------------------------------------------------------------


def test_one_mode_of_a_ferromagnet_is_not_trusted():
    """Its own ln Z is right but for ln 2, and no draw from it would reach the other mode."""
    machine = pf.ensembles.ising_grid(5, 5, 1.0)
    exact = pf.infer(machine, None, "exact")
    up = replace(
        exact, codes=exact.codes.estimated(), means=np.full(25, 0.999), log_partition=exact.log_partition - np.log(2)
    )
    check = up.check(seed=0)
    assert check.reliable
    assert not check.trusted
    assert check.log_likelihood == pytest.approx(exact.log_partition, abs=FAR * check.standard_error)
    assert exact.check(seed=0).trusted


@pytest.mark.parametrize("method", ["G1", "G2", "mixture[2]", "bethe"])
def test_wrong_answers_of_machines_are_not_trusted(method):
    machines = (
        pf.ensembles.ising_grid(5, 5, 2.0, 0.2, periodic=True, seed=1),
        pf.ensembles.ising_grid(5, 5, 0.7),
        two_patterns(),
    )
    for machine in machines:
        exact, found = pf.infer(machine, None, "exact"), pf.infer(machine, None, method, throw=False)
        wrong = abs(found.log_partition - exact.log_partition) > 0.1 or np.abs(found.means - exact.means).max() > 0.05
        assert not (wrong and found.check(seed=0).trusted)


def two_patterns():
    """A restricted machine with a narrow and deep mode, and a wide one in which a solution ends."""
    rng = np.random.default_rng(5)
    visible, hidden = rng.choice([-1.0, 1.0], 9), rng.choice([-1.0, 1.0], 7)
    W = 1.2 * np.outer(visible, hidden) + 0.2 * rng.normal(size=(9, 7))
    return pf.BoltzmannMachine.restricted(W, -0.05 * visible, -0.05 * hidden, values=(-1, 1))


def test_the_naive_mean_field_of_a_real_torus_is_not_trusted():
    machine, known = read("Grids_13")
    found = pf.infer(machine, None, "G1")
    assert found.log_partition < known["lnZ_exact"] - 50
    assert not found.check(seed=0, num_samples=1024).trusted


# ---- population annealing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MACHINES)
def test_populations_agree_with_enumeration(name):
    machine, evidence = MACHINES[name]
    exact, found = pf.infer(machine, evidence, "exact"), pf.infer(machine, evidence, "G1").check(seed=5)
    assert abs(found.log_likelihood - exact.log_partition) <= FAR * found.standard_error + 1e-6
    assert (np.abs(found.means - exact.means) <= FAR * found.means_error + 1e-6).all()


def test_errors_of_a_population_are_as_large_as_they_say():
    machine = pf.ensembles.spin_glass(10, 1, 0, scale=3.0, field=0.2).take(0)
    source, truth = (
        PopulationProposal.of(machine, as_evidence(machine, None)),
        pf.infer(machine, None, "exact").log_partition,
    )
    z = []
    for seed in range(30):
        drawn = source.drawn(256, np.random.default_rng(seed))
        weights = np.bincount(np.asarray(drawn.family), np.exp(drawn.log_weights - truth), 256)
        with np.errstate(divide="ignore"):
            found = averaged(np.log(weights))
        z.append(found.log_mean / found.standard_error)
    assert np.mean(np.square(z)) == pytest.approx(1, abs=0.8)


def test_a_machine_that_does_not_equilibrate_is_not_confirmed():
    """A deep glass of which a small population keeps a few families only."""
    machine = pf.ensembles.ising_grid(12, 12, 10.0, 0.5, periodic=True, seed=0)
    check = pf.infer(machine, None, "G1").check(seed=0, num_samples=200)
    assert not check.reliable
    assert "has not equilibrated, and few families of it are left" in check.verdict
