"""Starts of a noisy-or network with one hidden layer, from non-negative factorisations of its rows (Lee & Seung 2001).

Rows are about A B with A, B >= 0: how much each cause acts in each row, and what it acts on. Missing entries have no
part in it.
"""

import numpy as np

from plefka.tables.dataset import MISSING

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


def factor_start(values: np.ndarray, counts: np.ndarray, rank: int, rng: np.random.Generator) -> tuple:
    """Probabilities to start from: priors (rank,), links (columns, rank) and leaks (columns,)."""
    A, B = factorised(values, counts, rank, rng)
    strongest = max(min(3, B.shape[1]), int(STRONGEST * B.shape[1]))
    scale = np.sort(B, axis=1)[:, -strongest:].mean(axis=1) / STRONG + TINY
    acts = (A * scale > STRONG * 0.67) * counts[:, None]
    priors = np.clip(acts.sum(axis=0) / counts.sum(), RARE, OFTEN)
    return priors, np.clip(B / scale[:, None], LEAST, MOST).T, np.full(B.shape[1], LEAK)
