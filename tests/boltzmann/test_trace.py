"""Boltzmann machines inside a user's own trace of JAX: the same answers as outside, and their derivatives."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.errors import InvalidInput, MethodDoesNotApply
from plefka.methods.posterior import CONVERGED, STATUS_CODES
from tests.boltzmann.machines import MACHINES, couplings, fields, full_weights, log_weights, restricted, states
from tests.compilations import compilations
from tests.quick import quick_where

SMALL = [name for name in MACHINES if name != "large couplings"]
TIGHT = "[tol=1e-12]"
METHODS = ["exact", *(f"G{order}{TIGHT}" for order in range(1, 5)), f"bethe{TIGHT}"]
QUICK = {("restricted, spins", METHODS[2]), ("sparse", METHODS[3]), ("dense, spins, temperature", METHODS[4])}


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def rows_of(machine: pf.BoltzmannMachine) -> np.ndarray:
    """Evidence of four rows, which clamp other units each."""
    off, on = machine.values
    rows = np.full((4, machine.size), np.nan)
    rows[1, 1], rows[2, [0, 3, 4]], rows[3, :-1] = on, (on, off, on), off
    return rows


def answers(machine: Any, evidence: Any, method: str) -> tuple:
    found = pf.infer(machine, evidence, method, throw=False)
    return found.means, found.log_partition, found.status


def assert_same(inside: tuple, outside: tuple) -> None:
    """The same to 1e-10, where the answer outside converged, and the same status."""
    codes = np.array([STATUS_CODES.index(status) + 1 for status in np.atleast_1d(outside[2])])
    np.testing.assert_array_equal(np.atleast_1d(inside[2]), codes)
    done = codes == CONVERGED
    assert done.any()
    for ours, theirs in zip(inside[:2], outside[:2], strict=True):
        ours, theirs = (np.asarray(z).reshape(len(done), -1)[done] for z in (ours, theirs))
        np.testing.assert_allclose(ours, theirs, atol=1e-10, rtol=1e-12)


def statistics(machine: pf.BoltzmannMachine, evidence: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """<S_i> and <S_i S_j> given the evidence, in the machine's own values, by the definition."""
    S = states(machine)
    for unit, value in evidence.items():
        S = S[S[:, unit] == value]
    log_w = log_weights(machine, S)
    p = np.exp(log_w - np.logaddexp.reduce(log_w))
    return p @ S, (S.T * p) @ S


def differences(function: Any, at: np.ndarray, step: float = 1e-4) -> np.ndarray:
    """Central differences of fourth order, entry by entry."""
    found = np.zeros(at.shape)
    for place in np.ndindex(at.shape):
        move = np.zeros(at.shape)
        move[place] = step
        near, far = (function(at + k * move) - function(at - k * move) for k in (1, 2))
        found[place] = (8 * near - far) / (12 * step)
    return found


# ---- the same answers as outside -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "method"), quick_where(QUICK, [(name, method) for name in SMALL for method in METHODS])
)
def test_answers_are_those_outside(name, method):
    machine = MACHINES[name]

    @jax.jit
    def inside(parameters, rows):
        return answers(machine.with_parameters(parameters), rows, method)

    rows = rows_of(machine)
    assert_same(inside(machine.parameters, rows), answers(machine, rows, method))


@pytest.mark.parametrize("method", quick_where(["exact", "bethe"], ["exact", f"G1{TIGHT}", f"G2{TIGHT}", "bethe"]))
@pytest.mark.parametrize("values", [(0, 1), (-1, 1)])
def test_machines_are_made_of_traced_numbers(values, method):
    W, h = couplings(5, 0.4, 0), fields(5, 0.5, 1)

    def made(W, h):
        return pf.BoltzmannMachine(W, h, 1.5, values, list("abcde"), constant=h[0])

    inside = jax.jit(lambda W, h: answers(made(W, h), {"b": values[1]}, method))(W, h)
    assert_same(inside, answers(made(W, h), {"b": values[1]}, method))


