"""fit(network, rows, method) -> Fitted: raise the method's estimate of ln P(rows), epoch after epoch."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plefka.activations import Activation, Sigmoid, as_activation
from plefka.errors import InvalidInput, MethodDoesNotApply, MissingExtra
from plefka.learning.checkpoint import Checkpoint
from plefka.learning.devices import Devices
from plefka.learning.epochs import Loop
from plefka.learning.fitted import Fitted
from plefka.learning.parameters import Parametrisation, masked, parametrisation
from plefka.learning.patterns import Data, Patterns, as_patterns
from plefka.learning.step import Settings
from plefka.learning.stream import Stream, is_streamed
from plefka.methods import HigherOrder, MeanField, Method, parse_method
from plefka.networks.belief import BeliefNetwork
from plefka.seeds import as_seed
from plefka.solvers.monotone import Monotone
from plefka.tabular.dataset import as_dataset, is_dataset
from plefka.tabular.roles import IdColumns

STEP_SIZE = 0.05
MOST_STEPS = 6  # evaluations for each batch, which waits for its slowest row; the next epoch starts where they end
POLICY = Monotone(depth=2)  # from a start as good as the last epoch's, a longer memory costs more than it saves


def fit(
    network: BeliefNetwork,
    rows: Any,
    method: str | Method = "G12",
    *,
    weights: Any = None,
    optimizer: Any = None,
    epochs: int = 100,
    batch_size: int = 256,
    seed: int | None = None,
    validation: Any = None,
    validation_weights: Any = None,
    patience: int = 20,
    callback: Callable[[dict], Any] | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 30.0,
    l1: float = 0.0,
    l2: float = 0.0,
    masks: Any = None,
    frozen: Any = None,
    shared: Any = None,
    tol: float = 1e-4,
    id_columns: IdColumns = None,
    stream: bool | None = None,
    devices: Sequence[Any] | None = None,
    verbose: bool | None = None,
) -> Fitted:
    """Learn the weights and biases of a network, or of every network of a stack, from binary rows.

    **Arguments:**

    - `network`: where to start from. Equal hidden units stay equal for ever, so let its weights be random; see
        `pf.ensembles.to_learn`.
    - `rows`: (N, visible) or (N, units) with nan for what is missing or hidden, or a DataFrame or the file of a table
        with units for columns, or many Parquet files: a folder of them, or a pattern such as "data/*.parquet". Equal
        rows are merged and counted, unless they are streamed.
    - `method`: any scheme that has a free energy.
    - `weights`: a weight for each row.
    - `optimizer`: any of optax; Adam with steps of 0.05 unless given.
    - `batch_size`: distinct rows for each step; `seed` shuffles them, and is needed where there is more than one batch.
    - `validation`: rows held out for early stopping, after `patience` epochs in a row without improvement on them;
        `validation_weights`: a weight for each of them.
    - `callback`: called after every epoch with its entry of the history; learning stops where it returns True.
    - `checkpoint`: a file that is written at the start, every `checkpoint_every` seconds and at the end. If it exists,
        training resumes from it, and the result is that of a run without interruption. `epochs` counts those of the
        checkpoint too.
    - `l1`, `l2`: penalties on the weights: l1 sum |w| + l2 sum w^2 / 2, against ln P per row.
    - `masks`: arrays like the weights, 0 where there is no edge: weights there become 0. `frozen`: "weights", "bias" or
        a pair of arrays like `network.parameters`, true where a parameter keeps its value. `shared`: such a pair of
        whole numbers; parameters with the same number from 1 on move as one.
    - `tol`: the tolerance of the means in every step, of 6 evaluations at most; they start from those of the epoch
        before.
    - `id_columns`: columns of a table that name its rows, of which nothing is learned; recognised unless given.
    - `stream`: whether Parquet files are read anew in every epoch, in a window of rows at a time, instead of being
        kept in memory. None streams files of more than 67 million values.
    - `devices`: those that share the rows of each batch; all of `jax.devices()` unless given. Processes that
        `jax.distributed.initialize` has joined learn together if each calls `fit` with the same arguments; the first
        one reads and writes the checkpoint.
    - `verbose`: whether to show a progress bar on standard error; None leaves it to `plefka.progress`.

    >>> import numpy as np
    >>> import plefka as pf
    >>> rows = np.repeat([[0, 0, 0], [1, 1, 1]], 20, axis=0)
    >>> fitted = pf.fit(pf.ensembles.to_learn((1,), rows, seed=0), rows, epochs=5, verbose=False)
    >>> fitted.network.size
    4
    """
    found = Devices(devices)
    with found.together():
        _check_counts(epochs=epochs, batch_size=batch_size, patience=patience)
        _check_sizes(l1=(l1, 0), l2=(l2, 0), tol=(tol, 1e-12), checkpoint_every=(checkpoint_every, 0))
        chosen = _check_method(network, parse_method(method))
        network = masked(network, masks)
        seed = None if seed is None else as_seed(seed)
        data = _data(network, rows, weights, stream, id_columns)
        held_out = _held_out(network, validation, validation_weights, id_columns)
        if len(data) > batch_size and seed is None:
            raise InvalidInput(
                f"{len(data):,} rows in batches of {batch_size} are shuffled by a seed; add one, as in "
                "fit(..., seed=0), or raise batch_size."
            )
        settings = settings_of(network, chosen, parametrisation(network, masks, frozen, shared), (l1, l2), tol)
        run = Run(
            network, settings, data, held_out, chosen, _optimizer(optimizer), batch_size, seed, epochs, patience, found
        )
    return Loop(run, callback, Checkpoint(checkpoint, checkpoint_every, found), verbose).learn()


def _data(network: BeliefNetwork, rows: Any, weights: Any, stream: bool | None, id_columns: IdColumns) -> Data:
    """Rows in memory or, where that is asked for or they are many, in their files."""
    if not is_dataset(rows):
        if stream:
            raise InvalidInput("stream is for rows in Parquet files; pass their folder or a pattern, or leave it out.")
        return as_patterns(network, rows, weights, every_column=True, id_columns=id_columns)
    files = as_dataset(rows, network, id_columns)
    if not is_streamed(files, stream):
        return as_patterns(network, files.table(), weights, every_column=True)
    if weights is not None:
        raise InvalidInput("weights are for rows in memory; repeat rows in the files instead, or pass stream=False.")
    return Stream.of(network, files)


def _check_counts(**counts: Any) -> None:
    for name, value in counts.items():
        if not isinstance(value, int | np.integer) or value < 1:
            raise InvalidInput(f"{name} must be a whole number of 1 or more; got {value!r}.")


def _check_sizes(**sizes: tuple[float, float]) -> None:
    for name, (value, least) in sizes.items():
        if not least <= value < np.inf:
            raise InvalidInput(f"{name} must be a number of {least} or more; got {value!r}.")


def _check_method(network: Any, method: Method) -> MeanField:
    if not isinstance(network, BeliefNetwork):
        raise InvalidInput(f"network must be a BeliefNetwork; got {type(network).__name__}.")
    if not isinstance(method, MeanField):
        raise MethodDoesNotApply(f"{method} has no free energy to learn by. Use G12 instead.")
    if isinstance(method, HigherOrder):
        raise MethodDoesNotApply(f"{method} is not minimised by its means, or not in closed form. Use G1 instead.")
    if network.activation.mixes_kinds:
        raise InvalidInput(
            "fit learns the weights and biases of units that are all of one kind; this network has units of different "
            "kinds or tables. Fit a network with a single activation."
        )
    method.check(network)
    return method


@lru_cache
def adam(step_size: float = STEP_SIZE) -> Any:
    """Adam: the gradient's size changes a thousandfold between a start near zero and the end, and between schemes.

    One and the same for a step size, as a program is compiled for each optimiser.
    """
    try:
        import optax
    except ImportError as error:
        raise MissingExtra("optax", "learn", "learning") from error
    return optax.adam(step_size)


def learning_method(method: str | Method | None, activation: str | Activation | Callable) -> Method:
    """The method, or else a bound where there is one: learning exploits an estimate that may exceed the truth."""
    f = as_activation(activation)
    return parse_method(method or ("SJJ" if isinstance(f, Sigmoid) else "G1" if f.mixes_kinds else "G12"))


class Run(NamedTuple):
    """What is learned from what, and for how long."""

    network: BeliefNetwork
    settings: Settings
    data: Data
    held_out: Patterns | None
    method: MeanField
    optimizer: Any
    batch_size: int
    seed: int | None
    epochs: int
    patience: int
    devices: Devices


def _held_out(network: BeliefNetwork, rows: Any, weights: Any, id_columns: IdColumns) -> Patterns | None:
    if rows is None and weights is not None:
        raise InvalidInput("validation_weights are for the rows in validation; pass these too, or leave them out.")
    return None if rows is None else as_patterns(network, rows, weights, "validation", id_columns=id_columns)


def _optimizer(given: Any) -> Any:
    if given is None:
        return adam()
    if not all(callable(getattr(given, name, None)) for name in ("init", "update")):
        raise InvalidInput(
            f"optimizer must have the functions init and update, as those of optax do; got {given!r}. "
            "Pass optax.adam(0.05), say."
        )
    return given


def settings_of(
    network: BeliefNetwork, method: MeanField, rules: Parametrisation, penalties: tuple[float, float], tol: float
) -> Settings:
    """What every step of a run has in common."""
    from plefka.mean_field import POLICIES

    policy = POLICY if method.policy == "monotone" else POLICIES[method.policy]
    stacked, functional = network.stack is not None, method.functional
    storage = network.storage.take(0) if stacked else network.storage
    storage = storage.prepared(pairs=functional.needs_pairs, tables=functional.needs_tables)
    return Settings(
        storage, network.activation, rules, float(penalties[0]), float(penalties[1]), float(tol), functional, policy,
        min(method.max_steps, MOST_STEPS), stacked,
    )  # fmt: skip
