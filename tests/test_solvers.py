"""The solver: downhill all the way, an end that has a name, and two policies that agree where the problem is easy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plefka as pf
from plefka.evidence import as_evidence
from plefka.mean_field import FUNCTIONALS
from plefka.reduction.reduce import reduce
from plefka.solvers.loop import evaluator, start
from plefka.solvers.monotone import Monotone

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
