"""Posteriors of any number of rows, block by block, from a file to a file."""

import time
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from plefka.errors import InvalidInput
from plefka.inference import DEFAULT_METHOD
from plefka.methods import Method, parse_method
from plefka.networks.belief import BeliefNetwork
from plefka.progress import progress
from plefka.ranking import Units
from plefka.rows.asked import LOG_LIKELIHOOD, STATUS, Asked
from plefka.rows.common import Common
from plefka.rows.done import RowsDone
from plefka.rows.parts import Parts, digest_of
from plefka.rows.sources import open_source
from plefka.tabular.roles import IdColumns

NUMBERS, MOST_ROWS, FEWEST_ROWS = 2**25, 8192, 64  # of a block: units times rows, and rows


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
    block: int | None = None,
    force: bool = False,
) -> RowsDone:
    """Posteriors of any number of rows of evidence, written to a file; memory depends on a block of them only.

    Columns are `row`, those that name the rows, `status`, `log_likelihood`, and P(on | evidence) of every unit or, with
    `top`, `unit_1`, `probability_1`, `unit_2`, ... A run that was interrupted goes on where it stopped: blocks that are
    done are kept in the folder OUT.parts until all are.

    **Arguments:**

    - `source`: a file (.csv, .csv.gz, .parquet, .npy, or .jsonl with an object {unit: 0 or 1} in each line), a
        DataFrame, an array, or dictionaries, also from a generator; docs/tables.md says what a table may hold.
    - `out`: a .parquet or .csv file.
    - `evidence`: what holds in every row besides.
    - `id_columns`: the columns of `source` that name the rows, kept in the output. Unless given, columns that are no
        units are recognised by their values, and a `PlefkaWarning` says so.
    - `units`: whose probabilities are written: "all", "causes" (here units without parents, so that all rows have the
        same columns), or names of units.
    - `top`: write only so many hidden units of each row, the most probable ones.
    - `block`: how many rows are solved at once.
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
    start = time.perf_counter()
    method, common, size = (
        parse_method(method or DEFAULT_METHOD),
        Common.of(network, evidence),
        _block_size(network, block),
    )
    rows = open_source(network, source, size, id_columns)
    asked = Asked.of(network, method, common, units, top, rows.id_columns)
    out = Path(out)
    if isinstance(source, str | PathLike) and out.exists() and out.samefile(source):
        raise InvalidInput(f"{out}: is the file of rows, which is not overwritten. Name another file.")
    parts = Parts.begin(out, asked.settings(size), force=force)
    done = RowsDone(out, str(asked.method))
    number = -1
    total = None if rows.about is None else -(-rows.about // size)
    for number, each in enumerate(progress(rows.blocks, "rows", total=total)):
        digest = digest_of(each)
        table = parts.read(number, digest, [STATUS, LOG_LIKELIHOOD])
        if table is None:
            table = asked.answered(each, done.rows)
            parts.write(number, digest, table)
        else:
            done.resumed += table.num_rows
        done.add(table[STATUS].to_numpy(zero_copy_only=False).astype(str), table[LOG_LIKELIHOOD].to_numpy())
    if number < 0:
        raise InvalidInput("there must be at least one row of evidence; got none.")
    parts.finish(number + 1)
    done.seconds = time.perf_counter() - start
    return done


def _block_size(network: BeliefNetwork, block: int | None) -> int:
    if block is None:
        return int(np.clip(NUMBERS // network.size, FEWEST_ROWS, MOST_ROWS))
    if not isinstance(block, int) or isinstance(block, bool) or block < 1:
        raise InvalidInput(f"block must be a whole number of rows from 1 on; got {block!r}.")
    return block
