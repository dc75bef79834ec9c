"""The policies of the solver by name: `monotone`, `paper` and `sequential`.

`monotone`: a trial step is kept only if it lowers G; if not, it is shortened. Steps are accelerated by Anderson's
mixing of the last few, in the metric of the means, and an accelerated step that does not lower G gives way to a plain
one. Close to a minimum, where G can no longer tell better from worse in its last digits, the residual decides.
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from plefka.methods.registry import POLICY_NAMES, refuse_library_names
from plefka.networks.activations import namespace, sigmoid
from plefka.runtime.registry import REGISTRABLE, instance_of
from plefka.solvers.loop import Point
from plefka.solvers.loop import Policy as Policy

DEPTH = 4  # steps remembered
RIDGE = 1e-12
SUFFICIENT_DECREASE = 1e-4  # the fraction of the promised decrease that a plain step must deliver
GROWTH = 2.0
WANDER = 4.0  # by how much the residual may grow where G cannot tell any more
LONGEST, SHORTEST_CUT = 0.5, 0.1  # a rejected step is cut to between these fractions of its length

SAME_MEANS = 1e-6  # means this close to those of two steps ago have come back
GRID = 33  # points of the segment that are tried


class Memory(NamedTuple):
    """Per row: the step size, and the last changes, newest first; `gram` is zero for those that are forgotten."""

    eta: Float[Array | np.ndarray, " rows"]
    accelerated: Bool[Array | np.ndarray, " rows"]
    moves: tuple[Float[Array | np.ndarray, "searched rows"], ...]  # changes of theta
    direction_changes: tuple[Float[Array | np.ndarray, "searched rows"], ...]
    changes: tuple[Float[Array | np.ndarray, "searched rows"], ...]  # of the direction, in the metric of the means
    gram: Float[Array | np.ndarray, "depth depth rows"]


class Monotone(Policy):
    """Natural gradient descent with an adaptive, accelerated, never rising step."""

    depth: int = eqx.field(static=True, default=DEPTH)

    def start(self, point: Point) -> Memory:
        xp = namespace(point.theta)
        nothing = (xp.zeros_like(point.theta),) * self.depth
        rows = xp.ones_like(point.G)
        gram = xp.zeros((self.depth, self.depth, *rows.shape), rows.dtype)
        return Memory(rows, rows < 0, nothing, nothing, nothing, gram)

    def cycles(self, memory: Memory):
        """None: a free energy that never rises cannot go in circles."""
        return namespace(memory.eta).zeros(memory.eta.shape, int)

    def step(self, point: Point, trial: Point, memory: Memory, evaluate):
        noise = 16 * jnp.finfo(point.G.dtype).eps * (len(point.theta) + jnp.abs(point.G))  # G is a sum over the units
        promised = memory.eta * point.slope
        lower = point.G - jnp.where(memory.accelerated, 0.0, SUFFICIENT_DECREASE * promised) + noise >= trial.G
        settled = (point.slope > noise) | (trial.residual < WANDER * point.residual)
        kept = jnp.isfinite(trial.G) & jnp.isfinite(trial.residual) & lower & settled

        bend = trial.G - point.G + promised  # of the parabola through what is known
        cut = 0.5 * promised / jnp.maximum(bend, jnp.finfo(point.G.dtype).tiny)
        cut = jnp.where(jnp.isfinite(trial.G), jnp.clip(cut, SHORTEST_CUT, LONGEST), SHORTEST_CUT)
        eta = jnp.where(
            kept, jnp.minimum(1.0, GROWTH * memory.eta), jnp.where(memory.accelerated, memory.eta, cut * memory.eta)
        )
        here = jax.tree.map(lambda new, old: jnp.where(kept, new, old), trial, point)
        memory = _remember(memory, point, trial, kept)
        coefficients, accelerated = _coefficients(memory, here.change)
        mixed = [
            now - sum(part * earlier for part, earlier in zip(coefficients, before, strict=True))
            for now, before in ((here.theta, memory.moves), (here.direction, memory.direction_changes))
        ]
        theta = mixed[0] + eta * mixed[1]
        return here, theta, memory._replace(eta=eta, accelerated=accelerated)


def _remember(memory: Memory, point: Point, trial: Point, kept) -> Memory:
    """The newest change before the others; a step that was not kept makes a row forget all of them."""
    seen = kept & jnp.isfinite(point.G)  # before the first evaluation there is nothing to differ from
    moves = (trial.theta - point.theta, *memory.moves[:-1])
    direction_changes = (trial.direction - point.direction, *memory.direction_changes[:-1])
    changes = (trial.change - point.change, *memory.changes[:-1])
    good = jnp.concatenate([jnp.ones((1, *seen.shape), bool), _seen(memory.gram)[:-1]]) & seen
    newest = jnp.where(good, _products(changes, changes[0]), 0.0)
    older = jnp.where(seen, memory.gram[:-1, :-1], 0.0)
    gram = jnp.concatenate([newest[None], jnp.concatenate([newest[1:, None], older], axis=1)])
    return Memory(memory.eta, memory.accelerated, moves, direction_changes, changes, gram)


def _products(changes: tuple, change):
    return jnp.stack([jnp.sum(earlier * change, axis=0) for earlier in changes])


def _seen(gram):
    return jnp.einsum("aar->ar", gram) > 0


def _coefficients(memory: Memory, change):
    """Anderson's mixing: how much of each earlier change is best taken back, and whether there is any."""
    seen = _seen(memory.gram)
    right = jnp.where(seen, _products(memory.changes, change), 0.0)
    ridge = jnp.where(seen, RIDGE * jnp.einsum("aar->ar", memory.gram), 1.0)
    return _solve(memory.gram + jnp.eye(len(ridge), dtype=ridge.dtype)[:, :, None] * ridge, right), seen.any(0)


