"""Starts of a noisy-or network with one hidden layer, from non-negative factorisations of its rows (Lee & Seung 2001).

Rows are about A B with A, B >= 0: how much each cause acts in each row, and what it acts on. Of many factorisations
those with the least squares are rarely without a cause, or with one twice; after some steps the best of them goes on.
"""

from typing import TYPE_CHECKING, cast

import numpy as np

from plefka.learning.maximisation import Maximisation
from plefka.learning.patterns import Patterns
from plefka.learning.row_states import states_of, warm
from plefka.learning.shared_states import Families
from plefka.tables.dataset import MISSING

if TYPE_CHECKING:
    from plefka.learning.steps import LearningRun

FACTOR_ROWS, UPDATES = 4000, 100  # of each factorisation
COMPARED, COMPARED_ROWS, SHORT = 3, 2000, 16  # the best factorisations, after some steps on some rows
THE_SAME, NEAR = 1e-4, 1e-2  # of the least squares: what is one factorisation, and what is compared with the best one
STRONGEST, STRONG = 0.1, 0.75  # share of a cause's links that are taken for strong ones, and how strong these are
LEAK, WEAKEST, STRONGEST_LINK = 0.05, 0.01, 0.95
RARE, OFTEN = 0.03, 0.6  # priors of causes
SMALLEST_FACTOR = 1e-9


def factorised(rows: np.ndarray, rank: int, rng: np.random.Generator) -> tuple[float, np.ndarray, np.ndarray]:
    """The least squares, A (rows, rank) and B (columns, rank), by updates of one cause after the other (HALS).

    Updates that multiply need ten times as many (Cichocki & Phan 2009).
    """
    A, B = rng.random((len(rows), rank)), rng.random((rows.shape[1], rank))
    A *= rows.mean() * 4 / rank
    for _ in range(UPDATES):
        for target, left, right in ((rows, A, B), (rows.T, B, A)):
            moments, squares = target @ right, right.T @ right
            for k in range(rank):
                step = (moments[:, k] - left @ squares[:, k]) / (squares[k, k] + SMALLEST_FACTOR)
                left[:, k] = np.maximum(left[:, k] + step, 0.0)
    return float(((rows - A @ B.T) ** 2).sum()), A, B


class FactorStarts:
    """Where a run begins; some rows decide."""

    def __init__(self, families: Families, maximisation: Maximisation, run: "LearningRun", seed: int):
        self.families, self.maximisation, self.run, self.seed = families, maximisation, run, seed
        self.rank = len(families.parents)

    def applies(self, values: np.ndarray) -> bool:
        """Whether there is one hidden layer, rows observe all below it and nothing of it, and all numbers are free."""
        layers, moves, seen = self.run.network.layers or (), self.maximisation.moves, (values != MISSING).any(axis=0)
        free = moves[:, 0].all() and moves[:, 1:].sum() == self.run.network.num_edges
        return bool(
            len(layers) == 2
            and (seen == (np.arange(len(seen)) >= layers[0])).all()
            and free
            and not self.maximisation.groups.any()
        )

    def best(self, own: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The network's own numbers, or those of a factorisation where some steps make it better."""
        counts = cast(Patterns, self.run.data).counts
        if not self.run.method.starts or not self.applies(values):
            return own
        order = np.random.default_rng([self.seed, 0]).permutation(len(values))
        some, few = order[:FACTOR_ROWS], order[:COMPARED_ROWS]
        starts = self._factorisations(values[some, self.rank :], counts[some])
        tried = [self._after(start, SHORT, values[few], counts[few]) for start in starts]
        return max([self._after(own, 1, values[few], counts[few]), *tried], key=lambda each: each[0])[1]

    def _factorisations(self, columns: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
        """The numbers of the best factorisations of these rows, with the means of columns for what is missing."""
        weights = np.sqrt(counts)[:, None]
        seen = (columns != MISSING) * counts[:, None]
        means = (seen * columns).sum(axis=0) / np.maximum(seen.sum(axis=0), SMALLEST_FACTOR)
        rows = np.where(columns == MISSING, means, columns) * weights
        seeds = ([self.seed, 0, number] for number in range(self.run.method.starts))
        found = sorted((factorised(rows, self.rank, np.random.default_rng(z)) for z in seeds), key=lambda each: each[0])
        squares = np.array([each[0] for each in found])
        best = (np.diff(squares, prepend=-np.inf) > THE_SAME * squares) & (squares <= (1 + NEAR) * squares[0])
        return [self._numbers(found[k][1] / weights, found[k][2], counts) for k in np.flatnonzero(best)[:COMPARED]]

    def _numbers(self, A: np.ndarray, B: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The numbers of a factorisation."""
        rank, strongest = self.rank, max(min(3, len(B)), int(STRONGEST * len(B)))
        scale = np.sort(B, axis=0)[-strongest:].mean(axis=0) / STRONG + SMALLEST_FACTOR
        p = np.zeros_like(self.maximisation.on)
        p[:rank, 0] = np.clip(np.average(A * scale > STRONG * 0.67, axis=0, weights=counts), RARE, OFTEN)
        p[rank:, 0], p[rank:, 1:] = LEAK, np.clip(B / scale, WEAKEST, STRONGEST_LINK)
        return -np.log1p(-p)

    def _after(self, fields: np.ndarray, steps: int, values: np.ndarray, counts: np.ndarray) -> tuple:
        """ln P of some rows before the last of these steps, and the numbers after them."""
        rng, every, value = np.random.default_rng(self.seed), np.arange(len(counts)), -np.inf
        states = states_of(self.families, values, self.run.method.states)
        warm(states, fields, every, counts, rng)
        scale = self.run.data.total / counts.sum()
        for _ in range(steps):
            share, acted, log_p = states.step(fields, every, counts, rng)
            value = float(log_p @ counts)
            fields = self.maximisation.of(fields, share * scale, acted * scale)
        return value, fields
