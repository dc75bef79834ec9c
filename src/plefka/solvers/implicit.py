"""Derivatives of a solution: of the free energy by the envelope theorem, of the means by the implicit function theorem.

At a stationary point dG/dp is the partial derivative at fixed means. The natural parameters theta = T(u) := -dR/du
change by (1 + H V)^-1 dT/dp, with H the Hessian of R and V the variances; only products with H are formed.
"""

from collections.abc import Callable
from typing import Protocol, cast, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from plefka.activations import sigmoid
from plefka.free_energies.functional import Functional
from plefka.free_energies.problem import Problem, predict
from plefka.free_energies.taylor import negative_entropy
from plefka.reductions import Given

LINEAR_TOLERANCE = 1e-10
MOST_STEPS = 10  # for each unit


@runtime_checkable
class Scheme(Protocol):
    """What was minimised, and what is evaluated at the minimum."""

    @property
    def solved(self) -> Functional: ...

    @property
    def evaluated(self) -> Functional | None: ...


def differentiable(
    problem: Problem, given: Given, scheme: Scheme, theta: Array, *, barren: bool = True
) -> tuple[Array, Array]:
    """The means and the free energy at the solution theta, as functions of everything in the problem.

    `barren`: whether there may be units that have to be predicted.
    """

    def predicted(means, functional):
        return predict(problem, means, functional.chance) if barren else means

    theta = jax.lax.stop_gradient(theta)
    # With u held fixed, G has the derivatives of the minimum. A barren unit has its predicted mean: an edge of weight 0
    # that leads from it adds nothing to G, but to the derivative by that weight.
    u = jax.lax.stop_gradient(predicted(problem.means(theta), scheme.solved))
    found = jnp.where(problem.free, _stationary(scheme.solved, problem, u), problem.values)
    if scheme.evaluated is None:
        G = scheme.solved.energy(problem, u) + entropy_term(problem, u)
    else:
        G, found = after(problem, scheme, found)
    last = scheme.evaluated or scheme.solved
    return predicted(last.with_summed(problem, given, found), last), G


def entropy_term(problem: Problem, u) -> Array:
    """G_0."""
    return jnp.where(problem.free, negative_entropy(u), 0.0).sum(0)


def after(problem: Problem, scheme: Scheme, u) -> tuple[Array, Array]:
    """The other free energy at the minimum u of the first, and the means that go with it.

    These are the derivatives of that free energy by the units' log-odds, with u following: u moves by the response
    (1 / v + H)^-1 of the first free energy to the slope of what the other one adds.
    """
    first, last = scheme.solved, cast(Functional, scheme.evaluated)

    def added(u):
        return (last.smooth_energy(problem, u) - first.smooth_energy(problem, u)).sum()

    slope = jnp.where(problem.free, jax.grad(added)(u), 0.0)
    root = jnp.sqrt(jnp.where(problem.free, u * (1 - u), 0.0))
    hessian = first.hessian(problem, u)
    change = root * _response(hessian, problem, u, -root * slope)
    return last.smooth_energy(problem, u) + entropy_term(problem, u), _moved(problem, u, change)


def _moved(problem: Problem, u, change):
    """u + change, by a step in theta, so that it stays between 0 and 1."""
    v = jnp.where(problem.free, u * (1 - u), 1.0)
    inner = problem.free & (v > 0)
    safe = jnp.where(inner, u, 0.5)
    theta = jnp.log(safe) - jnp.log1p(-safe) + jnp.where(inner, change / jnp.where(inner, v, 1.0), 0.0)
    return jnp.where(inner, sigmoid(theta), u)


def _response(hessian: Callable, problem: Problem, u, z):
    """(1 + V^1/2 H V^1/2)^-1 z, by products with H only."""
    root = jnp.sqrt(jnp.where(problem.free, u * (1 - u), 0.0))

    def operator(z):
        return z + root * hessian(root * z)

    return jax.lax.custom_linear_solve(operator, z, conjugate_gradients, symmetric=True)


def conjugate_gradients(operator: Callable, b: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
    """x with operator(x) = b, row by row, so that no row hears of the numbers of another."""

    def dot(x, y):
        return (x * y).sum(0)

    def step(state):
        count, x, r, p, rr = state
        Ap = operator(p)
        active = rr > goal
        share = jnp.where(active, rr / jnp.where(active, dot(p, Ap), 1.0), 0.0)
        x, r = x + share * p, r - share * Ap
        new = jnp.where(active, dot(r, r), rr)
        return count + 1, x, r, r + jnp.where(active, new / jnp.where(active, rr, 1.0), 0.0) * p, new

    goal = LINEAR_TOLERANCE**2 * dot(b, b)
    start = (0, jnp.zeros_like(b), b, b, dot(b, b))
    x = jax.lax.while_loop(lambda s: (s[0] < MOST_STEPS * len(b)) & jnp.any(s[4] > goal), step, start)[1]
    return jnp.where(jnp.isfinite(goal), x, jnp.nan)


def _stationary(functional: Functional, problem: Problem, u):
    """u, with the derivative that follows from theta = T(u)."""

    def backward(saved, by_means):
        problem, u = saved
        root = jnp.sqrt(jnp.where(problem.free, u * (1 - u), 0.0))

        hessian = functional.hessian(problem, u)
        share = _response(hessian, problem, u, root * by_means)  # (1 + V H)^-1 V by_means, made symmetric
        _, pull_back = jax.vjp(lambda p: -functional.slope(p, u), problem)
        return *pull_back(root * share), None

    return _with_derivative(lambda problem, u: u, backward)(problem, u)


def _with_derivative(function: Callable, backward: Callable) -> Callable:
    """The function with its reverse derivative given by hand."""
    wrapped = jax.custom_vjp(function)

    wrapped.defvjp(lambda *arguments: (function(*arguments), arguments), backward)
    return wrapped
