"""The score of learning beside the truth: 200 random fits of all kinds, small enough for ln P to be exact.

Sampling is forced where the sum would be taken: ln P by draws or annealing must not be above the exact one by more than
its error, and the epoch that early stopping keeps by it must be nearly the best one.
"""

import warnings
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np

import plefka as pf
from benchmarks.measure import Row, at_most
from plefka.learning import annealed, honest_score
from plefka.learning.patterns import Patterns

FITS, EPOCHS, ROWS = 200, 15, 120
COLUMNS, HIDDEN = 10, 5
KINDS = (
    ("noisy_or", "G12"), ("noisy_or", "em"), ("sigmoid", "SJJ"), ("sigmoid", "G12"), ("sigmoid", "reweighted"),
    ("visible machine", "pseudolikelihood"), ("visible machine", "G2"), ("visible machine", "exact"),
    ("restricted machine", "persistent[chains=50]"), ("restricted machine", "exact"),
)  # fmt: skip


def rows() -> Iterator[Row]:
    """Of each kind: the largest excess over the truth, and the largest loss by the epoch that was kept."""
    excess, loss = {}, {}
    for number in range(FITS):
        kind = KINDS[number % len(KINDS)]
        above, lost = one(*kind, number)
        excess.setdefault(kind, []).append(above)
        loss.setdefault(kind, []).append(lost)
    for kind in KINDS:
        details = {"mean": float(np.mean(excess[kind])), "lowest": float(np.min(excess[kind])), "fits": len(loss[kind])}
        name = f"{kind[0]} by {kind[1]}: sampled ln P per row above the exact one, at most"
        yield at_most(name, max(excess[kind]), "nats", 0.02, details)
        details = {"mean": float(np.mean(loss[kind])), "fits": len(loss[kind])}
        name = f"{kind[0]} by {kind[1]}: exact ln P per row lost by the epoch that is kept, at most"
        yield at_most(name, max(loss[kind]), "nats", 0.02, details)


def one(kind: str, method: str, seed: int) -> tuple[float, float]:
    """How far the score of the kept network is above ln P of its rows, and how far this is below that of the best."""
    rng = np.random.default_rng(seed)
    centres = rng.random((rng.integers(2, 6), COLUMNS)) ** rng.uniform(0.3, 3.0)
    data = (rng.random((2 * ROWS, COLUMNS)) < centres[rng.integers(0, len(centres), 2 * ROWS)]) * 1.0
    if kind == "visible machine":
        start: Any = pf.ensembles.machine_to_learn(0, data, seed=seed)
    elif kind == "restricted machine":
        start = pf.ensembles.machine_to_learn(HIDDEN, data, seed=seed)
    else:
        start = pf.ensembles.to_learn((HIDDEN,), data, seed=seed, activation=kind)
    sampled, truth = [], []
    with patch.object(honest_score, "_mean", _both(sampled, truth)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"epochs": EPOCHS, "seed": seed, "validation": data[ROWS:], "patience": EPOCHS, "verbose": False}
        fitted = pf.fit(start, data[:ROWS], method, **options)
    epochs = np.flatnonzero(np.isfinite(fitted.history["validation"]))
    exact = np.array(truth[: len(epochs)])
    kept = int(np.nanargmax(fitted.history["validation"][epochs]))
    return sampled[kept] - exact[kept], float(exact.max() - exact[kept])


def _both(sampled: list, truth: list) -> Any:
    """In place of the score of a run: the sampled one is handed on, and both are kept."""
    mean, sums, patterns_score = honest_score._mean, annealed.exact_sums, honest_score.score_patterns

    def scored(network: Any, rows: Patterns, seed: int) -> tuple[float, float]:
        truth.append(mean(network, rows, seed)[0])
        with (
            patch.object(annealed, "exact_sums", lambda machine, rows, _: sums(machine, rows, 0.0)),
            patch.object(honest_score, "score_patterns", lambda *a, **k: patterns_score(*a, **k, exact=False)),
        ):
            found = mean(network, rows, seed)
        sampled.append(found[0])
        return found

    return scored
