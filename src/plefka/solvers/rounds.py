"""Many rows on all cores, in rounds: rows that have ended cost nothing.

Rows are solved in chunks of a few sizes. A chunk stops when half of its rows have ended and the others are
slow; those of all chunks are put together in the next round, in fewer chunks or smaller ones, and go on from where they
are. What a row finds does not depend on others.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from plefka.methods.posterior import OUT_OF_STEPS, RUNNING
from plefka.reduction.ladder import rows_for
from plefka.reduction.question import Question
from plefka.runtime.cores import on_all_cores
from plefka.runtime.programs import Program

ROUND_NUMBERS = 2**26  # held at once for a chunk of rows, per array
FEW_ROWS = 16  # rows that are not worth a round of their own
SMALLER, CHUNKS = 128, 4  # rows go on in chunks of this size where so many of them hold all: no other is compiled


@dataclass(frozen=True)
class Iteration(ABC):
    """A method that goes step by step. Its states have a `status` (rows,), and rows on the last axis of all arrays."""

    @abstractmethod
    def prepare(self, question: Question) -> Any:
        """What every step uses."""

    @abstractmethod
    def advance(self, prepared: Any, state: Any, tol: Any, max_steps: Any, few: Any) -> Any:
        """Steps until at most `few` rows are running."""

    @abstractmethod
    def answer(self, prepared: Any, state: Any) -> tuple:
        """What is known at the end, with rows on the last axis of all arrays."""


class Criteria(NamedTuple):
    """When a row has ended."""

    tol: float
    max_steps: int


def in_rounds(
    iteration: Iteration, question: Question, start: Callable, criteria: Criteria, *, row_work: int, dtype: str,
    step_work: int | None = None,
) -> tuple:  # fmt: skip
    """The fields of the answers of all rows; start(rows) is the state that these rows begin with, of NumPy.

    `row_work` is how many numbers are held at once for a row; `step_work` is on how many a step works, if on fewer.
    """
    most = max(1, ROUND_NUMBERS // max(row_work, 1))
    answers, waiting, state = None, question, start
    number = np.arange(question.num_rows)

    def solve(size: int, first: int) -> tuple[Any, Any]:
        """Some of the rows that wait, filled up with the last of them, which has ended there."""
        count = min(size, waiting.num_rows - first)
        rows = slice(first, first + size) if count == size else np.minimum(first + np.arange(size), first + count - 1)
        some = state(rows)
        some.status[count:] = OUT_OF_STEPS
        few = count // 2 if count > FEW_ROWS else 0
        asked = waiting if size == waiting.num_rows else waiting.take(rows)
        found = _solve(asked, some, criteria, few, iteration=iteration, work=work, dtype=dtype)
        return found if count == size else jax.tree.map(lambda z: z[..., :count], found)

    size = rows_for(len(number), most)
    work = (step_work or row_work) * size  # programs of later rounds are worth optimising where the first one is
    while True:
        found, ended = zip(*on_all_cores(partial(solve, size), list(range(0, len(number), size))), strict=True)
        answers = _updated(answers, found, number)
        running = [np.flatnonzero(part.status == RUNNING) for part in ended]
        here = np.concatenate([rows + k * size for k, rows in enumerate(running)])
        if not len(here):
            return answers
        left = _concatenated([_taken(part, rows) for part, rows in zip(ended, running, strict=True)])
        number, waiting, state = number[here], waiting.take(here), partial(_taken, left)
        size = min(size, SMALLER) if len(number) <= CHUNKS * SMALLER else size


def _taken(state: Any, rows: Any) -> Any:
    return jax.tree.map(lambda z: z[..., rows], state)


def _concatenated(parts: Any) -> Any:
    return jax.tree.map(lambda *z: np.concatenate(z, axis=-1), *parts)


def _updated(answers: Any, parts: tuple, rows: np.ndarray) -> Any:
    """The answers with what was found for these rows."""
    found = _concatenated(parts)
    if answers is None:
        return found

    def put(old, new):
        old[..., rows] = new
        return old

    return jax.tree.map(put, answers, found)


def _solve_rows(question: Question, state: Any, criteria: Criteria, few, *, iteration: Iteration):
    prepared = iteration.prepare(question)
    state = iteration.advance(prepared, state, *criteria, few)
    return tuple(iteration.answer(prepared, state)), state


_solve = Program(_solve_rows)


def by_rows(program: Callable, question: Question, means: np.ndarray, *, work: int, **options: Any) -> Any:
    """program(question, means), whose results have rows on their last axis, chunk by chunk."""
    count = question.num_rows
    size = rows_for(count, max(1, ROUND_NUMBERS // max(work // count, 1)))
    chunks = [np.minimum(np.arange(first, first + size), count - 1) for first in range(0, count, size)]
    options["work"] = work // count * size
    parts = on_all_cores(lambda rows: program(question.take(rows), means[..., rows], **options), chunks)
    return jax.tree.map(lambda *z: np.concatenate(z, axis=-1)[..., :count], *parts)
