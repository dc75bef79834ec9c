"""search(rows, budget=60): tries families of networks briefly on held rows, and trains the best in the time left.

Times are predicted from sizes and never measured, so that the same call gives the same network.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plefka.ensembles import machine_around
from plefka.errors import InvalidInput
from plefka.learning.density_trials import DensityTrials
from plefka.learning.fitted import Fitted, Stopped
from plefka.learning.patterns import Patterns, patterns_of
from plefka.methods.posterior import Accuracy
from plefka.progress import interruptible, progress
from plefka.runtime.seeds import as_seed

HELD_SHARE = 0.15  # of the rows, where none are given


@dataclass(frozen=True, eq=False)
class Found:
    """What `search` found: `network`, whose first units are the columns, and how.

    `tried`: a dictionary for each trial, with family, settings, held_log_likelihood, standard_error, kind (exact or an
    estimate) and seconds.
    """

    network: Any
    tried: list[dict]
    held_log_likelihood: float
    standard_error: float
    kind: Accuracy
    seconds: float
    stopped: Stopped
    history: dict[str, np.ndarray]
    fitted: Fitted


def search(
    rows: Any, weights: Any = None, *, budget: float = 60.0, seed: int = 0, held_out: Any = None,
    held_out_weights: Any = None, names: Sequence[str] | None = None, verbose: bool | None = None,
) -> Found:  # fmt: skip
    """The network that gives held rows the largest ln P, of the families that `budget` seconds suffice to try.

    `rows`: (rows, columns) of 0, 1 and nan; `held_out`: others to choose by, with `held_out_weights`, or None for a
    part of them. The seconds are predicted ones, of one core.

    >>> from plefka.learning.density_search import search
    >>> found = search([[0, 0, 1], [1, 1, 0], [1, 1, 1]] * 10, budget=2, verbose=False)
    >>> found.network.size >= 3, found.held_log_likelihood < 0
    (True, True)
    """
    if not 0 < budget < np.inf:
        raise InvalidInput(f"budget must be a number of seconds above 0; got {budget!r}.")
    run = DensityTrials(
        *_split(rows, weights, held_out, held_out_weights, as_seed(seed)), float(budget), as_seed(seed), names
    )
    stopped = Stopped.EPOCHS
    try:
        with interruptible() as check:
            for _ in progress(run.stages(), run.label, verbose):
                check()
    except KeyboardInterrupt:
        stopped = Stopped.INTERRUPTED
    fitted = run.fitted(stopped)
    return Found(fitted.network, run.tried, *run.best.score, run.seconds, stopped, fitted.history, fitted)


def _split(rows: Any, weights: Any, held_out: Any, held_out_weights: Any, seed: int) -> tuple[Patterns, Patterns]:
    """Distinct rows to learn from, and others to choose by."""
    table = np.asarray(rows, float)
    if table.ndim != 2 or len(table) < 2 or not table.shape[1]:
        raise InvalidInput(f"rows must be a table of 2 rows or more, with a column for each unit; got {table.shape}.")
    weight = np.ones(len(table)) if weights is None else np.asarray(weights, float)
    machine = machine_around(0, np.full(table.shape[1], 0.5))
    units = np.arange(table.shape[1])
    if held_out is None:
        patterns_of(machine, table, units, weights)  # checks all of them, and the weights
        order = np.random.default_rng([seed, 2]).permutation(np.flatnonzero(weight))
        count = max(1, round(HELD_SHARE * len(order)))
        kept, held = np.sort(order[count:]), np.sort(order[:count])
        table, weights, held_out, held_out_weights = table[kept], weight[kept], table[held], weight[held]
    held = patterns_of(machine, np.asarray(held_out, float), units, held_out_weights, what="held_out")
    return patterns_of(machine, table, units, weights), held
