"""Random networks, for experiments and tests: stacks drawn from a seed.

>>> import plefka as pf
>>> pf.ensembles.layered((2, 4, 6), -1, 1, count=10, seed=0).stack
10
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from plefka.errors import InvalidInput, listed
from plefka.networks.activations import Activation, as_activation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.couplings import check_values
from plefka.networks.edges import Edges
from plefka.tables.columns import IdColumns
from plefka.tables.dataset import as_dataset, is_dataset
from plefka.tables.table import NumberTable, is_table, read_table


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
    names, on = _frequencies(rows, (0, 1), id_columns)
    start = around(layers, on, seed, activation, count=count, spread=spread)
    return start if names is None else named(start, names)


def named(network: BeliefNetwork, visible: Sequence[str]) -> BeliefNetwork:
    """A layered network whose bottom layer has these names, with hidden0, hidden1, ... above it."""
    names = [*_hidden_names(network.size - len(visible), visible), *visible]
    return BeliefNetwork(network.storage, network.bias, network.activation, names, layers=network.layers)


def _hidden_names(count: int, visible: Sequence[str]) -> list[str]:
    hidden = [f"hidden{k}" for k in range(count)]
    taken = sorted(set(hidden) & set(visible))
    if taken:
        raise InvalidInput(
            f"{listed(taken)} must not be names of columns, as hidden units have these names. Rename them."
        )
    return hidden


def around(
    layers: Sequence[int],
    frequencies: Any,
    seed: int,
    activation: str | Activation = "sigmoid",
    *,
    count: int | None = None,
    spread: float | None = None,
) -> BeliefNetwork:
    """A network to learn, whose visible units are on with the given frequencies."""
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


def machine_to_learn(
    hidden: int,
    rows: Any,
    seed: int | None = None,
    *,
    restricted: bool = True,
    values: tuple[int, int] = (0, 1),
    spread: float = 0.01,
    id_columns: IdColumns = None,
) -> BoltzmannMachine:
    """A Boltzmann machine to start learning from: a visible unit for each column of rows, then `hidden` units.

    Without hidden units it is that of independent columns, and all pairs are coupled with weight 0. With them, it is a
    restricted machine; with `restricted=False`, all pairs are coupled. Weights of hidden units are normal with standard
    deviation `spread`, so that hidden units differ. Where rows are a table with names, visible units have these, and
    hidden ones are hidden0, hidden1, ...; rows are then read as 0 and 1.

    >>> import plefka as pf
    >>> pf.ensembles.machine_to_learn(2, [[1, 0, 0], [0, 1, 1]], seed=0)
    <BoltzmannMachine: restricted, 3 x 2 units of 0 and 1, 6 couplings>
    """
    if not isinstance(hidden, int | np.integer) or hidden < 0:
        raise InvalidInput(f"hidden must be a whole number of 0 or more; got {hidden!r}.")
    if hidden and seed is None:
        raise InvalidInput("weights of hidden units are random; add a seed, as in machine_to_learn(..., seed=0).")
    names, on = _frequencies(rows, check_values(values), id_columns)
    return machine_around(hidden, on, seed, restricted=restricted, spread=spread, names=names).converted(values)


def machine_around(
    hidden: int,
    frequencies: Any,
    seed: int | None = None,
    *,
    restricted: bool = True,
    spread: float = 0.01,
    names: Sequence[str] | None = None,
) -> BoltzmannMachine:
    """A machine to learn, whose visible units 0 and 1 are on with the given frequencies; `names` are theirs."""
    on = np.asarray(frequencies, float)
    names = None if names is None else [*names, *_hidden_names(hidden, names)]
    visible_bias, hidden_bias = np.log(on) - np.log1p(-on), np.zeros(hidden)
    W = np.random.default_rng(seed).normal(size=(len(on), hidden)) * spread
    if hidden and restricted:
        return BoltzmannMachine.restricted(W, visible_bias, hidden_bias, names=names)
    dense = np.zeros((len(on) + hidden,) * 2)
    dense[: len(on), len(on) :] = W
    return BoltzmannMachine(dense + dense.T, np.concatenate([visible_bias, hidden_bias]), names=names)


def _frequencies(rows: Any, values: tuple[int, int], id_columns: IdColumns) -> tuple[list[str] | None, np.ndarray]:
    """The names of the columns, if they have any, and how often each is on."""
    if is_dataset(rows):
        files = as_dataset(rows, id_columns=id_columns)
        return files.names, files.frequencies
    names = None
    if isinstance(rows, NumberTable) or is_table(rows):
        table = rows if isinstance(rows, NumberTable) else read_table(rows, id_columns=id_columns)
        names, rows, values = table.names, table.values, (0, 1)
    rows, (off, on) = np.asarray(rows, float), values
    if rows.ndim != 2 or rows.size == 0:
        raise InvalidInput(f"rows must be a table with a column for each visible unit; got shape {rows.shape}.")
    if not np.all(np.isnan(rows) | (rows == off) | (rows == on)):
        raise InvalidInput(f"rows must be {off}, {on} or nan (missing). Round or threshold them first.")
    return names, ((rows == on).sum(0) + 0.5) / ((~np.isnan(rows)).sum(0) + 1)


def spin_glass(
    size: int, count: int, seed: int, *, scale: float = 1.0, field: float = 0.0, temperature: float = 1.0
) -> BoltzmannMachine:
    """`count` machines of `size` units in {-1, 1}, all coupled: the model of Sherrington and Kirkpatrick.

    Couplings are normal with variance scale^2 / size, and biases normal with standard deviation `field`.

    >>> import plefka as pf
    >>> pf.ensembles.spin_glass(16, count=3, seed=0)
    <BoltzmannMachine: 3 machines of 16 units of -1 and 1, 120 couplings>
    """
    if size < 2 or count < 1:
        raise InvalidInput(f"size must be 2 or more and count 1 or more; got size={size}, count={count}.")
    if not (scale >= 0 and field >= 0):
        raise InvalidInput(f"scale and field must not be negative; got scale={scale}, field={field}.")
    rng = np.random.default_rng(seed)
    lower = np.tril(rng.normal(size=(count, size, size)), -1) * (scale / np.sqrt(size))
    bias = field * rng.normal(size=(count, size))
    return BoltzmannMachine(lower + np.swapaxes(lower, 1, 2), bias, temperature, (-1, 1))


def ising_grid(
    rows: int,
    columns: int,
    coupling: float = 1.0,
    field: float = 0.0,
    *,
    temperature: float = 1.0,
    periodic: bool = False,
    seed: int | None = None,
) -> BoltzmannMachine:
    """A grid of units in {-1, 1} in which neighbours are coupled: the Ising model in two dimensions.

    With a `seed`, couplings are drawn from a normal distribution with standard deviation `coupling`, and biases from
    one with standard deviation `field`. `periodic` couples the borders to those opposite.

    >>> import plefka as pf
    >>> pf.ensembles.ising_grid(3, 4, coupling=0.5)
    <BoltzmannMachine: 12 units of -1 and 1, 17 sparse couplings>
    """
    if rows < 1 or columns < 1 or rows * columns < 2:
        raise InvalidInput(f"a grid must have two units or more; got {rows} rows and {columns} columns.")
    unit = np.arange(rows * columns).reshape(rows, columns)
    ends = [(unit[:, 1:], unit[:, :-1]), (unit[1:], unit[:-1])]
    if periodic:
        ends += [(unit[:, -1:], unit[:, :1])] * (columns > 2) + [(unit[-1:], unit[:1])] * (rows > 2)
    child, parent = (np.concatenate([pair[k].ravel() for pair in ends]) for k in (0, 1))
    order = np.lexsort((parent, child))
    rng = None if seed is None else np.random.default_rng(seed)
    weights, bias = (
        np.full(count, float(size)) if rng is None else size * rng.normal(size=count)
        for size, count in ((coupling, len(child)), (field, unit.size))
    )
    storage = Edges.from_lists(weights, child[order].astype(np.int32), parent[order].astype(np.int32), unit.size)
    return BoltzmannMachine(storage, bias, temperature, (-1, 1))
