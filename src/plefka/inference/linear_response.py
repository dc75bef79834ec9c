"""Linear response: covariances from how the means move when the log-odds of units are moved.

    cov(S_i, S_j) = d <S_i> / dt_j = the inverse Hessian of G at its solution,

where the weight of a state is multiplied by exp(sum_j t_j S_j). Only products with the Hessian are formed.
"""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidInput
from plefka.mean_field.free_energies import FUNCTIONALS, better_at_first_order, functional_of, solved_by
from plefka.mean_field.minimisation import scheme
from plefka.mean_field.schemes import MeanField
from plefka.methods.method import does_not_apply
from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList, fixed_point_along_edges
from plefka.networks.evidence import Evidence
from plefka.reduction.barren_means import predict_traced
from plefka.reduction.question import Question
from plefka.reduction.reduce import masked, reduce
from plefka.reduction.traced_reductions import TracedReduction, reduce_traced
from plefka.runtime.late_binding import INFER, supplied
from plefka.runtime.precision import is_traced
from plefka.runtime.programs import Program
from plefka.solvers.functional import Functional, Objective
from plefka.solvers.implicit import differentiable, response

if TYPE_CHECKING:
    from plefka.inference.solution import Solution

MOST_RESPONDING = 5000  # a matrix of more would not fit
CLIP = 1e-12


def covariance(solution: "Solution") -> np.ndarray:
    """cov(S_i, S_j) of all units given the evidence, (n, n)."""
    n = len(solution.names)
    if n > MOST_RESPONDING:
        raise InvalidInput(
            f"a covariance matrix is limited to {MOST_RESPONDING:,} units; {n:,} units would need {n**2:,} numbers. "
            "Use covariance_product(vector) instead."
        )
    C = _responses(solution, np.eye(n))
    return (C + C.T) / 2


def product(solution: "Solution", z: np.ndarray) -> np.ndarray:
    """covariance @ z, without the matrix: one linear system, and one more for each barren unit that leads to z."""
    return _responses(solution, z[None])[0]


def _responses(solution: "Solution", directions: np.ndarray) -> np.ndarray:
    """cov(S, sum_j z_j S_j) for every row z of the directions.

    Barren units have no free energy: they follow their parents, C = L (C of the others + D) L', and vary by D of their
    own beside that, as much as it takes for a variance of u (1 - u).
    """
    if not solution.network.is_normalised:
        return _machine_responses(solution, directions)
    network, means = solution.network, _means(solution)
    tilt = np.zeros(means.shape) if solution.evidence.tilt is None else solution.evidence.tilt[0]
    u = np.clip(means, CLIP, 1 - CLIP)
    theta = np.log(u) - np.log1p(-u)
    question, barren = _question(solution), _barren(solution)
    objective = Objective(FUNCTIONALS[_method(solution).solved_by].fitted(question))
    storage = objective.prepared(question).storage

    asked = np.flatnonzero(_with_ancestors(network, np.asarray(directions.any(axis=0))) & barren)
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


def _means(solution: "Solution") -> np.ndarray:
    """Those that minimise the free energy: of several minima, the one that was found."""
    method = _method(solution)
    if method.solved_by == method.name:
        return solution.means

    return supplied(INFER)(
        solution.network, solution.evidence, method.solved_by, prune=solution.prune, throw=False
    ).means[0]


def _method(solution: "Solution") -> MeanField:
    if solution.is_batch or solution.network is None or is_traced(solution.network):
        raise InvalidInput("covariances are for a single row of evidence, outside a trace; infer that row by itself.")
    if not isinstance(solution.method, MeanField):
        why = "covariances follow from a free energy of the means, and it has none"
        raise does_not_apply(solution.method, why, "G1 or G12")
    return solution.method


def _question(solution: "Solution") -> Any:
    """All units of the network."""
    reduction: Any = reduce(solution.network, solution.evidence, prune=False)
    return masked(solution.network.storage, reduction.given, reduction.left)


def _barren(solution: "Solution") -> np.ndarray:
    """The units of which the evidence says nothing."""
    informed = np.asarray(solution.evidence.informed[0])
    return ~_with_ancestors(solution.network, informed) if solution.prune else np.zeros(len(informed), bool)


