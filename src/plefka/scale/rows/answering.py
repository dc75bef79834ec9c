"""What a worker does with a piece of the rows: blocks are answered, and the answers made a file."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from plefka.errors import InvalidEvidence
from plefka.runtime import extras
from plefka.scale.rows.evidence_block import EvidenceBlock, joined
from plefka.scale.rows.parts import LOG_LIKELIHOOD, STATUS, AnswerParts, encoded
from plefka.scale.rows.reader import Reader
from plefka.scale.rows.row_questions import RowQuestion
from plefka.scale.rows.rows_done import BlockDone
from plefka.scale.rows.run import BlockAnswer
from plefka.scale.rows.sources import RowSource
from plefka.scale.workers.mapping import ReadyResult
from plefka.tables.table import value_errors_as


class SharedQuestion(NamedTuple):
    """What all pieces share."""

    asked: RowQuestion
    settings: str  # all that answers depend on besides the rows
    size: int  # rows that are solved at once
    reader: Reader | None  # where pieces are DataFrames


def answer(question: SharedQuestion, first: int, known: str | None, rows: Any) -> BlockAnswer:
    """The part of a piece, unless the one that is there has the digest `known` of these very rows."""
    with value_errors_as(InvalidEvidence):
        block = rows if isinstance(rows, EvidenceBlock) else _whole(question, rows)
    digest = block.digest(question.settings)
    if digest == known:
        return BlockAnswer(None, None)
    pieces = [
        question.asked.answered(block.part(slice(at, at + question.size)), first + at)
        for at in range(0, block.num_rows, question.size)
    ]
    table = extras.pyarrow().concat_tables(pieces, promote_options="permissive")
    done = BlockDone.of(table[STATUS].to_numpy(zero_copy_only=False), table[LOG_LIKELIHOOD].to_numpy())
    return BlockAnswer(encoded(table, digest), done)


def _whole(question: SharedQuestion, frame: Any) -> EvidenceBlock:
    assert question.reader is not None
    return joined(list(question.reader.blocks(frame, question.size)))


def pieces(source: RowSource, parts: AnswerParts, settings: str) -> Iterator[tuple[int, tuple | ReadyResult]]:
    """Numbered pieces with their first rows; those whose parts are there are ready, unless only a worker can tell."""
    first, counts = 0, iter(source.counts or ())
    for number, rows in enumerate(source.pieces):
        known = parts.digest(number)
        is_block = isinstance(rows, EvidenceBlock)
        done = parts.done(number) if known and is_block and known == rows.digest(settings) else None
        yield number, ReadyResult(BlockAnswer(None, done)) if done else (first, known if not is_block else None, rows)
        first += rows.num_rows if is_block else next(counts)
