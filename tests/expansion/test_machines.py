"""Plefka's series of Boltzmann machines: its closed forms, ln Z, conventions, and where it converges."""

from functools import cache
from typing import Any, cast

import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidInput, MethodDoesNotApply
from tests.boltzmann.machines import MACHINES, couplings, fields, log_weights, some_evidence, states, summed
from tests.quick import quick_where

SMALL = [name for name in MACHINES if name != "large couplings"]
MARGIN = 1.15  # the radius is this factor away from 1, on either side, in the law below
SCALES, FIELDS, EACH = (0.5, 1.0, 2.0), (0.0, 0.5), 6
GLASSES = [(scale, field, k) for scale in SCALES for field in FIELDS for k in range(EACH)]
SOME = [glass for glass in GLASSES if glass[2] < 2]


def some_means(machine: pf.BoltzmannMachine, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.05, 0.95, machine.size)


@cache
def glass(scale: float, field: float, k: int) -> pf.BoltzmannMachine:
    return pf.ensembles.spin_glass(6, EACH, 5, scale=scale, field=field).take(k)


@cache
def series_of(scale: float, field: float, k: int) -> pf.Series:
    return pf.series(glass(scale, field, k), None)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("kind", ["nothing", "clamped", "soft"])
def test_orders_1_to_4_are_the_closed_forms(name, kind):
    machine = MACHINES[name]
    evidence = evidence_of(machine, kind)
    for u in (some_means(machine), some_means(machine, 1)):
        found = pf.series(machine, evidence, 4, u)
        for order in (1, 2, 3, 4):
            wanted = pf.free_energy(machine, evidence, u, f"G{order}", prune=False)
            assert found.partial_sums[order] == pytest.approx(wanted, abs=1e-9), order


def evidence_of(machine: pf.BoltzmannMachine, kind: str) -> dict[int, Any]:
    clamped: dict[int, Any] = dict(some_evidence(machine))
    soft = {**clamped, 0: pf.Likelihood(on=0.9, off=0.2), 2: pf.Likelihood(on=0.1, off=3.0)}
    return {"nothing": {}, "clamped": clamped, "soft": soft}[kind]


@pytest.mark.parametrize("name", SMALL)
def test_exact_is_minus_ln_z_with_the_evidence_clamped(name):
    machine = MACHINES[name]
    for evidence in ({}, some_evidence(machine)):
        log_z, means = summed(machine, evidence)
        found = pf.series(machine, evidence, 2)
        assert found.exact == pytest.approx(-log_z, abs=1e-11)
        np.testing.assert_allclose(found.means, means, atol=1e-12)
        assert pf.series(machine, evidence, 2, found.means).exact == pytest.approx(-log_z, abs=1e-9)
        assert pf.series(machine, evidence, 2, some_means(machine)).exact > -log_z


