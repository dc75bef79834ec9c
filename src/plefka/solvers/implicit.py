"""Derivatives of a solution: of the free energy by the envelope theorem, of the means by the implicit function theorem.

At a stationary point dG/dp is the partial derivative at fixed means. The natural parameters theta = T(u) := -dR/du
change by (1 + H V)^-1 dT/dp, with H the Hessian of R and V the variances; only products with H are formed.
"""

from collections.abc import Callable
from typing import cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from plefka.networks.activations import AnyArray, sigmoid
from plefka.reduction.question import Question
from plefka.solvers.functional import Functional, Objective, entropy_term

LINEAR_TOLERANCE = 1e-10
MOST_STEPS = 10  # for each unit
KRYLOV, MOST_CYCLES = 24, 40  # directions that GMRES keeps, and how often it begins again
SMALLEST_DIRECTION = 1e-14  # of a new one beside those of length 1


def differentiable(question: Question, objective: Objective, theta: AnyArray, barren: Callable) -> tuple[Array, Array]:
    """The means and the free energy at the solution theta, as functions of everything in the question.

    `barren(u, functional)` has the means of barren units predicted from u.
    """
    theta, functional = jax.lax.stop_gradient(theta), objective.minimised
    # With u held fixed, G has the derivatives of the minimum. A barren unit has its predicted mean: an edge of weight 0
    # that leads from it adds nothing to G, but to the derivative by that weight.
    u = jax.lax.stop_gradient(barren(question.means(theta), functional))
    found = jnp.where(question.free, _stationary(functional, question, u), question.values)
    if objective.evaluated is not None:
        G, means = other_free_energy(question, objective, found)
        return means, G
    return found, functional.energy(question, u) + entropy_term(question, u)


def other_free_energy(question: Question, objective: Objective, u) -> tuple[Array, Array]:
    """The free energy that is evaluated at the minimum u of the first, and the means that go with it.

    These are the derivatives of that free energy by the units' log-odds, with u following: u moves by the response
    (1 / v + H)^-1 of the first free energy to the slope of what the other one adds.
    """
    first, last = objective.minimised, cast(Functional, objective.evaluated)
    added, slope, hessian = last.added_to(first, question, u)
    root = jnp.sqrt(jnp.where(question.free, u * (1 - u), 0.0))
    slope = jnp.where(question.free, slope, 0.0)
    change = root * response(hessian, question, u, -root * slope)
    G = first.smooth_energy(question, u) + entropy_term(question, u) + added
    return G, _moved(question, u, change)


def _moved(question: Question, u, change):
    """u + change, by a step in theta, so that it stays between 0 and 1."""
    v = jnp.where(question.free, u * (1 - u), 1.0)
    inner = question.free & (v > 0)
    safe = jnp.where(inner, u, 0.5)
    theta = jnp.log(safe) - jnp.log1p(-safe) + jnp.where(inner, change / jnp.where(inner, v, 1.0), 0.0)
    return jnp.where(inner, sigmoid(theta), u)


def response(hessian: Callable, question: Question, u, z):
    """(1 + V^1/2 H V^1/2)^-1 z, by products with H only."""
    root = jnp.sqrt(jnp.where(question.free, u * (1 - u), 0.0))

    def operator(z):
        return z + root * hessian(root * z)

    return jax.lax.custom_linear_solve(operator, z, conjugate_gradients, symmetric=True)


def conjugate_gradients(operator: Callable, b: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
    """x with operator(x) = b, row by row, so that no row depends on the numbers of another."""

    def dot(x, y):
        return (x * y).sum(0)

    def step(state):
        count, x, r, p, rr = state
        Ap = operator(p)
        active = rr > goal
        length = jnp.where(active, rr / jnp.where(active, dot(p, Ap), 1.0), 0.0)
        x, r = x + length * p, r - length * Ap
        new = jnp.where(active, dot(r, r), rr)
        return count + 1, x, r, r + jnp.where(active, new / jnp.where(active, rr, 1.0), 0.0) * p, new

    goal = LINEAR_TOLERANCE**2 * dot(b, b)
    start = (0, jnp.zeros_like(b), b, b, dot(b, b))
    x = jax.lax.while_loop(lambda s: (s[0] < MOST_STEPS * len(b)) & jnp.any(s[4] > goal), step, start)[1]
    return jnp.where(jnp.isfinite(goal), x, jnp.nan)


def generalised_residuals(operator: Callable, b: Float[Array, " size"]) -> Float[Array, " size"]:
    """x with operator(x) = b for an operator that is not symmetric and has no transpose: restarted GMRES."""

    def add_direction(k, basis):
        Q, H = basis
        w, coefficients = operator(Q[k]), 0.0
        for _ in range(2):  # a second time for what rounding has left
            h = Q @ w
            w, coefficients = w - h @ Q, coefficients + h
        length = jnp.linalg.norm(w)
        Q = Q.at[k + 1].set(jnp.where(length > SMALLEST_DIRECTION, w / length, 0.0))
        return Q, H.at[:, k].set(coefficients).at[k + 1, k].add(length)

    def cycle(state):
        count, x, r, size = state
        Q = jnp.zeros((KRYLOV + 1, len(b)), b.dtype).at[0].set(r / size)
        Q, H = jax.lax.fori_loop(0, KRYLOV, add_direction, (Q, jnp.zeros((KRYLOV + 1, KRYLOV), b.dtype)))
        y = jnp.linalg.lstsq(H, jnp.zeros(KRYLOV + 1, b.dtype).at[0].set(size))[0]
        x = x + y @ Q[:-1]
        r = b - operator(x)
        return count + 1, x, r, jnp.linalg.norm(r)

    goal = LINEAR_TOLERANCE * jnp.linalg.norm(b)
    start = (0, jnp.zeros_like(b), b, jnp.linalg.norm(b))
    return jax.lax.while_loop(lambda s: (s[0] < MOST_CYCLES) & (s[3] > goal), cycle, start)[1]


def _stationary(functional: Functional, question: Question, u):
    """u, with the derivative that follows from theta = T(u)."""

    def backward(saved, by_means):
        question, u = saved
        root = jnp.sqrt(jnp.where(question.free, u * (1 - u), 0.0))

        hessian = functional.hessian(question, u)
        moved = response(hessian, question, u, root * by_means)  # (1 + V H)^-1 V by_means, made symmetric
        _, backwards = jax.vjp(lambda question: -functional.slope(question, u), question)
        return *backwards(root * moved), None

    same = jax.custom_vjp(lambda question, u: u)
    same.defvjp(lambda question, u: (u, (question, u)), backward)
    return same(question, u)
