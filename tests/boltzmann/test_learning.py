"""Learning Boltzmann machines: gradients against enumeration, what every method learns, and what is refused."""

import itertools
from typing import Any, NamedTuple

import jax
import numpy as np
import optax
import pandas as pd
import pytest

import plefka as pf
from plefka.exact.state_sum import state_moments
from plefka.inference.library import parse_method
from plefka.learning import of_machines
from plefka.learning.annealed import AnnealingStart, RowsScore, log_partitions
from plefka.learning.chains import ByChains
from plefka.learning.machine_steps import Gradient, in_own_values
from plefka.learning.of_machines import ByMoments, ByNeighbours
from plefka.learning.pair_moments import HESSIANS, both_on, moments, response
from plefka.learning.parameters import SlowingDescent
from plefka.learning.patterns import as_patterns
from plefka.learning.steps import BatchNumber
from plefka.networks.evidence import Evidence
from plefka.reduction.reduce import reduce
from tests.boltzmann.machines import MACHINES, couplings, fields, log_weights, restricted, states

SOME = [{}, {1: 1}, {0: 0, 2: 1}]


def enumerated(machine: Any, seen: dict[int, int]) -> tuple[float, np.ndarray, np.ndarray]:
    """ln Z, <S_i> and <S_i S_j> of units counted as 0 and 1, by the definition."""
    S = states(machine)
    for unit, state in seen.items():
        S = S[S[:, unit] == machine.values[state]]
    log_w = log_weights(machine, S)
    log_z, on = np.logaddexp.reduce(log_w), (machine.values[1] == S) * 1.0
    p = np.exp(log_w - log_z)
    return float(log_z), p @ on, np.einsum("s,si,sj->ij", p, on, on)


def along(machine: pf.BoltzmannMachine, matrix: np.ndarray) -> list[np.ndarray]:
    """The entries of a matrix that belong to couplings."""
    found = jax.tree.leaves(machine.storage.along(lambda child, parent: matrix[child, parent]))
    there = jax.tree.leaves(machine.storage.parameters)
    return [np.where(w != 0, z, 0.0) for z, w in zip(found, there, strict=True)]


def only_couplings(machine: pf.BoltzmannMachine, second: Any) -> list[np.ndarray]:
    there = jax.tree.leaves(machine.storage.parameters)
    return [np.where(w != 0, z, 0.0) for z, w in zip(jax.tree.leaves(second), there, strict=True)]


def row(machine: pf.BoltzmannMachine, seen: dict[int, int]) -> np.ndarray:
    found = np.full((1, machine.size), np.nan)
    found[0, list(seen)] = list(seen.values())
    return found


# ---- averages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seen", SOME, ids=str)
@pytest.mark.parametrize("name", MACHINES)
def test_exact_averages_are_those_of_enumeration(name, seen):
    machine = MACHINES[name]
    found = moments(machine, row(machine, seen), np.ones(1), parse_method("exact"))
    log_z, first, second = enumerated(machine, seen)
    assert found.log_partition == pytest.approx(log_z, abs=1e-10)
    np.testing.assert_allclose(found.first, first, atol=1e-12)
    for got, want in zip(only_couplings(machine, found.second), along(machine, second), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)


def test_averages_by_elimination_are_slopes_of_ln_z():
    """A grid of 4 x 12 units, which is narrow, and has too many states to be enumerated quickly."""
    grid = pf.ensembles.ising_grid(4, 12, coupling=0.7, field=0.4, seed=1).converted()
    nothing = np.full((1, 48), np.nan)
    (part,) = reduce(grid, Evidence(nothing, batched=True)).parts
    assert state_moments(part) is None
    found = moments(grid, nothing, np.ones(1), parse_method("exact"))
    np.testing.assert_allclose(found.first, pf.infer(grid, None, "exact").means, atol=1e-10)
    child, _, _ = grid.storage.edge_list()
    for edge in (0, 7, 40, len(child) - 1):
        ends = []
        for change in (1e-4, -1e-4):
            weights = np.asarray(grid.parameters[0]) + change * (np.arange(len(child)) == edge)
            ends.append(pf.infer(grid.with_parameters((weights, grid.bias)), None, "exact").log_partition)
        assert found.second[edge] == pytest.approx((ends[0] - ends[1]) / 2e-4, abs=1e-7)


