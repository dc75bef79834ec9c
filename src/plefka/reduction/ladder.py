"""The sizes that are ever compiled: a short ladder of units and rows, and a short list of tables of parents.

What is left of a network is filled up to the next of these sizes, so that networks and evidence of similar size share a
program. A question that is computed for many rows at once is filled up on a finer ladder, as all of it costs time, and
layers that would have many weights between them are filled up by an eighth at most.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import chain, pairwise

COARSE = tuple(12 * 4**k for k in range(12))  # 12, 48, 192, ...
COARSEST = tuple(32 * 8**k for k in range(8))  # 32, 256, 2048, ...
FINE = tuple(sorted({*range(1, 5), *chain.from_iterable((2**k, 3 * 2 ** (k - 1)) for k in range(2, 24))}))
MANY_ROWS = 64  # from so many rows on the finer ladder is worth its programs
MANY_WEIGHTS = 2**14  # from so many on an answer may take longer than the program of a size that few others share
# Units, children and parents of a child: what small sparse networks are filled up to.
TABLES = (
    (48, 12, 12), (192, 48, 12), (192, 48, 48), (1024, 32, 128), (768, 384, 16), (3072, 192, 96), (3072, 1536, 16),
    (3072, 192, 384),
)  # fmt: skip
# The same where the states of the parents are summed over, so that each further parent doubles the cost.
SUMMED_TABLES = (
    (192, 96, 5), (768, 512, 5), (3072, 2048, 5), (192, 96, 8), (768, 512, 8), (3072, 2048, 8), (48, 12, 12),
    (192, 96, 12), (48, 12, 16),
)  # fmt: skip
ROWS = (1, 16, 128, 1000)  # no power of two at the end: rows of one unit would share few sets of the cache


def rung(count: int, rows: int = 1, *, any_parents: bool = False) -> int:
    """The size that so many units of a layer are filled up to.

    `any_parents`: whether it makes no difference to averages how many parents a unit seems to have.
    """
    ladder = FINE if rows >= MANY_ROWS else COARSEST if any_parents else (4, *COARSE)
    return ladder[bisect_left(ladder, count)]


def layer_sizes(counts: Sequence[int], rungs: tuple[int, ...]) -> tuple[int, ...]:
    """What layers of so many units are filled up to: these rungs, or where that makes many weights, an eighth more."""
    if num_weights(rungs) <= MANY_WEIGHTS:
        return rungs
    return tuple(min(size, _an_eighth_more(count)) for count, size in zip(counts, rungs, strict=True))


def num_weights(sizes: Sequence[int]) -> int:
    """Between layers of these sizes."""
    return sum(above * below for above, below in pairwise(sizes))


def _an_eighth_more(count: int) -> int:
    """At most: the next multiple of an eighth of the power of two below."""
    step = max(1, 2 ** (max(count - 1, 1).bit_length() - 1) // 8)
    return -(-max(count, 1) // step) * step


def table_for(units: int, children: int, parents: int, *, summed: bool = False) -> tuple[int, int, int] | None:
    """The smallest table that holds a network, which leaves one unit over; None where none of them does.

    `summed`: whether the states of the parents are summed over.
    """
    fit = [t for t in (SUMMED_TABLES if summed else TABLES) if units < t[0] and children <= t[1] and parents <= t[2]]
    return min(fit, key=lambda t: t[1] * (2 ** t[2] if summed else t[2]), default=None)


def rows_for(count: int, most: int | None = None) -> int:
    """How many rows are computed at once: the next of these sizes, or a smaller one where more than half were fill."""
    sizes = [size for size in ROWS if most is None or size <= most] or [1]
    size = next((size for size in sizes if size >= count), sizes[-1])
    return size if size <= 2 * count else max(smaller for smaller in sizes if smaller < size)
