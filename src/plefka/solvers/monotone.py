"""The default policy: the free energy never rises.

A trial step is kept only if it lowers G; if not, it is shortened. Steps are accelerated by Anderson's mixing of the
last few, in the metric of the means, and an accelerated step that does not lower G gives way to a plain one. Close to a
minimum, where G can no longer tell better from worse in its last digits, the residual decides.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from plefka.solvers.loop import Point, Policy

DEPTH = 5  # steps remembered
ENOUGH = 1e-4  # the share of the promised decrease that a plain step must deliver
GROWTH = 2.0
WANDER = 4.0  # by how much the residual may grow where G cannot tell any more
LONGEST, SHORTEST_CUT = 0.5, 0.1  # a rejected step is cut to between these shares of its length


class Memory(eqx.Module):
    """Per row: the step size, the last changes of theta and of the pull, and whether the trial is accelerated."""

    eta: Float[Array, " rows"]
    moves: Float[Array, "depth units rows"]
    turns: Float[Array, "depth units rows"]
    accelerated: Bool[Array, " rows"]


class Monotone(Policy):
    """Natural gradient descent with an adaptive, accelerated, never rising step."""

    depth: int = eqx.field(static=True, default=DEPTH)

    def start(self, point: Point):
        history = jnp.zeros((self.depth, *point.theta.shape), point.theta.dtype)
        rows = jnp.ones_like(point.G)
        return point.theta + point.pull, Memory(rows, history, history, rows < 0)

    def cycles(self, memory: Memory):
        """None: a free energy that never rises cannot go in circles."""
        return jnp.zeros(memory.eta.shape, int)

    def step(self, point: Point, trial: Point, memory: Memory, evaluate):
        noise = 16 * jnp.finfo(point.G.dtype).eps * (1 + jnp.abs(point.G))
        promised = memory.eta * point.slope
        lower = point.G - jnp.where(memory.accelerated, 0.0, ENOUGH * promised) + noise >= trial.G
        settled = (point.slope > noise) | (trial.residual < WANDER * point.residual)
        kept = jnp.isfinite(trial.G) & jnp.isfinite(trial.residual) & lower & settled

        cut = 0.5 * promised / jnp.maximum(trial.G - point.G + promised, 1e-300)  # the parabola through what is known
        cut = jnp.where(jnp.isfinite(trial.G), jnp.clip(cut, SHORTEST_CUT, LONGEST), SHORTEST_CUT)
        eta = jnp.where(
            kept, jnp.minimum(1.0, GROWTH * memory.eta), jnp.where(memory.accelerated, memory.eta, cut * memory.eta)
        )

        move, turn = trial.theta - point.theta, trial.pull - point.pull
        moves = jnp.where(kept, jnp.concatenate([move[None], memory.moves[:-1]]), 0.0)
        turns = jnp.where(kept, jnp.concatenate([turn[None], memory.turns[:-1]]), 0.0)
        here = _where(kept, trial, point)
        theta, accelerated = _next(here, eta, moves, turns)
        return here, theta, Memory(eta, moves, turns, accelerated & kept)


def _where(choice, yes: Point, no: Point) -> Point:
    return jax.tree.map(lambda a, b: jnp.where(choice, a, b), yes, no)


def _next(point: Point, eta, moves, turns):
    """Anderson's step: the pull that is left after the best combination of the turns seen so far."""
    e = jnp.exp(-jnp.abs(point.theta))
    v = e / (1 + e) ** 2
    gram = jnp.einsum("aur,bur->abr", v * turns, turns)
    right = jnp.einsum("aur,ur->ar", v * turns, point.pull)
    share = _solve(gram, right)
    theta = point.theta - jnp.einsum("ar,aur->ur", share, moves)
    pull = point.pull - jnp.einsum("ar,aur->ur", share, turns)
    return theta + eta * pull, jnp.any(gram[0, 0][None] > 0, axis=0)


def _solve(gram, right):
    """A small positive system for every row, by Gauss and Jordan; directions never seen get no share."""
    depth = gram.shape[0]
    diagonal = jnp.einsum("aar->ar", gram)
    ridge = 1e-12 * diagonal + (diagonal == 0)
    A = jnp.concatenate([gram + jnp.eye(depth)[:, :, None] * ridge, right[:, None]], axis=1)
    for k in range(depth):
        ratio = (A[:, k] / A[k, k]).at[k].set(0.0)
        A = A - ratio[:, None] * A[k]
    return A[:, depth] / jnp.einsum("aar->ar", A[:, :depth])