@pytest.mark.parametrize("method", ["G1", "G2"])
@pytest.mark.parametrize("name", MACHINES)
def test_linear_response_is_the_covariance_of_the_solution(name, method):
    machine = MACHINES[name]
    found = moments(machine, row(machine, {1: 1}), np.ones(1), parse_method(method))
    solution = pf.infer(machine, {1: machine.values[1]}, method, throw=False)
    second = solution.covariance() + np.outer(solution.means, solution.means)
    for got, want in zip(only_couplings(machine, found.second), along(machine, second), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-9)


def test_bethe_is_exact_without_loops():
    chain = np.diag([1.5, -2.0, 0.7, 3.0], -1)
    machine = pf.BoltzmannMachine(chain + chain.T, [0.3, -0.2, 0.1, 0.5, -1.0])
    found = moments(machine, row(machine, {}), np.ones(1), parse_method("bethe"))
    _, first, second = enumerated(machine, {})
    np.testing.assert_allclose(found.first, first, atol=1e-7)
    for got, want in zip(only_couplings(machine, found.second), along(machine, second), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6)


def test_the_belief_of_a_pair_has_its_marginals_and_its_odds_ratio():
    rng = np.random.default_rng(0)
    w = np.array([-800.0, -30.0, -1.0, 0.0, 1e-9, 2.0, 30.0, 800.0])
    a, b = rng.random((2, len(w)))
    both = both_on(w, a, b)
    low, high = np.maximum(0, a + b - 1), np.minimum(a, b)
    assert np.all((both >= low - 1e-12) & (both <= high + 1e-12))
    some = slice(2, 6)
    odds = both * (1 - a - b + both) / ((a - both) * (b - both))
    np.testing.assert_allclose(np.log(odds[some]), w[some], atol=1e-6)


def test_many_units_have_the_beliefs_of_pairs(monkeypatch):
    machine, method = MACHINES["restricted"], parse_method("bethe")
    whole = moments(machine, row(machine, {}), np.ones(1), method)
    monkeypatch.setattr("plefka.learning.pair_moments.MOST_PAIRED", 2)
    pairs = moments(machine, row(machine, {}), np.ones(1), method)
    np.testing.assert_allclose(pairs.first, whole.first)
    exact = enumerated(machine, {})[2]
    for got, want in zip(only_couplings(machine, pairs.second), along(machine, exact), strict=True):
        assert np.abs(got - want).max() < 0.02
    with pytest.raises(pf.errors.MethodDoesNotApply, match=r"would invert a matrix of .* Use bethe instead"):
        moments(machine, row(machine, {}), np.ones(1), parse_method("G2"))


def test_the_hessian_of_bethe_is_that_of_its_beliefs():
    """Linear response: the means move by C when biases do."""
    W, h = couplings(5, 0.6, 11), fields(5, 0.5, 12)
    u = pf.infer(pf.BoltzmannMachine(W, h), None, "bethe[tol=1e-13]").means
    C = response(HESSIANS["bethe"], W, u[None])[0]
    for unit in range(5):
        moved = [
            pf.infer(pf.BoltzmannMachine(W, h + step * np.eye(5)[unit]), None, "bethe[tol=1e-13]").means
            for step in (1e-4, -1e-4)
        ]
        np.testing.assert_allclose((moved[0] - moved[1]) / 2e-4, C[unit], atol=1e-6)


# ---- gradients -------------------------------------------------------------------------------------------------------


def run_of(machine: pf.BoltzmannMachine, rows: np.ndarray, method: str, masks: Any = None) -> Any:
    """The run that `fit` would make, with its gradients."""
    from plefka.learning import steps
    from plefka.learning.devices import Devices
    from plefka.learning.parameters import parametrisation

    data, chosen = as_patterns(machine, rows), parse_method(method)
    rules = parametrisation(machine, masks, None, None)
    settings = of_machines.settings(machine, data, chosen, rules, (0.0, 0.0), 1e-12)
    return steps.LearningRun(machine, settings, data, None, chosen, optax.sgd(0.1), len(data), 0, 1, 1, Devices())


