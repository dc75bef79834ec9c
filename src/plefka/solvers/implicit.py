"""Derivatives of a solution: by the envelope theorem for the free energy, by the implicit function theorem for the means.

At a stationary point dG/dp is the partial derivative at fixed means (section 9). The natural parameters theta = T(u) := -dR/du
change by (1 + H V)^-1 dT/dp, with H the Hessian of R and V the variances; only products with H are formed.
"""

import jax
import jax.numpy as jnp

from plefka.free_energy.problem import Problem
from plefka.free_energy.taylor import negative_entropy
from plefka.solvers.loop import Point

LINEAR_TOLERANCE = 1e-10


def differentiable(problem: Problem, energy, point: Point):
    """The means and the free energy at the solution, as functions of everything in the problem."""
    theta = jax.lax.stop_gradient(point.theta)
    u = problem.means(theta)
    fixed = jax.lax.stop_gradient(u)
    G = energy(problem, fixed) + jnp.where(problem.free, negative_entropy(fixed), 0.0).sum(0)
    return jnp.where(problem.free, _implicit(energy, problem, theta), problem.values), G


def _slope(energy, problem: Problem, u):
    """dR/du on the free units."""
    return jnp.where(problem.free, jax.grad(lambda u: energy(problem, u).sum())(u), 0.0)


def _implicit(energy, problem: Problem, theta):
    """sigma(theta*), with the derivative of a root."""
    u = problem.means(theta)
    v = jnp.where(problem.free, u * (1 - u), 0.0)

    @jax.custom_vjp
    def means(problem):
        return u

    def backward(problem, by_means):
        def hessian(z):
            return jax.grad(lambda w: jnp.vdot(_slope(energy, problem, w), z))(u)

        def matrix(z):  # (1 + V H) z
            return z + v * hessian(z)

        share, _ = jax.scipy.sparse.linalg.bicgstab(matrix, v * by_means, tol=LINEAR_TOLERANCE)
        _, pull_back = jax.vjp(lambda p: -_slope(energy, p, u), problem)
        return (pull_back(share)[0],)

    means.defvjp(lambda problem: (u, problem), backward)
    return means(problem)
