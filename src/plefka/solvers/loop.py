"""The only loop: evaluate the free energy at a trial point, let the policy choose the next, until every row has ended.

Write G = G_0 + R(u). Stationarity is theta_i = -dR/du_i (53); the difference of the two sides is the pull on theta_i.
Along the pull G falls at the rate sum_i v_i pull_i^2: the pull is the natural gradient.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from plefka.activations import log_one_plus, sigmoid
from plefka.free_energies.problem import LARGEST_THETA, Problem

# The last two are not the loop's to find.
RUNNING, CONVERGED, OUT_OF_STEPS, DIVERGED, NOT_FINITE, IMPOSSIBLE, WITHOUT_LEAK = range(7)
LOWEST = -1.0  # no -ln P(evidence) is negative; an estimate may be, but not by this much
BOTTOMLESS = -1e3  # per unit: a free energy this low will not come back


class Point(eqx.Module):
    """A point of the search, with all that one evaluation of the free energy tells there."""

    theta: Float[Array, "head rows"]
    G: Float[Array, " rows"]
    pull: Float[Array, "head rows"]
    slope: Float[Array, " rows"]  # how fast G falls along the pull
    change: Float[Array, "head rows"]  # the pull in the metric of the means, sqrt(v) pull
    residual: Float[Array, " rows"]  # by how much the full step would change a mean, at most


class Policy(eqx.Module):
    """How the next trial point follows from what is known."""

    @abstractmethod
    def start(self, point: Point) -> Any:
        """What the policy remembers before the first step, of which only theta is known."""

    @abstractmethod
    def step(self, point: Point, trial: Point, memory: Any, evaluate: Callable) -> tuple:
        """The point to go on from, the next trial, and what the policy remembers."""

    @abstractmethod
    def cycles(self, memory: Any) -> Int[Array, " rows"]:
        """How many order-2 cycles were broken in each row."""


class Ending(eqx.Module):
    """Where every row ended, how, and after how many evaluations of the free energy."""

    point: Point
    status: Int[Array, " rows"]
    steps: Int[Array, " rows"]
    cycles: Int[Array, " rows"]


def evaluator(problem: Problem, energy: Callable) -> Callable:
    """theta -> Point, by one evaluation of the energy and its gradient."""
    free = problem.searched

    def summed(u):
        R = energy(problem, problem.complete(u))
        return R.sum(), R

    def evaluate(theta: Float[Array, "head rows"]) -> Point:
        u = problem.means(theta)[: problem.head]
        slope_of_R, R = jax.grad(summed, has_aux=True)(u)
        target = jnp.clip(-slope_of_R, -LARGEST_THETA, LARGEST_THETA)  # (53)
        pull = jnp.where(free, target - theta, 0.0)
        e = jnp.exp(-jnp.abs(theta))
        entropy = log_one_plus(theta) + jnp.abs(theta) * e / (1 + e)
        v = e / (1 + e) ** 2
        change = jnp.sqrt(v) * pull
        G = R - jnp.where(free, entropy, 0.0).sum(0)
        residual = jnp.where(free, jnp.abs(sigmoid(target) - u), 0.0).max(0)
        return Point(theta, G, pull, (change**2).sum(0), change, residual)

    return evaluate


def nowhere(theta: Float[Array, "head rows"]) -> Point:
    """Before the first evaluation: any point that is evaluated is better."""
    nothing = jnp.zeros_like(theta)
    return Point(theta, jnp.inf + nothing[0], nothing, nothing[0], nothing, jnp.inf + nothing[0])


def minimise(problem: Problem, energy: Callable, policy: Policy, theta, tol, max_steps) -> Ending:
    """From theta to a minimum of the free energy, or to what the policy makes of it."""
    return descend(evaluator(problem, energy), floors(problem), policy, theta, tol, max_steps)


class Floors(NamedTuple):
    """How low G may be: at a solution, and anywhere."""

    lowest: Float[Array, " rows"]
    bottom: Float[Array, " rows"]


def floors(problem: Problem) -> Floors:
    """Soft evidence multiplies the weight of no state by more than exp(sum of the positive tilts)."""
    bottom = BOTTOMLESS * (1 + problem.searched.sum(0))
    gain = jnp.zeros_like(bottom) if problem.tilt is None else jnp.maximum(problem.tilt, 0.0).sum(0)
    return Floors(LOWEST - gain, bottom - gain)


def descend(evaluate: Callable, floors: Floors, policy: Policy, theta, tol, max_steps) -> Ending:
    """From theta downhill until the residual of every row is at most tol, or the row fails, or steps run out."""

    def judge(point):
        settled = point.residual <= tol
        status = jnp.where(settled, CONVERGED, RUNNING)
        status = jnp.where((settled & (floors.lowest > point.G)) | (floors.bottom > point.G), DIVERGED, status)
        return jnp.where(jnp.isfinite(point.G) & jnp.isfinite(point.residual), status, NOT_FINITE)

    def body(state):
        count, point, trial, memory, status, steps = state
        new, trial, memory = policy.step(point, evaluate(trial), memory, evaluate)
        running = status == RUNNING
        point = jax.tree.map(lambda old, new: jnp.where(running, new, old), point, new)
        return count + 1, point, trial, memory, jnp.where(running, judge(point), status), steps + running

    def unfinished(state):
        return (state[0] < max_steps) & jnp.any(state[4] == RUNNING)

    start = nowhere(theta)
    status = jnp.full(start.G.shape, RUNNING)
    state = (jnp.asarray(0), start, theta, policy.start(start), status, jnp.zeros_like(status))
    _, point, _, memory, status, steps = jax.lax.while_loop(unfinished, body, state)
    return Ending(point, jnp.where(status == RUNNING, OUT_OF_STEPS, status), steps, policy.cycles(memory))
