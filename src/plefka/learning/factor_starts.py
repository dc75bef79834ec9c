"""Starts of a noisy-or network with one hidden layer, from non-negative factorisations of its rows (Lee & Seung 2001).

Rows are about A B with A, B >= 0: how much each cause acts in each row, and what it acts on. Missing entries have no
part in it. After some steps of each start the best one goes on. Where one of its causes stands for two, and two for
one, the first is split and the others become one, if that is better.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plefka.learning.maximisation import Maximisation
from plefka.learning.row_states import Families, states_of, warm
from plefka.tables.dataset import MISSING

if TYPE_CHECKING:
    from plefka.learning.steps import LearningRun

START_ROWS, SHORT = 2000, 16  # rows that starts are compared on, and steps of each
SPLITS = 2  # causes at most that are tried to be split, those first whose findings disagree most
UPDATES = 150
STRONGEST, STRONG = 0.1, 0.75  # share of a cause's links that are taken for strong ones, and how strong these are
LEAK, LEAST, MOST = 0.05, 0.01, 0.95
RARE, OFTEN = 0.03, 0.6  # priors of causes
TINY = 1e-9


def factorised(values: np.ndarray, counts: np.ndarray, rank: int, rng: np.random.Generator) -> tuple:
    """A (rows, rank) and B (rank, columns) of the least squares of what is observed, by multiplicative updates."""
    seen = (values != MISSING) * counts[:, None]
    target = (values == 1) * counts[:, None]
    A, B = rng.random((len(values), rank)) + 0.1, rng.random((rank, values.shape[1])) + 0.1
    B *= target.sum() / (seen.sum() * 0.3 * rank)
    for _ in range(UPDATES):
        A *= (target @ B.T) / ((seen * (A @ B)) @ B.T + TINY)
        B *= (A.T @ target) / (A.T @ (seen * (A @ B)) + TINY)
    return A, B


class Tried(NamedTuple):
    """The numbers after some steps, ln P of the rows before the last of them, and the states of the rows."""

    value: float
    fields: np.ndarray
    states: Any


class Starts:
    """Where a run begins; some rows decide."""

    def __init__(self, families: Families, maximisation: Maximisation, run: "LearningRun", seed: int):
        self.families, self.maximisation, self.run, self.seed = families, maximisation, run, seed

    @property
    def applies(self) -> bool:
        """Whether there is one hidden layer, rows observe all below it, and all numbers are free."""
        layers, moves = self.run.network.layers or (), self.maximisation.moves
        edges = moves[:, 1:].sum() == self.run.network.num_edges
        free = moves[:, 0].all() and edges and not self.maximisation.groups.any()
        return (
            len(layers) == 2
            and bool(free)
            and np.array_equal(np.sort(self.run.data.units), np.arange(*np.cumsum(layers)))
        )

    def best(self, own: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The network's own numbers, or those of a factorisation where some steps make it better."""
        method, data = self.run.method, self.run.data
        if not method.starts or not self.applies:
            return own
        some = np.random.default_rng([self.seed, 0]).permutation(len(data))[:START_ROWS]
        self.values, self.counts = values[some], data.counts[some]
        found = [self._tried(self._factorised([self.seed, 0, number]), SHORT) for number in range(method.starts)]
        best = max(found, key=lambda each: each.value)
        for number in range(SPLITS if len(self.families.parents) > 2 else 0):
            other = self._tried(self._split(best, number), SHORT)
            best = max(best, other, key=lambda each: each.value)
        return max(self._tried(own, 1), best, key=lambda each: each.value).fields

    def _factorised(self, seed: list[int]) -> np.ndarray:
        """The numbers of a factorisation."""
        rank = len(self.families.parents)
        columns = self.values[:, rank:]
        A, B = factorised(columns, self.counts, rank, np.random.default_rng(seed))
        strongest = max(min(3, B.shape[1]), int(STRONGEST * B.shape[1]))
        scale = np.sort(B, axis=1)[:, -strongest:].mean(axis=1) / STRONG + TINY
        acts = (A * scale > STRONG * 0.67) * self.counts[:, None]
        p = np.zeros_like(self.maximisation.on)
        p[:rank, 0], p[rank:, 0] = np.clip(acts.sum(axis=0) / self.counts.sum(), RARE, OFTEN), LEAK
        p[rank:, 1:] = np.clip(B / scale[:, None], LEAST, MOST).T
        return -np.log1p(-p)

    def _tried(self, fields: np.ndarray, steps: int) -> Tried:
        """Some steps from these numbers."""
        rng, every = np.random.default_rng(self.seed), np.arange(len(self.counts))
        states, value = states_of(self.families, self.values, self.run.method.states), -np.inf
        warm(states, fields, every, self.counts, rng)
        scale = self.run.data.total / self.counts.sum()
        for _ in range(steps):
            share, acted, log_p = states.step(fields, every, self.counts, rng)
            value = float(log_p @ self.counts)
            fields = self.maximisation.of(fields, share * scale, acted * scale)
        return Tried(value, fields, states)

    def _split(self, found: Tried, number: int) -> np.ndarray:
        """With the two most alike causes as one, and another one as two."""
        rank, fields = len(self.families.parents), found.fields.copy()
        p = -np.expm1(-fields)
        W, priors = p[rank:, 1:], p[:rank, 0]
        with np.errstate(invalid="ignore", divide="ignore"):
            alike = np.nan_to_num(np.corrcoef(W.T)) - 2 * np.eye(rank)
        kept, spare = sorted(np.unravel_index(alike.argmax(), alike.shape), key=lambda k: -priors[k] * W[:, k].sum())
        directions = [self._disagreement(found, k) for k in range(rank)]
        order = [k for k in np.argsort([-size for size, _ in directions]) if k not in (kept, spare)]
        split = order[number % len(order)]
        sign = directions[split][1]
        W[:, kept] = np.maximum(W[:, kept], W[:, spare])
        priors[kept] = min(priors[kept] + priors[spare], OFTEN)
        W[:, spare], W[:, split] = np.where(sign > 0, W[:, split], LEAST), np.where(sign > 0, LEAST, W[:, split])
        priors[spare] = priors[split]
        return -np.log1p(-np.minimum(p, 1 - 1e-9))

    def _disagreement(self, found: Tried, cause: int) -> tuple[float, np.ndarray]:
        """How much findings of a cause vary against each other where it is on, and along which direction."""
        S, rank = found.states.most_probable(found.fields, self.counts), len(self.families.parents)
        some = S[:, cause] > 0
        if not some.any():
            return 0.0, np.ones(len(found.fields) - rank)
        columns = self.values[some, rank:]
        p_on = -np.expm1(-np.concatenate([np.ones((some.sum(), 1)), S[some]], axis=1) @ found.fields[rank:].T)
        residual = np.where(columns >= 0, (columns == 1) - p_on, 0.0) * -np.expm1(-found.fields[rank:, 1 + cause])
        size, vectors = np.linalg.eigh(residual.T @ (residual * self.counts[some, None]))
        return float(size[-1]), vectors[:, -1]
