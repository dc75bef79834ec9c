"""Laws of inference in Boltzmann machines: all methods against sums over all states."""

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import plefka as pf
from plefka.exact.ordering import strip_plan
from plefka.exact.question_elimination import PairElimination
from plefka.exact.state_sum import MachineStateSum
from plefka.networks.evidence import as_evidence
from plefka.reduction.reduce import reduce
from tests.boltzmann.machines import MACHINES, couplings, fields, full_weights, restricted, some_evidence, summed
from tests.compilations import compilations


class Strips(PairElimination):
    """In the order of a strip."""

    def plan(self, structure):
        return strip_plan(structure)


SMALL = [name for name in MACHINES if name != "large couplings"]


def plefka(machine: pf.BoltzmannMachine, u: np.ndarray) -> list[float]:
    """G_1 to G_4 from their definition, by sums over all states of units of 0 and 1 at temperature 1."""
    machine = machine.converted()
    S = np.array(list(itertools.product((0, 1), repeat=machine.size)), float).T
    p = np.where(S == 1, u[:, None], 1 - u[:, None]).prod(axis=0)
    E = -((S * (full_weights(machine) @ S)).sum(axis=0) / 2 + machine.bias @ S) - machine.constant
    v, D = u * (1 - u), S - u[:, None]
    U = E - p @ E - ((D * (E - p @ E)) @ p / v) @ D
    G1 = (u * np.log(u) + (1 - u) * np.log1p(-u)).sum() + p @ E
    G2 = G1 - p @ U**2 / 2
    G3 = G2 + p @ U**3 / 6
    alone = (((D * U**2) @ p) ** 2 / v).sum()
    return [G1, G2, G3, G3 - (p @ U**4 - 3 * (p @ U**2) ** 2 - 3 * alone) / 24]


@pytest.mark.parametrize("name", SMALL)
def test_orders_1_to_4_are_the_expansion(name):
    machine = MACHINES[name]
    u = np.random.default_rng(0).uniform(0.05, 0.95, machine.size)
    for order, wanted in enumerate(plefka(machine, u), start=1):
        found = pf.free_energy(machine, None, u, f"G{order}", prune=False)
        assert found == pytest.approx(wanted, abs=1e-10), order


@pytest.mark.parametrize("name", MACHINES)
def test_exact_is_the_sum_over_all_states(name):
    machine = MACHINES[name]
    for evidence in ({}, some_evidence(machine)):
        log_z, means = summed(machine, evidence)
        found = pf.infer(machine, evidence, "exact")
        assert found.log_partition == pytest.approx(log_z, rel=1e-13, abs=1e-12)
        np.testing.assert_allclose(found.means, means, atol=1e-12)
        assert found.log_likelihood == pytest.approx(log_z - summed(machine)[0], abs=1e-11)
        assert found.is_exact
        assert found.free_energy == -found.log_partition


def test_elimination_and_enumeration_agree():
    grid = pf.ensembles.ising_grid(4, 4, coupling=0.7, field=0.3, seed=0)
    (part,) = reduce(grid, as_evidence(grid, {3: 1})).parts
    way = MachineStateSum(part.question)
    assert way.bits == 7  # one side of a board of 15 squares
    strips = Strips(part.question)
    assert strips.width == 5
    for found in (PairElimination(part.question).sums(), strips.sums()):
        for ours, theirs in zip(found, way._enumerated("float64"), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("few", [0, 200])
@pytest.mark.parametrize("of", [PairElimination, Strips])
def test_the_way_there_is_gone_again_where_memory_is_short(few, of, monkeypatch):
    grid = pf.ensembles.ising_grid(4, 5, coupling=0.7, field=0.3, seed=1)
    (part,) = reduce(grid, as_evidence(grid, {3: 1})).parts
    expected = of(part.question).sums()
    monkeypatch.setattr("plefka.exact.plans.FEW_NUMBERS", few)
    for ours, theirs in zip(of(part.question).sums(), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_strips_have_logarithms_where_plain_numbers_do_not_do():
    grid = pf.ensembles.ising_grid(3, 4, coupling=400.0, field=200.0, seed=0)
    (part,) = reduce(grid, as_evidence(grid, None)).parts
    ours, theirs = Strips(part.question).sums(), MachineStateSum(part.question)._enumerated("float64")
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-13)
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-10)


