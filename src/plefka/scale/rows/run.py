"""Blocks to parts: what is missing is computed by a team of workers, and kept as soon as it is ready."""

from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any, NamedTuple

from plefka.errors import InvalidFile
from plefka.progress import progress
from plefka.scale.rows.parts import AnswerParts
from plefka.scale.rows.rows_done import BlockDone
from plefka.scale.workers.mapping import ReadyResult, mapped
from plefka.scale.workers.teams import Team


class BlockAnswer(NamedTuple):
    """The answers of a block as a file, and how they ended; both None where the part that is there is right."""

    content: bytes | None
    done: BlockDone | None


class BlockWork(NamedTuple):
    """What workers do with pieces: `work(shared, *piece)` gives an `Answer`."""

    work: Callable[..., BlockAnswer]
    shared: Any
    label: str  # of the progress bar
    total: int | None  # pieces, where that is known


def run(
    team: Team, job: BlockWork, parts: AnswerParts, pieces: Iterable[tuple[int, tuple | ReadyResult]]
) -> tuple[dict[int, BlockDone], int]:
    """How each block ended, and how many rows had been done before."""
    done: dict[int, BlockDone] = {}
    resumed = 0
    try:
        with closing(mapped(team, job.work, job.shared, pieces)) as answers:  # lets workers go, whatever happens
            for number, answer in progress(answers, job.label, total=job.total):
                done[number] = _kept(parts, number, answer)
                resumed += done[number].rows if answer.content is None else 0
                parts.note(done, complete=False)
    except BaseException:
        parts.last_note(done)
        raise
    return done, resumed


def _kept(parts: AnswerParts, number: int, answer: BlockAnswer) -> BlockDone:
    if answer.content is not None:
        parts.write(number, answer.content)
    found = answer.done or parts.done(number)
    if found is None:
        raise InvalidFile(f"{parts.path(number)}: is damaged. Run the same again, which computes it anew.")
    return found