def rows_of(machine: pf.BoltzmannMachine, count: int, seed: int, missing: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found = rng.choice(machine.values, (count, machine.size)).astype(float)
    found[rng.random(found.shape) < missing] = np.nan
    return found


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("name", ["dense", "dense, spins, temperature", "sparse", "restricted, spins"])
def test_the_exact_gradient_is_the_slope_of_the_log_likelihood(name, missing):
    machine = MACHINES[name]
    rows = rows_of(machine, 5, 3, missing)
    run = run_of(machine, rows, "exact")
    given = np.arange(len(run.data)), run.data.rows(), run.data.counts
    found = ByMoments(run).of(0, machine, given, BatchNumber(0, 0))
    weights, bias = in_own_values(machine, found)

    def log_likelihood(parameters: Any) -> float:
        other = machine.with_parameters(parameters)
        return float(np.sum(pf.infer(other, rows, "exact").log_likelihood))

    assert found.log_likelihood == pytest.approx(log_likelihood(machine.parameters), abs=1e-9)
    leaves, structure = jax.tree.flatten(machine.parameters)
    slopes = [*jax.tree.leaves(weights), bias]
    for number, leaf in enumerate(leaves):
        for place in itertools.islice(zip(*np.nonzero(leaf), strict=True), 4):
            step = np.zeros(leaf.shape)
            step[place] = 1e-5
            ends = [
                log_likelihood(
                    jax.tree.unflatten(structure, [*leaves[:number], leaf + s * step, *leaves[number + 1 :]])
                )
                for s in (1, -1)
            ]
            assert slopes[number][place] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-5)


@pytest.mark.parametrize("name", ["dense", "dense, spins, temperature"])
def test_the_gradient_of_neighbours_is_the_slope_of_the_pseudo_likelihood(name):
    machine = MACHINES[name]
    rows = rows_of(machine, 6, 5)
    run = run_of(machine, rows, "pseudolikelihood")

    def of(machine: pf.BoltzmannMachine) -> Any:
        given = np.arange(len(run.data)), run.data.rows(), run.data.counts
        return ByNeighbours(run).of(0, machine, given, BatchNumber(0, 0))

    by_units = 0.0
    for unit in range(machine.size):
        both = [np.where(np.arange(machine.size) == unit, value, rows) for value in machine.values]
        joint = [machine.log_joint(each) for each in both]
        by_units += float(np.sum(machine.log_joint(rows) - np.logaddexp(*joint)))
    assert of(machine).log_likelihood == pytest.approx(by_units, abs=1e-9)
    weights, bias = in_own_values(machine, of(machine))
    L, h = machine.parameters
    for place in [(1, 0), (4, 2)]:
        step = np.zeros(L[0].shape)
        step[place] = 1e-5
        ends = [of(machine.with_parameters(((L[0] + s * step,), h))).log_likelihood for s in (1, -1)]
        assert weights[0][place] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-5)
    ends = [of(machine.with_parameters((L, h + s * 1e-5 * (np.arange(6) == 2)))).log_likelihood for s in (1, -1)]
    assert bias[2] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-5)


def half_restricted() -> pf.BoltzmannMachine:
    """With couplings between visible units, and none between the last two, which are hidden."""
    W = couplings(5, 0.6, 22)
    W[3:, 3:] = 0
    return pf.BoltzmannMachine(W, fields(5, 0.5, 23))


@pytest.mark.parametrize(
    ("machine", "visible"),
    [
        (restricted(4, 3, 0.8, 21), 4),
        (pf.BoltzmannMachine(couplings(5, 0.6, 22), fields(5, 0.5, 23)), 5),
        (half_restricted(), 3),
    ],
    ids=["restricted", "visible", "half restricted"],
)
def test_chains_come_to_the_exact_averages(machine, visible):
    """Without steps, the average gradient of many sweeps is the exact one, to its sampling error."""
    seen = rows_of(machine, 6, 24)
    seen[:, visible:] = np.nan
    rows, masks = seen[:, machine.visible], [np.ones((5, 5))]
    masks[0][3:, 3:] = visible > 3
    options = {} if machine.layers else {"masks": masks}
    exact, chains = run_of(machine, rows, "exact"), run_of(machine, rows, "persistent[chains=400]", **options)
    given = np.arange(len(exact.data)), exact.data.rows(), exact.data.counts
    want = ByMoments(exact).of(0, machine, given, BatchNumber(0, 0))
    source = ByChains(chains)
    assert source.is_closed
    found = [source.of(0, machine, given, BatchNumber(0, number)) for number in range(60)][10:]
    error = 6 * len(rows) * 3 / np.sqrt(400 * 50)
    assert np.abs(np.mean([each.first for each in found], axis=0) - want.first).max() < error
    second = jax.tree.map(lambda *z: np.mean(z, axis=0), *[each.second for each in found])
    for a, b in zip(only_couplings(machine, second), only_couplings(machine, want.second), strict=True):
        assert np.abs(a - b).max() < error


