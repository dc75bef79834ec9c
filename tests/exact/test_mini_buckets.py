"""Weighted mini-buckets are never below the sum over all states, for any shifts, weights and tangents, and reach it."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import plefka as pf
from plefka.exact.mini_bucket_answer import BoundedRow
from plefka.exact.mini_buckets import OrderWriter
from plefka.methods.posterior import Accuracy
from plefka.networks.evidence import Evidence
from plefka.reduction.reduce import reduce
from tests.exact.test_polytrees import enumerated

ROUNDING = 1e-9
SEEDS = range(40)


def random_network(rng):
    """Small, of any kind, with few or many edges of any size."""
    n, scale, share = int(rng.integers(2, 8)), 10 ** rng.uniform(-1, 1.5), rng.uniform(0.2, 1)
    there = rng.random((n, n)) < share
    kind = ("machine", "sigmoid", "noisy_or")[int(rng.integers(3))]
    if kind == "machine":
        W = np.triu(rng.normal(0, scale, (n, n)) * there, 1)
        values = (0, 1) if rng.random() < 0.5 else (-1, 1)
        return pf.BoltzmannMachine(W + W.T, rng.normal(0, scale, n) * (rng.random() < 0.7), values=values)
    if kind == "sigmoid":
        return pf.BeliefNetwork(np.tril(rng.normal(0, scale, (n, n)) * there, -1), rng.normal(0, 1, n), "sigmoid")
    W = np.tril(rng.exponential(scale, (n, n)) * there, -1)
    W[(rng.random((n, n)) < 0.1) & (W > 0)] = np.inf
    return pf.BeliefNetwork(W, rng.exponential(0.5, n) * (rng.random(n) < 0.8), "noisy_or")


def truth_of(network, row, tilt):
    if network.is_normalised:
        return float(enumerated(network, row, tilt)[0])
    S = ((np.arange(2**row.size)[:, None] >> np.arange(row.size)) & 1).astype(float)
    S = S[((row == S) | np.isnan(row)).all(1)]
    off, on = network.values
    return float(np.logaddexp.reduce(network.log_joint(off + (on - off) * S) + S @ tilt))


def random_part(seed):
    """What is left of a row, and ln of the sum over its states."""
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    row = np.where(rng.random(network.size) < rng.random(), rng.integers(0, 2, network.size), np.nan)
    tilt = rng.normal(0, 2, row.size) * np.isnan(row) * (rng.random() < 0.3)
    reduction = reduce(network, Evidence(row[None], tilt[None], batched=True), prune=bool(seed % 2))
    if reduction.impossible[0]:
        return None
    return reduction.parts[0], truth_of(network, row, tilt)


@pytest.mark.parametrize("most", [2, 3, 20])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_bound_after_any_number_of_steps_that_is_exact_where_nothing_is_split(seed, most):
    if (given := random_part(seed)) is None:
        return
    part, truth = given
    row = BoundedRow(part.question, most)
    for max_steps in (1, 4, 100):
        found = row.best(max_steps, 1e-6)
        value = part.constant[0] - found.free_energy[0]
        assert value >= truth - ROUNDING * (1 + abs(truth))
        assert row.is_exact >= (most == 20)
        if row.is_exact:
            assert value == pytest.approx(truth, rel=ROUNDING, abs=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_any_shifts_weights_and_tangents_give_a_bound_whose_gradient_is_right(seed):
    if (given := random_part(seed)) is None or not np.isfinite(given[1]):
        return
    part, truth = given
    row = BoundedRow(part.question, 2)
    x = np.random.default_rng(seed).normal(0, 0.5, row.num_parameters)
    found = row.bound(x)
    assert found.value + part.constant[0] >= truth - ROUNDING * (1 + abs(truth))
    slopes = approx_fprime(x, lambda x: row.bound(x).value, 1e-6) if len(x) else np.zeros(0)
    assert found.gradient == pytest.approx(slopes, abs=1e-4 * (1 + abs(found.value)))


@pytest.mark.parametrize("size", [1e3, 1e6])
def test_large_couplings_leave_a_bound_that_is_a_number(size):
    rng = np.random.default_rng(0)
    W = np.triu(rng.normal(0, size, (7, 7)), 1)
    machine = pf.BoltzmannMachine(W + W.T, rng.normal(0, size, 7))
    truth = float(pf.infer(machine, None, "exact").log_partition)
    for i in (2, 3, 6):
        found = pf.infer(machine, None, f"minibucket[i={i}]", throw=False)
        assert truth <= found.log_partition < np.inf


def test_more_axes_give_a_closer_bound_and_the_solution_says_which_side_it_is_on():
    machine = torus(6)
    truth = float(pf.infer(machine, None, "exact").log_partition)
    found = [pf.infer(machine, None, f"minibucket[i={i}]") for i in (2, 4, 8, 14)]
    gaps = [float(solution.log_partition) - truth for solution in found]
    assert all(a > b >= 0 for a, b in pairwise(gaps))
    assert found[0].log_partition_accuracy is Accuracy.UPPER_BOUND
    assert not found[0].is_bound
    assert "an upper bound" in str(found[0])


def torus(side):
    rng, n = np.random.default_rng(0), side * side
    W = np.zeros((n, n))
    for unit in range(n):
        row, column = divmod(unit, side)
        for other in ((row + 1) % side * side + column, row * side + (column + 1) % side):
            W[unit, other] = W[other, unit] = rng.normal(0, 2)
    return pf.BoltzmannMachine(W, rng.normal(0, 0.5, n), values=(-1, 1))


def test_deep_sigmoid_networks_of_many_parents_are_bounded_closer_by_more_axes():
    rng = np.random.default_rng(1)
    sizes = (5, 9, 10)
    weights = [rng.uniform(-3, 3, (b, a)) for a, b in pairwise(sizes)]
    network = pf.BeliefNetwork.layered(weights, [rng.uniform(-1, 1, n) for n in sizes], activation="sigmoid")
    seen = dict(enumerate(rng.integers(0, 2, 10).tolist(), start=14))
    truth = float(pf.infer(network, seen, "exact").log_likelihood)
    gaps = [float(pf.infer(network, seen, f"minibucket[i={i}]").log_likelihood) - truth for i in (2, 6, 10)]
    assert gaps[0] > gaps[1] > gaps[2] >= 0
    assert gaps[1] < 4


def test_a_sum_of_upper_bounds_is_one():
    network = torus(4)
    truth = float(pf.infer(network, {0: 1}, "exact").log_partition)
    alone, conditioned = (pf.infer(network, {0: 1}, m) for m in ("minibucket[i=2]", "conditioned[minibucket[i=2],k=3]"))
    assert truth <= conditioned.log_partition < alone.log_partition
    assert conditioned.log_partition_accuracy is Accuracy.UPPER_BOUND


def test_rows_of_a_batch_are_those_of_each_alone_and_observed_ones_are_exact():
    network = torus(3)
    rows = np.full((3, 9), np.nan)
    rows[1, :4], rows[2] = [1, -1, 1, 1], 1
    together = pf.infer(network, rows, "minibucket[i=3]")
    for k, row in enumerate(rows):
        alone = pf.infer(network, row, "minibucket[i=3]")
        assert together.log_partition[k] == pytest.approx(alone.log_partition, abs=1e-12)
        np.testing.assert_allclose(together.means[k], alone.means, atol=1e-12)
    assert together.log_partition_accuracy[2] is Accuracy.EXACT


def test_a_users_method_may_be_an_upper_bound():
    class Above(pf.Method):
        def answer(self, network, evidence, *, prune, dtype):
            count, size = evidence.rows.shape
            return pf.Posterior.of(np.full((count, size), 0.5), np.zeros(count), is_upper=True)

    solution = pf.infer(pf.example("espresso"), {"slow_flow": 1}, Above("above"))
    assert solution.log_likelihood_accuracy is Accuracy.UPPER_BOUND
    assert not solution.is_bound


def test_axes_that_are_held_leave_tables_of_few_axes():
    scopes = [(a, b) for a in range(8) for b in range(a)]
    writer = OrderWriter(scopes).written(4)
    assert sorted(writer.eliminated + writer.held) == list(range(8))
    assert len(writer.held) == 4
    assert OrderWriter(scopes).written().held == []


def test_an_order_of_elimination_is_found_once_for_all_numbers_of_axes(monkeypatch):
    machine = pf.ensembles.ising_grid(4, 4, coupling=0.4)
    (part,) = reduce(machine, Evidence(np.full((1, 16), np.nan), batched=True)).parts
    written, orders = OrderWriter.written, []
    monkeypatch.setattr(OrderWriter, "written", lambda self: orders.append(written(self)) or orders[-1])
    rows = [BoundedRow(part.question, most) for most in (2, 3, 8)]
    assert len(orders) == 1
    assert all(row.order == orders[0].eliminated for row in rows)