def _with_ancestors(network: Any, units: np.ndarray) -> np.ndarray:
    return EdgeList.of(network.storage).graph.with_ancestors(units)


def _responses_of(
    storage, bias, activation, rows, tilt, theta, directions, own, *, objective: Objective, prune, has_barren
):
    """C z for every direction z, where `own` is D; and L' z, what z receives of the own variation of a unit."""
    network = BeliefNetwork(storage, bias, activation)
    functional = objective.minimised

    def reduced(tilt) -> TracedReduction:
        return reduce_traced(network, Evidence(rows, tilt[None]), prune=prune)

    def opened(reduction: TracedReduction):
        return reduction.question.opened(functional.powers(activation), pairs=functional.needs_pairs)

    def means(tilt):
        reduction = reduced(tilt)
        question = opened(reduction)

        def predicted(u, functional):
            return predict_traced(question, u, functional.chance) if has_barren else u

        start = jnp.where(question.searched, theta[:, None], 0.0)
        found, _ = differentiable(question, objective, start, predicted)
        slope = functional.bias_slope(question, found) if reduction.sums_out else None
        return predicted(reduction.restored(found, slope), functional)[:, 0]

    u, backwards = jax.vjp(means, tilt)
    if not has_barren:
        return jax.lax.map(lambda z: backwards(z)[0], directions), None
    question = opened(reduced(tilt))

    def along(change):
        return _propagated_changes(question, functional.chance, u[:, None], change)

    def response_to(z):
        received = jax.vjp(along, jnp.zeros((len(u), 1), u.dtype))[1](z[:, None])[0]
        change = jnp.where(question.barren, own[:, None] * received, backwards(z)[0][:, None])
        return along(change)[:, 0], received[:, 0]

    return jax.lax.map(response_to, directions)


_products = Program(_responses_of)


def _propagated_changes(question, chance, u, change):
    """The change of all means, along the arrows: of barren units their own, and what follows from their parents'."""

    def once(arguments, changes):
        question, u, change = arguments
        following = jax.jvp(lambda u: chance(question, u), (u,), (changes,))[1]
        return change + jnp.where(question.barren, following, 0.0)

    return fixed_point_along_edges(once, (question, u, change), change)


# ---- Boltzmann machines ----------------------------------------------------------------------------------------------


def _machine_responses(solution: "Solution", directions: np.ndarray) -> np.ndarray:
    """cov(S, sum_j z_j S_j) for every row z of the directions; S counts as 0 and 1."""
    method = _method(solution)
    reduction = reduce(solution.network, solution.evidence, prune=solution.prune)
    (part,) = reduction.parts
    question, model = part.question, part.question.model
    means, name = np.nan_to_num(solution.means), solved_by(model, method)
    if name == method.name and better_at_first_order(method, question, part.narrowed(means[:, None])).any():
        name = "G1"
    if name != method.name:
        means = supplied(INFER)(
            solution.network, solution.evidence, name, prune=solution.prune, throw=False
        ).means.reshape(-1)
    variances = np.where(solution.observed, 0.0, means * (1 - means))
    found = directions * variances  # of units that are coupled to nobody
    if question.free.any():
        functional = functional_of(model, scheme(name)).fitted(question)
        question = Objective(functional).prepared(question)
        here, units = question.free[:, 0], part.units
        z = np.zeros((len(directions), question.size))
        z[:, here] = directions[:, units[here]]
        u = np.where(question.free, part.narrowed(means[:, None]), question.values)
        work = question.storage.num_edges * len(directions)
        found[:, units[here]] = _machine_products(question, u, z, functional=functional, work=work)[:, here]
    return found


def _machine_products_of(question: Question, u, directions, *, functional: Functional):
    opened = question.opened(functional.powers(question.model.activation))
    hessian = functional.hessian(opened, u)
    root = jnp.sqrt(jnp.where(opened.free, u * (1 - u), 0.0))
    return jax.lax.map(lambda z: (root * response(hessian, opened, u, root * z[:, None]))[:, 0], directions)


_machine_products = Program(_machine_products_of)