def test_chains_of_rows_come_to_the_exact_averages():
    """Hidden units that are coupled to each other need chains of their own, which go on in the next epoch."""
    machine = pf.BoltzmannMachine(couplings(5, 0.8, 32), fields(5, 0.5, 33))
    rows = np.full((4, 5), np.nan)
    rows[:, :2] = [[0, 1], [1, 1], [1, 0], [0, 0]]
    exact, chains = run_of(machine, rows, "exact"), run_of(machine, rows, "persistent[chains=400]")
    given = np.arange(len(exact.data)), exact.data.rows(), exact.data.counts
    want = ByMoments(exact).of(0, machine, given, BatchNumber(0, 0))
    source = ByChains(chains)
    found = [source.of(0, machine, given, BatchNumber(number, 0)) for number in range(800)]
    assert source.memory[1].any()
    np.testing.assert_allclose(np.mean([each.first for each in found], axis=0), want.first, atol=0.15)


def test_centred_steps_are_those_of_the_centred_machine():
    """J J' times the slope, where J is how the machine's own parameters follow those of the centred one."""
    machine = MACHINES["dense, spins, temperature"]
    run = run_of(machine, rows_of(machine, 5, 3), "persistent[chains=2]")
    source, n, rng = ByChains(run), machine.size, np.random.default_rng(0)
    source.memory[3][0] = on = rng.random(n)
    m, lower = 2 * on - 1, np.tril_indices(n, -1)
    J = np.eye(len(lower[0]) + n)
    for number, (i, j) in enumerate(zip(*lower, strict=True)):
        J[len(lower[0]) + i, number], J[len(lower[0]) + j, number] = -m[j], -m[i]
    weights = np.tril(rng.normal(size=(n, n)), -1)
    gradient = Gradient(0.0, 1.0, 1.0, rng.normal(size=n), (weights,), on)  # whose means are the running ones
    (own,), own_bias = in_own_values(machine, gradient)
    slope = np.r_[own[lower], own_bias]
    (found,), bias = source.slope(0, machine, gradient)
    np.testing.assert_allclose(np.r_[found[lower], bias], J @ J.T @ slope, atol=1e-12)


def test_what_is_learned_is_an_average_over_the_last_tenth():
    machine = MACHINES["restricted"]
    source = ByChains(run_of(machine, rows_of(machine, 5, 3)[:, :4], "persistent[chains=2]"))
    learned: Any = machine.parameters
    for step in range(1, 2001):
        learned = source.learned(learned, jax.tree.map(lambda p, t=step: np.full(np.shape(p), float(t)), learned))
    for each in jax.tree.leaves(learned):
        np.testing.assert_allclose(each / 2000, 10 / 11, atol=1e-3)


@pytest.mark.parametrize("name", sorted(set(MACHINES) - {"large couplings"}))
def test_annealing_with_units_summed_out_is_within_its_error(name):
    machine = MACHINES[name]
    want = enumerated(machine, {})[0]
    on = np.full(machine.size, 0.3)
    on[machine.visible.stop :] = np.nan
    for given in (None, on):
        found = log_partitions(machine, row(machine, {}), (1,), 2000, 20, seconds=0.0, start=AnnealingStart(given))
        assert found.error[0] > 0
        assert abs(found.value[0] - want) < 5 * found.error[0]


def test_chains_go_on_in_a_later_fit():
    """What they, the running means and the averages are, goes on with the optimiser that has the memory."""

    class Resumed(NamedTuple):
        optimizer: Any
        state: Any
        memory: Any

        def init(self, _: Any) -> Any:
            return self.state

        def update(self, *arguments: Any) -> Any:
            return self.optimizer.update(*arguments)

    start = MACHINES["restricted"]
    rows, options = rows_of(start, 30, 71)[:, start.visible], {"batch_size": 8, "seed": 0, "verbose": False}
    whole = pf.fit(start, rows, "persistent[chains=20]", epochs=2, **options)
    found: Any = pf.fit(start, rows, "persistent[chains=20]", epochs=1, **options)
    assert found._memory[5] > 1
    resumed = Resumed(SlowingDescent(), found.optimizer_state, found._memory)
    later: Any = pf.fit(found.network, rows, "persistent[chains=20]", epochs=1, optimizer=resumed, **options)
    assert later._memory[5] == 2 * found._memory[5] == whole._memory[5]
    other: Any = pf.fit(found.network, rows, "persistent[chains=30]", epochs=1, optimizer=resumed, **options)
    assert other._memory[5] == found._memory[5]  # other chains begin anew


