"""Random networks, for experiments and tests: stacks drawn from a seed.

>>> import plefka as pf
>>> pf.ensembles.layered((2, 4, 6), -1, 1, count=10, seed=0).stack
10
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from plefka.activations import Activation, as_activation
from plefka.errors import InvalidInput, listed
from plefka.networks.belief import BeliefNetwork
from plefka.tabular.dataset import as_dataset, is_dataset
from plefka.tabular.roles import IdColumns
from plefka.tabular.table import is_table, read_table


def layered(
    layers: Sequence[int],
    low: float,
    high: float,
    count: int,
    seed: int,
    activation: str | Activation = "sigmoid",
    *,
    biases: tuple[float, float] | None = None,
) -> BeliefNetwork:
    """`count` networks of the given layers (top first), all weights and biases uniform in [low, high].

    They are the ensembles of section 4.1 of the paper. `biases` is a range of their own for the biases.
    """
    if len(layers) < 2 or min(layers) < 1 or count < 1:
        raise InvalidInput(
            f"there must be two layers or more, and sizes and count must be positive; "
            f"got layers={tuple(layers)}, count={count}."
        )
    for least, most in ((low, high), biases or (low, high)):
        if not least <= most:
            raise InvalidInput(f"low must not exceed high; got low={least}, high={most}.")
    rng = np.random.default_rng(seed)
    weights = [rng.uniform(low, high, (count, below, above)) for above, below in pairwise(layers)]
    bias = [rng.uniform(*(biases or (low, high)), (count, units)) for units in layers]
    return BeliefNetwork.layered(weights, bias, activation)


def to_learn(
    layers: Sequence[int],
    rows: Any,
    seed: int,
    activation: str | Activation = "sigmoid",
    *,
    count: int | None = None,
    spread: float | None = None,
    id_columns: IdColumns = None,
) -> BeliefNetwork:
    """A network to start learning from, or a stack of `count`: hidden `layers` (top first) above the columns of rows.

    Weights are small and random, so that hidden units differ; visible units start at their frequencies. Where rows are
    a table with names, a DataFrame or a file or Parquet files, visible units have these, and hidden ones are hidden0,
    hidden1, ...
    """
    if is_dataset(rows):
        files = as_dataset(rows, id_columns=id_columns)
        start = around(layers, files.frequencies, seed, activation, count=count, spread=spread)
        return start if files.names is None else named(start, files.names)
    if is_table(rows):
        table = read_table(rows, id_columns=id_columns)
        start = to_learn(layers, table.values, seed, activation, count=count, spread=spread)
        return start if table.names is None else named(start, table.names)
    rows = np.asarray(rows, float)
    if rows.ndim != 2 or rows.size == 0:
        raise InvalidInput(f"rows must be a table with a column for each visible unit; got shape {rows.shape}.")
    if not np.all(np.isnan(rows) | (rows == 0) | (rows == 1)):
        raise InvalidInput("rows must be 0, 1 or nan (missing). Round or threshold them first.")
    seen = ~np.isnan(rows)
    on = (np.where(seen, rows, 0).sum(0) + 0.5) / (seen.sum(0) + 1)
    return around(layers, on, seed, activation, count=count, spread=spread)


def named(network: BeliefNetwork, visible: Sequence[str]) -> BeliefNetwork:
    """A layered network whose bottom layer has these names, with hidden0, hidden1, ... above it."""
    hidden = [f"hidden{k}" for k in range(network.size - len(visible))]
    taken = sorted(set(hidden) & set(visible))
    if taken:
        raise InvalidInput(
            f"{listed(taken)} must not be names of columns, as hidden units have these names. Rename them."
        )
    names = [*hidden, *visible]
    return BeliefNetwork(network.storage, network.bias, network.activation, names, layers=network.layers)


def around(
    layers: Sequence[int],
    frequencies: Any,
    seed: int,
    activation: str | Activation = "sigmoid",
    *,
    count: int | None = None,
    spread: float | None = None,
) -> BeliefNetwork:
    """The same for visible units that are on with the given frequencies."""
    on = np.asarray(frequencies, float)
    if len(layers) < 1 or min(layers) < 1:
        raise InvalidInput(f"layers must be the sizes of one hidden layer or more, top first; got {tuple(layers)}.")
    layers = (*layers, len(on))
    activation = as_activation(activation)
    positive = activation.domain[0] == 0
    spread = (0.5 if positive else 1.0) if spread is None else spread
    rng = np.random.default_rng(seed)
    lead = () if count is None else (count,)
    low = 0.0 if positive else -spread
    weights = [rng.uniform(low, spread, (*lead, below, above)) / np.sqrt(above) for above, below in pairwise(layers)]
    from_above = weights[-1].sum(-1) / 2  # half of the parents on
    if positive:
        hidden = [rng.uniform(0.3, 1.0, (*lead, units)) for units in layers[:-1]]
        visible = np.maximum(-np.log1p(-on) - from_above, 0.02)
    else:
        hidden = [rng.uniform(-spread, spread, (*lead, units)) for units in layers[:-1]]
        visible = np.log(on) - np.log1p(-on) - from_above
    return BeliefNetwork.layered(weights, [*hidden, visible], activation)
