"""Exact inference by enumeration: the sum over all states of the free units, in blocks so that memory stays flat.

A free unit without children is on with probability f(field), so that only its parents need be enumerated. Small sums
are NumPy's, which compiles nothing; the same lines are compiled for large ones.
"""

from collections.abc import Callable
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plefka.errors import MethodDoesNotApply
from plefka.exact.cost import LITTLE_WORK
from plefka.exact.states import MOST_SUMMED, StateSums, too_many_states
from plefka.methods.posterior import CONVERGED, IMPOSSIBLE, NOT_FINITE, Posterior
from plefka.networks.activations import Activation, namespace
from plefka.networks.fields import bits, field_in_domain, field_weights, fields, log_terms, open_for_states
from plefka.networks.storage import Storage
from plefka.progress import progress
from plefka.reduction.ladder import rows_for
from plefka.reduction.question import Question
from plefka.runtime.precision import is_traced
from plefka.runtime.programs import Program
from plefka.runtime.value_cache import cached_for

if TYPE_CHECKING:
    from plefka.reduction.traced_reductions import TracedBelief

BLOCKS = (2**6, 2**12)  # states at once for one row
WORK = 2**21  # numbers at once for all rows of a chunk
IN_CACHE = 2**15  # numbers at once in NumPy
REFUSED = "exact does not apply: {}. Use auto instead, or G1 for a bound."
BLOCKS_AT_ONCE = 16  # between two updates of the progress bar


class Row(NamedTuple):
    """What is summed over; arrays are (units,) for one row and (units, rows) for several."""

    h: Any
    values: Any
    tilt: Any
    rank: Any  # which bit of a state's number is the state of the unit; -1 where it is not enumerated
    leaf: Any  # free, without children and soft evidence: only its chance is wanted
    counted: Any  # whose probability is part of that of a state
    states: Any  # how many states there are


