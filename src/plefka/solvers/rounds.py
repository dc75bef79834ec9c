"""Many rows on all cores, in rounds: rows that have ended cost nothing.

Rows are solved in chunks of a few sizes. A chunk stops when three quarters of its rows have ended; the others are put
together in fewer chunks, or smaller ones, and go on from where they are. What a row finds does not depend on others.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import numpy as np

from plefka.question import Question
from plefka.reduction.ladder import ROWS, rows_for
from plefka.solution import OUT_OF_STEPS, RUNNING

MOST_NUMBERS = 2**26  # held at once for a chunk of rows, per array
FEW = 16  # rows that are not worth a round of their own


def in_rounds(advance: Callable, question: Question, search: Any, row_work: int) -> Any:
    """advance(question, search, few) -> search, repeated until no row is running.

    `search` has a `status` (rows,), and rows on the last axis of all its arrays. `few` is how many rows may still be
    running when a call returns. `row_work` is how many numbers are held at once for a row.
    """
    most = max(1, MOST_NUMBERS // max(row_work, 1))
    size, count = rows_for(question.num_rows, most), question.num_rows
    if count == 1 and size == 1:
        return advance(question, search, 0)
    waiting, found = np.arange(count), search
    while len(waiting):
        chunks = [waiting[first : first + size] for first in range(0, len(waiting), size)]
        few = size // 4 if size > FEW else 0
        solved = on_all_cores(partial(_one_chunk, advance, question, found, size, few), chunks)
        found = _updated(found, solved, waiting)
        waiting = waiting[found.status[waiting] == RUNNING]
        size = _next_size(size, len(waiting))
    return found


def by_rows(program: Callable, question: Question, means: np.ndarray, *, work: int, **options: Any) -> Any:
    """program(question, means), whose results have rows on their last axis, chunk by chunk."""
    count = question.num_rows
    size = rows_for(count, max(1, MOST_NUMBERS // max(work // count, 1)))
    chunks = [np.arange(first, first + size) for first in range(0, count, size)]
    work = work // count * size

    def of_chunk(rows: np.ndarray) -> Any:
        rows = np.minimum(rows, count - 1)
        return program(question.take(rows), means[..., rows], work=work, **options)

    parts = on_all_cores(of_chunk, chunks)
    return jax.tree.map(lambda *z: np.concatenate(z, axis=-1)[..., :count], *parts)


def _one_chunk(advance: Callable, question: Question, search: Any, size: int, few: int, rows: np.ndarray) -> Any:
    """Some rows, filled up with the last of them, which has ended there."""
    padded = np.concatenate([rows, np.full(size - len(rows), rows[-1])])
    some = jax.tree.map(lambda z: z[..., padded], search)
    some.status[len(rows) :] = OUT_OF_STEPS
    found = advance(question.take(padded), some, min(few, len(rows) // 4))
    return jax.tree.map(lambda z: z[..., : len(rows)], found)


def _updated(search: Any, parts: list, rows: np.ndarray) -> Any:
    """The search with what was found for these rows."""
    if len(rows) == search.status.shape[-1]:
        return jax.tree.map(lambda *z: np.concatenate(z, axis=-1), *parts)

    def put(old, *new):
        old = np.array(old)
        old[..., rows] = np.concatenate(new, axis=-1)
        return old

    return jax.tree.map(put, search, *parts)


def _next_size(size: int, waiting: int) -> int:
    """The next smaller one, where all that wait fit into it."""
    smaller = ROWS[max(ROWS.index(size) - 1, 1)] if size > FEW else size
    return smaller if waiting <= smaller else size


def on_all_cores(work: Callable[[Any], Any], pieces: list) -> list:
    """The results of all pieces in their order; compiled code lets threads run side by side."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(pieces) == 1 or cores == 1:
        return [work(piece) for piece in pieces]
    pool = ThreadPoolExecutor(min(cores, len(pieces)))
    try:
        return list(pool.map(work, pieces))
    finally:
        pool.shutdown(cancel_futures=True)
