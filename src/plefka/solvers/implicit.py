"""Derivatives of a solution: of the free energy by the envelope theorem, of the means by the implicit function theorem.

At a stationary point dG/dp is the partial derivative at fixed means. The natural parameters theta = T(u) := -dR/du
change by (1 + H V)^-1 dT/dp, with H the Hessian of R and V the variances; only products with H are formed.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.scipy.sparse.linalg import cg
from jaxtyping import Array

from plefka.free_energies.functional import Functional
from plefka.free_energies.problem import Problem, predict, prediction
from plefka.free_energies.taylor import negative_entropy
from plefka.networks.arrows import settled_along
from plefka.reductions import Given
from plefka.solvers.loop import Point

LINEAR_TOLERANCE = 1e-10


def differentiable(
    problem: Problem, given: Given, functional: Functional, point: Point, rounds: int | None
) -> tuple[Array, Array]:
    """The means and the free energy at the solution, as functions of everything in the problem."""
    theta = jax.lax.stop_gradient(point.theta)
    # With u held fixed, G has the derivatives of the minimum. A barren unit has its predicted mean: an edge of weight 0
    # that leads from it adds nothing to G, but to the derivative by that weight.
    u = jax.lax.stop_gradient(predict(problem, problem.means(theta)))
    G = functional.energy(problem, u) + jnp.where(problem.free, negative_entropy(u), 0.0).sum(0)
    found = jnp.where(problem.free, _stationary(functional.smooth_energy, problem, u), problem.values)
    return _predicted(problem, functional.with_summed(problem, given, found, rounds)), G


def _slope(energy: Callable, problem: Problem, u):
    """dR/du on the free units."""
    return jnp.where(problem.free, jax.grad(lambda u: energy(problem, u).sum())(u), 0.0)


def _stationary(energy: Callable, problem: Problem, u):
    """u, with the derivative that follows from theta = T(u)."""

    def backward(saved, by_means):
        problem, u = saved
        root = jnp.sqrt(jnp.where(problem.free, u * (1 - u), 0.0))

        def hessian(z):
            return jax.grad(lambda w: jnp.vdot(_slope(energy, problem, w), z))(u)

        # (1 + V H)^-1 V by_means, made symmetric
        share, _ = cg(lambda z: z + root * hessian(root * z), root * by_means, tol=LINEAR_TOLERANCE)
        _, pull_back = jax.vjp(lambda p: -_slope(energy, p, u), problem)
        return *pull_back(root * share), None

    return _with_derivative(lambda problem, u: u, backward)(problem, u)


def _predicted(problem: Problem, u):
    """The means with barren units predicted forwards, differentiated backwards along the same arrows."""

    def once(arguments, values):
        problem, u = arguments
        return prediction(problem, u)(problem.h + problem.weights.field_of(values))

    return settled_along(once, (problem, u), jax.lax.stop_gradient(u))


def _with_derivative(function: Callable, backward: Callable) -> Callable:
    """The function with its reverse derivative given by hand."""
    wrapped = jax.custom_vjp(function)

    wrapped.defvjp(lambda *arguments: (function(*arguments), arguments), backward)
    return wrapped
