"""One step of learning, compiled: solve the batch, differentiate the free energy at the solution, move.

At a stationary point the means can be held fixed (envelope theorem), so that the gradient costs one evaluation.
"""

from dataclasses import replace
from functools import partial, reduce
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec

from plefka.learning.parameters import Parametrisation
from plefka.learning.weighted_states import log_mean_weight
from plefka.mean_field.minimisation import Minimum, better
from plefka.methods.posterior import CONVERGED, DIVERGED, IMPOSSIBLE, OUT_OF_STEPS, RUNNING
from plefka.networks.activations import Activation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.evidence import Evidence
from plefka.networks.storage import Storage
from plefka.reduction.barren_means import predict_traced
from plefka.reduction.question import LOWEST, Question
from plefka.reduction.traced_reductions import reduce_traced
from plefka.runtime.programs import Program
from plefka.solvers.functional import Functional, negative_entropy
from plefka.solvers.loop import Policy, Search, descend, evaluator, limits, start

FEW_ROWS, SLOWEST = 32, 8  # rows that are searched together to the end, and which part of more of them is the slowest
DEVICES = "devices"  # the axis of a mesh that rows are shared over


class StepSettings(eqx.Module):
    """What no step changes: the network, how it may move, and how rows are solved."""

    storage: Storage  # of one network; its weights are replaced
    activation: Activation
    rules: Parametrisation
    l1: Any
    l2: Any
    tol: Any
    max_steps: Any  # evaluations of a search, at most
    functional: Functional = eqx.field(static=True)
    policy: Policy = eqx.field(static=True)
    stacked: bool = eqx.field(static=True)
    in_single: bool = eqx.field(static=True, default=False)  # whether means are searched in single precision
    drawn: Any = None  # of learning by weighted states: the units whose states are drawn
    draws_in_single: bool = eqx.field(static=True, default=False)  # whether these are weighted in single precision


class TrainingState(NamedTuple):
    """What a step changes; of a stack, all with a leading axis."""

    free: Any
    optimizer: Any


class Batch(NamedTuple):
    """Distinct rows with their counts, and where their search starts from."""

    rows: Any  # (rows, units), nan where hidden
    counts: Any
    average: Any  # the counts of an average batch of the epoch, added up
    theta: Any  # (starts, rows, units that are searched), of a stack with a leading axis
    noise: Any = None  # of learning by weighted states: uniform numbers, (rows, draws, units that are drawn)
    stop: Any = None  # of several devices, each: 1 where its process was asked to stop


class Outcome(NamedTuple):
    """What a batch has shown, before the step; of a stack, all with a leading axis."""

    log_likelihood: Any  # the sum of counts x estimate over the rows that were solved
    counted: Any  # their counts
    converged: Any  # the counts of those that converged
    theta: Any  # the solutions, (rows, units that are searched); None where nobody keeps them
    stop: Any = None  # of several devices: how many were asked to stop


StepResult = tuple[TrainingState, Outcome]  # the state after a step, and what its batch has shown before


def solve_rows(settings: StepSettings, parameters: Any, batch: Batch) -> tuple[Any, Any, Any]:
    """The free energy of every row as a function of the parameters at fixed means, the status, and the new theta.

    `batch.theta` is (starts, rows, units that are searched); those behind them every row observes. Of several starts
    the lowest free energy that converged wins. With noise it is minus the logarithm of the mean weight of states that
    are drawn from the means, whether these have converged or not.
    """
    question, constant = question_of(settings, parameters, batch.rows, batch.theta.shape[-1])
    searched = jax.lax.stop_gradient((question, batch.theta))
    found = _lowest(settings, *(single(searched) if settings.in_single else searched))
    theta = found.theta.astype(batch.theta.dtype)
    if settings.drawn is None:
        G, status = _at_means(settings, question, found._replace(theta=theta))
    else:
        means = jax.lax.stop_gradient(question).means(jnp.where(jnp.isfinite(theta), theta, 0.0))
        G = -log_mean_weight(question, means, settings.drawn, batch.noise, in_single=settings.draws_in_single).value
        status = jnp.where(jnp.isfinite(G), CONVERGED, IMPOSSIBLE)
    return G - constant, status, theta.T


def question_of(settings: StepSettings, parameters: Any, rows: Any, num_searched: int) -> tuple[Question, Any]:
    """What rows ask of the network with these parameters, and what is to be added to ln P."""
    weights, bias = parameters
    network = BeliefNetwork(settings.storage.with_parameters(weights), bias, settings.activation)
    reduction = reduce_traced(network, Evidence(rows), prune=True)
    return replace(reduction.question, num_searched=num_searched), reduction.constant


def _at_means(settings: StepSettings, question: Question, found: Minimum) -> tuple[Any, Any]:
    """The free energy at means that are held, and the status."""
    functional = settings.functional
    question = _opened(settings, question)
    frozen = jax.lax.stop_gradient(question)
    falling = (found.status == OUT_OF_STEPS) & (found.G < LOWEST)  # to what no probability allows, as steps ran out
    status = jnp.where(falling, DIVERGED, found.status)
    u = predict_traced(frozen, question.means(found.theta), functional.chance)  # barren units too, for weights of 0
    u = jnp.where(usable(status), u, 0.0)  # 0 times a slope that is no number would be no number
    G = functional.energy(question, u) + jnp.where(question.free, negative_entropy(u), 0.0).sum(0)
    return G, status


