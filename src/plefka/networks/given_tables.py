"""The tables of a file, beside the compact units that they were recognised as.

Numbers of a file are rounded, and a compact unit is off by as much. Exact inference takes the tables.
"""

from dataclasses import dataclass

from jaxtyping import Float
from numpy import ndarray


@dataclass(frozen=True, eq=False)
class GivenTables:
    """Of every unit, in the order of the network."""

    parents: tuple[tuple[int, ...], ...]
    on: tuple[Float[ndarray, "..."], ...]  # P(on), with an axis for each parent