def test_hidden_units_of_a_restricted_machine_are_a_sum_of_softplus():
    machine = restricted(5, 4, 2.0, 0)
    rows = np.full((8, 9), np.nan)
    rows[:, :5] = np.random.default_rng(1).integers(0, 2, (8, 5))
    x = rows[:, :5] @ machine.weights + machine.bias[5:]
    wanted = rows[:, :5] @ machine.bias[:5] + np.logaddexp(0, x).sum(axis=1)
    with compilations() as programs:
        for method in ("exact", "G1", "G2", "bethe", "conditioned[G2,k=2]", "auto"):
            found = pf.infer(machine, rows, method)
            np.testing.assert_allclose(found.log_partition, wanted, rtol=1e-13)
            np.testing.assert_allclose(found.means[:, 5:], 1 / (1 + np.exp(-x)), atol=1e-14)
            assert found.is_exact
    assert not programs


def test_the_probabilities_of_all_observations_add_up_to_one():
    machine = restricted(4, 3, 1.5, 2)
    rows = np.full((16, 7), np.nan)
    rows[:, :4] = list(itertools.product((0, 1), repeat=4))
    assert np.exp(pf.infer(machine, rows, "exact").log_likelihood).sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("method", ["G1", "conditioned[G1,k=2]", "mixture[2]"])
@pytest.mark.parametrize("name", ["dense", "dense, spins, temperature", "restricted"])
def test_a_bound_never_exceeds_the_truth(name, method):
    machine = MACHINES[name]
    found, log_z = pf.infer(machine, None, method), summed(machine)[0]
    assert found.is_bound
    assert found.log_partition <= log_z + 1e-10
    if method != "G1":
        assert found.log_partition >= pf.infer(machine, None, "G1").log_partition - 1e-9


def test_bethe_is_exact_without_loops():
    rng = np.random.default_rng(0)
    W = np.zeros((9, 9))
    W[np.arange(1, 9), [rng.integers(0, k) for k in range(1, 9)]] = 2 * rng.normal(size=8)
    machine = pf.BoltzmannMachine(sp.csr_array(W + W.T), rng.normal(size=9), values=(-1, 1))
    found, (log_z, means) = pf.infer(machine, {2: 1}, "bethe"), summed(machine, {2: 1})
    assert found.log_partition == pytest.approx(log_z, abs=1e-10)
    assert found.is_exact
    np.testing.assert_allclose(found.means, means, atol=1e-8)


@pytest.mark.parametrize("method", ["G1", "G2", "G3", "G4", "bethe"])
def test_a_solution_is_stationary_and_close(method):
    machine = MACHINES["restricted"]
    found, (log_z, means) = pf.infer(machine, {0: 1}, method), summed(machine, {0: 1})
    assert found.converged
    assert abs(found.log_partition - log_z) < (0.5 if method == "G1" else 0.1)
    np.testing.assert_allclose(found.means, means, atol=0.1)
    if method != "bethe":
        hidden = np.flatnonzero(~found.observed)
        for unit in hidden:
            step = 1e-5 * np.eye(machine.size)[unit]
            low, high = pf.free_energy(machine, {0: 1}, [found.means - step, found.means + step], method)
            assert abs(high - low) < 1e-4 * 2e-5


@pytest.mark.parametrize("method", ["G1", "G2", "bethe"])
def test_how_couplings_are_stored_does_not_matter(method):
    machine = MACHINES["restricted"]
    W = full_weights(machine)
    wanted = pf.infer(machine, {1: 1}, method)
    for weights in (W, sp.csr_array(W)):
        found = pf.infer(pf.BoltzmannMachine(weights, machine.bias), {1: 1}, method)
        assert found.log_partition == pytest.approx(wanted.log_partition, abs=1e-9)
        np.testing.assert_allclose(found.means, wanted.means, atol=1e-7)


@pytest.mark.parametrize("method", ["G2", "bethe"])
def test_batch_equals_loop_and_stack_equals_loop(method):
    machine = MACHINES["dense"]
    rows = np.full((3, 6), np.nan)
    rows[0, 2], rows[1, :2], rows[2, 4] = 1, (0, 1), 0
    batch = pf.infer(machine, rows, method)
    for row, single in zip(rows, range(3), strict=True):
        alone = pf.infer(machine, row, method)
        assert batch.log_partition[single] == pytest.approx(alone.log_partition, abs=1e-9)
        np.testing.assert_allclose(batch.means[single], alone.means, atol=1e-7)
    stack = pf.ensembles.spin_glass(6, 3, 0, scale=0.5, field=0.3)
    together = pf.infer(stack, {0: -1}, method)
    for k in range(3):
        alone = pf.infer(stack.take(k), {0: -1}, method)
        assert together.log_partition[k] == pytest.approx(alone.log_partition, abs=1e-9)
        assert together.row(k).log_likelihood == pytest.approx(alone.log_likelihood, abs=1e-8)