def single(numbers: Any) -> Any:
    """In single precision."""

    def as_single(z: Any) -> Any:
        return jnp.asarray(z, jnp.float32) if jnp.issubdtype(jnp.result_type(z), jnp.floating) else z

    return jax.tree.map(as_single, numbers)


def _opened(settings: StepSettings, question: Question) -> Question:
    functional = settings.functional
    return question.opened(functional.powers(settings.activation), pairs=functional.needs_pairs)


def _lowest(settings: StepSettings, question: Question, theta: Any) -> Minimum:
    """Where the searches from all starts end, row by row the best of them."""

    def minimum(theta: Any) -> Minimum:
        search = start(settings.policy, jnp.where(question.searched, theta.T, 0.0))
        return Minimum.of(_descended(settings, question, search), settings.policy)

    if len(theta) == 1:
        return minimum(theta[0])
    found = jax.lax.map(minimum, theta)
    return reduce(better, (jax.tree.map(lambda z, k=k: z[k], found) for k in range(len(theta))))


def _descended(settings: StepSettings, question: Question, search: Search) -> Search:
    """The search at its end; the slowest rows go on by themselves, as those that have ended cost time as well."""
    few = question.num_rows // SLOWEST if question.num_rows > FEW_ROWS else 0
    opened = _opened(settings, question)
    evaluate = evaluator(opened, lambda question, u: settings.functional.energy(question, u).astype(u.dtype))
    stopping = limits(question, settings.tol, settings.max_steps)
    if not few:
        return descend(evaluate, stopping, settings.policy, search)
    search = descend(evaluate, stopping, settings.policy, search, few, worth=1.0)  # at once: few rows cost much less
    slow = jnp.argsort(search.status != RUNNING)[:few]
    some = _descended(settings, question.take(slow), jax.tree.map(lambda z: z[..., slow], search))
    return jax.tree.map(lambda every, some: every.at[..., slow].set(some), search, some)


def usable(status: Any) -> Any:
    """Where a row may be learned from: it is solved, or on its way, and the next epoch goes on from there."""
    return (status == CONVERGED) | (status == OUT_OF_STEPS)


def _objective(free: Any, settings: StepSettings, start: Any, batch: Batch, shares: int) -> tuple[Any, Outcome]:
    """Minus the penalised log-likelihood of a batch per row; rows without a solution do not count.

    Of a batch that is shared by several devices, the objectives of all `shares` add up to that of the batch.
    """
    parameters = settings.rules.parameters(free, start)
    G, status, theta = solve_rows(settings, parameters, batch)
    counted = jnp.where(usable(status), batch.counts, 0.0)
    total = jnp.where(counted > 0, G, 0.0) @ counted
    penalty = settings.rules.penalty(parameters, settings.l1, settings.l2)
    converged = jnp.where(status == CONVERGED, batch.counts, 0.0).sum()
    return total / batch.average + penalty / shares, Outcome(-total, counted.sum(), converged, theta)


def _step(
    state: TrainingState, settings: StepSettings, start: Any, batch: Batch,
    *, optimizer: Any, mesh: Mesh | None = None, keep: bool = True,
) -> StepResult:  # fmt: skip
    """The state after a step; `start`: the parameters that the network had before the first one; `optimizer`: of optax.

    The devices of a mesh have rows of their own, and all come to the same state. `keep`: whether these hand the
    solutions of their rows to each other.
    """

    def step_of_one(batch: Batch, state: TrainingState, start: Any, theta: Any) -> StepResult:
        own, shares = batch._replace(theta=theta), 1 if mesh is None else mesh.size
        gradient, outcome = jax.grad(_objective, has_aux=True)(state.free, settings, start, own, shares)
        if mesh is not None:
            gradient, outcome = _of_all_devices(gradient, outcome._replace(stop=batch.stop), keep)
        updates, memory = optimizer.update(gradient, state.optimizer, state.free)
        return TrainingState(jax.tree.map(jnp.add, state.free, updates), memory), outcome

    def of_stack(state: TrainingState, start: Any, batch: Batch) -> StepResult:
        one = partial(step_of_one, batch)
        return (jax.vmap(one) if settings.stacked else one)(state, start, batch.theta)

    if mesh is None:
        return of_stack(state, start, batch)
    specs = PartitionSpec(), PartitionSpec(), batch_specs(stacked=settings.stacked)
    return jax.shard_map(of_stack, mesh=mesh, in_specs=specs, out_specs=PartitionSpec(), check_vma=False)(
        state, start, batch
    )


def batch_specs(*, stacked: bool) -> Batch:
    """How a batch lies on several devices: each has some of its rows."""
    rows, nothing = PartitionSpec(DEVICES), PartitionSpec()
    return Batch(rows, rows, nothing, PartitionSpec(*(None,) * (1 + stacked), DEVICES), rows, rows)


def _of_all_devices(gradient: Any, own: Outcome, keep: bool) -> tuple[Any, Outcome]:
    """The gradient and the outcome of a whole batch, from those of each device's rows; all devices have the same."""
    sums = own.log_likelihood, own.counted, own.converged, own.stop.sum()
    gradient, (log_likelihood, counted, converged, stop) = jax.lax.psum((gradient, sums), DEVICES)
    theta = jax.lax.all_gather(own.theta.astype(jnp.float32), DEVICES, tiled=True) if keep else None
    return gradient, Outcome(log_likelihood, counted, converged, theta, stop)


def _parameters(free: Any, rules: Parametrisation, start: Any, *, stacked: bool) -> Any:
    return (jax.vmap(rules.parameters) if stacked else rules.parameters)(free, start)


step, parameters_of = Program(_step), Program(_parameters)
