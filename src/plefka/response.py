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
from plefka.free_energies.problem import pose, predict
from plefka.mean_field import POLICIES, Scheme, scheme_of, solve_traced
from plefka.methods import MeanField, does_not_apply
from plefka.precision import is_traced, precision
from plefka.reductions import rounds_of

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork
    from plefka.solution import Solution

MOST_UNITS = 5000  # a matrix of more would not fit


def covariance(solution: "Solution") -> np.ndarray:
    """cov(S_i, S_j) of all units given the evidence, (n, n)."""
    n = len(solution.names)
    if n > MOST_UNITS:
        raise InvalidInput(
            f"the covariance of {n:,} units is a matrix of {n**2:,} numbers, and {MOST_UNITS:,} units is the most. "
            "Use covariance_product(vector) instead."
        )
    C = _responses(solution, np.eye(n))
    C = (C + C.T) / 2
    barren = barren_units(solution)
    C[barren, barren] = variances(solution)[barren]
    return C


def product(solution: "Solution", z: np.ndarray) -> np.ndarray:
    """covariance @ z, without the matrix: one linear system, and one more for each barren unit where z is not 0."""
    barren = np.flatnonzero(barren_units(solution) & (z != 0))
    own = np.zeros((len(barren), len(z)))
    own[np.arange(len(barren)), barren] = 1.0
    found = _responses(solution, np.vstack([z, own]))
    total = found[0].copy()
    total[barren] += z[barren] * (variances(solution)[barren] - found[1:][np.arange(len(barren)), barren])
    return total


def variances(solution: "Solution") -> np.ndarray:
    """u (1 - u): those of binary units, and so of barren ones, which have no free energy of their own."""
    return solution.means * (1 - solution.means)


def _responses(solution: "Solution", directions: np.ndarray) -> np.ndarray:
    """cov(S, sum_j z_j S_j) for every row z of the directions."""
    network, given, scheme, method = _ingredients(solution)
    tilt = np.zeros(given.rows.shape) if given.tilt is None else given.tilt
    with precision("float64"):
        found = _products(
            network.storage, network.bias, network.activation, given.rows, tilt, directions,
            method.tol, method.max_steps, scheme=scheme, policy=POLICIES[method.policy], prune=solution.prune,
            rounds=rounds_of(network),
        )  # fmt: skip
        return np.asarray(found)


def _ingredients(solution: "Solution") -> tuple["BeliefNetwork", Evidence, Scheme, MeanField]:
    if solution.is_batch or solution.network is None or is_traced(solution.network):
        raise InvalidInput("covariances are for a single row of evidence, outside a trace; infer that row by itself.")
    method = solution.method
    if not isinstance(method, MeanField):
        raise does_not_apply(method, "covariances follow from a free energy of the means, and it has none", "G1 or G12")
    scheme = Scheme(scheme_of(method, solution.network, solution.evidence, prune=solution.prune).solved)
    return scheme.prepare(solution.network), solution.evidence, scheme, method


@partial(jax.jit, static_argnames=("scheme", "policy", "prune", "rounds"))
def _products(
    storage, bias, activation, rows, tilt, directions, tol, max_steps, *, scheme, policy, prune, rounds
):  # fmt: skip
    def means(tilt):
        return solve_traced(
            storage, bias, activation, rows, tilt, jnp.zeros(rows.shape), tol, max_steps,
            scheme=scheme, policy=policy, prune=prune, rounds=rounds,
        ).means  # fmt: skip

    u, pull_back = jax.vjp(means, jnp.asarray(tilt))
    problem = pose(storage, jnp.asarray(bias), activation, jnp.asarray(rows), 1, pairs=False, prune=prune, tilt=tilt)

    def one(z):
        known = pull_back(z[None])[0].T
        return _handed_on(problem, scheme.solved.chance, u.T, known)[:, 0]

    return jax.lax.map(one, jnp.asarray(directions))


def _handed_on(problem, chance, u, change):
    """The change of all means when that of the units which are not barren is known: along the arrows."""

    def linear(problem, change):
        return jax.jvp(lambda u: chance(problem, u), (u,), (change,))[1]

    return predict(problem, change, linear)


def barren_units(solution: "Solution") -> np.ndarray:
    """The units of which the evidence says nothing."""
    network, given = solution.network, solution.evidence
    with precision("float64"):
        problem = pose(
            network.storage, jnp.asarray(network.bias), network.activation, jnp.asarray(given.rows), 1,
            pairs=False, prune=solution.prune, tilt=None if given.tilt is None else jnp.asarray(given.tilt),
        )  # fmt: skip
        return np.asarray(~problem.known)[:, 0]
