"""`smc`: ln Z and means beside enumeration, errors that are as large as they say, and the extremes."""

import numpy as np
import pytest
from benchmarks.coverage import METHODS, NETWORKS, Coverage

import plefka as pf
from plefka.errors import InvalidMethod
from plefka.sampling.spin_target import SpinTarget
from tests.sampling.test_independent_check import MACHINES

FAR = 5.0  # standard errors, of eight populations
RNG = np.random.default_rng(0)


def random_machine(size: int, scale: float, field: float, **options) -> pf.BoltzmannMachine:
    W = np.triu(scale * RNG.normal(size=(size, size)), 1)
    return pf.BoltzmannMachine(W + W.T, field * RNG.normal(size=size), **options)


EXTREMES = {
    **MACHINES,
    "no fields": (random_machine(7, 0.7, 0.0, values=(-1, 1)), None),
    "no couplings": (pf.BoltzmannMachine(np.zeros((4, 4)), [0.0, 1.0, -2.0, 1e3]), None),
    "one unit": (pf.BoltzmannMachine([[0.0]], [0.7]), None),
    "couplings of 1e3": (random_machine(6, 1e3, 1.0), None),
    "fields of 1e3": (random_machine(6, 1.0, 1e3, values=(-1, 1)), None),
    "cold": (random_machine(8, 1.0, 0.5, temperature=0.2), {2: 1}),
    "isolated units": (
        pf.BoltzmannMachine(np.diag([1.0, 0.0, 0.0], 1) + np.diag([1.0, 0.0, 0.0], -1), np.ones(4)),
        None,
    ),
    "two parts": (pf.BoltzmannMachine(np.kron(np.eye(2), [[0, 2.0], [2.0, 0]]), [0.5, -1.0, 0.0, 0.2]), None),
}


def size_of(error) -> np.ndarray:
    """A standard error, 0 where there is none as the number is exact."""
    return np.nan_to_num(np.asarray(0.0 if error is None else error))


def assert_close(found: pf.Solution, exact: pf.Solution) -> None:
    """ln Z within some standard errors of the truth."""
    assert (np.abs(found.log_partition - exact.log_partition) <= FAR * size_of(found.standard_error) + 1e-5).all()


@pytest.mark.parametrize("name", EXTREMES)
def test_answers_are_those_of_a_sum_over_all_states(name):
    machine, evidence = EXTREMES[name]
    exact, found = pf.infer(machine, evidence, "exact"), pf.infer(machine, evidence, "smc")
    assert_close(found, exact)
    assert (np.abs(found.means - exact.means) <= FAR * size_of(found.means_error) + 1e-5).all()


@pytest.mark.parametrize("what", NETWORKS)
def test_intervals_are_as_wide_as_they_should_be(what):
    """A light form of benchmarks/coverage.py."""
    found, kinds = Coverage(), list(NETWORKS[what].values())
    for seed in range(60):
        found.add(kinds[seed % len(kinds)](seed), METHODS[0], seed)
    assert found.unconverged <= 3
    for inside in (found.log_z, found.means):
        assert len(inside) >= 50
        assert np.mean(inside) >= 0.85


def test_units_without_fields_are_undecided_and_drawn_both_ways():
    """In each part of a machine by itself: here a strong ferromagnet beside units with fields."""
    W = np.zeros((7, 7))
    W[0, 1] = W[1, 2] = W[2, 3] = W[4, 5] = W[5, 6] = 2.0
    found = pf.infer(pf.BoltzmannMachine(W + W.T, [0, 0, 0, 0, 1.0, 0, 0], values=(-1, 1)), None, "smc")
    np.testing.assert_allclose(found.means[:4], 0.5, atol=1e-15)
    assert (found.means[4:] > 0.8).all()


def test_populations_that_disagree_have_not_converged():
    """A deep glass, for which such a budget is far too small."""
    machine = pf.ensembles.ising_grid(12, 12, 10.0, 0.5, periodic=True, seed=0)
    found = pf.infer(machine, None, "smc[budget=0.1s]", throw=False)
    assert found.status is pf.Status.OUT_OF_STEPS
    assert found.notes[-1].startswith("the populations ")


def test_clusters_are_exchanged_without_a_change_of_energy():
    target, rng = (
        SpinTarget(np.diag(np.ones(9), 1) + np.diag(np.ones(9), -1), np.linspace(-1, 1, 10), 0.0),
        np.random.default_rng(0),
    )
    before = target.start(40, rng)
    after = before.copy()
    target.exchange(after, slice(10, 40), rng)
    energy = [target.rising(each, 0.0)(1.0) for each in (before, after)]
    np.testing.assert_array_equal(after[:, :10], before[:, :10])
    assert (after != before).any()
    of_pairs = [each[10:25] + each[25:40] for each in energy]
    np.testing.assert_allclose(of_pairs[0], of_pairs[1], atol=1e-4)


def test_a_batch_has_the_answers_of_its_rows_and_a_seed_those_of_another_time():
    machine, rows = MACHINES["spins"][0], np.full((3, 8), np.nan)
    rows[1, 2], rows[2] = 1, -1
    together = pf.infer(machine, rows, "smc[seed=3]")
    for row in range(3):
        alone = pf.infer(machine, rows[row], "smc[seed=3]")
        assert alone.log_partition == together.log_partition[row]
        np.testing.assert_array_equal(alone.means, together.means[row])
    assert pf.infer(machine, None, "smc[seed=4]").log_partition != together.log_partition[0]


def test_a_stack_of_machines_has_an_answer_each():
    stack = pf.ensembles.spin_glass(6, 3, 0, scale=2.0, field=0.3)
    assert_close(pf.infer(stack, None, "smc"), pf.infer(stack, None, "exact"))


def test_a_budget_limits_the_work_and_not_the_clock():
    machine = pf.ensembles.ising_grid(8, 8, 1.0, 0.3, seed=0)
    found = [pf.infer(machine, None, f"smc[budget={seconds}s]", throw=False) for seconds in (0.05, 0.05, 2)]
    assert found[0].log_partition == found[1].log_partition
    assert size_of(found[2].standard_error) < size_of(found[0].standard_error)


def test_what_does_not_serve_is_refused():
    with pytest.raises(InvalidMethod, match="particles must be 32 or more; got 3"):
        pf.parse_method("smc[particles=3]")
    with pytest.raises(InvalidMethod, match=r"budget must be a positive time, as in smc\[budget=2s\]"):
        pf.parse_method("smc[budget=0s]")
