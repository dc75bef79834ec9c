"""Linear response in Boltzmann machines: covariances as the inverse Hessian of a free energy at its solution.

G1, G2 and Bethe's free energy have Hessians in closed form, for many rows at once: learning and answers use the same.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from plefka.mean_field.free_energies import better_at_first_order, functional_of, solved_by
from plefka.mean_field.minimisation import scheme
from plefka.mean_field.schemes import MeanField
from plefka.methods.method import Method, does_not_apply
from plefka.reduction.question import Question
from plefka.reduction.reduce import reduce
from plefka.runtime.late_binding import INFER, supplied
from plefka.runtime.programs import Program
from plefka.solvers import implicit
from plefka.solvers.functional import Functional, Objective

if TYPE_CHECKING:
    from plefka.inference.solution import Solution

MOST_PAIRED = 2048  # of a question whose Hessian is inverted
LARGEST_R = 1 - 1e-12  # of the correlation of a pair


def minimised(question: Question, method: Method, means: np.ndarray) -> np.ndarray:
    """The free energy (rows,) that was minimised: G2 may have been evaluated at the solution of G1."""
    kinds = np.full(question.num_rows, method.name, object)
    if isinstance(method, MeanField):
        at_first = better_at_first_order(method, question, means)
        kinds[at_first | (solved_by(question.model, method) == "G1")] = "G1"
    return kinds


def response(hessian: Callable, W: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The inverse Hessian at the means u (rows, units): covariances (rows, units, units).

    The Hessian is 1/v - M, and inverted as v^1/2 (1 - A)^-1 v^1/2 with A = v^1/2 M v^1/2, in which nothing is large.
    """
    v = u * (1 - u)
    root = np.sqrt(v)
    A = hessian(W, u, v, root)
    return root[:, :, None] * np.linalg.inv(np.eye(len(W)) - A) * root[:, None]


def _second_order(W: np.ndarray, u: np.ndarray, v: np.ndarray, root: np.ndarray) -> np.ndarray:
    """M_ij = W_ij + W_ij^2 d_i d_j / 2 and M_ii = -sum_j W_ij^2 v_j, with d = 1 - 2u."""
    d = 1 - 2 * u
    A = root[:, :, None] * (W + 0.5 * W**2 * d[:, :, None] * d[:, None]) * root[:, None]
    return A - np.eye(len(W)) * (v * (v @ W**2))[:, None]


def _of_pairs(W: np.ndarray, u: np.ndarray, v: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Bethe's: each pair adds the inverse of its covariance matrix, less what its units have alone.

    With r the correlation of a pair, A_ij = r / (1 - r^2) and A_ii = -sum_j r^2 / (1 - r^2).
    """
    covariance = np.where(W != 0, both_on(W, u[:, :, None], u[:, None]) - u[:, :, None] * u[:, None], 0.0)
    scale = root[:, :, None] * root[:, None]
    r = np.clip(covariance / np.where(scale > 0, scale, 1.0), -LARGEST_R, LARGEST_R)
    A = r / (1 - r**2)
    return A - np.eye(len(W)) * (r * A).sum(axis=-1)[:, None]


HESSIANS: dict[str, Callable] = {
    "G1": lambda W, u, v, root: root[:, :, None] * W * root[:, None],  # M = W
    "G2": _second_order,
    "bethe": _of_pairs,
}


def both_on(w: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """P(both on) of a pair with P(on) = a and b, and the odds ratio exp(w): the root of a quadratic equation."""
    e = np.exp(-np.abs(w))
    positive = w > 0
    # multiplied by exp(-w) where w is positive, so that nothing overflows
    q = np.where(positive, e + (1 - e) * (a + b), 1 + (e - 1) * (a + b))
    product = np.where(positive, 1 - e, e * (e - 1)) * a * b
    root = np.sqrt(np.maximum(q**2 - 4 * product, 0.0))
    smaller = 2 * np.where(positive, 1.0, e) * a * b / np.maximum(q + root, np.finfo(float).tiny)
    return np.where(q < 0, (q - root) / (2 * np.minimum(e - 1, -0.1)), smaller)  # q < 0 only where e < 1/2


def question_matrix(question: Question) -> np.ndarray:
    """The symmetric couplings of a question of one machine."""
    child, parent, weight = question.storage.edge_list()
    W = np.zeros((question.size,) * 2)
    W[child, parent] = W[parent, child] = weight[:, 0]
    return W


def means_by(solution: "Solution", kind: str) -> np.ndarray:
    """Those that minimise another free energy, given the same evidence."""
    options: Any = {"prune": solution.prune, "throw": False}
    return supplied(INFER)(solution.network, solution.evidence, kind, **options).means.reshape(-1)


def machine_responses(solution: "Solution", directions: np.ndarray) -> np.ndarray:
    """cov(S, sum_j z_j S_j) for every row z of the directions; S counts as 0 and 1."""
    (method,) = solution.methods
    (part,) = reduce(solution.network, solution.evidence, prune=solution.prune).parts
    question, means = part.question, np.nan_to_num(solution.means)
    (kind,) = minimised(question, method, part.narrowed(means[:, None]))
    if kind != method.name:
        means = means_by(solution, kind)
    found = directions * np.where(solution.observed, 0.0, means * (1 - means))  # of units that are coupled to nobody
    here = np.flatnonzero(question.free[:, 0])
    units, u = part.units[here], np.where(question.free, part.narrowed(means[:, None]), question.values)
    if kind in HESSIANS and question.size <= MOST_PAIRED:
        C = response(HESSIANS[kind], question_matrix(question)[np.ix_(here, here)], u[here].T)
        found[:, units] = directions[:, units] @ C[0]
    elif not isinstance(method, MeanField):
        why = f"its response would invert a matrix of {question.size:,} units, and {MOST_PAIRED:,} is the most"
        raise does_not_apply(method, why, "G1 or gibbs[seed=0]")
    elif len(here):
        functional = functional_of(question.model, scheme(kind)).fitted(question)
        question = Objective(functional).prepared(question)
        z = np.zeros((len(directions), question.size))
        z[:, here] = directions[:, units]
        work = question.storage.num_edges * len(directions)
        found[:, units] = _machine_products(question, u, z, functional=functional, work=work)[:, here]
    return found


def _machine_products_of(question: Question, u, directions, *, functional: Functional):
    opened = question.opened(functional.powers(question.model.activation))
    hessian = functional.hessian(opened, u)
    root = jnp.sqrt(jnp.where(opened.free, u * (1 - u), 0.0))
    return jax.lax.map(lambda z: (root * implicit.response(hessian, opened, u, root * z[:, None]))[:, 0], directions)


_machine_products = Program(_machine_products_of)