@pytest.mark.parametrize("name", SMALL)
def test_soft_evidence_counts(name):
    machine = MACHINES[name]
    evidence = evidence_of(machine, "soft")
    solution = pf.infer(machine, evidence, "exact")
    found = pf.series(machine, evidence, 2)
    assert found.exact == pytest.approx(-solution.log_partition, abs=1e-11)
    np.testing.assert_allclose(found.means, solution.means, atol=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_conventions_and_temperatures_change_no_coefficient(name):
    """They differ by what is linear in the states, which is in the mean energy and cancels in all higher orders."""
    machine = MACHINES[name]
    u, scale = some_means(machine), 1e-12
    found = pf.series(machine, None, 30, u)
    for other in (machine.converted((0, 1)), machine.converted((-1, 1)), machine.converted((-1, 1), 3.0)):
        again = pf.series(other, None, 30, u)
        sizes = np.maximum(np.abs(found.coefficients), scale * found.radius ** -np.arange(31.0))
        assert np.max(np.abs(again.coefficients - found.coefficients) / sizes) < 1e-6
        assert again.radius == pytest.approx(found.radius, rel=1e-6)
        assert again.exact == pytest.approx(found.exact, abs=1e-9)


def test_a_sparse_machine_has_the_series_of_the_dense_one():
    W, h = couplings(7, 1.0, 3, 0.5), fields(7, 0.7, 4)
    dense, sparse = (pf.series(pf.BoltzmannMachine(w, h), {2: 1}, 20) for w in (W, sp.csr_array(W)))
    np.testing.assert_allclose(sparse.coefficients, dense.coefficients, rtol=1e-9)


def test_biases_and_the_constant_are_in_the_mean_energy_alone():
    W, u = couplings(6, 1.0, 0), np.random.default_rng(1).uniform(0.1, 0.9, 6)
    h, constant = fields(6, 2.0, 1), 3.5
    plain, other = (pf.series(machine, None, 12, u) for machine in (
        pf.BoltzmannMachine(W, np.zeros(6)), pf.BoltzmannMachine(W, h, constant=constant),
    ))  # fmt: skip
    np.testing.assert_allclose(other.coefficients[2:], plain.coefficients[2:], rtol=1e-9)
    assert other.coefficients[0] == plain.coefficients[0]
    assert other.coefficients[1] - plain.coefficients[1] == pytest.approx(-h @ u - constant, abs=1e-12)
    assert other.exact - plain.exact == pytest.approx(-h @ u - constant, abs=1e-9)


def test_units_without_couplings_end_the_series():
    machine = pf.BoltzmannMachine(np.zeros((4, 4)), [0.3, -1.0, 2.0, 0.5], values=(-1, 1))
    for found in (pf.series(machine, None), pf.series(MACHINES["restricted"], {"a": 1, "b": 0, "c": 1, "d": 1})):
        assert found.radius == np.inf
        assert found.partial_sums[1] == pytest.approx(found.exact, abs=1e-12)


# ---- where it converges ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scale", "field", "k"), quick_where(SOME, GLASSES))
def test_partial_sums_converge_where_the_radius_is_above_one_and_not_elsewhere(scale, field, k):
    """The law of test_radius.py. Without fields, errors fall as R^-n / n, and a bound of 0.15 separates them too."""
    found = series_of(scale, field, k)
    error = np.abs(found.partial_sums - found.exact)
    early, late = error[11:16].max(), error[26:31].max()
    if found.radius > MARGIN:
        assert found.converges
        assert late < max(0.15 * early, 1e-12)
    if found.radius < 1 / MARGIN:
        assert found.converges is False
        assert late > 0.15 * early


def test_the_law_sees_machines_of_both_kinds():
    """Or it would say nothing."""
    radii = np.array([series_of(*each).radius for each in SOME])
    assert np.sum(radii > MARGIN) >= 3
    assert np.sum(radii < 1 / MARGIN) >= 3


@pytest.mark.parametrize("k", range(EACH))
def test_without_fields_the_radius_is_the_distance_of_the_nearest_zero_of_z(k):
    """By how often Z turns around 0 along a circle; and a scale of the couplings divides it."""
    machine = glass(1.0, 0.0, k)
    found = series_of(1.0, 0.0, k)
    energies = -log_weights(machine, states(machine))
    assert turns(energies, 0.999 * found.radius) == 0
    assert turns(energies, 1.001 * found.radius) > 0
    assert series_of(2.0, 0.0, k).radius == pytest.approx(found.radius / 2, rel=1e-6)


def turns(energies: np.ndarray, radius: float) -> int:
    gamma = radius * np.exp(2j * np.pi * np.arange(2001) / 2000)
    Z = np.exp(-np.outer(gamma, energies)).sum(axis=1)
    return round(float(np.angle(Z[1:] / Z[:-1]).sum() / (2 * np.pi)))


# ---- bad input -------------------------------------------------------------------------------------------------------


def test_one_machine_and_one_row():
    machines = pf.ensembles.spin_glass(4, 3, 0)
    with pytest.raises(InvalidInput, match="series takes one BeliefNetwork or BoltzmannMachine; got a stack of 3"):
        pf.series(machines, None)
    with pytest.raises(InvalidInput, match="series takes one BeliefNetwork or BoltzmannMachine; got ndarray"):
        pf.series(cast(Any, np.eye(3)), None)
    with pytest.raises(InvalidEvidence, match="series takes one row of evidence; got 2"):
        pf.series(machines.take(0), [{}, {1: 1}])
    with pytest.raises(InvalidEvidence, match="must be -1 or 1; got 0"):
        pf.series(machines.take(0), {1: 0})


def test_too_many_hidden_units():
    grid = pf.ensembles.ising_grid(3, 6, 0.5)
    with pytest.raises(MethodDoesNotApply, match=r"at most 16 hidden units; got 17. Observe more units, or use"):
        pf.series(grid, {0: 1})


def test_certain_units_are_refused():
    with pytest.raises(MethodDoesNotApply, match="unit '0' has posterior log-odds of 2000"):
        pf.series(pf.BoltzmannMachine([[0, 0.5], [0.5, 0]], [2000.0, 0.0]), {1: 0})


def test_means_are_chances_to_be_on_whatever_the_values():
    machine = MACHINES["dense, spins, temperature"]
    with pytest.raises(InvalidInput, match=r"strictly between 0 and 1; got -0.5 for unit '0'"):
        pf.series(machine, None, 4, np.full(6, -0.5))
