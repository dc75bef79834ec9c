"""Linear response of a Boltzmann machine: cov(S_i, S_j) is the inverse Hessian of G at its solution."""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from plefka.mean_field.minimisation import Objective, scheme
from plefka.mean_field.of_model import beyond_reach, functional_of, solved_by
from plefka.mean_field.schemes import MeanField
from plefka.reduction.question import Question
from plefka.reduction.reduce import reduce
from plefka.runtime.late_binding import INFER, supplied
from plefka.runtime.programs import Program
from plefka.solvers.functional import Functional
from plefka.solvers.implicit import response

if TYPE_CHECKING:
    from plefka.inference.solution import Solution


def responses(solution: "Solution", method: MeanField, directions: np.ndarray) -> np.ndarray:
    """cov(S, sum_j z_j S_j) for every row z of the directions; S counts as 0 and 1."""
    reduction = reduce(solution.network, solution.evidence, prune=solution.prune)
    (part,) = reduction.parts
    question, model = part.question, part.question.model
    means, name = np.nan_to_num(solution.means), solved_by(model, method)
    if name == method.name and beyond_reach(method, question, part.narrowed(means[:, None])).any():
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
        found[:, units[here]] = _products(question, u, z, functional=functional, work=work)[:, here]
    return found


def _responses(question: Question, u, directions, *, functional: Functional):
    opened = question.opened(functional.powers(question.model.activation))
    hessian = functional.hessian(opened, u)
    root = jnp.sqrt(jnp.where(opened.free, u * (1 - u), 0.0))
    return jax.lax.map(lambda z: (root * response(hessian, opened, u, root * z[:, None]))[:, 0], directions)


_products = Program(_responses)