def test_relabelling_units_permutes_their_means():
    machine = MACHINES["dense, spins, temperature"]
    order = np.random.default_rng(0).permutation(6)
    other = pf.BoltzmannMachine(
        machine.weights[np.ix_(order, order)], machine.bias[order], machine.temperature, machine.values
    )
    for method in ("exact", "G1", "G2"):
        ours, theirs = pf.infer(machine, None, method), pf.infer(other, None, method)
        np.testing.assert_allclose(theirs.means, ours.means[order], atol=1e-6)
        assert theirs.log_partition == pytest.approx(ours.log_partition, abs=1e-9)


def test_without_fields_the_first_order_leaves_the_saddle():
    W = np.full((6, 6), 0.5) - 0.5 * np.eye(6)
    machine = pf.BoltzmannMachine(W, np.zeros(6), values=(-1, 1))
    found = pf.infer(machine, None, "G1")
    assert abs(found.magnetisations[0]) > 0.9  # 0 is stationary, with ln Z = 6 ln 2
    assert found.log_partition > 6 * np.log(2) + 1


def test_higher_orders_are_solved_for_themselves_within_their_reach():
    weak, strong = (pf.ensembles.spin_glass(10, 4, 0, scale=scale) for scale in (0.7, 3.0))
    for machine, solve in ((weak, "yes"), (strong, "no")):
        np.testing.assert_allclose(
            pf.infer(machine, None, "G2").log_partition, pf.infer(machine, None, f"G2[solve={solve}]").log_partition
        )


def test_auto_is_close_on_spin_glasses():
    for scale, within in ((1.0, 0.02), (2.0, 0.1)):
        machine = pf.ensembles.spin_glass(16, 3, 1, scale=scale)
        found = pf.infer(machine, None, "auto[exact=no]")
        wanted = pf.infer(machine, None, "exact").log_partition
        assert found.converged.all()
        assert np.abs(found.log_partition - wanted).mean() < within


@pytest.mark.parametrize("name", ["restricted", "dense, spins, temperature"])
def test_covariances_are_the_response_of_the_means(name):
    machine = MACHINES[name]
    known = {0: machine.values[1]}
    solution = pf.infer(machine, known, "G2[tol=1e-12]")
    C, soft = solution.covariance(), {2: pf.Likelihood(np.exp(1e-4), 1.0)}
    moved = pf.infer(machine, known | soft, "G2[tol=1e-12]").means
    np.testing.assert_allclose((moved - solution.means) / 1e-4, C[2], atol=1e-3)
    np.testing.assert_allclose(C, C.T)
    np.testing.assert_allclose(
        solution.covariance_product(np.arange(machine.size)), C @ np.arange(machine.size), atol=1e-8
    )
    assert not C[0].any()


def test_annealing_and_restarts_find_no_higher_free_energy():
    machine = pf.ensembles.spin_glass(12, 1, 3, scale=3.0).take(0)
    once = pf.infer(machine, None, "G1").log_partition
    again = pf.infer(machine, None, "G1[restarts=5,seed=0]").log_partition
    cooled = pf.infer(machine, None, "G1[anneal=8]")
    exact = pf.infer(machine, None, "exact").log_partition
    assert once - 1e-9 <= again <= exact
    assert cooled.converged
    assert cooled.log_partition <= exact
    with pytest.raises(pf.errors.MethodDoesNotApply, match="anneal lowers the temperature of a Boltzmann machine"):
        pf.infer(pf.example("espresso"), None, "G1[anneal=3]")


def test_gibbs_and_checks_agree_with_the_sum():
    machine = pf.BoltzmannMachine(couplings(8, 0.5, 0), fields(8, 0.5, 1))
    log_z, means = summed(machine)
    found = pf.infer(machine, None, "gibbs[seed=0]", throw=False)
    np.testing.assert_allclose(found.means, means, atol=0.03)
    assert found.log_partition == pytest.approx(log_z, abs=0.1)
    check = pf.infer(machine, None, "G2").check(seed=0)
    assert check.reliable
    assert abs(check.log_likelihood - log_z) < 5 * check.standard_error + 1e-3
    assert check.verdict.startswith("ln Z = ")
    assert "ln Z" in repr(check)


def test_draws_of_chains_are_of_all_units():
    machine = restricted(3, 2, 0.5, 0)
    draws = pf.infer(machine, {0: 1}, "gibbs[seed=0,sweeps=400]", throw=False).draws(most=50)
    assert draws.states.shape == (8, 50, 5)
    assert (draws.states[:, :, 0] == 1).all()


def test_large_couplings_give_finite_numbers():
    machine = pf.BoltzmannMachine(1e3 * couplings(6, 1.0, 0), 1e3 * fields(6, 1.0, 1))
    log_z = summed(machine)[0]
    for method in ("exact", "G1", "G2", "bethe", "conditioned[bethe,k=2]"):
        found = pf.infer(machine, None, method, throw=False)
        assert np.isfinite(found.log_partition)
        assert not np.isnan(found.means).any()
        if method in ("exact", "G1"):
            assert found.log_partition <= log_z + 1e-6