def test_a_method_is_chosen_by_what_all_its_steps_take():
    rows = (np.random.default_rng(0).random((2000, 16)) < 0.5) * 1.0
    machine = pf.ensembles.machine_to_learn(16, rows, seed=0)
    data = as_patterns(machine, rows)
    assert str(of_machines.default(machine, data, epochs=100)) == "persistent"
    assert str(of_machines.default(machine, data, epochs=1)) == "exact"
    assert str(of_machines.default(machine, data, epochs=1, size=1)) == "persistent"


def test_a_run_that_diverged_says_so():
    rows = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 20, axis=0).astype(float)
    start = pf.ensembles.machine_to_learn(2, rows, seed=0)
    fitted = pf.fit(start, rows, "persistent", epochs=3, seed=0, optimizer=optax.sgd(1e4), verbose=False)
    assert fitted.failed
    assert any("less than" in each for each in fitted.warnings)


def test_annealed_log_z_is_within_its_error():
    machine = pf.BoltzmannMachine(couplings(8, 0.7, 41), fields(8, 0.5, 42), constant=0.3)
    rows = np.full((3, 8), np.nan)
    rows[1, 0], rows[2] = 1, [0, 1, 0, 1, 1, 0, 0, 1]
    found = log_partitions(machine, rows, (0,), 400, 100, seconds=0.0)
    want = pf.infer(machine, Evidence(rows, batched=True), "exact").log_partition
    assert np.all(np.abs(found.value - want) < 5 * found.error + 1e-9)
    assert not found.is_exact
    assert found.error[2] == 0
    assert log_partitions(machine, rows, (0,), 400, 100).is_exact


# ---- learning --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn() -> tuple[pf.BoltzmannMachine, np.ndarray]:
    """A machine of 6 spins with fields, and 4,000 of its states."""
    machine = pf.BoltzmannMachine(couplings(6, 0.15, 51), fields(6, 0.3, 52), values=(-1, 1))
    return machine, machine.sample(seed=0, count=4000).astype(float)


def independent(machine: pf.BoltzmannMachine) -> pf.BoltzmannMachine:
    return pf.BoltzmannMachine(np.zeros((machine.size,) * 2), np.zeros(machine.size), values=machine.values)


def likelihood(machine: Any, rows: np.ndarray) -> float:
    return float(np.mean(machine.log_joint(rows)) - pf.infer(machine, None, "exact").log_partition)


@pytest.fixture(scope="module")
def extremes(drawn) -> tuple[float, float, Any]:
    """Exact ln P per row of independent units, and of the best machine, which comes with it."""
    machine, rows = drawn
    best = pf.fit(independent(machine), rows, epochs=250, verbose=False)
    alone = pf.fit(independent(machine), rows, "exact", epochs=150, frozen="weights", verbose=False)
    return likelihood(alone.network, rows), likelihood(best.network, rows), best


@pytest.mark.parametrize(
    ("method", "share"),
    [("exact", 0.999), ("G2", 0.95), ("bethe", 0.97), ("pseudolikelihood", 0.98), ("persistent[chains=300]", 0.9)],
)
def test_every_method_learns_what_the_rows_say(drawn, extremes, method, share):
    """How much of what the maximum gains over independent units, in exact ln P."""
    machine, rows = drawn
    seed = None if method in ("exact", "G2", "bethe") else 0
    batch = 500 if method == "pseudolikelihood" else None
    fitted = pf.fit(independent(machine), rows, method, epochs=100, seed=seed, batch_size=batch, verbose=False)
    lowest, highest, _ = extremes
    assert highest - lowest > 0.05
    assert likelihood(fitted.network, rows) - lowest > share * (highest - lowest)
    assert fitted.network.values == machine.values
    assert not fitted.warnings
    np.testing.assert_allclose(fitted.history["log_likelihood"][-1], likelihood(fitted.network, rows), atol=1e-9)


def test_exact_learning_matches_means_and_moments(drawn, extremes):
    rows, (_, _, found) = drawn[1], extremes
    assert str(found.method) == "exact"
    _, first, second = enumerated(found.network, {})
    on = (rows + 1) / 2
    np.testing.assert_allclose(first, on.mean(0), atol=1e-5)
    np.testing.assert_allclose(second, on.T @ on / len(on), atol=1e-4)


