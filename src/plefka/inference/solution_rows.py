"""One row of a batch, as if it had been asked for alone."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plefka.errors import InvalidInput

if TYPE_CHECKING:
    from plefka.inference.solution import Solution

BY_ROW = ("means", "log_partition", "status", "num_steps", "residual", "num_cycles", "observed", "checked",
          "standard_error", "means_error", "predicted")  # fmt: skip


def row_of_batch(solution: "Solution", number: int) -> "Solution":
    """A single row is itself; of a batch, all that it says of one row."""
    if not -solution.num_rows <= number < solution.num_rows:
        raise InvalidInput(f"row must be a number from 0 to {solution.num_rows - 1}; got {number}.")
    if not solution.is_batch:
        return solution
    row = int(number) % solution.num_rows
    fields = {name: _at(getattr(solution, name), row) for name in BY_ROW}
    codes = type(solution.codes)(*(each[row] for each in solution.codes))
    network, evidence = solution.network, solution.evidence
    return replace(
        solution, **fields, codes=codes, methods=solution.methods[row : row + 1],
        proposals=tuple(each.take(np.array([row])) for each in solution.proposals),
        network=network if network is None or network.stack is None else network.take(row),
        evidence=None if evidence is None else evidence.take([row])._replace(batched=False),
    )  # fmt: skip


def _at(field: Any, row: int) -> Any:
    if field is None:
        return None
    found = field[row]
    return found.item() if isinstance(found, np.generic) else found
