"""The only loop: evaluate the free energy at a trial point, let the policy choose the next, until every row has ended.

Write G = G_0 + R(u). Stationarity is theta_i = -dR/du_i (53); the difference of the two sides is the direction in which
theta_i is moved. Along it G falls at the rate sum_i v_i direction_i^2: it is the natural gradient.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from plefka.methods.posterior import CONVERGED, DIVERGED, NOT_FINITE, OUT_OF_STEPS, RUNNING
from plefka.networks.activations import log_one_plus, namespace, sigmoid
from plefka.reduction.question import LARGEST_THETA, Question
from plefka.runtime.plain_module import PlainModule

WORTH_A_STEP = 1 / 8  # of the rows that are running end with it
REACHABLE = 64  # a residual of so many roundings is as small as it gets


class Point(NamedTuple):
    """A point of the search, with all that one evaluation of the free energy tells there."""

    theta: Float[Array | np.ndarray, "searched rows"]
    G: Float[Array | np.ndarray, " rows"]
    direction: Float[Array | np.ndarray, "searched rows"]
    slope: Float[Array | np.ndarray, " rows"]  # how fast G falls along the direction
    change: Float[Array | np.ndarray, "searched rows"]  # the direction in the metric of the means, sqrt(v) direction
    residual: Float[Array | np.ndarray, " rows"]  # by how much the full step would change a mean, at most


class Policy(PlainModule):
    """How the solver of the mean-field equations goes from point to point. A subclass defines `step`.

    All rows go at once: arrays are (units, rows) or (rows,), of JAX, so that a choice is a `jnp.where`. Of a point,
    `theta` are the log-odds of the means, `direction` is what a full step of the fixed point equations would add to
    them, `G` is the free energy, `slope` how fast it falls along the direction, and `residual` by how much the full
    step would change a mean. The solver ends a row by itself, where the residual is at most `tol`. A policy that
    remembers something defines `start` and `cycles` as well.

    >>> import plefka as pf
    >>> class HalfSteps(pf.Policy):
    ...     def step(self, point, trial, memory, evaluate):
    ...         return trial, trial.theta + trial.direction / 2, memory
    >>> _ = pf.register("half_steps")(HalfSteps)
    >>> pf.infer(pf.example("espresso"), {"slow_flow": 1}, "G12[policy=half_steps]").status.name
    'CONVERGED'
    >>> pf.unregister("half_steps")
    """

    def start(self, point: Point) -> Any:
        """What is remembered before the first step, of which only theta is known: how many cycles were broken, none."""
        return namespace(point.G).zeros(point.G.shape, int)

    @abstractmethod
    def step(self, point: Point, trial: Point, memory: Any, evaluate: Callable) -> tuple:
        """The point to go on from, theta of the next trial, and what is remembered.

        `point` is where the search is and `trial` the point that it asked for; `evaluate(theta)` gives further ones.
        """

    def cycles(self, memory: Any) -> Int[Array | np.ndarray, " rows"]:
        """How many order-2 cycles were broken in each row."""
        return memory


class Search(NamedTuple):
    """Where every row is, with all that is needed to go on; the last axis of every array is that of the rows."""

    point: Point
    trial: Float[Array | np.ndarray, "searched rows"]
    memory: Any
    status: Int[Array | np.ndarray, " rows"]
    steps: Int[Array | np.ndarray, " rows"]  # evaluations of the free energy


class StoppingRule(NamedTuple):
    """When a row has ended: the residual, the steps, and how low G may be at a solution, and anywhere."""

    tol: Any
    max_steps: Any
    lowest: Any
    bottom: Any


def evaluator(question: Question, energy: Callable) -> Callable:
    """theta -> Point, by one evaluation of the energy and its gradient."""
    free = question.searched

    def summed(u):
        R = energy(question, question.complete(u))
        return R.sum(), R

    def evaluate(theta: Float[Array, "searched rows"]) -> Point:
        u = question.means(theta)[: question.num_searched]
        slope_of_R, R = jax.grad(summed, has_aux=True)(u)
        target = jnp.clip(-slope_of_R, -LARGEST_THETA, LARGEST_THETA)  # (53)
        direction = jnp.where(free, target - theta, 0.0)
        e = jnp.exp(-jnp.abs(theta))
        entropy = log_one_plus(theta) + jnp.abs(theta) * e / (1 + e)
        v = e / (1 + e) ** 2
        change = jnp.sqrt(v) * direction
        G = R - jnp.where(free, entropy, 0.0).sum(0)
        residual = jnp.where(free, jnp.abs(sigmoid(target) - u), 0.0).max(0)
        return Point(theta, G, direction, (change**2).sum(0), change, residual)

    return evaluate


def start(policy: Policy, theta: Any) -> Search:
    """Before the first evaluation: any point that is evaluated is better. Of NumPy where theta is."""
    xp = namespace(theta)
    nothing, infinite = xp.zeros_like(theta), xp.full_like(theta[0], xp.inf)
    point = Point(theta, infinite, nothing, nothing[0], nothing, infinite)
    steps = xp.zeros(infinite.shape, int)
    return Search(point, theta, policy.start(point), steps + RUNNING, steps)


def limits(question: Question, tol: Any, max_steps: Any) -> StoppingRule:
    """Those of a method for a question."""
    dtype = question.values.dtype
    tol = jnp.maximum(jnp.asarray(tol, dtype), REACHABLE * jnp.finfo(dtype).eps)
    return StoppingRule(tol, max_steps, *question.limits())


def descend(
    evaluate: Callable, limits: StoppingRule, policy: Policy, search: Search, few: Any = 0, worth: float = WORTH_A_STEP
) -> Search:
    """Downhill until all but `few` rows have ended: the residual is at most tol, the row fails, or steps run out.

    It goes on where more than `worth` of the rows that are running end with every step.
    """

    def judge(point, steps):
        settled = point.residual <= limits.tol
        status = jnp.where(settled, CONVERGED, jnp.where(steps < limits.max_steps, RUNNING, OUT_OF_STEPS))
        low = (settled & (limits.lowest > point.G)) | (limits.bottom > point.G)
        status = jnp.where(low, DIVERGED, status)
        return jnp.where(jnp.isfinite(point.G) & jnp.isfinite(point.residual), status, NOT_FINITE)

    def body(search):
        new, trial, memory = policy.step(search.point, evaluate(search.trial), search.memory, evaluate)
        running = search.status == RUNNING
        point = jax.tree.map(lambda old, new: jnp.where(running, new, old), search.point, new)
        steps = search.steps + running
        return Search(point, trial, memory, jnp.where(running, judge(point, steps), search.status), steps)

    return repeated(body, search, lambda search: search.status, few, worth)


def repeated(step: Callable, state: Any, status_of: Callable, few: Any, worth: float = WORTH_A_STEP) -> Any:
    """Steps until at most `few` rows are running; and further, as long as more than `worth` of those end with each."""

    def num_running(state):
        return jnp.sum(status_of(state) == RUNNING)

    def goes_on(carried):
        state, before = carried
        now = num_running(state)
        return (now > few) | ((now > 0) & (before - now > now * worth))

    return jax.lax.while_loop(
        goes_on, lambda carried: (step(carried[0]), num_running(carried[0])), (state, num_running(state))
    )[0]
