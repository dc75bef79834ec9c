"""ln P itself: averages of the data less those of the machine, in small steps.

The machine's averages are those of persistent chains, whose hidden units are drawn together and whose columns one
after another. Steps fall to nothing, and the result is the average over the later ones, as they are random.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from plefka.learning.penalty_path import CompleteRows
from plefka.learning.semi_restricted import Climb, Penalties, SemiRestricted, moved
from plefka.sampling.free_states import chances

STATES, ROWS = 1000, 4096  # of a step: chains, and rows whose hidden units are averaged
RATE, AVERAGED, WARM = 7e-4, 0.2, 50  # of Adam; the part of the steps that is averaged, about; first, smaller steps


def seconds_of_a_step(columns: int, hidden: int, rows: int) -> float:
    """What a step takes, about, on one core of 2024."""
    products = 1e-10 * (STATES * columns * (columns + 2 * hidden) + 2 * min(rows, ROWS) * columns * hidden)
    return 1.5e-5 * columns + 0.7 * products + 7e-9 * (STATES * (columns + hidden) + min(rows, ROWS) * hidden) + 3e-4


def polished(
    machine: SemiRestricted, columns: CompleteRows, penalties: Penalties, steps: int, seed: int, parts: int = 4
) -> Iterator[SemiRestricted]:
    """The averaged machine after every part of the steps; all parameters are around the means of the columns."""
    rng = np.random.default_rng([seed, 1])
    z, w = columns.V - columns.means, columns.shares
    free, climb, average, pairs = FreeChains(columns, rng), Climb.begin(machine), machine, (z.T * w) @ z
    for step in range(1, steps + 1):
        some = slice(None) if len(z) <= ROWS else columns.drawn(rng, ROWS)
        data = averages(climb.machine, z[some], w if len(z) <= ROWS else np.full(ROWS, 1 / ROWS, np.float32), pairs)
        slope = SemiRestricted(*(d - f for d, f in zip(data, free.averages(climb.machine), strict=True)))
        if len(z) > ROWS:  # known without the noise of some rows
            slope = slope._replace(bias=slope.bias - data.bias)
        np.fill_diagonal(slope.pairs, 0)
        now = np.float32(RATE * min(1.0, step / WARM, 1.4 * (1.02 - step / steps)))
        climb = moved(climb, slope, now, penalties, np)
        kept = np.float32(1 / (1 + AVERAGED * step))
        average = SemiRestricted(*(a + kept * (new - a) for a, new in zip(average, climb.machine, strict=True)))
        if step % max(steps // parts, 1) == 0:
            yield average


def averages(machine: SemiRestricted, z: np.ndarray, w: np.ndarray, pairs: Any = None) -> SemiRestricted:
    """Of z z', z, z h and h over weighted states, which are what the parameters multiply."""
    h = chances(z @ machine.weights + machine.hidden)
    weighted = z * w[:, None]
    return SemiRestricted(weighted.T @ z if pairs is None else pairs, w @ z, weighted.T @ h, w @ h)


class FreeChains:
    """The machine's averages by chains that go on from step to step; they begin at rows."""

    def __init__(self, columns: CompleteRows, rng: np.random.Generator):
        self.rng, self.means = rng, columns.means
        self.V = columns.V[columns.drawn(rng, STATES)].T.copy()  # (columns, chains)
        self.share = np.full(STATES, 1 / STATES, np.float32)

    def averages(self, machine: SemiRestricted) -> SemiRestricted:
        """After hidden units, every column is drawn in place: on where a random log-odds is below its own."""
        L, b, W, c = machine.around(-self.means)
        H = self.rng.random((len(c), STATES), np.float32) < chances(W.T @ self.V + c[:, None])
        logistic = -np.log(1 / (self.rng.random(self.V.shape, np.float32) * 0.999999 + 5e-7) - 1)
        threshold = logistic - b[:, None] - W @ H.astype(np.float32)
        for unit in range(len(b)):
            self.V[unit] = L[unit] @ self.V > threshold[unit]
        return averages(machine, self.V.T - self.means, self.share)
