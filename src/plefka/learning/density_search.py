"""search(rows, held_out, budget=60): tries families of networks briefly on held rows, and trains the best in time left.

Times are predicted from sizes and never measured, so that the same call gives the same network.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plefka.ensembles import machine_around
from plefka.learning.density_trials import DensityTrials
from plefka.learning.fitted import Fitted, Stopped
from plefka.learning.held_scores import HeldScore
from plefka.learning.patterns import patterns_of
from plefka.progress import interruptible, progress


class Found(NamedTuple):
    """What `search` found: a network whose first units are the columns, what it scores on held rows, and how.

    `tried`: a dictionary for each trial, with family, settings, held_log_likelihood, standard_error, kind (exact or an
    estimate) and seconds.
    """

    fitted: Fitted
    score: HeldScore
    tried: list[dict]
    seconds: float


def search(
    rows: Any, held_out: Any, weights: Any = None, held_out_weights: Any = None, *, budget: float = 60.0,
    seed: int = 0, names: Sequence[str] | None = None, verbose: bool | None = None,
) -> Found:  # fmt: skip
    """The network that gives held rows the largest ln P, of the families that `budget` seconds suffice to try.

    `rows`: (rows, columns) of 0, 1 and nan; `held_out`: others to choose by. The seconds are predicted ones, of one
    core.

    >>> from plefka.learning.density_search import search
    >>> found = search([[0, 0, 1], [1, 1, 0], [1, 1, 1]] * 8, [[0, 0, 1], [1, 1, 1]], budget=2, verbose=False)
    >>> found.fitted.network.size >= 3, found.score.value < 0
    (True, True)
    """
    table, held = np.asarray(rows, float), np.asarray(held_out, float)
    machine, units = machine_around(0, np.full(table.shape[1], 0.5)), np.arange(table.shape[1])
    data = patterns_of(machine, table, units, weights)
    run = DensityTrials(data, patterns_of(machine, held, units, held_out_weights, "held_out"), budget, seed, names)
    stopped = Stopped.EPOCHS
    try:
        with interruptible() as check:
            for _ in progress(run.stages(), run.label, verbose):
                check()
    except KeyboardInterrupt:
        stopped = Stopped.INTERRUPTED
    return Found(run.fitted(stopped), run.best.score, run.tried, run.seconds)
