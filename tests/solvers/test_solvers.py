"""The solver: downhill all the way, an end that has a name, and policies that agree where the problem is easy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plefka as pf
from plefka.mean_field.free_energies import FUNCTIONALS
from plefka.networks.evidence import as_evidence
from plefka.reduction.reduce import reduce
from plefka.solvers.loop import evaluator, start
from plefka.solvers.policies import Monotone
from tests import slow, zoo

COUNT = 32
ROW = np.array([np.nan] * 6 + [0.0] * 6)
ALL_ON = np.array([np.nan] * 6 + [1.0] * 6)


def ensemble(size):
    """The paper's networks of 2 x 4 x 6 sigmoid units, with weights in [-size, size]."""
    return pf.ensembles.layered((2, 4, 6), -size, size, COUNT, seed=0)


def causes_with_leak(leak):
    stack = pf.ensembles.layered((2, 4, 6), 0.2, 0.8, COUNT, seed=0, activation="noisy_or")
    return stack.with_parameters((stack.parameters[0], np.full((COUNT, 12), leak)))


def path(network, method, steps):
    """The free energy of every row after each step of the monotone policy."""
    functional, policy = FUNCTIONALS[method], Monotone()
    (part,) = reduce(network, as_evidence(network, np.tile(ROW, (COUNT, 1)))).parts
    question = part.question.opened(functional.powers(network.activation), pairs=functional.needs_pairs)
    evaluate = jax.jit(evaluator(question, functional.energy))
    step = jax.jit(lambda point, trial, memory: policy.step(point, evaluate(trial), memory, evaluate))
    search = start(policy, jnp.zeros((question.num_searched, COUNT)))
    point, trial, memory = search.point, search.trial, search.memory
    energies = []
    for _ in range(steps):
        point, trial, memory = step(point, trial, memory)
        energies.append(point.G)
    return np.array(energies)


@pytest.mark.parametrize("method", ["G12", "G22"])
def test_free_energy_never_rises(method):
    with jax.enable_x64(True):
        G = path(ensemble(5), method, steps=60)
    rounding = 32 * np.finfo(float).eps * (1 + np.abs(G[:-1]))
    assert np.all(np.diff(G, axis=0) <= rounding)
    assert np.all(G[-1] < G[0] - 0.01)


# ---- how it ends -----------------------------------------------------------------------------------------------------


def one(size=5):
    stack = ensemble(size)
    layers = np.split(stack.bias[0], [2, 6])
    return pf.BeliefNetwork.layered([W[0] for W in stack.weights], layers)


def test_out_of_steps_raises_with_advice_and_the_solution():
    with pytest.raises(pf.InferenceFailed, match=r"G12\[max_steps=2\] ran out of steps.*raise max_steps") as failure:
        pf.infer(one(), ROW, "G12[max_steps=2]")
    solution = failure.value.solution
    assert solution.status is pf.Status.OUT_OF_STEPS
    assert solution.num_steps == 2
    assert not solution.converged
    assert solution.residual > 1e-8
    assert "throw=False" in str(failure.value)


def test_failure_is_data_on_request():
    solution = pf.infer(one(), ROW, "G12[max_steps=2]", throw=False)
    assert solution.status is pf.Status.OUT_OF_STEPS
    assert "ran out of steps" in str(solution)


def test_a_batch_never_raises():
    solution = pf.infer(ensemble(5), ROW, "G12[max_steps=10]")
    assert set(solution.status) == {pf.Status.CONVERGED, pf.Status.OUT_OF_STEPS}
    np.testing.assert_array_equal(solution.converged, solution.residual <= 1e-8)
    assert "out of steps" in str(solution)


def test_a_free_energy_without_minimum_diverges():
    solution = pf.infer(causes_with_leak(1e-4), ALL_ON, "G22")
    assert set(solution.status) == {pf.Status.DIVERGED}
    assert "use a first order scheme such as G12" in pf.Status.DIVERGED.value


def test_a_probability_far_above_one_is_not_called_converged():
    """A log-likelihood of hundreds of nats above zero is no answer, wherever the minimum that was found may be."""
    solution = pf.infer(causes_with_leak(1e-2), ALL_ON, "G22")
    assert not np.any(solution.converged & (solution.log_likelihood > 12))


def test_a_free_energy_that_is_not_a_number_is_not_finite():
    broken = pf.Custom(lambda x: jnp.where(x > 0.5, jnp.nan, 0.5))
    network = pf.BeliefNetwork([[0, 0], [1.0, 0]], [0.0, 0.3], broken)
    solution = pf.infer(network, {1: 1}, "G12", throw=False)
    assert solution.status is pf.Status.NOT_FINITE
    with pytest.raises(pf.InferenceFailed, match=r"not a finite number.*look for weights of extreme size"):
        pf.infer(network, {1: 1}, "G12")


@pytest.mark.parametrize("status", pf.Status, ids=lambda status: status.name)
def test_every_failure_comes_with_advice(status):
    advice = ("raise", "use", "try", "look for", "correct")
    assert status is pf.Status.CONVERGED or any(word in status.value for word in advice)


# ---- policies --------------------------------------------------------------------------------------------------------


def test_paper_policy_breaks_cycles():
    solution = pf.infer(ensemble(5), ROW, "G12[policy=paper]")
    assert np.any((solution.num_cycles > 0) & solution.converged)
    assert np.any(solution.num_cycles == 0)


def test_monotone_policy_converges_everywhere_and_has_no_cycles():
    solution = pf.infer(ensemble(5), ROW, "G12")
    assert solution.converged.all()
    assert not solution.num_cycles.any()


