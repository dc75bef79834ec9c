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
from plefka.models import LOWEST
from plefka.networks.belief import BeliefNetwork
from plefka.networks.storage import Storage
from plefka.programs import Program
from plefka.reduction.predicting import predict_traced
from plefka.reduction.reduce import reduce_traced
from plefka.solution import CONVERGED, DIVERGED, OUT_OF_STEPS
from plefka.solvers.loop import Policy, Search, descend, evaluator, limits, start


class Settings(eqx.Module):
    """What no step changes: the network, how it may move, and how rows are solved."""

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


class TrainingState(NamedTuple):
    """What a step changes; of a stack, all with a leading axis."""

    free: Any
    optimizer: Any


class Batch(NamedTuple):
    """Distinct rows with their counts, and where their search starts from."""

    rows: Any  # (rows, units), nan where hidden
    counts: Any
    average: Any  # the counts of an average batch of the epoch, added up
    theta: Any  # (rows, units that are searched), of a stack with a leading axis


class Outcome(NamedTuple):
    """What a batch has shown, before the step; of a stack, all with a leading axis."""

    log_likelihood: Any  # the sum of counts x estimate over the rows that were solved
    counted: Any  # their counts
    converged: Any  # the counts of those that converged
    lowest: Any  # the lowest estimate of a row that was solved
    theta: Any  # the solutions, (rows, units that are searched)


def solve_rows(settings: Settings, parameters: Any, rows: Any, theta: Any) -> tuple[Any, Any, Any]:
    """The free energy of every row as a function of the parameters at fixed means, the status, and the new theta.

    `theta` is (rows, units that are searched); those behind them every row observes.
    """
    weights, bias = parameters
    network = BeliefNetwork(settings.storage.with_parameters(weights), bias, settings.activation)
    reduction = reduce_traced(network, Evidence(rows), prune=True)
    question, constant = reduction.question.searching(theta.shape[1]), reduction.constant
    functional = settings.functional
    question = question.opened(functional.powers(settings.activation), pairs=functional.needs_pairs)
    frozen = jax.lax.stop_gradient(question)
    search = start(settings.policy, jnp.where(question.searched, theta.T, 0.0))
    evaluate = evaluator(frozen, functional.energy)
    ending = descend(evaluate, limits(frozen, settings.tol, settings.max_steps), settings.policy, search)
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


def _objective(free: Any, settings: Settings, start: Any, batch: Batch) -> tuple[Any, Outcome]:
    """Minus the penalised log-likelihood of a batch per row; rows without a solution do not count."""
    parameters = settings.rules.parameters(free, start)
    G, status, theta = solve_rows(settings, parameters, batch.rows, batch.theta)
    counted = jnp.where(usable(status), batch.counts, 0.0)
    total = jnp.where(counted > 0, G, 0.0) @ counted
    lowest = -jnp.where(counted > 0, G, -jnp.inf).max()
    moving = settings.rules.weights_that_move(parameters)
    penalty = settings.l1 * sum(jnp.abs(w).sum() for w in moving)
    penalty += 0.5 * settings.l2 * sum((w**2).sum() for w in moving)
    converged = jnp.where(status == CONVERGED, batch.counts, 0.0).sum()
    return total / batch.average + penalty, Outcome(-total, counted.sum(), converged, lowest, theta)


def _step(
    state: TrainingState, settings: Settings, start: Any, batch: Batch, *, optimizer: Any
) -> tuple[TrainingState, Outcome]:
    """The state after a step; `start`: the parameters that the network had before the first one."""

    def step_of_one(state: TrainingState, start: Any, theta: Any) -> tuple[TrainingState, Outcome]:
        own = batch._replace(theta=theta)
        gradient, outcome = jax.grad(_objective, has_aux=True)(state.free, settings, start, own)
        updates, memory = optimizer.update(gradient, state.optimizer, state.free)
        return TrainingState(jax.tree.map(jnp.add, state.free, updates), memory), outcome

    return (jax.vmap(step_of_one) if settings.stacked else step_of_one)(state, start, batch.theta)


def _parameters(free: Any, rules: Parametrisation, start: Any, *, stacked: bool) -> Any:
    return (jax.vmap(rules.parameters) if stacked else rules.parameters)(free, start)


step, parameters_of = Program(_step), Program(_parameters)
