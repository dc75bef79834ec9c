"""Linear response: covariances from how the means move when the log-odds of units are moved.

    cov(S_i, S_j) = d <S_i> / dt_j = the inverse Hessian of G at its solution,

where the weight of a state is multiplied by exp(sum_j t_j S_j). Only products with the Hessian are formed.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from plefka.inference.machine_response import machine_responses, means_by
from plefka.mean_field.free_energies import FUNCTIONALS
from plefka.mean_field.schemes import MeanField
from plefka.messages.bethe import FactorSweeps, field_range
from plefka.messages.message_methods import Bethe
from plefka.messages.message_sweeps import means_of
from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList, fixed_point_along_edges
from plefka.networks.evidence import Evidence
from plefka.reduction.barren_means import predict_traced
from plefka.reduction.certainty import certain
from plefka.reduction.question import Question
from plefka.reduction.reduce import masked, reduce
from plefka.reduction.traced_reductions import reduce_traced
from plefka.runtime.programs import Program
from plefka.solvers.functional import Objective
from plefka.solvers.implicit import differentiable, generalised_residuals

if TYPE_CHECKING:
    from plefka.inference.solution import Solution

CLIP = 1e-12
SETTLED = 1e-12  # how far messages have settled


def responses(solution: "Solution", directions: np.ndarray) -> np.ndarray:
    """cov(S, sum_j z_j S_j) for every row z of the directions; of a single row of evidence.

    Barren units have no free energy: they follow their parents, C = L (C of the others + D) L', and vary by D of their
    own beside that, as much as it takes for a variance of u (1 - u).
    """
    if not solution.network.is_normalised:
        return machine_responses(solution, directions)
    (method,) = solution.methods
    if isinstance(method, Bethe):
        return _bethe_responses(solution, method, directions)
    assert isinstance(method, MeanField)
    network, kind = solution.network, method.solved_by
    means = solution.means if kind == method.name else means_by(solution, kind)
    tilt = np.zeros(means.shape) if solution.evidence.tilt is None else solution.evidence.tilt[0]
    u = np.clip(means, CLIP, 1 - CLIP)
    theta = np.log(u) - np.log1p(-u)
    graph, informed = EdgeList.of(network.storage).graph, np.asarray(solution.evidence.informed[0])
    barren = ~graph.with_ancestors(informed) if solution.prune else np.zeros(len(informed), bool)
    reduction: Any = reduce(network, solution.evidence, prune=False)
    question = masked(network.storage, reduction.given, reduction.left)  # of all units
    objective = Objective(FUNCTIONALS[kind].fitted(question))
    storage = objective.prepared(question).storage

    asked = np.flatnonzero(graph.with_ancestors(np.asarray(directions.any(axis=0))) & barren)
    count = max(len(directions), len(asked))  # of directions, so that one program serves both calls

    def products(directions: np.ndarray, own: np.ndarray) -> Any:
        filled = np.vstack([directions, np.zeros((count - len(directions), network.size))])
        found = _products(
            storage, network.bias, network.activation, solution.evidence.rows, tilt, theta, filled, own,
            objective=objective, prune=solution.prune, has_barren=bool(barren.any()),
            work=storage.num_edges * count,
        )  # fmt: skip
        return [None if part is None else part[: len(directions)] for part in found]

    own = np.zeros(network.size)
    if asked.size:
        from_others, received = products(np.eye(network.size)[asked], own)
        missing = (means * (1 - means))[asked] - from_others[np.arange(len(asked)), asked]
        own[asked] = np.linalg.solve(received[:, asked] ** 2, missing)
    return products(directions, own)[0]


def _responses_of(
    storage, bias, activation, rows, tilt, theta, directions, own, *, objective: Objective, prune, has_barren
):
    """C z for every direction z, where `own` is D; and L' z, what z receives of the own variation of a unit."""
    network = BeliefNetwork(storage, bias, activation)
    functional = objective.minimised

    def reduced(tilt):
        reduction = reduce_traced(network, Evidence(rows, tilt[None]), prune=prune)
        return reduction, reduction.question.opened(functional.powers(activation), pairs=functional.needs_pairs)

    def means(tilt):
        reduction, question = reduced(tilt)

        def predicted(u, functional):
            return predict_traced(question, u, functional.chance) if has_barren else u

        start = jnp.where(question.searched, theta[:, None], 0.0)
        found, _ = differentiable(question, objective, start, predicted)
        slope = functional.bias_slope(question, found) if reduction.sums_out else None
        return predicted(reduction.restored(found, slope), functional)[:, 0]

    u, backwards = jax.vjp(means, tilt)
    if not has_barren:
        return jax.lax.map(lambda z: backwards(z)[0], directions), None
    _, question = reduced(tilt)

    def once(arguments, changes):
        question, u, change = arguments
        following = jax.jvp(lambda u: functional.chance(question, u), (u,), (changes,))[1]
        return change + jnp.where(question.barren, following, 0.0)

    def along(change):  # of barren units their own, and what follows from their parents'
        return fixed_point_along_edges(once, (question, u[:, None], change), change)

    def response_to(z):
        received = jax.vjp(along, jnp.zeros((len(u), 1), u.dtype))[1](z[:, None])[0]
        change = jnp.where(question.barren, own[:, None] * received, backwards(z)[0][:, None])
        return along(change)[:, 0], received[:, 0]

    return jax.lax.map(response_to, directions)