def sums(question: Question, *, dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ln Z (rows,), and the means and d ln Z / dh of all units, (units, rows)."""
    rows = _rows(question)
    found = _by_numpy(question, rows) if is_small(question) else _compiled_sums(question, rows, dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        averages = found.values / found.total
    means, slopes = averages[: question.size], averages[question.size :]
    return found.log_total, means, np.nan_to_num(slopes) if len(slopes) else np.zeros(means.shape)


def is_small(question: Question) -> bool:
    """Whether NumPy sums over all states, so that nothing is compiled."""
    work = question.num_rows * 2 ** num_enumerated(question) * question.size
    return work <= LITTLE_WORK and question.size**2 <= LITTLE_WORK


def num_enumerated(question: Question) -> int:
    """How many units must be enumerated in the row that has most of them."""
    return cached_for(question, num_enumerated, lambda: int((question.free & ~_leaves(question)).sum(0).max(initial=0)))


def _leaves(question: Question) -> np.ndarray:
    has_children = question.storage.num_children() > 0
    return np.asarray(question.free & ~has_children[:, None] & (question.tilt == 0))


def _rows(question: Question) -> Row:
    """All rows; arrays are (units, rows)."""
    leaf = _leaves(question)
    summed = question.free & ~leaf
    rank = np.where(summed, np.cumsum(summed, axis=0) - 1, -1)
    h = np.broadcast_to(question.model.h, question.free.shape)
    counted = question.model.counted & ~leaf
    return Row(h, question.values, question.tilt, rank, leaf, counted, 2.0 ** summed.sum(axis=0))


def _of_block(row: Row, f: Activation, field_of: Callable, number: Any) -> StateSums:
    """The sums over the states of these numbers: of the units' values and, where they count, of d ln P / dh."""
    xp = namespace(number)
    S = xp.where(row.rank[..., None] >= 0, bits(number, xp.maximum(row.rank, 0)), row.values[..., None])
    S = xp.where(row.leaf[..., None], 0.0, S)
    x = field_in_domain(f, field_of(S) + row.h[..., None])
    log_weight = (xp.where(row.counted[..., None], log_terms(f, x, S), 0.0) + row.tilt[..., None] * S).sum(0)
    log_weight = xp.where(number < row.states[..., None], log_weight, -xp.inf)
    values = xp.where(row.leaf[..., None], f.probability(x), S)
    if f.has_linear_log_off:
        values = xp.concatenate([values, _slopes(x, S, row.counted[..., None])])
    return StateSums.of(log_weight, lambda weight: xp.einsum("u...s,...s->u...", values, weight))


def _slopes(x: Any, S: Any, counted: Any) -> Any:
    """What each unit adds to d ln P(S) / dh; nothing in states that cannot be."""
    xp = namespace(x)
    possible_on = counted & (S == 1) & (x > 0)
    on = 1 / xp.expm1(xp.where(possible_on, x, 1.0))
    return xp.where(possible_on, on, -1.0 * (counted & (S == 0)))


def _nothing(question: Question, rows: int) -> StateSums:
    count = (2 if question.model.activation.has_linear_log_off else 1) * question.size
    return StateSums(np.full(rows, -np.inf), np.zeros(rows), np.zeros((count, rows)))


def _by_numpy(question: Question, rows: Row) -> StateSums:
    """As many rows together as are quick to go through; those of a stack one by one."""
    f, found, size = question.model.activation, _nothing(question, question.num_rows), question.size
    matrices = [field_weights(question.storage, network) for network in range(question.storage.stack or 1)]
    step = 1 if len(matrices) > 1 else max(1, IN_CACHE // int(rows.states.max() * size))
    for first in range(0, question.num_rows, step):
        some = slice(first, first + step)
        there = np.flatnonzero((question.model.counted[:, some] | (question.values[:, some] != 0)).any(axis=1))
        row = Row(*(field[there, some] if field.ndim == 2 else field[some] for field in rows))
        W, last = matrices[first if len(matrices) > 1 else 0][there][:, there], int(row.states.max())
        blocks = (range(start, min(start + BLOCKS[-1], last)) for start in range(0, last, BLOCKS[-1]))
        with np.errstate(over="ignore", invalid="ignore"):
            sums = reduce(
                StateSums.joined, (_of_block(row, f, partial(_times, W), np.array(block)) for block in blocks)
            )
        found.top[some], found.total[some] = sums.top, sums.total
        units = np.concatenate([there + size * k for k in range(len(found.values) // size)])
        found.values[units, some] = sums.values
    return found


def _times(W: Any, S: np.ndarray) -> np.ndarray:
    """W @ S of states (units, rows, states)."""
    return (W @ S.reshape(len(S), S.shape[1] * S.shape[2])).reshape(S.shape)


def _compiled_sums(question: Question, rows: Row, dtype: str) -> StateSums:
    """Rows in chunks of a few sizes, and states in blocks."""
    bits = num_enumerated(question)
    block = next((block for block in BLOCKS if block >= 2**bits), BLOCKS[-1])
    size = rows_for(question.num_rows, max(1, WORK // (block * question.size)))
    parts = []
    for first in range(0, question.num_rows, size):
        index = np.minimum(np.arange(first, first + size), question.num_rows - 1)
        some, storage = Row(*(field[..., index].T for field in rows)), question.take(index).storage
        sums, last = StateSums(*(field.T for field in _nothing(question, size))), int(some.states.max())
        for start in progress(range(0, last, block * BLOCKS_AT_ONCE), f"enumerating {last:,} states"):
            count = min(BLOCKS_AT_ONCE, -(-(last - start) // block))
            sums = _blocks(
                storage, question.model.activation, some, (start, count), sums, block=block, dtype=dtype,
                work=size * block * question.size,
            )  # fmt: skip
        parts.append(sums)
    return StateSums(*(np.concatenate(field)[: question.num_rows].T for field in zip(*parts, strict=True)))


def _add_blocks(storage: Storage, f: Activation, rows: Row, blocks: tuple, sums: StateSums, *, block: int) -> StateSums:
    """`blocks`: the number of the first state, and how many blocks of them there are."""
    first, count = blocks

    def of_row(weights, row: Row, sums: StateSums) -> StateSums:
        edges = open_for_states(storage if weights is None else storage.with_parameters(weights))

        def add(k, sums: StateSums) -> StateSums:
            return sums.joined(_of_block(row, f, edges.field_of, first + k * block + jnp.arange(block)))

        return jax.lax.fori_loop(0, count, add, sums)

    return jax.vmap(of_row)(None if storage.stack is None else storage.parameters, rows, sums)


_blocks = Program(_add_blocks)


def status_of(free_energy, where):
    """A sum of nothing but zeros is impossible evidence; a sum that is no number came from such parameters."""
    return where(free_energy == np.inf, IMPOSSIBLE, where(free_energy < np.inf, CONVERGED, NOT_FINITE))


def summed_in_trace(reduction: "TracedBelief") -> Posterior:
    """Inside a trace of the user's: all states of all units that may be hidden, those against the evidence left out."""
    given, storage = reduction.given, reduction.question.storage
    known, f = given.known, given.activation
    free = np.ones(len(known), bool) if is_traced(known) else np.isnan(np.asarray(known)).any(1)
    count = int(free.sum())
    if count > MOST_SUMMED:
        raise MethodDoesNotApply(REFUSED.format(too_many_states(count)))
    rank = np.where(free, np.cumsum(free) - 1, -1)
    S = np.where(rank[:, None] >= 0, bits(np.arange(2**count), np.maximum(rank, 0)), 0)

    def of_row(weights, bias, row, tilt):
        states = jnp.where(rank[:, None] >= 0, S, row[:, None]).astype(row.dtype)
        x = fields(open_for_states(storage.with_parameters(weights)), bias[:, None], f, states)
        fits = jnp.all(jnp.isnan(row)[:, None] | (states == row[:, None]), axis=0)
        log_weight, factor = _weight(f, x, states)
        log_weight = jnp.where(fits, log_weight + tilt @ states, -jnp.inf)
        sums = StateSums.of(log_weight, lambda weight: states @ weight, factor)
        return sums.log_total, jnp.clip(sums.values / sums.total, 0.0, 1.0)  # by rounding it may be outside

    axis = None if storage.stack is None else 0
    bias = jnp.broadcast_to(given.h, known.shape)
    hidden_tilt = jnp.where(given.hidden, given.tilt, 0.0)
    per_row = jax.vmap(of_row, in_axes=(axis, 1, 1, 1))
    log_z, means = per_row(storage.parameters, bias, known, hidden_tilt)
    log_rest = log_z - reduction.left.constant  # which is added again: nothing was summed out here
    found = Posterior.of(means.T, log_rest, is_exact=True, is_bound=True)
    return found._replace(status=status_of(-log_z, jnp.where))


def _weight(activation, x, S):
    """P(S) as exp(log) x factor: impossible units are in the factor, as their logarithm has no derivative."""
    impossible = jnp.isneginf(jax.lax.stop_gradient(log_terms(activation, x, S)))
    logs = jnp.where(impossible, 0.0, log_terms(activation, jnp.where(impossible, 1.0, x), S))
    chance = jnp.where(S == 1, activation.probability(x), jnp.exp(activation.log_off(x)))
    return logs.sum(0), jnp.where(impossible, chance, 1.0).prod(0)