def _solve(A, right):
    """A small positive system for every row, by elimination downwards and substitution upwards."""
    depth = len(right)
    A = jnp.concatenate([A, right[:, None]], axis=1)
    pivots = []
    for _ in range(depth):
        pivot = A[0] / A[0, 0]
        pivots.append(pivot[1:])
        A = A[1:, 1:] - A[1:, :1] * pivot[1:]
    solution = []
    for pivot in reversed(pivots):
        solution.insert(0, pivot[-1] - sum(p * x for p, x in zip(pivot[:-1], solution, strict=True)))
    return jnp.stack(solution)


class Paper(Policy):
    """u <- sigma(target(u)), and out of every order-2 cycle by a search between its ends.

    That is section 4.1 of the paper: when the means go back and forth between two points, the iteration starts again
    from the best point on the segment between them. "Best" is the lowest free energy here, as the true ln Z is not
    known.
    """

    def step(self, point: Point, trial: Point, memory: Int[Array, " rows"], evaluate):
        next_theta = trial.theta + trial.direction
        back = jnp.abs(sigmoid(next_theta) - sigmoid(point.theta)).max(0) < SAME_MEANS
        cycle = back & (trial.residual > SAME_MEANS)
        ends = (point.theta, trial.theta)
        between = jax.lax.cond(jnp.any(cycle), partial(_best_between, evaluate), lambda *_: next_theta, *ends)
        theta = jnp.where(cycle, between, next_theta)
        return trial, theta, memory + cycle


def _best_between(evaluate, theta1, theta2):
    """The point with the lowest free energy among points evenly spaced between two vectors of means."""
    u1, u2 = sigmoid(theta1), sigmoid(theta2)

    def at(fraction):
        limits = jnp.finfo(u1.dtype)
        u = jnp.clip(u1 + fraction * (u2 - u1), limits.tiny, 1 - limits.epsneg)
        theta = jnp.log(u) - jnp.log1p(-u)
        return theta, evaluate(theta).G

    thetas, G = jax.lax.map(at, jnp.linspace(0.0, 1.0, GRID + 2)[1:-1].astype(theta1.dtype))
    best = jnp.argmin(jnp.where(jnp.isfinite(G), G, jnp.inf), axis=0)
    return jnp.take_along_axis(thetas, best[None, None], axis=0)[0]


class Sequential(Policy):
    """A step is a sweep: u_i <- sigma(target_i(u)) for one unit after another, with an evaluation after each.

    The other policies move all units at once. Where units that are coupled would overshoot together, one at a time
    often settles (Gauss and Seidel). It does not always: a scheme's target for a unit may depend on the mean of that
    unit itself, and then nothing keeps the free energy from rising.
    """

    def step(self, point: Point, trial: Point, memory: Int[Array, " rows"], evaluate):
        units = jnp.arange(len(trial.theta))

        def moved(at: tuple) -> tuple:
            unit, theta, direction = at
            theta = jnp.where(units[:, None] == unit, theta + direction, theta)
            direction = evaluate(theta).direction
            return _following(direction, unit), theta, direction

        first = (_following(trial.direction, -1), trial.theta, trial.direction)
        theta = jax.lax.while_loop(lambda at: at[0] < len(units), moved, first)[1]
        return trial, theta, memory


def _following(direction: Float[Array | np.ndarray, "searched rows"], unit: Any) -> Int[Array, ""]:
    """The next unit that moves in some row, so that units that are known or only fill up cost nothing; or the end."""
    moves = (direction != 0).any(axis=1) & (jnp.arange(len(direction)) > unit)
    return jnp.where(moves.any(), jnp.argmax(moves), len(direction))


POLICIES: dict[str, Policy] = {"monotone": Monotone(), "paper": Paper(), "sequential": Sequential()}


def _entries(policy: Any, name: str) -> list[tuple[dict, Any]]:
    """Where `pf.register` puts a policy of a user's own."""
    refuse_library_names(name)
    policy = instance_of(policy)
    return [(POLICY_NAMES, type(policy).__doc__ or ""), (POLICIES, policy)]


REGISTRABLE[Policy] = _entries