def test_missing_values_are_summed_out(drawn):
    machine, rows = drawn
    some = rows[:300].copy()
    some[np.random.default_rng(0).random(some.shape) < 0.2] = np.nan
    found = pf.fit(independent(machine), some, "exact", epochs=12, batch_size=300, verbose=False)
    start = pf.infer(independent(machine), some, "exact").log_likelihood.mean()
    assert pf.infer(found.network, some, "exact").log_likelihood.mean() > start + 0.05
    assert found.history["objective"][0] == pytest.approx(start, abs=1e-9)


@pytest.mark.parametrize(("method", "least"), [("exact", 0.9), ("persistent", 0.7), ("bethe", 0.4), ("G2", 0.4)])
def test_a_restricted_machine_learns_two_patterns(method, least):
    rows = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 20, axis=0).astype(float)
    start = pf.ensembles.machine_to_learn(2, rows, seed=0, spread=0.3)
    fitted = pf.fit(start, rows, method, epochs=150, seed=0, optimizer=optax.adam(0.05), verbose=False)
    exact = pf.infer(fitted.network, np.c_[rows[[0, 20]], np.full((2, 2), np.nan)], "exact").log_likelihood
    assert np.exp(exact).sum() > least  # by independent units: 1/8
    assert fitted.network.layers == (4, 2)


def test_a_stack_learns_as_its_machines_do_alone():
    rows = rows_of(MACHINES["dense"], 40, 61)
    stack = pf.ensembles.spin_glass(6, 3, 0).converted()
    together = pf.fit(stack, rows, "exact", epochs=3, verbose=False)
    assert together.history["objective"].shape == (3, 3)
    for number in range(3):
        alone = pf.fit(stack.take(number), rows, "exact", epochs=3, verbose=False)
        np.testing.assert_allclose(together.network.take(number).weights, alone.network.weights, atol=1e-12)


@pytest.mark.parametrize("method", ["persistent[chains=20]", "exact", "pseudolikelihood"])
def test_a_run_resumes_to_the_very_same_result(tmp_path, method):
    start = MACHINES["dense" if method == "pseudolikelihood" else "restricted"]
    rows = rows_of(start, 30, 71)[:, start.visible]
    options = {"seed": 0, "batch_size": 8, "verbose": False}
    whole = pf.fit(start, rows, method, epochs=4, **options)
    pf.fit(start, rows, method, epochs=2, checkpoint=tmp_path / "run.npz", **options)
    resumed = pf.fit(start, rows, method, epochs=4, checkpoint=tmp_path / "run.npz", **options)
    np.testing.assert_array_equal(resumed.network.weights, whole.network.weights)
    np.testing.assert_array_equal(resumed.history["objective"], whole.history["objective"])


def test_masks_frozen_and_penalties():
    machine, rows = MACHINES["dense"], rows_of(MACHINES["dense"], 50, 81)
    mask = np.ones((6, 6))
    mask[0, 1] = mask[1, 0] = 0
    found = pf.fit(machine, rows, "exact", masks=mask, frozen="bias", epochs=5, verbose=False).network
    assert found.weights[0, 1] == found.weights[1, 0] == 0
    np.testing.assert_array_equal(found.bias, machine.bias)
    np.testing.assert_allclose(found.weights, found.weights.T)
    small, free = (pf.fit(machine, rows, "exact", l2=l2, epochs=60, verbose=False).network for l2 in (1.0, 0.0))
    assert np.abs(small.weights).sum() < 0.5 * np.abs(free.weights).sum()
    block = np.ones((4, 3))
    block[2] = 0
    rbm = pf.fit(MACHINES["restricted"], rows[:, :4], "exact", masks=block, epochs=2, verbose=False, batch_size=50)
    np.testing.assert_array_equal(rbm.network.weights[2], 0)


def test_a_sparse_machine_keeps_its_couplings():
    grid = pf.ensembles.ising_grid(3, 3, coupling=0.5)
    rows = grid.sample(seed=0, count=500).astype(float)
    found: Any = pf.fit(grid, rows, "bethe", epochs=5, verbose=False).network
    assert found.num_couplings == grid.num_couplings
    assert found.storage.size == 9


def test_validation_stops_and_the_best_machine_is_returned(drawn):
    machine, rows = drawn
    fitted = pf.fit(
        independent(machine), rows[:30], "exact", validation=rows[1000:1400], patience=5, epochs=500, verbose=False
    )
    assert fitted.stopped is pf.Stopped.VALIDATION
    best = np.nanmax(fitted.history["validation"])
    assert best == pytest.approx(likelihood(fitted.network, rows[1000:1400]), abs=1e-9)


