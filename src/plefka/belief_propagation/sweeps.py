"""Sweeps: all factors speak at once, again and again, until nothing changes.

New messages are mixed with old ones by a share that adapts, row by row: it grows as long as sweeps go on in the same
direction, and shrinks where the beliefs turn back. On the ensembles of the paper all rows converge; with weights four
times as large half as many rows fail as with a constant share of 0.7, in fewer sweeps.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from plefka.averages.parents import chance
from plefka.belief_propagation.factors import Factors, Messages, Rows, Units
from plefka.belief_propagation.log_odds import LogOdds
from plefka.solvers.loop import CONVERGED, IMPOSSIBLE, NOT_FINITE, OUT_OF_STEPS, RUNNING

TURNED = 0.25  # of the last change taken back: too much
SHRINK, GROW, PATIENCE = (
    0.7,
    0.1,
    30,
)  # the share then, and the rate at which it grows again, halved after so many sweeps
SMALLEST_SHARE = 0.02


class State(eqx.Module):
    """What is said and heard after some sweeps, and how it goes."""

    messages: Messages
    heard: LogOdds
    change: Units  # of the beliefs, in the last sweep
    share: Rows  # of new messages in the mixture; 0 where a row has ended
    residual: Rows
    status: Int[Array, " rows"]
    steps: Int[Array, " rows"]


def propagate(factors: Factors, damping: float, tol, max_steps) -> State:
    """From silence until the residual of every row is at most tol, or the row fails, or steps run out."""
    messages = factors.silence()
    heard = factors.hear(messages)
    row = jnp.zeros_like(heard.finite[0])
    running = jnp.full(row.shape, RUNNING)
    nothing = jnp.zeros_like(heard.finite)
    start = State(messages, heard, nothing, row + 1 - damping, row + jnp.inf, running, jnp.zeros_like(running))

    def unfinished(state):
        return (state[0] < max_steps) & jnp.any(state[1].status == RUNNING)

    def body(state):
        return state[0] + 1, sweep(factors, state[1], tol)

    _, state = jax.lax.while_loop(unfinished, body, (jnp.asarray(0), start))
    status = jnp.where(state.status == RUNNING, OUT_OF_STEPS, state.status)
    return eqx.tree_at(lambda state: state.status, state, status)


def sweep(factors: Factors, state: State, tol) -> State:
    """Every factor speaks once; rows that have ended stay as they are."""
    running = state.status == RUNNING
    answer, log_sums = factors.answer(state.messages, state.heard)
    messages = jax.tree.map(lambda old, new: mix(old, new, state.share), state.messages, answer)
    heard = factors.hear(messages)
    change = jnp.where(factors.problem.free, chance(heard.total) - chance(state.heard.total), 0.0)
    residual = largest_change(state, messages, heard)
    status = jnp.where(residual <= tol, CONVERGED, RUNNING)
    status = jnp.where(jnp.isnan(residual), NOT_FINITE, status)
    status = jnp.where(jnp.isneginf(log_sums).any(0), IMPOSSIBLE, status)
    status = jnp.where(running, status, state.status)
    share = next_share(state.share, state.change, change, state.steps)
    return State(
        messages, heard, change,
        jnp.where(status == RUNNING, share, 0.0),
        jnp.where(running, residual, state.residual),
        status,
        state.steps + running,
    )  # fmt: skip


def mix(old, new, share):
    """old + share (new - old); what becomes certain does so at once."""
    step = new - old
    return jnp.where(share == 0, old, jnp.where(jnp.isfinite(step), old + share * step, new))


def next_share(share: Rows, before: Units, change: Units, steps: Int[Array, " rows"]) -> Rows:
    """Smaller where the beliefs turn back, and larger elsewhere, but the less so the longer it takes."""
    turned = (before * change).sum(0) < -TURNED * (before**2).sum(0)
    grown = jnp.minimum(share * (1 + GROW * PATIENCE / (PATIENCE + steps)), 1.0)
    return jnp.where(turned, jnp.maximum(share * SHRINK, SMALLEST_SHARE), grown)


def largest_change(state: State, messages: Messages, heard: LogOdds) -> Rows:
    """By how much the sweep, not mixed with what was, changes a belief or a message, as a change of a mean.

    A change d of log-odds x moves a mean by d / 4 at most, and for large |x| by d / 4 |x|: tiny means count as well.
    """
    pairs = [(state.heard.total, heard.total), *zip(state.messages.up, messages.up, strict=True)]
    largest = jnp.zeros_like(state.share)
    for old, new in pairs:
        step = jnp.where(old == new, 0.0, new - old) / (4 * jnp.maximum(jnp.abs(new), 1.0))
        step = jnp.where(jnp.isinf(new) & jnp.isfinite(old), jnp.inf, step)
        largest = jnp.maximum(largest, jnp.abs(step).max((*range(new.ndim - 1),), initial=0.0))
    return largest / jnp.where(state.share > 0, state.share, 1.0)
