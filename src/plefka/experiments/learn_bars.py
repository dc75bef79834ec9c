"""Learning bars from several starts at once: the experiment behind figure 10 of the paper."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import plefka as pf
from plefka.experiments.settings import Learning

SIDE = 4


def bars(seed: int, count: int = 2000) -> np.ndarray:
    """4 x 4 images of either horizontal or vertical bars, each of the four there with probability 1/2."""
    rng = np.random.default_rng(seed)
    images = np.repeat(rng.integers(0, 2, (count, SIDE, 1)), SIDE, axis=2)
    upright = rng.random(count) < 0.5
    images[upright] = images[upright].transpose(0, 2, 1)
    return images.reshape(count, SIDE**2).astype(float)


def learn(
    learning: Learning, activation: str, method: str, checkpoint: Path, advance: Callable[[], Any]
) -> dict[str, Any]:
    """A row for each start and epoch: the method's estimate and the exact ln P, both per pattern."""
    rows = bars(learning.seed, learning.patterns)
    start = pf.ensembles.to_learn(learning.layers, rows, learning.seed, activation, count=learning.starts)

    def after_epoch(_: dict) -> None:
        advance()

    fitted = pf.fit(
        start, rows, method, epochs=learning.epochs, checkpoint=checkpoint, callback=after_epoch, verbose=False
    )
    if fitted.stopped is pf.Stopped.INTERRUPTED:
        raise KeyboardInterrupt  # what was learned is in the checkpoint
    columns = _columns(fitted, activation, method, rows)
    checkpoint.unlink()
    return columns


def _columns(fitted: pf.Fitted, activation: str, method: str, rows: np.ndarray) -> dict[str, Any]:
    epochs, starts = fitted.history["objective"].shape
    count = epochs * starts
    return {
        "activation": np.full(count, activation),
        "method": np.full(count, method),
        "start": np.tile(np.arange(starts, dtype=np.int32), epochs),
        "epoch": np.repeat(fitted.history["epoch"].astype(np.int32), starts),
        "objective": fitted.history["objective"].ravel().astype(np.float32),
        "log_likelihood": fitted.history["log_likelihood"].ravel().astype(np.float32),
        "converged": fitted.history["converged"].ravel().astype(np.float32),
        "ceiling": np.full(count, ceiling(rows), np.float32),
    }


def ceiling(rows: np.ndarray) -> float:
    """No model gives these very rows more: minus the entropy of their frequencies, in nats per row."""
    counts = np.unique(rows, axis=0, return_counts=True)[1]
    fractions = counts / counts.sum()
    return float(fractions @ np.log(fractions))
