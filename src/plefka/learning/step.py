"""One step of learning, compiled: solve the batch, differentiate the free energy at the solution, move.

At a stationary point the means can be held fixed (envelope theorem), so that the gradient costs one evaluation.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from plefka.activations import Activation
from plefka.evidence import Evidence
from plefka.free_energies.functional import Functional
from plefka.free_energies.taylor import negative_entropy
from plefka.learning.parameters import Parametrisation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.storage import Storage
from plefka.question import LOWEST
from plefka.reduction.predicting import predict_traced
from plefka.reduction.reduce import reduce_traced
from plefka.solution import CONVERGED, DIVERGED, OUT_OF_STEPS
from plefka.solvers.loop import Policy, Search, descend, evaluator, limits, start


class Plan(eqx.Module):
    """What does not change while a network is learned, and what a program is compiled for."""

    storage: Storage  # of one network; its weights are replaced
    activation: Activation
    rules: Parametrisation
    l1: Any
    l2: Any
    tol: Any
    functional: Functional = eqx.field(static=True)
    policy: Policy = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)
    stacked: bool = eqx.field(static=True)


class State(NamedTuple):
    """What a step changes; of a stack, all with a leading axis."""

    free: Any
    optimizer: Any


class Outcome(NamedTuple):
    """What a batch has shown, before the step; of a stack, all with a leading axis."""

    log_likelihood: Any  # the sum of counts x estimate over the rows that were solved
    counted: Any  # their counts
    converged: Any  # the counts of those that converged
    lowest: Any  # the lowest estimate of a row that was solved
    theta: Any  # the solutions, (rows, head)


def solved(plan: Plan, parameters: Any, rows: Any, theta: Any) -> tuple[Any, Any, Any]:
    """The free energy of every row as a function of the parameters at fixed means, the status, and theta (rows, head).

    `theta` has the width of the head: as many units as are searched; those behind them every row observes.
    """
    weights, bias = parameters
    network = BeliefNetwork(plan.storage.with_parameters(weights), bias, plan.activation)
    reduction = reduce_traced(network, Evidence(rows), prune=True)
    question, constant = reduction.question.searching(theta.shape[1]), reduction.constant
    functional = plan.functional
    question = question.opened(functional.powers(plan.activation), pairs=functional.needs_pairs)
    frozen = jax.lax.stop_gradient(question)
    search = start(plan.policy, jnp.where(question.searched, theta.T, 0.0))
    evaluate = evaluator(frozen, functional.energy)
    ending = descend(evaluate, limits(frozen, plan.tol, plan.max_steps), plan.policy, search)
    theta, status = jax.lax.stop_gradient(ending.point.theta), _judged(ending)
    u = predict_traced(frozen, question.means(theta), functional.chance)  # barren units too, for weights of 0
    u = jnp.where(usable(status), u, 0.0)  # 0 times a slope that is no number would be no number
    G = functional.energy(question, u) + jnp.where(question.free, negative_entropy(u), 0.0).sum(0) - constant
    return G, status, theta.T


def _judged(ending: Search) -> Any:
    """The status, where a row on its way to what no probability allows has diverged, though steps ran out first."""
    falling = (ending.status == OUT_OF_STEPS) & (ending.point.G < LOWEST)
    return jnp.where(falling, DIVERGED, ending.status)


def usable(status: Any) -> Any:
    """Where a row may be learned from: it is solved, or on its way, and the next epoch goes on from there."""
    return (status == CONVERGED) | (status == OUT_OF_STEPS)


def _objective(free, plan: Plan, fixed, rows, counts, share, theta):
    """Minus the penalised log-likelihood of a batch per row; rows without a solution do not count."""
    parameters = plan.rules.parameters(free, fixed)
    G, status, theta = solved(plan, parameters, rows, theta)
    counted = jnp.where(usable(status), counts, 0.0)
    total = jnp.where(counted > 0, G, 0.0) @ counted
    lowest = -jnp.where(counted > 0, G, -jnp.inf).max()
    moving = plan.rules.weights_that_move(parameters)
    penalty = plan.l1 * sum(jnp.abs(w).sum() for w in moving) + 0.5 * plan.l2 * sum((w**2).sum() for w in moving)
    converged = jnp.where(status == CONVERGED, counts, 0.0).sum()
    return total / share + penalty, Outcome(-total, counted.sum(), converged, lowest, theta)


def _step(state: State, plan: Plan, fixed, rows, counts, share, theta, *, optimizer) -> tuple[State, Outcome]:
    """The state after a step; `share` is the weight of an average batch."""

    def one(state, fixed, theta):
        gradient, outcome = jax.grad(_objective, has_aux=True)(state.free, plan, fixed, rows, counts, share, theta)
        updates, memory = optimizer.update(gradient, state.optimizer, state.free)
        free = jax.tree.map(lambda p, u: p + u, state.free, updates)
        return State(free, memory), outcome

    return (jax.vmap(one) if plan.stacked else one)(state, fixed, theta)


def _evaluate(free, plan: Plan, fixed, rows, counts, theta) -> Outcome:
    def one(free, fixed, theta):
        return _objective(free, plan, fixed, rows, counts, 1.0, theta)[1]

    return (jax.vmap(one) if plan.stacked else one)(free, fixed, theta)


step = jax.jit(_step, static_argnames=("optimizer",))
evaluate = jax.jit(_evaluate)