def test_policies_agree_on_small_weights():
    monotone, paper = (pf.infer(ensemble(1), ROW, f"G12[policy={policy}]") for policy in ("monotone", "paper"))
    assert paper.converged.all()
    np.testing.assert_allclose(paper.means, monotone.means, atol=1e-6)
    np.testing.assert_allclose(paper.log_likelihood, monotone.log_likelihood, atol=1e-12)


def one_after_another(network, row, u, sweeps):
    """Means after so many sweeps over (59) and (60): every unit from the newest means of the others."""
    W, h, u = slow.weights_of(network), network.bias, np.where(np.isnan(row), u, row)
    for _ in range(sweeps):
        for i in np.flatnonzero(np.isnan(row)):
            x = W @ u + h
            s, v = 1 / (1 + np.exp(-x)), u * (1 - u)
            K = -0.5 * s * (1 - s) * ((1 - 2 * s) * W[:, i] * (W**2 @ v) + W[:, i] ** 2 * (1 - 2 * u[i]))  # (60)
            u[i] = 1 / (1 + np.exp(-(x[i] + ((u - s) * W[:, i] + K).sum())))  # (59)
    return u


@pytest.mark.parametrize("sweeps", [1, 3])
@pytest.mark.parametrize("stored", [zoo.as_dense, zoo.as_edges, lambda network: network])
def test_one_unit_at_a_time_is_that_of_the_paper_by_hand(sweeps, stored):
    network = zoo.layered((2, 4, 6), -5, 5, "sigmoid", 0)
    found = pf.infer(stored(network), ROW, f"G12[policy=sequential,max_steps={sweeps + 1}]", throw=False)
    assert found.num_steps == sweeps + 1  # the last one evaluates where the sweeps led
    by_hand = one_after_another(network, ROW, np.full(12, 0.5), sweeps)
    np.testing.assert_allclose(found.means, by_hand, atol=1e-12)


@pytest.mark.parametrize("method", ["G12", "G22"])
def test_one_unit_at_a_time_ends_at_fixed_points_only(method):
    """The residual vanishes there for the other policies too: started there, they stay."""
    network, rows = ensemble(3), np.tile(ROW, (COUNT, 1))
    found = pf.infer(network, rows, f"{method}[policy=sequential,max_steps=300]")
    assert found.converged.mean() > 0.5
    means = jnp.asarray(found.means[found.converged])

    def free_energy(means):
        stack = network.take(np.flatnonzero(found.converged))
        return pf.free_energy(stack, rows[found.converged], means, method, prune=False).sum()

    with jax.enable_x64(True):
        slope = jax.grad(free_energy)(jnp.asarray(means))[:, :6]
    u = found.means[found.converged, :6]
    np.testing.assert_allclose(slope * u * (1 - u), 0, atol=1e-6)


def test_one_unit_at_a_time_finds_the_same_solutions_of_small_weights():
    monotone, found = (pf.infer(ensemble(1), ROW, f"G12[policy={policy}]") for policy in ("monotone", "sequential"))
    assert found.converged.all()
    assert not found.num_cycles.any()
    np.testing.assert_allclose(found.means, monotone.means, atol=1e-6)
    np.testing.assert_allclose(found.log_likelihood, monotone.log_likelihood, atol=1e-12)


def test_one_unit_at_a_time_settles_where_all_at_once_goes_in_circles():
    paper, found = (
        pf.infer(ensemble(5), ROW, f"G12[policy={policy},max_steps=300]") for policy in ("paper", "sequential")
    )
    assert found.converged.mean() > paper.converged.mean() + 0.1


def test_rows_that_hide_other_units_have_the_answer_that_they_have_alone():
    network = zoo.layered((2, 4, 6), -2, 2, "sigmoid", 1)
    rows = np.where(np.random.default_rng(0).random((6, 12)) < 0.5, np.nan, network.sample(seed=0, count=6))
    together = pf.infer(network, rows, "G12[policy=sequential]", prune=False)
    alone = [pf.infer(network, row, "G12[policy=sequential]", prune=False, throw=False) for row in rows]
    np.testing.assert_allclose(together.means, [each.means for each in alone], atol=1e-12)
    np.testing.assert_array_equal(together.num_steps, [each.num_steps for each in alone])


def test_one_unit_at_a_time_never_raises_the_first_order_of_a_machine():
    """There the target of a unit does not depend on its own mean, so that each update is a minimum along it."""
    machine = pf.ensembles.spin_glass(12, count=1, seed=0, scale=3.0, field=0.5).take(0)
    G = [
        pf.infer(machine, None, f"G1[policy=sequential,max_steps={count}]", throw=False).free_energy
        for count in range(1, 8)
    ]
    assert np.all(np.diff(G) <= 1e-12)
    assert G[-1] < G[0] - 0.1


def test_one_unit_at_a_time_inside_a_trace():
    network = zoo.layered((2, 4, 6), -2, 2, "sigmoid", 1)
    with jax.enable_x64(True):
        inside = jax.jit(lambda row: pf.infer(network, row, "G12[policy=sequential]").means)(jnp.asarray(ROW))
    np.testing.assert_allclose(inside, pf.infer(network, ROW, "G12[policy=sequential]").means, atol=1e-7)


# ---- restarts --------------------------------------------------------------------------------------------------------


def test_restarts_never_make_it_worse():
    plain = pf.infer(ensemble(5), ROW, "G12")
    best = pf.infer(ensemble(5), ROW, "G12[restarts=3,seed=0]")
    assert best.num_restarts == 3
    assert np.all(best.free_energy <= plain.free_energy)
    assert np.any(best.free_energy < plain.free_energy - 1e-3)
    assert np.all(best.num_steps > plain.num_steps)


def test_seeds_reproduce_restarts():
    first, again, other = (pf.infer(ensemble(5), ROW, f"G12[restarts=1,seed={seed}]") for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.means, again.means)
    assert np.any(first.num_steps != other.num_steps)
