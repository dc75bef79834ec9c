"""What a worker does with a piece of the rows: blocks are answered, and the answers made a file."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from plefka import extras
from plefka.errors import InvalidEvidence
from plefka.rows.asked import Asked
from plefka.rows.block import Block, joined
from plefka.rows.done import BlockDone
from plefka.rows.parts import LOG_LIKELIHOOD, STATUS, Parts, encoded
from plefka.rows.reader import Reader
from plefka.rows.running import Answer
from plefka.rows.sources import Source
from plefka.tabular.table import saying
from plefka.workers.mapping import Ready


class Question(NamedTuple):
    """What all pieces share."""

    asked: Asked
    settings: str  # all that answers depend on besides the rows
    size: int  # rows that are solved at once
    reader: Reader | None  # where pieces are DataFrames


def answer(question: Question, first: int, known: str | None, rows: Any) -> Answer:
    """The part of a piece, unless the one that is there has the digest `known` of these very rows."""
    with saying(InvalidEvidence):
        block = rows if isinstance(rows, Block) else _whole(question, rows)
    digest = block.digest(question.settings)
    if digest == known:
        return Answer(None, None)
    pieces = [
        question.asked.answered(block.part(slice(at, at + question.size)), first + at)
        for at in range(0, block.num_rows, question.size)
    ]
    table = extras.pyarrow().concat_tables(pieces, promote_options="permissive")
    done = BlockDone.of(table[STATUS].to_numpy(zero_copy_only=False), table[LOG_LIKELIHOOD].to_numpy())
    return Answer(encoded(table, digest), done)


def _whole(question: Question, frame: Any) -> Block:
    assert question.reader is not None
    return joined(list(question.reader.blocks(frame, question.size)))


def pieces(source: Source, parts: Parts, settings: str) -> Iterator[tuple[int, tuple | Ready]]:
    """Numbered pieces with their first rows; those whose parts are there are ready, unless only a worker can tell."""
    first, counts = 0, iter(source.counts or ())
    for number, rows in enumerate(source.pieces):
        known = parts.digest(number)
        is_block = isinstance(rows, Block)
        done = parts.done(number) if known and is_block and known == rows.digest(settings) else None
        yield number, Ready(Answer(None, done)) if done else (first, known if not is_block else None, rows)
        first += rows.num_rows if is_block else next(counts)
