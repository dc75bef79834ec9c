"""Posteriors of any number of rows, block by block, from files to a file or to a dataset of files."""

import json
import time
from os import PathLike
from pathlib import Path
from typing import Any

from plefka.errors import InvalidInput
from plefka.inference.infer import DEFAULT_METHOD
from plefka.inference.library import parse_method
from plefka.inference.ranking import Units
from plefka.methods.method import Method
from plefka.networks.belief import BeliefNetwork
from plefka.scale.rows.answering import SharedQuestion, answer, pieces
from plefka.scale.rows.common_evidence import CommonEvidence
from plefka.scale.rows.memory import DEFAULT, as_bytes, block_size
from plefka.scale.rows.parts import AnswerParts
from plefka.scale.rows.row_files import files_of
from plefka.scale.rows.row_questions import RowQuestion
from plefka.scale.rows.rows_done import RowsDone
from plefka.scale.rows.run import BlockWork, run
from plefka.scale.rows.sources import open_source
from plefka.scale.workers.cluster import DaskCluster, team_of
from plefka.tables.roles import IdColumns


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
) -> RowsDone:
    """Posteriors of any number of rows of evidence, written to a file or a folder, block by block.

    Columns are `row`, those that name the rows, `status`, `log_likelihood`, `accuracy` (what that is), `estimates`
    (which units have a mean that is an estimate: none, all, or their names), and P(on | evidence) of every unit or,
    with `top`, `unit_1`, `probability_1`, `unit_2`, ... A run that was interrupted, by whatever, goes on where it
    stopped when the same is called again. The answers do not depend on who computes them: they are the same to the last
    bit in this process, in local processes and on a Dask cluster of machines of the same kind.

    **Arguments:**

    - `source`: a file (.csv, .csv.gz, .parquet, .npy, or .jsonl with an object {unit: 0 or 1} in each line), a pattern
        such as "data/*.parquet" or a folder of such files, a DataFrame of pandas, polars or Dask, an array, or
        dictionaries, also from a generator; docs/tables.md says what a table may hold.
    - `out`: a .parquet or .csv file; or a folder, which becomes a Parquet dataset with a file for each block.
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
    before = AnswerParts.settings_before(out) or {}
    size = block_size(network, block, memory, before.get("block"))
    _check_not_read(source, out)
    with team_of(client, workers, as_bytes(DEFAULT if memory is None else memory)) as team:
        rows = open_source(network, source, size, id_columns, team.client if isinstance(team, DaskCluster) else None)
        asked = RowQuestion.of(network, method, common, units, top, rows.id_columns)
        settings = asked.settings(size)
        text = json.dumps(settings, sort_keys=True)
        num_pieces = len(rows.counts) if rows.counts else None if rows.about is None else -(-rows.about // size)
        job = BlockWork(answer, SharedQuestion(asked, text, size, rows.reader), "rows", num_pieces)
        with AnswerParts.begin(out, settings, force=force) as parts:
            blocks, resumed = run(team, job, parts, pieces(rows, parts, text))
            if not blocks:
                raise InvalidInput("there must be at least one row of evidence; got none.")
            parts.finish(blocks)
    done = RowsDone(out, str(method), resumed=resumed)
    done.add(blocks[number] for number in sorted(blocks))
    done.seconds = time.perf_counter() - start
    return done


def _check_not_read(source: Any, out: Path) -> None:
    """What is read is not overwritten, nor is what is written read."""
    if not isinstance(source, str | PathLike) or not out.exists():
        return
    target = out.resolve()
    for path in files_of(source):
        if target in (path.resolve(), *path.resolve().parents):
            what = "is the file of rows, which is not overwritten" if path.samefile(out) else "holds rows that are read"
            raise InvalidInput(f"{out}: {what}. Name another file.")
