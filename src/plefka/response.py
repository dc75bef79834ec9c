"""Linear response: covariances from how the means move when the log-odds of units are moved.

    cov(S_i, S_j) = d <S_i> / dt_j = the inverse Hessian of G at its solution,

where the weight of a state is multiplied by exp(sum_j t_j S_j). Only products with the Hessian are formed.
"""

from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidInput
from plefka.evidence import Evidence
from plefka.free_energies.problem import known, pose
from plefka.mean_field import POLICIES, Scheme, scheme_of, solve_traced
from plefka.methods import MeanField, does_not_apply
from plefka.networks.arrows import relevant, settled_along
from plefka.precision import is_traced, precision
from plefka.solvers.implicit import differentiable

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork
    from plefka.solution import Solution

MOST_UNITS = 5000  # a matrix of more would not fit
CLIP = 1e-12


def covariance(solution: "Solution") -> np.ndarray:
    """cov(S_i, S_j) of all units given the evidence, (n, n)."""
    n = len(solution.names)
    if n > MOST_UNITS:
        raise InvalidInput(
            f"the covariance of {n:,} units is a matrix of {n**2:,} numbers, and {MOST_UNITS:,} units is the most. "
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
    network, given, scheme, method = _ingredients(solution)
    tilt = np.zeros(given.rows.shape) if given.tilt is None else given.tilt
    u = np.clip(solution.means[None], CLIP, 1 - CLIP)
    start = np.log(u) - np.log1p(-u)  # of several minima, the one that was found

    informed = _informed(solution)

    def products(directions, own):
        with precision("float64"):
            found = _products(
                network.storage, network.bias, network.activation, given.rows, tilt, start, directions, own,
                method.tol, method.max_steps, scheme=scheme, policy=POLICIES[method.policy], prune=solution.prune,
                is_solved=method.solved_by == method.name, barren=not informed.all(),
            )  # fmt: skip
            return jax.tree.map(np.asarray, found)

    own = np.zeros(network.size)
    barren = np.flatnonzero(_above(solution, np.asarray(directions.any(axis=0))) & ~informed)
    if barren.size:
        from_others, heard = products(np.eye(network.size)[barren], own)
        missing = (solution.means * (1 - solution.means))[barren] - from_others[np.arange(len(barren)), barren]
        own[barren] = np.linalg.solve(heard[:, barren] ** 2, missing)
    return products(directions, own)[0]


def _informed(solution: "Solution") -> np.ndarray:
    """The units that are not barren: of which the evidence says something."""
    network, given = solution.network, solution.evidence
    with precision("float64"):
        problem = pose(
            network.storage, jnp.asarray(network.bias), network.activation, jnp.asarray(given.rows), 1,
            pairs=False, prune=solution.prune, tilt=None if given.tilt is None else jnp.asarray(given.tilt),
        )  # fmt: skip
        return np.asarray(problem.known)[:, 0]


def _above(solution: "Solution", units: np.ndarray) -> np.ndarray:
    """The units and their ancestors."""
    with precision("float64"):
        return np.asarray(relevant(solution.network.storage, jnp.asarray(units)[:, None]))[:, 0]


def _ingredients(solution: "Solution") -> tuple["BeliefNetwork", Evidence, Scheme, MeanField]:
    if solution.is_batch or solution.network is None or is_traced(solution.network):
        raise InvalidInput("covariances are for a single row of evidence, outside a trace; infer that row by itself.")
    method = solution.method
    if not isinstance(method, MeanField):
        raise does_not_apply(method, "covariances follow from a free energy of the means, and it has none", "G1 or G12")
    scheme = Scheme(scheme_of(method, solution.network, solution.evidence, prune=solution.prune).solved)
    return scheme.prepare(solution.network), solution.evidence, scheme, method


@partial(jax.jit, static_argnames=("scheme", "policy", "prune", "is_solved", "barren"))
def _products(
    storage, bias, activation, rows, tilt, start, directions, own, tol, max_steps,
    *, scheme, policy, prune, is_solved, barren,
):  # fmt: skip
    """C z for every direction z, where `own` is D; and L' z, which is what z hears of the own variation of a unit.

    `is_solved`: whether the start is the solution, so that nothing has to be searched.
    `barren`: whether there are units that follow their parents.
    """
    bias, rows, tilt = jnp.asarray(bias), jnp.asarray(rows), jnp.asarray(tilt)

    def posed(tilt):
        degree = scheme.solved.powers(activation)
        return pose(storage, bias, activation, rows, degree, pairs=scheme.solved.needs_pairs, prune=prune, tilt=tilt)

    def means(tilt):
        if is_solved:
            problem = posed(tilt)
            theta = jnp.where(problem.searched, start.T[: problem.head], 0.0)
            given = known(storage, bias, activation, rows, tilt)
            return differentiable(problem, given, scheme, theta, barren=barren)[0].T
        return solve_traced(
            storage, bias, activation, rows, tilt, start, tol, max_steps,
            scheme=scheme, policy=policy, prune=prune,
        ).means  # fmt: skip

    u, pull_back = jax.vjp(means, tilt)
    if not barren:
        return jax.lax.map(lambda z: pull_back(z[None])[0][0], jnp.asarray(directions)), None
    problem = posed(tilt)

    def along(change):
        return _handed_on(problem, scheme.solved.chance, u.T, change)

    def one(z):
        heard = jax.vjp(along, jnp.zeros(u.T.shape))[1](z[:, None])[0]
        return along(jnp.where(problem.known, pull_back(z[None])[0].T, own[:, None] * heard))[:, 0], heard[:, 0]

    return jax.lax.map(one, jnp.asarray(directions))


def _handed_on(problem, chance, u, change):
    """The change of all means, along the arrows: of barren units their own, and what follows from their parents'."""

    def once(arguments, changes):
        problem, u, change = arguments
        following = jax.jvp(lambda u: chance(problem, u), (u,), (changes,))[1]
        return change + jnp.where(problem.known, 0.0, following)

    return settled_along(once, (problem, u, change), change)