def test_restricted_machines_are_made_of_traced_numbers():
    machine = MACHINES["restricted, spins"]

    def made(W, visible, hidden):
        return pf.BoltzmannMachine.restricted(W, visible, hidden, 0.8, (-1, 1))

    for bias in (machine.bias, jnp.asarray(machine.bias)):  # some of them traced, or all
        inside = jax.jit(lambda W, bias=bias: answers(made(W, bias[:3], bias[3:]), rows_of(machine), "exact"))
        assert_same(inside(machine.weights), answers(machine, rows_of(machine), "exact"))


@pytest.mark.parametrize("name", quick_where(["sparse", "restricted, spins"], SMALL))
def test_a_machine_is_an_argument(name):
    machine = MACHINES[name]
    inside = jax.jit(lambda machine, rows: answers(machine, rows, "G1"))(machine, rows_of(machine))
    np.testing.assert_allclose(inside[1], pf.infer(machine, rows_of(machine), "G1").log_partition, rtol=1e-12)
    seen = jax.jit(lambda machine: machine.converted((0, 1), 2.0).bias)(machine)
    np.testing.assert_allclose(seen, machine.converted((0, 1), 2.0).bias, rtol=1e-12)


def test_how_a_traced_machine_describes_itself():
    for name, words in (("dense", "6 units of 0 and 1, 15 couplings"), ("restricted", "restricted, 4 x 3 units")):
        said: list[str] = []
        jax.jit(lambda machine, said=said: said.append(repr(machine)))(MACHINES[name])
        assert words in said[0]
    weights = jax.jit(lambda machine: machine.weights)
    for machine in (MACHINES["dense"], MACHINES["restricted"], pf.ensembles.spin_glass(4, 2, 0)):
        np.testing.assert_array_equal(weights(machine), machine.weights)


@pytest.mark.parametrize("method", quick_where(["bethe"], ["exact", f"G1{TIGHT}", f"G2{TIGHT}", "bethe"]))
def test_a_stack_is_mapped_over(method):
    stack = pf.ensembles.spin_glass(5, 3, 0, scale=0.5, field=0.5)
    outside = answers(stack, {1: -1}, method)
    row = np.array([np.nan, -1, np.nan, np.nan, np.nan])
    assert_same(jax.jit(jax.vmap(lambda machine: answers(machine, row, method)))(stack), outside)
    assert_same(jax.jit(lambda machine, row: answers(machine, row, method))(stack, row), outside)  # as it is


def test_rows_are_mapped_over():
    machine = MACHINES["restricted, spins"]
    rows = rows_of(machine)
    inside = jax.jit(jax.vmap(lambda row: answers(machine, row, "bethe[tol=1e-12]")))(rows)
    assert_same(inside, answers(machine, rows, "bethe[tol=1e-12]"))


@pytest.mark.parametrize("method", quick_where(["G1", "bethe"], ["G1", "G2", "bethe", "exact"]))
def test_hidden_units_of_a_restricted_machine_are_solved_exactly(method):
    machine = restricted(3, 2, 2.0, 0)
    row = np.array([1, 0, 1, np.nan, np.nan])
    wanted = pf.infer(machine, row, "exact")
    found = jax.jit(lambda row: answers(machine, row, method))(row)
    np.testing.assert_allclose(found[1], wanted.log_partition, rtol=1e-13)
    np.testing.assert_allclose(found[0], wanted.means, atol=1e-13)


@pytest.mark.parametrize("traces", ["machine", "evidence"])
@pytest.mark.parametrize("method", quick_where(["exact"], ["exact", f"G1{TIGHT}", f"bethe{TIGHT}"]))
def test_the_probability_of_the_evidence(method, traces):
    machine, rows = MACHINES["restricted, spins"], rows_of(MACHINES["restricted, spins"])

    def inside(machine, rows):
        return pf.infer(machine, rows, method).log_likelihood

    found = jax.jit(inside)(machine, rows) if traces == "machine" else jax.jit(lambda rows: inside(machine, rows))(rows)
    np.testing.assert_allclose(found, pf.infer(machine, rows, method).log_likelihood, atol=1e-10)
    assert abs(found[0]) < 1e-10  # nothing is observed


