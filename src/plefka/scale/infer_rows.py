"""Posteriors of any number of rows, block by block, from files to a file or to a dataset of files."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput
from plefka.inference.exclusive import with_group
from plefka.inference.infer import DEFAULT_METHOD
from plefka.inference.library import parse_method
from plefka.inference.ranking import Units
from plefka.methods.method import Method
from plefka.networks.belief import BeliefNetwork
from plefka.networks.intervention import intervened
from plefka.runtime import extras
from plefka.scale.answer_parts import AnswerParts, BlockAnswer, encoded
from plefka.scale.cluster import DaskCluster, team_of
from plefka.scale.evidence_rows import CommonEvidence, EvidenceBlock, joined
from plefka.scale.row_files import Reader, files_of
from plefka.scale.row_questions import RowQuestion
from plefka.scale.row_sources import RowSource, open_source
from plefka.scale.rows_done import BlockDone, RowsDone
from plefka.scale.teams import ReadyResult, mapped
from plefka.tables.columns import VISIT, IdColumns, visits
from plefka.tables.table import value_errors_as

BYTES = {"": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
DEFAULT_MEMORY = 2e9
PROCESS_BYTES = 6e8  # bytes of a process with JAX and its programs
BYTES_PER_NUMBER = 100  # bytes for each unit of a row: the states that are read, the means, and what becomes of them
MOST_ROWS, FEWEST_ROWS = 8192, 64


def infer_rows(
    network: BeliefNetwork,
    source: Any,
    out: str | PathLike[str],
    method: str | Method | None = None,
    *,
    evidence: Any = None,
    id_columns: IdColumns = None,
    units: Units = "all",
    top: int | None = None,
    client: Any = None,
    workers: int | str | None = None,
    memory: str | float | None = None,
    block: int | None = None,
    force: bool = False,
    do: Any = None,
    exclusive: Any = None,
) -> RowsDone:
    """Posteriors of any number of rows of evidence, written to a file or a folder, block by block.

    Columns are `row`, those that name the rows, `visit` (1, 2, ...) where names come again, `status`, `log_likelihood`,
    `accuracy` (what that is), `estimates` (which units have a mean that is an estimate: none, all, or their names),
    `fingerprint` and, where it has one, `network_version` of the network, and P(on | evidence) of every unit or, with
    `top`, `unit_1`, `probability_1`, `unit_2`, ... A run that was interrupted, by whatever, goes on where it stopped
    when the same is called again. The answers do not depend on who computes them: they are the same to the last bit in
    this process, in local processes and on a Dask cluster of machines of the same kind.

    **Arguments:**

    - `source`: a file (.csv, .csv.gz, .xlsx, .parquet, .npy, or .jsonl with {unit: 0 or 1} in each line), a pattern
        such as "data/*.parquet" or a folder of such files, a DataFrame of pandas, polars or Dask, an array, or
        dictionaries, also from a generator; docs/tables.md says what a table may hold.
    - `out`: a .parquet, .csv or .xlsx file; or a folder, which becomes a Parquet dataset with a file for each block.
    - `evidence`: what holds in every row besides.
    - `id_columns`: the columns of `source` that name the rows, kept in the output. Unless given, columns that are no
        units are recognised by their values, and a `PlefkaWarning` says so.
    - `units`: whose probabilities are written: "all", "causes" (here units without parents, so that all rows have the
        same columns), or names of units.
    - `top`: write only so many hidden units of each row, the most probable ones.
    - `client`: a `dask.distributed.Client`, or the address of a scheduler: its workers do the blocks.
    - `workers`: so many processes of this machine do them. By default this process does, with all cores where the
        method is compiled. "auto" starts a process for each core as soon as it is clear that the method, as `exact`,
        uses one core only. In a script, call this under `if __name__ == "__main__":`.
    - `memory`: about how much memory each process may use, as "4GB" or in bytes; 2 GB by default, and more where the
        network needs it. It decides how many rows are solved at once.
    - `block`: the same as a number of rows.
    - `force`: replace the output, and begin again where parts of another run are there.
    - `do`: {unit: 0 or 1}, the units that are set in every row, as for `infer`. No row may observe them.
    - `exclusive`: units of which exactly one is on in every row, as for `infer`.

    >>> import tempfile
    >>> import plefka as pf
    >>> patients = [{"slow_flow": 1}, {"slow_flow": 1, "thin_crema": 0}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pf.infer_rows(pf.example("espresso"), patients, f"{folder}/answers.csv").rows
    2
    """
    if not isinstance(network, BeliefNetwork) or network.stack is not None:
        kind = "a stack" if isinstance(network, BeliefNetwork) else type(network).__name__
        raise InvalidInput(f"infer_rows takes one BeliefNetwork; got {kind}.")
    start, out, method = time.perf_counter(), Path(out), parse_method(method or DEFAULT_METHOD)
    common = CommonEvidence.of(network, evidence)
    network, given = intervened(network, common.evidence, do)
    common = CommonEvidence(network, with_group(network, given, exclusive))
    before = AnswerParts.settings_before(out) or {}
    size = block_size(network, block, memory, before.get("block"))
    _check_not_read(source, out)
    with team_of(client, workers, as_bytes(DEFAULT_MEMORY if memory is None else memory)) as team:
        rows = open_source(network, source, size, id_columns, team.client if isinstance(team, DaskCluster) else None)
        asked = RowQuestion.of(network, method, common, units, top, rows.id_columns)
        settings = asked.settings(size)
        text = json.dumps(settings, sort_keys=True)
        num_pieces = len(rows.counts) if rows.counts else None if rows.about is None else -(-rows.about // size)
        shared = SharedQuestion(asked, text, size, rows.reader)
        with AnswerParts.begin(out, settings, force=force) as parts:
            answers = mapped(team, answer, shared, pieces(rows, parts, text))
            done = parts.collect(answers, "rows", num_pieces, str(method))
    return replace(done, seconds=time.perf_counter() - start, **network.identity)


def _check_not_read(source: Any, out: Path) -> None:
    """What is read is not overwritten, nor is what is written read."""
    if not isinstance(source, str | PathLike) or not out.exists():
        return
    target = out.resolve()
    for path in files_of(source):
        if target in (path.resolve(), *path.resolve().parents):
            what = "is the file of rows, which is not overwritten" if path.samefile(out) else "holds rows that are read"
            raise InvalidInput(f"{out}: {what}. Name another file.")


class SharedQuestion(NamedTuple):
    """What all pieces share."""

    asked: RowQuestion
    settings: str  # all that answers depend on besides the rows
    size: int  # rows that are solved at once
    reader: Reader | None  # where pieces are DataFrames


def answer(question: SharedQuestion, first: int, known: str | None, rows: Any) -> BlockAnswer:
    """The part of a piece, unless the one that is there has the digest `known` of these very rows."""
    with value_errors_as(InvalidEvidence):
        if question.reader is not None and not isinstance(rows, EvidenceBlock):
            rows = joined(list(question.reader.blocks(rows, question.size)))
    digest = rows.digest(question.settings)
    if digest == known:
        return BlockAnswer(None, None)
    parts = [(rows.part(slice(at, at + question.size)), first + at) for at in range(0, rows.num_rows, question.size)]
    pieces = [question.asked.answered(*part) for part in parts]
    table = extras.pyarrow().concat_tables(pieces, promote_options="permissive")
    return BlockAnswer(encoded(table, digest), BlockDone.of(table))


def pieces(source: RowSource, parts: AnswerParts, settings: str) -> Iterator[tuple[int, tuple | ReadyResult]]:
    """Numbered pieces with their first rows; those whose parts are there are ready, unless only a worker can tell."""
    first, counts, seen = 0, iter(source.counts or ()), Counter()
    for number, rows in enumerate(source.pieces):
        known = parts.digest(number)
        is_block = isinstance(rows, EvidenceBlock)
        if is_block and rows.ids and VISIT not in rows.ids:
            rows = rows._replace(ids={**rows.ids, VISIT: visits(rows.ids, seen)})
        done = parts.done(number) if known and is_block and known == rows.digest(settings) else None
        yield number, ReadyResult(BlockAnswer(None, done)) if done else (first, known if not is_block else None, rows)
        first += rows.num_rows if is_block else next(counts)


def as_bytes(memory: str | float) -> float:
    """From 2e9, "2GB" or "1.5 GiB"."""
    found = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([kmgt]?i?b)?\s*", str(memory).lower())
    try:
        number = float(found[1]) * BYTES[found[2] or ""] if found else 0.0
    except (ValueError, KeyError):
        number = 0.0
    if isinstance(memory, bool) or not 0 < number < float("inf"):
        raise InvalidInput(f"memory must be a number of bytes, or a text such as '2GB' or '500 MiB'; got {memory!r}.")
    return number


def block_size(network: BeliefNetwork, block: int | None, memory: str | float | None, before: int | None = None) -> int:
    """Rows of a block: as given, or those of the run that began this output, or as many as a process has room for.

    It does not depend on how many processes there are, as the last bits of an answer may depend on it.
    """
    if block is not None:
        if not isinstance(block, int) or isinstance(block, bool) or block < 1:
            raise InvalidInput(f"block must be a whole number of rows from 1 on; got {block!r}.")
        return block
    room = as_bytes(DEFAULT_MEMORY if memory is None else memory) - PROCESS_BYTES
    rows = int(room / (BYTES_PER_NUMBER * network.size))
    if memory is not None and rows < 1:
        least = (PROCESS_BYTES + BYTES_PER_NUMBER * network.size) / 1e9
        raise InvalidInput(
            f"memory must be {least:.1f} GB or more for each process and a network of {network.size:,} units; "
            f"got {memory}."
        )
    if isinstance(before, int) and before >= 1:
        return before
    return int(np.clip(rows, 1 if memory is not None else FEWEST_ROWS, MOST_ROWS))
