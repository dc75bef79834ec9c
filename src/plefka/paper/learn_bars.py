"""Learning bars from several starts at once: the experiment behind figure 10 of the paper."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import entropy

import plefka as pf
from plefka.learning.parameters import adam
from plefka.mean_field.schemes import MeanField
from plefka.paper.experiment_settings import Learning

SIDE = 4


def bars(seed: int, count: int = 2000) -> np.ndarray:
    """4 x 4 images of either horizontal or vertical bars, each of the four there with probability 1/2."""
    rng = np.random.default_rng(seed)
    images = np.repeat(rng.integers(0, 2, (count, SIDE, 1)), SIDE, axis=2)
    upright = rng.random(count) < 0.5
    images[upright] = images[upright].transpose(0, 2, 1)
    return images.reshape(count, SIDE**2).astype(float)


class LearnedScheme(NamedTuple):
    """Who learns: units of a kind, by a method, with Adam's steps of a size."""

    activation: str
    method: str
    step_size: float

    @property
    def name(self) -> str:
        return f"{self.activation}-{self.method}-{self.step_size:g}"


def learn(learning: Learning, scheme: LearnedScheme, checkpoint: Path, advance: Callable[[], Any]) -> dict[str, Any]:
    """A row for each start and epoch: the method's estimate and the exact ln P, both per pattern."""
    rows = bars(learning.seed, learning.patterns)
    start = pf.ensembles.to_learn(learning.layers, rows, learning.seed, scheme.activation, count=learning.starts)
    method = pf.parse_method(scheme.method)
    own: dict[str, Any] = {"seed": learning.seed}  # of what the paper does not have: steps and batches by default
    if isinstance(method, MeanField):
        method, own = replace(method, max_steps=learning.max_steps), {"optimizer": adam(scheme.step_size)}

    def show(_entry: dict) -> None:
        advance()  # whose result must not stop the run

    fitted = pf.fit(
        start, rows, method, epochs=learning.epochs, **own, checkpoint=checkpoint,
        callback=show, verbose=False,
    )  # fmt: skip
    if fitted.stopped is pf.Stopped.INTERRUPTED:
        raise KeyboardInterrupt  # what was learned is in the checkpoint
    columns = _columns(fitted, learning, scheme, ceiling(rows))
    checkpoint.unlink()
    return columns


def _columns(fitted: pf.Fitted, learning: Learning, scheme: LearnedScheme, ceiling: float) -> dict[str, Any]:
    """All epochs of all starts, also where every start had failed before the last one and stayed as it was."""
    epochs, starts = learning.epochs, learning.starts
    count, last = epochs * starts, fitted.epochs - 1
    reached = np.minimum(np.arange(epochs), last)
    followed = ("objective", "log_likelihood", "solved", "converged")
    return {
        "activation": np.full(count, scheme.activation),
        "method": np.full(count, scheme.method),
        "step_size": np.full(count, scheme.step_size),
        "start": np.tile(np.arange(starts, dtype=np.int32), epochs),
        "epoch": np.repeat(np.arange(1, epochs + 1, dtype=np.int32), starts),
        **{name: fitted.history[name][reached].ravel().astype(np.float32) for name in followed},
        "failed": np.tile(np.asarray(fitted.failed, bool), epochs),
        "ceiling": np.full(count, ceiling, np.float32),
    }


def ceiling(rows: np.ndarray) -> float:
    """No model gives these very rows more: minus the entropy of their frequencies, in nats per row."""
    return -float(entropy(np.unique(rows, axis=0, return_counts=True)[1]))