def test_states_that_a_method_does_not_see_are_a_warning(monkeypatch, drawn):
    """Annealing says that ln P is far lower than the estimate."""
    machine, rows = drawn
    monkeypatch.setattr("plefka.learning.honest_score.annealed_score", lambda *_: RowsScore(-50.0, 0.1))
    fitted = pf.fit(independent(machine), rows, "G2", epochs=1, verbose=False)
    assert any("per row where ln P is -50 (by sampling, +- 0.1)" in each for each in fitted.warnings)
    monkeypatch.setattr(
        "plefka.learning.honest_score.annealed_score", lambda *_: RowsScore(fitted.history["objective"][-1], 0.1)
    )
    assert not pf.fit(independent(machine), rows, "G2", epochs=1, verbose=False).warnings


def test_neighbours_that_mislead_are_a_warning():
    start = pf.BoltzmannMachine(0.9 * (np.ones((20, 20)) - np.eye(20)), np.full(20, -6.0))
    rows = (np.random.default_rng(0).random((200, 20)) < 0.02).astype(float)
    fitted = pf.fit(start, rows, "pseudolikelihood", epochs=1, seed=0, optimizer=optax.sgd(1e-9), verbose=False)
    assert any("that of independent columns" in each for each in fitted.warnings)


def test_couplings_that_are_0_as_yet_count_when_a_method_is_chosen():
    rows = (np.random.default_rng(0).random((30, 40)) < 0.5) * 1.0
    for columns, method in ((6, "exact"), (40, "pseudolikelihood")):
        start = pf.ensembles.machine_to_learn(0, rows[:, :columns])
        fitted = pf.fit(start, rows[:, :columns], epochs=1, optimizer=optax.sgd(1e-3), verbose=False)
        assert str(fitted.method) == method


def test_exact_learning_refuses_what_cannot_be_summed():
    rows = (np.random.default_rng(0).random((30, 40)) < 0.5) * 1.0
    start = pf.BoltzmannMachine(0.1 * (np.ones((40, 40)) - np.eye(40)), np.zeros(40))
    with pytest.raises(pf.errors.MethodDoesNotApply, match="exact does not apply: elimination would need"):
        pf.fit(start, rows, "exact", epochs=1, verbose=False)


@pytest.mark.parametrize(("method", "hidden"), [("exact", 0), ("exact", 2), ("G2", 0), ("pseudolikelihood", 0)])
def test_a_machine_that_has_learned_little_is_not_doubted(method, hidden):
    """It is worse than independent columns by what its start was smoothed by, of which annealing says nothing new."""
    rows = np.ones((20, 4))
    start = pf.ensembles.machine_to_learn(hidden, rows, seed=0)
    fitted = pf.fit(start, rows, method, epochs=1, optimizer=optax.sgd(1e-3), verbose=False)
    assert fitted.history["objective"][0] < 0
    assert not fitted.warnings


@pytest.mark.parametrize("method", ["G2", "bethe"])
def test_a_slight_difference_is_no_doubt(method):
    """The objective is that of the machines before the steps of an epoch, and no gain may be there to compare with."""
    rows = (np.random.default_rng(3).random((60, 4)) < 0.5) * 1.0
    start = pf.ensembles.machine_to_learn(0, rows)
    fitted = pf.fit(start, rows, method, epochs=1, optimizer=optax.sgd(-0.1), verbose=False)
    after = pf.infer(fitted.network, rows, "exact").log_likelihood.mean()
    assert fitted.history["objective"][0] - 0.05 < after < fitted.history["objective"][0] - 1e-4
    assert not fitted.warnings


def test_weights_of_the_second_order_do_not_run_away():
    """Two units that are never on together have a covariance that G2 cannot reach."""
    rows = np.array([[0, 0], [1, 0], [0, 1]] * 10, float)
    start = pf.BoltzmannMachine(np.zeros((2, 2)), np.zeros(2))
    found = pf.fit(start, rows, "G2", epochs=150, verbose=False).network
    u = pf.infer(found, None, "G2").means
    assert -1.2 < found.weights[0, 1] * np.sqrt(np.prod(u * (1 - u))) < -0.8


# ---- rows and words --------------------------------------------------------------------------------------------------