@pytest.mark.parametrize("method", ["G11", "G12", "G22", "G221", "SJJ"])
def test_schemes_for_parents_refuse_by_name(method):
    with pytest.raises(pf.errors.MethodDoesNotApply, match=f"^{method} does not apply: it is for units that follow"):
        pf.infer(MACHINES["dense"], None, method)


def test_what_a_machine_does_not_offer_is_refused():
    machine: Any = MACHINES["dense"]
    with pytest.raises(pf.errors.MethodDoesNotApply, match=r"^findings does not apply"):
        pf.infer(machine, None, "findings")
    with pytest.raises(pf.errors.MethodDoesNotApply, match=r"2\^39 = .* \(the limit is 2\^24\)"):
        pf.infer(pf.BoltzmannMachine(couplings(40, 0.1, 0), np.zeros(40)), None, "exact")
    for call in (lambda: pf.explain(machine, {0: 1}, 1), lambda: pf.bridges.to_networkx(machine)):
        with pytest.raises(pf.errors.InvalidInput, match="got BoltzmannMachine"):
            call()
    with pytest.raises(pf.errors.InvalidInput, match="a Boltzmann machine has neither"):
        pf.plots.network(machine, pf.infer(machine, None, "exact"))


def test_free_partition_functions_are_computed_once(monkeypatch):
    from plefka.inference import free_machine

    computed, compute = [], free_machine._computed
    monkeypatch.setattr(free_machine, "_computed", lambda *given: computed.append(given) or compute(*given))
    machine = restricted(3, 3, 1.0, 0)
    solution = pf.infer(machine, {0: 1}, "exact")
    assert not computed  # until it is asked for
    first = solution.log_likelihood
    assert len(computed) == 1
    assert pf.infer(machine, {1: 0}, "exact").log_likelihood <= 0
    assert len(computed) == 1
    assert first == pytest.approx(summed(machine, {0: 1})[0] - summed(machine)[0])


def test_similar_machines_share_their_programs():
    pf.infer(pf.BoltzmannMachine(couplings(9, 0.3, 0), np.zeros(9)), None, "G2[solve=yes]")
    with compilations() as programs:
        for size in (7, 10, 12):
            pf.infer(pf.BoltzmannMachine(couplings(size, 0.3, size), np.zeros(size)), {0: 1}, "G2[solve=yes]")
    assert not programs


def test_units_with_observed_parents_are_a_logistic_regression_in_both_kinds_of_network():
    """A layer of sigmoid units, and the same weights as couplings: given one side, the other is the same model."""
    rng = np.random.default_rng(0)
    parents = rng.integers(0, 2, (40, 3)).astype(float)
    child = (rng.random(40) < 1 / (1 + np.exp(-parents @ [2.0, -1.0, 0.5] + 0.3))).astype(int)
    regression = LogisticRegression().fit(parents, child)
    weights, bias = regression.coef_, regression.intercept_
    network = pf.BeliefNetwork.layered([weights], [[0.1, -0.2, 0.3], bias], "sigmoid")
    machine = pf.BoltzmannMachine.restricted(weights.T, [0.4, 0.5, -0.6], bias)
    rows = np.c_[parents, np.full(40, np.nan)]
    chances = regression.predict_proba(parents)[:, 1]
    for net, method in itertools.product((network, machine), ("exact", "G1", "bethe")):
        np.testing.assert_allclose(pf.infer(net, rows, method).means[:, 3], chances, atol=1e-12)
    seen = pf.infer(network, np.c_[parents, child], "exact").log_likelihood
    alone = pf.infer(network, rows, "exact").log_likelihood
    np.testing.assert_allclose(np.exp(seen - alone), np.where(child, chances, 1 - chances), atol=1e-12)


@pytest.mark.parametrize("method", ["G1", "G4"])
def test_a_row_starts_where_it_starts_alone(method):
    """Couplings to observed units, which another row of the batch leaves in, say nothing of the first direction."""
    rng = np.random.default_rng(5)
    half = np.tril(rng.normal(size=(6, 6)) * [[3], [3], [3], [3], [3], [9]], -1)
    machine = pf.BoltzmannMachine(half + half.T, rng.normal(size=6), values=(-1, 1))
    rows = np.full((2, 6), np.nan)
    rows[0, 5], rows[1, 4] = 1, -1
    together, alone = pf.infer(machine, rows, method), [pf.infer(machine, row, method) for row in rows]
    np.testing.assert_allclose(together.means, [found.means for found in alone], rtol=0, atol=1e-14)
