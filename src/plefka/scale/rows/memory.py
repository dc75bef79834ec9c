"""How many rows are solved at once, so that memory stays below a limit."""

import re
from typing import TYPE_CHECKING

import numpy as np

from plefka.errors import InvalidInput

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

UNITS = {"": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
DEFAULT = 2e9
PROCESS = 6e8  # bytes of a process with JAX and its programs
PER_NUMBER = 100  # bytes for each unit of a row: the states that are read, the means, and what becomes of them
MOST_ROWS, FEWEST_ROWS = 8192, 64


def as_bytes(memory: str | float) -> float:
    """From 2e9, "2GB" or "1.5 GiB"."""
    found = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([kmgt]?i?b)?\s*", str(memory).lower())
    try:
        number = float(found[1]) * UNITS[found[2] or ""] if found else 0.0
    except (ValueError, KeyError):
        number = 0.0
    if isinstance(memory, bool) or not 0 < number < float("inf"):
        raise InvalidInput(f"memory must be a number of bytes, or a text such as '2GB' or '500 MiB'; got {memory!r}.")
    return number


def block_size(
    network: "BeliefNetwork", block: int | None, memory: str | float | None, before: int | None = None
) -> int:
    """Rows of a block: as given, or those of the run that began this output, or as many as a process has room for.

    It does not depend on how many processes there are, as the last bits of an answer may depend on it.
    """
    if block is not None:
        if not isinstance(block, int) or isinstance(block, bool) or block < 1:
            raise InvalidInput(f"block must be a whole number of rows from 1 on; got {block!r}.")
        return block
    room = as_bytes(DEFAULT if memory is None else memory) - PROCESS
    rows = int(room / (PER_NUMBER * network.size))
    if memory is not None and rows < 1:
        least = (PROCESS + PER_NUMBER * network.size) / 1e9
        raise InvalidInput(
            f"memory must be {least:.1f} GB or more for each process and a network of {network.size:,} units; "
            f"got {memory}."
        )
    if isinstance(before, int) and before >= 1:
        return before
    return int(np.clip(rows, 1 if memory is not None else FEWEST_ROWS, MOST_ROWS))