def test_tables_are_read_by_names_and_in_the_machine_s_values():
    machine = pf.BoltzmannMachine(np.zeros((2, 2)), np.zeros(2), values=(-1, 1), names=["a", "b"])
    rows = rows_of(machine, 30, 91)
    frame = pd.DataFrame(rows, columns=["a", "b"])[["b", "a"]]
    found = [pf.fit(machine, given, "exact", epochs=3, verbose=False).network for given in (rows, frame)]
    np.testing.assert_allclose(found[0].weights, found[1].weights, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"method": "G12"},
            r"^G12 does not apply: it does not say how the units .* Use exact, G1, G2, bethe, persistent",
        ),
        ({"method": "auto"}, "^auto does not apply"),
        ({"method": "nonsense"}, "no method .nonsense.; .* and for learning alone persistent, pseudolikelihood"),
        ({"method": "G3"}, "^G3 does not apply"),
        ({"method": "persistent"}, "persistent chains are random; pass a seed"),
        ({"rows": np.full((2, 6), 0.5)}, "rows must be 0, 1 or nan .missing.; got 0.5 in row 0"),
        ({"rows": np.zeros((2, 5))}, "rows must have 6 columns, one for each visible unit; got shape"),
        ({"batch_size": 0}, "batch_size must be a whole number of 1 or more"),
    ],
)
def test_what_cannot_be_learned_is_refused(change, message):
    machine = MACHINES["dense"]
    options = {"rows": rows_of(machine, 4, 0), "method": "exact", "verbose": False} | change
    rows, method = options.pop("rows"), options.pop("method")
    with pytest.raises(pf.errors.PlefkaError, match=message):
        pf.fit(machine, rows, method, **options)


def test_neighbours_need_complete_rows_and_hidden_units_that_are_apart():
    for machine, rows in ((MACHINES["restricted"], np.full((3, 4), np.nan)), (MACHINES["dense"], np.zeros((3, 6)))):
        rows[:, :2] = 0 if len(machine.layers or ()) else np.nan
        rows[0, :2], rows[1, 2:] = (0, 1), 1
        with pytest.raises(pf.errors.InvalidInput, match="pseudolikelihood needs rows in which nothing is missing"):
            pf.fit(machine, rows, "pseudolikelihood", verbose=False)


@pytest.mark.parametrize("method", ["persistent", "pseudolikelihood"])
def test_what_is_for_learning_answers_no_question(method):
    assert pf.parse_method(str(pf.parse_method(method))) == pf.parse_method(method)
    with pytest.raises(pf.errors.MethodDoesNotApply, match="it is for learning a Boltzmann machine"):
        pf.infer(MACHINES["dense"], None, method)


# ---- scores ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dense, spins, temperature", "restricted", "sparse"])
def test_the_score_is_that_of_enumeration(name):
    machine = MACHINES[name]
    rows = rows_of(machine, 6, 101, 0.3)
    score = pf.score(machine, rows)
    np.testing.assert_allclose(score.log_likelihood, pf.infer(machine, rows, "exact").log_likelihood, atol=1e-9)
    assert score.is_exact
    assert score.mean_error == 0


def test_a_score_by_annealing_is_within_its_error_which_all_rows_share():
    machine = pf.ensembles.spin_glass(10, 1, 0, scale=0.8, field=0.3).take(0)
    rows = machine.sample(seed=0, count=30).astype(float)
    exact, found = pf.score(machine, rows), pf.score(machine, rows, exact=False, seed=0, num_samples=300)
    apart = found.log_likelihood - exact.log_likelihood
    assert np.ptp(apart) < 1e-9
    assert abs(apart[0]) < 5 * found.mean_error
    assert found.mean_error == pytest.approx(found.standard_error[0])
    assert "by annealed importance sampling" in repr(found)
    rows[:, 0] = np.nan
    assert abs(pf.score(machine, rows, exact=False, seed=0).mean - pf.score(machine, rows).mean) < 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "annealed importance sampling needs a seed; add seed=0"),
        ({"exact": True}, "exact=True does not apply, because the states of this machine are too many"),
        ({"method": "G2"}, "the score of a Boltzmann machine takes no method; got G2"),
        ({"num_samples": 1}, "num_samples must be a whole number of 2 or more"),
    ],
)
def test_scores_that_cannot_be_had_are_refused(options, message):
    machine = pf.ensembles.spin_glass(40, 1, 0).take(0)
    with pytest.raises(pf.errors.InvalidInput, match=message):
        pf.score(machine, np.ones((2, 40)), **options)
