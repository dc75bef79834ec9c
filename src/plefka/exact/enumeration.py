"""Exact inference by enumeration: the sum over all states of the hidden units, in blocks so that memory stays flat.

Barren units are summed out by hand where nothing depends on them: a hidden unit without children is on with probability
f(field), so that only its parents need be enumerated.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plefka.errors import MethodDoesNotApply
from plefka.networks.states import fields, log_terms, open_for_states
from plefka.posterior import Posterior, chunks
from plefka.precision import is_traced, precision, to_numpy
from plefka.progress import progress
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


def posterior(network: "BeliefNetwork", rows: Any, *, prune: bool, dtype: str) -> Posterior:
    """ln P(evidence) and all posterior means, exactly."""
    if is_traced(network, rows):
        return _traced(network, rows)
    parts = []
    with precision(dtype):
        enumerated, leaf = _who_is_enumerated(network, rows, prune)
        bits = enumerated.sum(1)
        _refuse_too_many(network, rows, int(bits.max(initial=0)))
        states = 2 ** int(bits.max(initial=0))
        block = min(BLOCK, states)
        for index in chunks(len(rows), max(1, WORK // (block * network.size))):
            parts.append(_sum_blocks(network, rows, enumerated, leaf, index, block, states))
    return _posterior(Posterior.joined(parts, len(rows)), rows)


def _sum_blocks(network, rows, enumerated, leaf, index, block, states) -> Posterior:
    stacked = network.stack is not None
    storage = network.storage.take(index) if stacked else network.storage
    bias = network.bias[index] if stacked else network.bias
    rank = np.where(enumerated, np.cumsum(enumerated, axis=1) - 1, -1)[index]
    limit = 2.0 ** enumerated.sum(1)[index]
    tally = Tally(np.full(len(limit), -np.inf), np.zeros(len(limit)), np.zeros(rank.shape))
    firsts = range(0, states, block * BLOCKS_AT_ONCE)
    for first in progress(firsts, f"enumerating {states:,} states"):
        count = min(BLOCKS_AT_ONCE, (states - first) // block)
        tally = _compiled(
            storage, bias, network.activation, rows[index], rank, leaf[index], limit, first, count, tally,
            block=block, stacked=stacked,
        )  # fmt: skip
    tally = to_numpy(tally)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = tally.values / tally.total[:, None]
        free_energy = -(tally.top + np.log(tally.total))
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


def _who_is_enumerated(network: "BeliefNetwork", rows: np.ndarray, prune: bool) -> tuple[np.ndarray, np.ndarray]:
    """Which hidden units must be enumerated, and which are barren leaves, row by row."""
    hidden = np.isnan(rows)
    childless = network.storage.num_children() == 0
    leaf = hidden & childless & prune
    return hidden & ~leaf, leaf


def _refuse_too_many(network: "BeliefNetwork", rows: np.ndarray, bits: int) -> None:
    if bits > MOST_HIDDEN:
        raise MethodDoesNotApply(
            f"exact does not apply: it would sum over 2^{bits} = {2.0**bits:.3g} states of the hidden units, and "
            f"2^{MOST_HIDDEN} is the most. Use G12 or G221 instead"
            + (", or SJJ for a bound." if network.activation.name == "sigmoid" else ".")
        )


def _tally(storage, bias, activation, row, rank, leaf, limit, first, count, tally: Tally, *, block: int) -> Tally:
    """Add `count` blocks of states, from state number `first` on, for one row of one network."""
    weights = open_for_states(storage)

    def add(k, tally: Tally) -> Tally:
        number = first + k * block + jnp.arange(block)
        S = jnp.where(rank[:, None] >= 0, (number >> jnp.maximum(rank, 0)[:, None]) & 1, row[:, None])
        S = jnp.where(leaf[:, None], 0.0, S)
        x = fields(weights, bias[:, None], activation, S)
        log_weight = jnp.where(leaf[:, None], 0.0, log_terms(activation, x, S)).sum(0)
        log_weight = jnp.where(number < limit, log_weight, -jnp.inf)
        top = jnp.maximum(tally.top, log_weight.max())
        safe = jnp.where(jnp.isfinite(top), top, 0.0)
        old, weight = jnp.exp(tally.top - safe), jnp.exp(log_weight - safe)
        values = jnp.where(leaf[:, None], activation.probability(x), S) @ weight
        return Tally(top, tally.total * old + weight.sum(), tally.values * old + values)

    return jax.lax.fori_loop(0, count, add, tally)


@partial(jax.jit, static_argnames=("block", "stacked"))
def _compiled(storage, bias, activation, rows, rank, leaf, limit, first, count, tally, *, block, stacked):
    axis = 0 if stacked else None
    over_storage = jax.tree.map(lambda _: axis, storage)
    per_row = jax.vmap(partial(_tally, block=block), in_axes=(over_storage, axis, None, 0, 0, 0, 0, None, None, 0))
    return per_row(storage, bias, activation, rows, rank, leaf, limit, first, count, tally)


def _traced(network: "BeliefNetwork", rows: Any) -> Posterior:
    """Inside a trace of the user's: all states of all units that may be hidden, those against the evidence left out."""
    n = network.size
    free = np.ones(n, bool) if is_traced(rows) else np.isnan(np.asarray(rows)).any(0)
    _refuse_too_many(network, rows, int(free.sum()))
    rank = np.where(free, np.cumsum(free) - 1, -1)
    number = np.arange(2 ** int(free.sum()))
    S = np.where(rank[:, None] >= 0, (number >> np.maximum(rank, 0)[:, None]) & 1, 0)

    def one(storage, bias, row):
        states = jnp.where(rank[:, None] >= 0, S, row[:, None]).astype(jnp.zeros(()).dtype)
        x = fields(open_for_states(storage), bias[:, None], network.activation, states)
        fits = jnp.all(jnp.isnan(row)[:, None] | (states == row[:, None]), axis=0)
        log_weight, factor = _weight(network.activation, x, states)
        log_weight = jnp.where(fits, log_weight, -jnp.inf)
        top = jax.lax.stop_gradient(jnp.max(log_weight, where=factor > 0, initial=-jnp.inf))
        top = jnp.where(jnp.isfinite(top), top, 0.0)
        weight = factor * jnp.exp(log_weight - top)
        total = weight.sum()
        return top + jnp.log(total), states @ weight / total

    axis = 0 if network.stack is not None else None
    over_storage = jax.tree.map(lambda _: axis, network.storage)
    per_row = jax.vmap(one, in_axes=(over_storage, axis, 0))
    log_z, means = per_row(network.storage, jnp.asarray(network.bias), jnp.asarray(rows))
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
