"""From pseudo-likelihood on to ln P itself: averages of data less those of the machine, in small steps.

The machine's averages are those of all states where these are few, else of persistent chains, whose hidden units are
drawn together and whose columns one after another. The result is the average over the later steps, which are random.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from plefka.learning.penalty_path import CompleteRows
from plefka.learning.semi_restricted import Climb, Penalties, SemiRestricted, moved
from plefka.networks.activations import numpy_sigmoid

CHAINS, ROWS = 1000, 4096  # of a step: chains, and rows whose hidden units are averaged
MOST_COLUMNS = 14  # of a machine all of whose states are summed over
RATE, AVERAGED, WARM = 7e-4, 0.2, 50  # of Adam; the part of the steps that is averaged, about; first, smaller steps


def seconds_of_a_step(columns: int, hidden: int, rows: int) -> float:
    """What a step takes, about, on one core of 2024."""
    states = 2**columns if columns <= MOST_COLUMNS else CHAINS
    products = 1e-10 * (states * columns * (columns + 2 * hidden) + 2 * min(rows, ROWS) * columns * hidden)
    numbers = 2e-8 * (states * (columns + hidden) + min(rows, ROWS) * hidden)
    return 3e-5 * columns + products + numbers + 3e-4


def polished(
    machine: SemiRestricted, columns: CompleteRows, penalties: Penalties, steps: int, seed: int, parts: int = 4
) -> Iterator[SemiRestricted]:
    """The averaged machine after every part of the steps; all parameters are around the means of the columns."""
    rng = np.random.default_rng([seed, 1])
    z, w = columns.V - columns.means, columns.shares
    free = AllStates(columns) if len(columns.means) <= MOST_COLUMNS else FreeChains(columns, rng)
    climb, average = Climb.begin(machine), machine
    pairs = (z.T * w) @ z
    for step in range(1, steps + 1):
        some = slice(None) if len(z) <= ROWS else rng.choice(len(z), ROWS, p=w / w.sum(dtype=float))
        share = w if len(z) <= ROWS else np.full(ROWS, 1 / ROWS, np.float32)
        data = averages(climb.machine, z[some], share, pairs)
        slope = SemiRestricted(*(d - f for d, f in zip(data, free.averages(climb.machine), strict=True)))
        if len(z) > ROWS:  # known without the noise of some rows
            slope = slope._replace(bias=slope.bias - data.bias)
        np.fill_diagonal(slope.pairs, 0)
        rate = np.float32(RATE * min(1.0, step / WARM, 1.4 * (1.02 - step / steps)))
        climb = moved(climb, slope, rate, penalties, np)
        kept = np.float32(1 / (1 + AVERAGED * step))
        average = SemiRestricted(*(a + kept * (new - a) for a, new in zip(average, climb.machine, strict=True)))
        if step % max(steps // parts, 1) == 0:
            yield average


def averages(machine: SemiRestricted, z: np.ndarray, w: np.ndarray, pairs: Any = None) -> SemiRestricted:
    """Of z z', z, z h and h over weighted states, which are what the parameters multiply."""
    h = numpy_sigmoid(z @ machine.weights + machine.hidden)
    weighted = z * w[:, None]
    return SemiRestricted(weighted.T @ z if pairs is None else pairs, w @ z, weighted.T @ h, w @ h)


class AllStates:
    """The machine's averages by the sum over its states."""

    def __init__(self, columns: CompleteRows):
        n = len(columns.means)
        self.z = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.float32) - columns.means

    def averages(self, machine: SemiRestricted) -> SemiRestricted:
        log_weight = machine.log_weight(self.z)
        w = np.exp(log_weight - log_weight.max())
        return averages(machine, self.z, w / w.sum())


class FreeChains:
    """The machine's averages by chains that go on from step to step; they begin at rows."""

    def __init__(self, columns: CompleteRows, rng: np.random.Generator):
        self.rng, self.means = rng, columns.means
        begin = rng.choice(len(columns.V), CHAINS, p=columns.shares / columns.shares.sum(dtype=float))
        self.V = columns.V[begin].T.copy()  # (columns, chains)
        self.share = np.full(CHAINS, 1 / CHAINS, np.float32)

    def averages(self, machine: SemiRestricted) -> SemiRestricted:
        self._sweep(machine.around(-self.means))
        return averages(machine, self.V.T - self.means, self.share)

    def _sweep(self, machine: SemiRestricted) -> None:
        """Hidden units, then every column in place: on where a random log-odds is below its own."""
        L, b, W, c = machine
        H = self.rng.random((len(c), CHAINS), np.float32) < numpy_sigmoid(W.T @ self.V + c[:, None])
        threshold = self.rng.logistic(size=self.V.shape).astype(np.float32) - b[:, None] - W @ H.astype(np.float32)
        for unit in range(len(b)):
            self.V[unit] = L[unit] @ self.V > threshold[unit]