_products = Program(_responses_of)


# ---- belief propagation ----------------------------------------------------------------------------------------------


def _bethe_responses(solution: "Solution", method: Bethe, directions: np.ndarray) -> np.ndarray:
    """Of all units of the network: what messages say is the same whether or not units are summed out first."""
    network, rows = cast(BeliefNetwork, solution.network), np.asarray(solution.evidence.rows, float)
    edges, h = EdgeList.of(network.storage), np.atleast_2d(np.asarray(network.bias, float)).T
    known = certain(edges, h, network.activation, rows.T).known.T
    (part,) = reduce(network, solution.evidence._replace(rows=known, batched=True), prune=False).parts
    storage = network.storage.prepared(tables=True)
    question = part.question.with_model(weights=storage)
    z = np.where(question.free[:, 0], directions, 0.0)
    return _bethe_products(
        question, z, method.max_steps, method.damping, sweeps=FactorSweeps(field_range(question)),
        work=storage.num_edges * len(directions),
    )  # fmt: skip


def _bethe_products_of(question: Question, directions, max_steps, damping, *, sweeps: FactorSweeps):
    """How the means u(m, t) of a fixed point m = F(m, t) of the messages follow the log-odds t, against the arrows:

    du/dt = u_t + u_m (1 - F_m)^-1 F_t, of which the transpose is applied to z, as it is symmetric.
    """

    def updated(messages, tilt):
        factors = sweeps.prepare(replace(question, tilt=tilt))
        return factors.update(messages, factors.beliefs(messages))[0]

    def means(messages, tilt):
        return means_of(sweeps.prepare(replace(question, tilt=tilt)), messages)

    tilt, factors = question.tilt, sweeps.prepare(question)
    first = sweeps.start([w.shape[:2] for w in factors.weights.tables], jnp.zeros_like(tilt), damping)
    messages = sweeps.advance(factors, first, SETTLED, max_steps, 0).messages
    _, back = jax.vjp(updated, messages, tilt)
    _, back_from_means = jax.vjp(means, messages, tilt)

    def uncertain(change):  # messages that are certain stay so
        return jax.tree.map(lambda m, d: jnp.where(jnp.isfinite(m), d, 0.0), messages, change)

    def response_to(z):
        by_messages, by_tilt = back_from_means(z[:, None])
        b, unravel = ravel_pytree(uncertain(by_messages))
        solved = generalised_residuals(lambda d: d - ravel_pytree(uncertain(back(unravel(d))[0]))[0], b)
        return (by_tilt + back(unravel(solved))[1])[:, 0]

    return jax.lax.map(response_to, directions)


_bethe_products = Program(_bethe_products_of)