def test_without_an_answer_of_the_free_machine_there_is_no_probability():
    machine = MACHINES["dense"]
    found = jax.jit(lambda machine: pf.infer(machine, {0: 1}, "G1[max_steps=1]").log_likelihood)(machine)
    assert np.isnan(found)


def test_strong_couplings_are_evaluated_at_the_first_order_row_by_row():
    weak, strong = (pf.ensembles.spin_glass(10, 1, 0, scale=scale, field=0.3) for scale in (0.7, 3.0))
    stack = jax.tree.map(lambda *z: np.concatenate(z), weak, strong)
    for solve, rows in (("yes", [True, False]), ("no", [False, True])):  # one of both in each row
        other = pf.infer(stack, None, f"G2[tol=1e-12,solve={solve}]").log_partition
        assert (np.abs(other - pf.infer(stack, None, f"G2{TIGHT}").log_partition) < 1e-9).tolist() == rows
    outside = answers(stack, None, f"G2{TIGHT}")
    assert_same(jax.jit(lambda stack: answers(stack, None, f"G2{TIGHT}"))(stack), outside)


@pytest.mark.parametrize("method", ["G1[restarts=3,seed=0]", "G1[anneal=4]"])
def test_further_starts_find_what_they_find_outside(method):
    machine = pf.ensembles.spin_glass(8, 1, 2, scale=2.0, field=0.2).take(0)
    found = jax.jit(lambda machine: pf.infer(machine, None, method).log_partition)(machine)
    assert found == pytest.approx(pf.infer(machine, None, method).log_partition, abs=1e-9)


def test_single_precision():
    with jax.enable_x64(False):
        for name in ("dense, spins, temperature", "restricted"):
            machine = MACHINES[name]
            for method in ("exact", "G1", "bethe"):
                found = jax.jit(lambda machine, method=method: answers(machine, None, method))(machine)
                assert found[0].dtype == found[1].dtype == np.float32
                np.testing.assert_allclose(found[1], pf.infer(machine, None, method).log_partition, rtol=2e-5)


def test_a_free_energy_is_that_outside():
    machine, rows = MACHINES["dense, spins, temperature"], rows_of(MACHINES["dense, spins, temperature"])
    u = np.random.default_rng(0).uniform(0.1, 0.9, rows.shape)
    for method, prune in (("G1", True), ("G2", False), ("G4", True)):

        def both(machine, rows, u, how=(method, prune)):
            return pf.free_energy(machine, rows, u, how[0], prune=how[1])

        np.testing.assert_allclose(jax.jit(both)(machine, rows, u), both(machine, rows, u), rtol=1e-12)
    slope = jax.jit(jax.grad(lambda u: pf.free_energy(machine, rows[1], u, "G2")))(u[1])
    wanted = differences(lambda u: pf.free_energy(machine, rows[1], u, "G2"), u[1])
    np.testing.assert_allclose(slope, wanted, atol=1e-9)


def test_other_numbers_and_other_evidence_compile_nothing():
    machine, rows = MACHINES["dense"], rows_of(MACHINES["dense"])
    inside = jax.jit(lambda machine, rows: answers(machine, rows, "G1"))
    inside(machine, rows[:2])
    other = pf.BoltzmannMachine(couplings(6, 0.3, 7), fields(6, 1.0, 8))
    with compilations() as programs:
        inside(other, rows[2:])
    assert not programs


# ---- derivatives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dense", "dense, spins, temperature", "restricted, spins", "sparse"])
def test_derivatives_of_ln_z_are_statistics(name):
    machine = MACHINES[name]
    evidence = {2: machine.values[1]}
    means, pairs = statistics(machine, evidence)

    def log_partition(parameters):
        return pf.infer(machine.with_parameters(parameters), evidence, "exact").log_partition

    by_weight, by_bias = jax.jit(jax.grad(log_partition))(machine.parameters)
    np.testing.assert_allclose(by_bias, means / machine.temperature, atol=1e-12)
    if name == "sparse":
        child, parent, _ = machine.storage.edge_list()
        wanted = pairs[child, parent]
    else:
        (by_weight,) = by_weight
        wanted = pairs[3:, :3] if machine.is_restricted else np.tril(pairs, -1)  # nothing above the diagonal
    np.testing.assert_allclose(by_weight, wanted / machine.temperature, atol=1e-12)


