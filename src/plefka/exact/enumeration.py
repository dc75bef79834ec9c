"""Exact inference by enumeration: the sum over all states of the hidden units, in blocks so that memory stays flat.

Units that can be summed out by hand are (see reductions.py). A hidden unit without children is on with probability
f(field), so that only its parents need be enumerated.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plefka.errors import MethodDoesNotApply
from plefka.evidence import Evidence
from plefka.free_energies.problem import known
from plefka.networks.states import fields, log_terms, open_for_states
from plefka.posterior import Posterior, chunks
from plefka.precision import is_traced, precision, to_numpy
from plefka.progress import progress
from plefka.reductions import recovered, reduced, sums_out
from plefka.solvers.loop import CONVERGED, IMPOSSIBLE, NOT_FINITE

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

MOST_HIDDEN = 24
BLOCK = 2**12  # states at once for one row
WORK = 2**21  # numbers at once for all rows of a chunk
BLOCKS_AT_ONCE = 16  # between two updates of the progress bar


class Tally(NamedTuple):
    """A running sum of exp(log_weight) and of the units' values, both relative to exp(top)."""

    top: Any
    total: Any
    values: Any
    slopes: Any  # d ln P / dh of every unit, or None where nothing was summed out


def posterior(network: "BeliefNetwork", evidence: Evidence, *, prune: bool, dtype: str) -> Posterior:
    """ln P(evidence) and all posterior means, exactly."""
    if is_traced(network, evidence.rows):
        return _traced(network, evidence)
    parts = []
    with precision(dtype):
        task = _task(network, evidence, prune)
        bits = most_bits(task)
        _refuse_too_many(bits)
        states = 2**bits
        block = min(BLOCK, states)
        for index in chunks(len(task.rows), max(1, WORK // (block * network.size))):
            parts.append(_sum_blocks(network, task, index, block, states))
        return _posterior(Posterior.joined(parts, len(task.rows)), evidence.rows)


class Task(NamedTuple):
    """What is enumerated, row by row; arrays are (rows, units)."""

    rows: np.ndarray
    tilt: np.ndarray
    bias: np.ndarray
    constant: np.ndarray  # (rows,)
    enumerated: np.ndarray
    leaf: np.ndarray  # barren, and without children: only its chance is wanted
    summed: np.ndarray  # summed out beforehand

    @property
    def counted(self) -> np.ndarray:
        """Whose probability is part of that of a state."""
        return ~self.leaf & ~self.summed

    def take(self, index) -> "Task":
        return Task(*(field[index] for field in self))


def num_enumerated(network: "BeliefNetwork", evidence: Evidence, prune: bool) -> int:
    """How many units would have to be enumerated in the row that has most of them."""
    with precision("float64"):
        return most_bits(_task(network, evidence, prune))


def most_bits(task: Task) -> int:
    """How many units must be enumerated in the row that has most of them."""
    return int(task.enumerated.sum(1).max(initial=0))


def _task(network: "BeliefNetwork", evidence: Evidence, prune: bool) -> Task:
    rows = np.asarray(evidence.rows)
    tilt = np.zeros(rows.shape) if evidence.tilt is None else evidence.tilt
    bias, constant, summed = np.broadcast_to(network.bias, rows.shape), np.zeros(len(rows)), np.zeros(rows.shape, bool)
    if prune and sums_out(network.activation):
        left = _reduced(network.storage, network.bias, network.activation, rows, tilt)
        bias, constant, summed = (np.asarray(field).T for field in (left.h, left.constant, left.summed))
    hidden = np.isnan(rows) & ~summed
    leaf = hidden & (network.storage.num_children() == 0) & (tilt == 0) & prune
    return Task(np.where(summed, 0.0, rows), tilt, bias, constant, hidden & ~leaf, leaf, summed)


@jax.jit
def _reduced(storage, bias, activation, rows, tilt):
    return reduced(known(storage, bias, activation, rows, tilt), prune=True, keep_barren=True)


@jax.jit
def _recovered(storage, bias, activation, rows, tilt, slope):
    given = known(storage, bias, activation, rows, tilt)
    return recovered(given, reduced(given, prune=True, keep_barren=True), slope.T).T


def _sum_blocks(network, task: Task, index, block, states) -> Posterior:
    stacked = network.stack is not None
    storage = network.storage.take(index) if stacked else network.storage
    task = task.take(index)
    rank = np.where(task.enumerated, np.cumsum(task.enumerated, axis=1) - 1, -1)
    limit = 2.0 ** task.enumerated.sum(1)
    nothing = np.zeros(rank.shape)
    tally = Tally(np.full(len(limit), -np.inf), np.zeros(len(limit)), nothing, nothing if task.summed.any() else None)
    firsts = range(0, states, block * BLOCKS_AT_ONCE)
    for first in progress(firsts, f"enumerating {states:,} states"):
        count = min(BLOCKS_AT_ONCE, (states - first) // block)
        tally = _compiled(
            storage, network.activation, task.rows, task.tilt, task.bias, rank, task.leaf, task.counted,
            limit, first, count, tally,
            block=block, stacked=stacked,
        )  # fmt: skip
    tally = to_numpy(tally)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = tally.values / tally.total[:, None]
        free_energy = -(tally.top + np.log(tally.total)) - task.constant
        if tally.slopes is not None:
            slopes = tally.slopes / tally.total[:, None]
            bias = network.bias[index] if stacked else network.bias
            known = np.where(task.summed, np.nan, task.rows)
            found = _recovered(storage, bias, network.activation, known, task.tilt, slopes)
            means = np.where(task.summed, np.asarray(found), means)
    zeros = np.zeros(len(limit))
    return Posterior(means, free_energy, np.full(len(limit), CONVERGED), zeros.astype(int), zeros.astype(int), zeros)


def _posterior(found: Posterior, rows: np.ndarray) -> Posterior:
    """Observed units are what was observed, and evidence that has probability zero has no posterior."""
    failed = ~np.isfinite(found.free_energy)
    means = np.where(failed[:, None], np.nan, np.clip(found.means, 0.0, 1.0))
    means = np.where(np.isnan(rows), means, rows).astype(found.means.dtype)
    return found._replace(means=means, status=_status(found.free_energy, np.where))


def _status(free_energy, where):
    """A sum of nothing but zeros is impossible evidence; a sum that is no number came from such parameters."""
    return where(free_energy == np.inf, IMPOSSIBLE, where(free_energy < np.inf, CONVERGED, NOT_FINITE))


def _refuse_too_many(bits: int) -> None:
    if bits > MOST_HIDDEN:
        raise MethodDoesNotApply(
            f"exact does not apply: it would sum over 2^{bits} = {2.0**bits:.3g} states of the hidden units, and "
            f"2^{MOST_HIDDEN} is the most. Use auto instead, or G1 for a bound."
        )


def _tally(
    storage, activation, row, tilt, bias, rank, leaf, counted, limit, first, count, tally: Tally, *, block: int
) -> Tally:  # fmt: skip
    """Add `count` blocks of states, from state number `first` on, for one row of one network."""
    weights = open_for_states(storage)

    def add(k, tally: Tally) -> Tally:
        number = first + k * block + jnp.arange(block)
        S = jnp.where(rank[:, None] >= 0, (number >> jnp.maximum(rank, 0)[:, None]) & 1, row[:, None])
        S = jnp.where(leaf[:, None], 0.0, S)
        x = fields(weights, bias[:, None], activation, S)
        log_weight = (jnp.where(counted[:, None], log_terms(activation, x, S), 0.0) + tilt[:, None] * S).sum(0)
        log_weight = jnp.where(number < limit, log_weight, -jnp.inf)
        top = jnp.maximum(tally.top, log_weight.max())
        safe = jnp.where(jnp.isfinite(top), top, 0.0)
        old, weight = jnp.exp(tally.top - safe), jnp.exp(log_weight - safe)
        values = jnp.where(leaf[:, None], activation.probability(x), S) @ weight
        slopes = tally.slopes
        if slopes is not None:
            slopes = slopes * old + jnp.where(counted, _slopes(activation, x, S, weight) @ weight, 0.0)
        return Tally(top, tally.total * old + weight.sum(), tally.values * old + values, slopes)

    return jax.lax.fori_loop(0, count, add, tally)


def _slopes(activation, x, S, weight):
    """What each unit adds to d ln P(S) / dh; nothing in states that cannot be."""
    possible_on, possible_off = (weight > 0) & (S == 1), (weight > 0) & (S == 0)

    def log_chance(x):
        on = activation.log_on(jnp.where(possible_on, x, 1.0))  # no pole where it is off
        return jnp.where(possible_on, on, activation.log_off(jnp.where(possible_off, x, 1.0))).sum()

    return jnp.where(weight > 0, jax.grad(log_chance)(x), 0.0)


@partial(jax.jit, static_argnames=("block", "stacked"))
def _compiled(
    storage, activation, rows, tilt, bias, rank, leaf, counted, limit, first, count, tally, *, block, stacked
):
    weights = set(map(id, jax.tree.leaves(storage.parameters)))  # the networks of a stack share all else
    over_storage = jax.tree.map(lambda leaf: 0 if stacked and id(leaf) in weights else None, storage)
    axes = (over_storage, None, 0, 0, 0, 0, 0, 0, 0, None, None, 0)
    per_row = jax.vmap(partial(_tally, block=block), in_axes=axes)
    return per_row(storage, activation, rows, tilt, bias, rank, leaf, counted, limit, first, count, tally)


def _traced(network: "BeliefNetwork", evidence: Evidence) -> Posterior:
    """Inside a trace of the user's: all states of all units that may be hidden, those against the evidence left out."""
    n, rows = network.size, evidence.rows
    tilt = jnp.zeros(rows.shape) if evidence.tilt is None else evidence.tilt
    free = np.ones(n, bool) if is_traced(rows) else np.isnan(np.asarray(rows)).any(0)
    _refuse_too_many(int(free.sum()))
    rank = np.where(free, np.cumsum(free) - 1, -1)
    number = np.arange(2 ** int(free.sum()))
    S = np.where(rank[:, None] >= 0, (number >> np.maximum(rank, 0)[:, None]) & 1, 0)

    def one(storage, bias, row, tilt):
        states = jnp.where(rank[:, None] >= 0, S, row[:, None]).astype(jnp.zeros(()).dtype)
        x = fields(open_for_states(storage), bias[:, None], network.activation, states)
        fits = jnp.all(jnp.isnan(row)[:, None] | (states == row[:, None]), axis=0)
        log_weight, factor = _weight(network.activation, x, states)
        log_weight = jnp.where(fits, log_weight + tilt @ states, -jnp.inf)
        top = jax.lax.stop_gradient(jnp.max(log_weight, where=factor > 0, initial=-jnp.inf))
        top = jnp.where(jnp.isfinite(top), top, 0.0)
        weight = factor * jnp.exp(log_weight - top)
        total = weight.sum()
        return top + jnp.log(total), states @ weight / total

    axis = 0 if network.stack is not None else None
    over_storage = jax.tree.map(lambda _: axis, network.storage)
    per_row = jax.vmap(one, in_axes=(over_storage, axis, 0, 0))
    log_z, means = per_row(network.storage, jnp.asarray(network.bias), jnp.asarray(rows), tilt)
    zeros = jnp.zeros_like(log_z)
    steps = zeros.astype(int)
    return Posterior(means, -log_z, _status(-log_z, jnp.where), steps, steps, zeros)


def _weight(activation, x, S):
    """P(S) as exp(log) x factor: impossible units are in the factor, as their logarithm has no derivative."""
    impossible = jnp.isneginf(jax.lax.stop_gradient(log_terms(activation, x, S)))
    logs = jnp.where(impossible, 0.0, log_terms(activation, jnp.where(impossible, 1.0, x), S))
    chance = jnp.where(S == 1, activation.probability(x), jnp.exp(activation.log_off(x)))
    return logs.sum(0), jnp.where(impossible, chance, 1.0).prod(0)


def log_weights(network: "BeliefNetwork", rows: np.ndarray, units: np.ndarray) -> np.ndarray:
    """ln P(units in state k, evidence) up to a constant, for every k: bit j of k is the state of units[j].

    `units` are all hidden ancestors of what is observed, so that everything else sums to one.
    """
    number = np.arange(2**units.size)
    counted = ~np.isnan(rows[0])
    counted[units] = True
    out = []
    for first in range(0, len(number), BLOCK):
        states = np.repeat(np.nan_to_num(rows), len(number[first : first + BLOCK]), axis=0)
        states[:, units] = (number[first : first + BLOCK, None] >> np.arange(units.size)) & 1
        out.append(np.asarray(_log_terms(network.storage, network.bias, network.activation, states, counted)))
    return np.concatenate(out)


@jax.jit
def _log_terms(storage, bias, activation, states, counted):
    S = states.T
    x = fields(open_for_states(storage), jnp.asarray(bias)[:, None], activation, S)
    return jnp.where(counted[:, None], log_terms(activation, x, S), 0.0).sum(0)
