"""Starts of a noisy-or network with one hidden layer, from how pairs of findings depend on each other.

ln P(both off) / P(one off) P(other off) is a sum over causes of ln(1 + u_i u_j), where a cause with prior q and links p
has u_i = sqrt(q (1 - q)) p_i / (1 - q p_i). It is about U U^T with U >= 0, which is factorised. Pairs are counted in
the rows that show both, so that missing entries add noise but no bias. Of many factorisations those with the least
squares are rarely without a cause, or with one twice; after some steps the best of them goes on.
"""

from typing import TYPE_CHECKING, cast

import numpy as np
from scipy.optimize import minimize

from plefka.learning.maximisation import Maximisation
from plefka.learning.patterns import Patterns
from plefka.learning.row_states import states_of, warm
from plefka.learning.shared_states import Families
from plefka.tables.dataset import MISSING

if TYPE_CHECKING:
    from plefka.learning.steps import LearningRun

COUNTED_ROWS = 50_000  # of pairs
UPDATES, CHANGE = 1000, 1e-7  # of each factorisation, and where it ends: a relative change of its squares
ADDED = 2.0  # cases of findings that do not depend on each other, so that no logarithm is of 0
COMPARED, COMPARED_ROWS, SHORT = 3, 2000, 16  # the best factorisations, after some steps on some rows
THE_SAME, NEAR = 1e-3, 3e-2  # of the least squares: what is one factorisation, and what is compared with the best one
STRONGEST, STRONG = 0.1, 0.75  # share of a cause's links that are taken for strong ones, and how strong these are
LEAK, WEAKEST, STRONGEST_LINK = 0.05, 0.01, 0.95
RARE, OFTEN = 0.03, 0.6  # priors of causes
SMALLEST = 1e-9


def dependence(columns: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """ln P(both off) / P(one off) P(other off) of all pairs of columns, and about one over its variance."""
    known, off = (columns != MISSING) * 1.0, (columns == 0) * 1.0
    weighted = known * counts[:, None]
    seen, both, single = weighted.T @ known, (off * counts[:, None]).T @ off, off.T @ weighted
    alone = (np.diag(single) + ADDED / 2) / (np.diag(seen) + ADDED)
    one = (single + ADDED * alone[:, None]) / (seen + ADDED)  # is off, in the rows that show the other
    independent = one * one.T
    certain = seen * independent / ((1 - one) * (1 - one.T))
    np.fill_diagonal(certain, 0.0)
    return np.log((both + ADDED * independent) / (seen + ADDED) / independent), certain


def factorised(target: np.ndarray, weights: np.ndarray, rank: int, rng: np.random.Generator) -> tuple:
    """The least squares, as a share of those of the target, and U >= 0 (columns, rank)."""
    shape, total = (len(target), rank), (weights * target**2).sum() + SMALLEST

    def squares(flat: np.ndarray) -> tuple[float, np.ndarray]:
        U = flat.reshape(shape)
        error = U @ U.T - target
        return np.vdot(weights * error, error) / total, 4 / total * ((weights * error) @ U).ravel()

    mean = max(np.average(target, weights=weights + SMALLEST), SMALLEST)
    begin = rng.random(shape).ravel() * 2 * np.sqrt(mean / rank)
    bounds, options = [(0.0, None)] * begin.size, {"maxiter": UPDATES, "ftol": CHANGE}
    found = minimize(squares, begin, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(found.fun), found.x.reshape(shape)


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
        some, few = order[:COUNTED_ROWS], order[:COMPARED_ROWS]
        starts = self._factorisations(values[some, self.rank :], counts[some])
        tried = [self._after(start, SHORT, values[few], counts[few]) for start in starts]
        return max([self._after(own, 1, values[few], counts[few]), *tried], key=lambda each: each[0])[1]

    def _factorisations(self, columns: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
        """The numbers of the best factorisations."""
        target, weights = dependence(columns, counts)
        seeds = ([self.seed, 0, number] for number in range(self.run.method.starts))
        found = [factorised(target, weights, self.rank, np.random.default_rng(z)) for z in seeds]
        found.sort(key=lambda each: each[0])
        squares = np.array([each[0] for each in found])
        best = (np.diff(squares, prepend=-np.inf) > THE_SAME * squares) & (squares <= (1 + NEAR) * squares[0])
        return [self._numbers(found[k][1]) for k in np.flatnonzero(best)[:COMPARED]]

    def _numbers(self, U: np.ndarray) -> np.ndarray:
        """The numbers of a factorisation: pairs do not tell priors from links, of which the strongest are given."""
        strongest = max(min(3, len(U)), int(STRONGEST * len(U)))
        u = np.sort(U, axis=0)[-strongest:].mean(axis=0)
        square, q = u**2, STRONG
        prior = (2 * square + q - np.sqrt(np.maximum(q**2 - 4 * square * (1 - q), 0.0))) / (2 * q * (square + 1))
        prior = np.clip(prior, RARE, OFTEN)
        p = np.zeros_like(self.maximisation.on)
        p[: self.rank, 0], p[self.rank :, 0] = prior, LEAK
        p[self.rank :, 1:] = np.clip(U / (np.sqrt(prior * (1 - prior)) + prior * U), WEAKEST, STRONGEST_LINK)
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