def test_the_derivative_by_a_coupling_is_shared_by_its_two_entries():
    W, h = couplings(5, 1.0, 0), fields(5, 1.0, 1)
    slope = jax.jit(jax.grad(lambda W: pf.infer(pf.BoltzmannMachine(W, h), None, "exact").log_partition))(W)
    _, pairs = statistics(pf.BoltzmannMachine(W, h), {})
    np.testing.assert_allclose(slope + slope.T, pairs - np.diag(np.diag(pairs)), atol=1e-12)
    np.testing.assert_allclose(slope, slope.T, atol=1e-15)


@pytest.mark.parametrize("name", ["restricted", "dense, spins, temperature"])
def test_derivatives_of_a_probability_are_differences_of_statistics(name):
    machine = MACHINES[name]
    evidence = {0: machine.values[0], 2: machine.values[1]}

    def log_likelihood(bias):
        changed = machine.with_parameters((machine.parameters[0], bias))
        return pf.infer(changed, evidence, "exact").log_likelihood

    wanted = (statistics(machine, evidence)[0] - statistics(machine, {})[0]) / machine.temperature
    np.testing.assert_allclose(jax.jit(jax.grad(log_likelihood))(machine.bias), wanted, atol=1e-12)


@pytest.mark.parametrize("method", quick_where([f"G1{TIGHT}"], [f"{name}{TIGHT}" for name in ("G1", "G2", "bethe")]))
@pytest.mark.parametrize(
    "name", quick_where(["dense, spins, temperature"], ["restricted", "dense, spins, temperature"])
)
def test_derivatives_are_differences_of_answers_outside(name, method):
    machine = MACHINES[name]
    evidence, (weights,) = {1: machine.values[1]}, machine.parameters[0]

    def log_partition(weights, bias):
        return pf.infer(machine.with_parameters(((weights,), bias)), evidence, method).log_partition

    by_weight, by_bias = jax.jit(jax.grad(log_partition, argnums=(0, 1)))(weights, machine.bias)
    wanted = differences(lambda weights: log_partition(weights, machine.bias), weights)
    wanted = wanted if machine.is_restricted else np.tril(wanted, -1)
    np.testing.assert_allclose(by_weight, wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        by_bias, differences(lambda bias: log_partition(weights, bias), machine.bias), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("method", quick_where([f"G2{TIGHT}"], [f"G1{TIGHT}", f"G2{TIGHT}", f"G3{TIGHT}"]))
def test_derivatives_of_means_are_covariances(method):
    machine = MACHINES["restricted"]
    slopes = jax.jit(
        jax.jacrev(lambda bias: pf.infer(machine.with_parameters((machine.parameters[0], bias)), {0: 1}, method).means)
    )(machine.bias)
    np.testing.assert_allclose(slopes, pf.infer(machine, {0: 1}, method).covariance(), atol=1e-8)


@pytest.mark.parametrize("solve", quick_where(["no"], ["yes", "no"]))
def test_derivatives_of_rows_within_reach_and_beyond_it(solve):
    """Each row has the derivative of the answer that counts there, and no other answer spoils it."""
    scale = 0.7 if solve == "yes" else 3.0
    machine = pf.ensembles.spin_glass(8, 1, 0, scale=scale, field=0.3).take(0)

    def slope(method):
        def log_partition(bias):
            return pf.infer(machine.with_parameters((machine.parameters[0], bias)), None, method).log_partition

        return jax.jit(jax.grad(log_partition))(machine.bias)

    np.testing.assert_allclose(slope(f"G2{TIGHT}"), slope(f"G2[tol=1e-12,solve={solve}]"), atol=1e-9)


def test_couplings_of_zero_have_derivatives():
    h = fields(4, 1.0, 0)
    slope = jax.jit(jax.grad(lambda W: pf.infer(pf.BoltzmannMachine(W, h), None, "G1").log_partition))(np.zeros((4, 4)))
    u = 1 / (1 + np.exp(-h))
    np.testing.assert_allclose(slope, (np.outer(u, u) - np.diag(u**2)) / 2, atol=1e-10)


NETWORKS = {
    "machine": MACHINES["dense, spins, temperature"],
    "belief network": pf.BeliefNetwork.layered([[[1.0, -0.5], [0.3, 0.8]]], [[0.1, -0.2], [0.3, 0.4]]),
}


@pytest.mark.parametrize("method", ["exact", f"G1{TIGHT}"])
@pytest.mark.parametrize("name", NETWORKS)
def test_soft_evidence_has_derivatives(name, method):
    network = NETWORKS[name]
    known = {0: network.values[1]}

    def log_partition(p):
        soft = {2: pf.Likelihood(on=p[0], off=1 - p[0]), 3: pf.Likelihood(on=p[1], off=0.5)}
        return pf.infer(network, known | soft, method).log_partition

    p = np.array([0.8, 0.3])
    found, slope = jax.jit(jax.value_and_grad(log_partition))(p)
    outside = differences(lambda p: log_partition([float(z) for z in p]), p)
    assert found == pytest.approx(log_partition(p.tolist()), abs=1e-10)
    np.testing.assert_allclose(slope, outside, rtol=1e-6)


def test_soft_evidence_of_a_stack():
    stack = pf.ensembles.spin_glass(4, 3, 0, field=0.5)
    inside = jax.jit(lambda on: pf.infer(stack, {1: pf.Likelihood(on, 0.5)}, "exact").log_partition)(0.9)
    np.testing.assert_allclose(inside, pf.infer(stack, {1: pf.Likelihood(0.9, 0.5)}, "exact").log_partition, atol=1e-10)


# ---- what is refused -------------------------------------------------------------------------------------------------


def of_bias(method: str) -> Any:
    machine = MACHINES["dense"]
    return lambda bias: pf.infer(machine.with_parameters((machine.parameters[0], bias)), {0: 1}, method).log_partition


@pytest.mark.parametrize("method", quick_where(["G1"], ["G1", "bethe"]))
def test_forward_mode_and_second_derivatives_are_refused(method):
    bias = MACHINES["dense"].bias
    with pytest.raises(
        MethodDoesNotApply, match=rf"^{method} does not apply.*Use .*the method exact on a small network"
    ):
        jax.jacfwd(of_bias(method))(bias)
    inside, jitted = of_bias(method), jax.jit(of_bias(method))
    for second in (jax.hessian(inside), jax.jacrev(jax.jacrev(inside)), jax.jacrev(jax.jacrev(jitted))):
        with pytest.raises(MethodDoesNotApply, match=rf"^{method} does not apply: .*Use .*the method exact"):
            second(bias)


def test_of_exact_inference_they_are_covariances():
    machine = MACHINES["dense"]
    means, pairs = statistics(machine, {0: 1})
    for second in (jax.hessian, lambda f: jax.jacrev(jax.jacrev(f))):
        found = jax.jit(second(of_bias("exact")))(machine.bias)
        np.testing.assert_allclose(found, pairs - np.outer(means, means), atol=1e-11)


def test_derivatives_of_the_means_of_bethe_are_refused():
    machine = MACHINES["dense"]
    with pytest.raises(MethodDoesNotApply, match=r"derivatives of its means are not computed.*such as G1 instead"):
        jax.grad(lambda machine: pf.infer(machine, None, "bethe").means[0])(machine)


@pytest.mark.parametrize("method", ["auto", "conditioned[G2,k=2]", "mixture[2]", "gibbs[seed=0]", "findings", "G12"])
def test_methods_that_look_at_numbers_are_refused_by_name(method):
    name = method.partition("[")[0]
    with pytest.raises(MethodDoesNotApply, match=rf"^{name} does not apply: .* Use .* instead"):
        jax.jit(lambda machine: pf.infer(machine, None, method).means)(MACHINES["dense"])


def test_a_sum_over_too_many_states_is_refused():
    machine = pf.BoltzmannMachine(couplings(20, 0.1, 0), np.zeros(20))
    with pytest.raises(MethodDoesNotApply, match=r"sum over 2\^19 states \(the limit is 2\^16\)\. Use bethe or G2"):
        jax.jit(lambda machine: pf.infer(machine, None, "exact").means)(machine)
    with pytest.raises(MethodDoesNotApply, match=r"sum over 2\^5000"):
        jax.jit(lambda row: pf.infer(pf.ensembles.ising_grid(50, 100), row, "exact").means)(np.full(5000, np.nan))
    known = dict.fromkeys(range(10), 1)  # of what is not traced, only hidden units are enumerated
    found = jax.jit(lambda machine: pf.infer(machine, known, "exact").log_partition)(machine)
    assert found == pytest.approx(pf.infer(machine, known, "exact").log_partition, abs=1e-10)


def test_only_the_smaller_layer_of_a_restricted_machine_is_enumerated():
    machine = restricted(40, 3, 0.3, 0)
    rows = np.full((2, 43), np.nan)
    rows[1, ::2] = 1
    found = jax.jit(lambda machine, rows: answers(machine, rows, "exact"))(machine, rows)
    assert_same(found, answers(machine, rows, "exact"))


@pytest.mark.parametrize("stacked", [False, True])
def test_rows_that_hold_too_much_go_one_after_another(monkeypatch, stacked):
    from plefka.exact import machine_enumeration

    monkeypatch.setattr(machine_enumeration, "TRACED_AT_ONCE", 0)
    machine = pf.ensembles.spin_glass(4, 3, 0) if stacked else MACHINES["dense"]
    rows = rows_of(machine)[:3] if not stacked else None
    assert_same(jax.jit(lambda machine: answers(machine, rows, "exact"))(machine), answers(machine, rows, "exact"))


def test_edges_that_are_traced_cannot_be_listed():
    machine = MACHINES["sparse"]
    with pytest.raises(MethodDoesNotApply, match=r"cannot be listed.*with_parameters.*of a Boltzmann machine, G1"):
        jax.jit(lambda machine: pf.infer(machine, None, "bethe").means)(machine)
    for method in ("exact", f"G3{TIGHT}"):  # which need no such lists
        inside = jax.jit(lambda machine, method=method: answers(machine, {2: 1}, method))(machine)
        assert_same(inside, answers(machine, {2: 1}, method))


def test_a_temperature_is_a_plain_number():
    def made(temperature):
        return pf.BoltzmannMachine(couplings(3, 1.0, 0), np.zeros(3), temperature).bias

    with pytest.raises(InvalidInput, match=r"^temperature must be a plain number; .* Divide weights and biases by it"):
        jax.jit(made)(2.0)


def test_shapes_are_checked_inside_as_well():
    with pytest.raises(pf.errors.InvalidNetwork, match="must be a square, symmetric matrix"):
        jax.jit(lambda W: pf.BoltzmannMachine(W, np.zeros(3)).bias)(np.zeros((3, 2)))
    sparse = pf.BoltzmannMachine(sp.csr_array(full_weights(MACHINES["dense"])), MACHINES["dense"].bias)
    with pytest.raises(pf.errors.InvalidEvidence, match="one column for each unit"):
        jax.jit(lambda row: pf.infer(sparse, row, "G1").means)(np.zeros(4))


def test_belief_propagation_finds_the_heavier_fixed_point_inside_as_outside():
    """Couplings so strong that there are several fixed points: both take two starts, and the larger ln Z."""
    compared = 0
    for seed in range(4):
        machine = pf.ensembles.spin_glass(7, 1, seed, scale=3.0, field=0.2).take(0).converted()
        outside = pf.infer(machine, None, "bethe[tol=1e-12]", throw=False)
        inside = jax.jit(lambda m: pf.infer(m, None, "bethe[tol=1e-12]").log_partition)(machine)
        if outside.converged:
            compared += 1
            np.testing.assert_allclose(inside, outside.log_partition, rtol=1e-5)
    assert compared
