"""fit(network, rows, method) -> Fitted: raise the method's estimate of ln P(rows), epoch after epoch."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plefka.errors import InvalidInput
from plefka.inference.library import parse_method
from plefka.learning import of_beliefs, of_machines
from plefka.learning.checkpoint import Checkpoint
from plefka.learning.devices import Devices
from plefka.learning.epochs import Loop
from plefka.learning.fitted import Fitted, N
from plefka.learning.parameters import masked, parametrisation
from plefka.learning.patterns import Data, as_patterns, spread
from plefka.learning.records import Records
from plefka.learning.steps import LearningRun
from plefka.learning.stream import Stream, is_streamed
from plefka.methods.for_learning import Reweighted
from plefka.methods.method import Method
from plefka.networks.activations import Activation, Sigmoid, as_activation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.runtime.seeds import as_seed
from plefka.tables.columns import IdColumns
from plefka.tables.dataset import as_dataset, is_dataset

TOL = 1e-4


def fit(
    network: N,
    rows: Any,
    method: str | Method | None = None,
    *,
    prior: Any = None,
    weights: Any = None,
    optimizer: Any = None,
    epochs: int = 100,
    batch_size: int | None = None,
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
    tol: float | None = None,
    id_columns: IdColumns = None,
    stream: bool | None = None,
    devices: Sequence[Any] | None = None,
    verbose: bool | None = None,
) -> Fitted[N]:
    """Learn the weights and biases of a network, or of every network of a stack, from binary rows.

    **Arguments:**

    - `network`: a belief network or a Boltzmann machine to start from. Equal hidden units stay equal for ever, so let
        its weights be random; see `pf.ensembles.to_learn` and `pf.ensembles.machine_to_learn`.
    - `rows`: (N, visible) or (N, units) with nan for what is missing or hidden, or a DataFrame or the file of a table
        with units for columns, or many Parquet files: a folder of them, or a pattern such as "data/*.parquet". Equal
        rows are merged and counted, unless they are streamed.
    - `method`: any scheme that has a free energy; G12 unless given. For a machine, what its averages come from: exact,
        G1 or G2 with linear response, bethe, persistent (chains of Gibbs sampling that go on from step to step) or
        pseudolikelihood; unless given, exact where all steps are quick, else G2 where rows observe all units, and
        persistent where they do not, or units are more than 2,048.
    - `prior`: how many cases the numbers of a network of noisy-or units and tables are worth, as in `prior=10`: they
        are then Beta counts, to which exact expectation steps add the rows, and `Fitted.update` further ones. A mapping
        says it of units, of (unit, parent) for a link, of (unit, None) for a leak, and of None for all others, which
        are worth 0 cases unless given; infinitely many freeze a number. Or the spreadsheets of causes and findings,
        .csv or .xlsx, with columns `count` and `leak_count`; or a file of `Fitted.save`, to go on with its records.
        Only `rows`, `weights`, `epochs`, `id_columns` and `verbose` go with it.
    - `weights`: a weight for each row.
    - `optimizer`: any of optax. Unless given, Adam with steps of 0.05, which become shorter for persistent chains; with
        hidden units these move by plain gradient steps. Chains return an average of what steps have led to.
    - `batch_size`: distinct rows for each step; `seed` shuffles them, and is needed where there is more than one batch.
        It is 256 unless given, and 32 for a machine (for chains up to 128, if rows are many), or all rows where they
        observe all of its units, as their means and second moments are then all that a step needs.
    - `validation`: rows held out for early stopping, after `patience` epochs in a row without improvement on them;
        `validation_weights`: a weight for each of them.
    - `callback`: called after every epoch with its entry of the history; learning stops where it returns True.
    - `checkpoint`: a file that is written at the start, every `checkpoint_every` seconds and at the end. If it exists,
        training resumes from it, and the result is that of a run without interruption. `epochs` counts those of the
        checkpoint too.
    - `l1`, `l2`: penalties on the weights: l1 sum |w| + l2 sum w^2 / 2, against ln P per row.
    - `masks`: arrays like `network.weights`, 0 where there is no edge: weights there become 0. `frozen`: "weights",
        "bias" or a pair of arrays like `network.parameters`, true where a parameter keeps its value. `shared`: such a
        pair of whole numbers; parameters with the same number from 1 on move as one.
    - `tol`: the tolerance of the means in every step; that of the method where it is given, and 1e-4 otherwise. Means
        start from those of the epoch before, and have 50 evaluations to converge unless the method says otherwise, as
        G12[max_steps=500] does; `history["converged"]` says how many rows did. With `restarts` every step also starts
        from random means. Where an epoch is long, the means of sigmoid networks are searched in single precision, if
        their tolerance is 1e-4 or more; ln P and its gradient are always of double precision.
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
    if prior is not None:
        others = (method, optimizer, batch_size, validation, callback, checkpoint, masks, frozen, shared, tol, devices)
        if l1 or l2 or stream or any(given is not None for given in others):
            raise InvalidInput(
                "prior takes exact expectation steps over all rows; leave out method, penalties and other options of "
                "gradient steps, or leave out prior."
            )
        _check_counts(epochs=epochs)
        rows = as_dataset(rows, network, id_columns).table() if is_dataset(rows) else rows
        return Records.of(network, prior, epochs).with_rows(rows, weights, id_columns).fitted(verbose)
    found = Devices(devices)
    with found.together():
        _check_counts(epochs=epochs, patience=patience, **({} if batch_size is None else {"batch_size": batch_size}))
        least_of = {"l1": (l1, 0), "l2": (l2, 0), "tol": (TOL if tol is None else tol, 1e-12)}
        for name, (value, least) in {**least_of, "checkpoint_every": (checkpoint_every, 0)}.items():
            if not least <= value < np.inf:
                raise InvalidInput(f"{name} must be a number of {least} or more; got {value!r}.")
        kind = _kind(network)
        if method is not None:
            kind.check(network, parse_method(method))
        masks = network.masks_as_stored(masks)
        network = masked(network, masks)
        seed = None if seed is None else as_seed(seed)
        data = _data(network, rows, weights, stream, id_columns)
        chosen = kind.default(network, data, epochs, batch_size) if method is None else parse_method(method)
        if validation is None and validation_weights is not None:
            raise InvalidInput("validation_weights are for the rows in validation; pass these too, or leave them out.")
        given = (network, validation, validation_weights, "validation")
        held_out = None if validation is None else as_patterns(*given, id_columns=id_columns)
        learner = of_beliefs.learner(chosen) if kind is of_beliefs else kind
        size: int = batch_size or learner.batch_size(data, chosen)
        data = spread(data, size) if isinstance(chosen, Reweighted) else data
        if len(data) > size and seed is None:
            raise InvalidInput(
                f"{len(data):,} rows in batches of {size} are shuffled by a seed; add one, as in "
                "fit(..., seed=0), or raise batch_size."
            )
        rules = parametrisation(network, masks, frozen, shared)
        settings = learner.settings(network, data, chosen, rules, (float(l1), float(l2)), _tolerance(tol, chosen))
        if optimizer is not None and not all(callable(getattr(optimizer, name, None)) for name in ("init", "update")):
            raise InvalidInput(
                f"optimizer must have the functions init and update, as those of optax do; got {optimizer!r}. "
                "Pass optax.adam(0.05), say."
            )
        moving = optimizer or learner.optimizer(data, chosen)
        run = LearningRun(network, settings, data, held_out, chosen, moving, size, seed, epochs, patience, found)
        steps = learner.steps(run)
    return Loop(run, steps, callback, Checkpoint(checkpoint, checkpoint_every, found), verbose).learn()


def _kind(network: Any) -> Any:
    """The module that says how a kind of network is learned."""
    if isinstance(network, BeliefNetwork):
        return of_beliefs
    if isinstance(network, BoltzmannMachine):
        return of_machines
    raise InvalidInput(f"network must be a BeliefNetwork or a BoltzmannMachine; got {type(network).__name__}.")


def _data(network: Any, rows: Any, weights: Any, stream: bool | None, id_columns: IdColumns) -> Data:
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


def _tolerance(given: float | None, method: Any) -> float:
    """What fit was given, or the method, or else a tolerance that is small beside a step of learning."""
    if given is not None:
        return float(given)
    own, usual = (getattr(each, "tol", TOL) for each in (method, parse_method(method.name)))
    return TOL if own == usual else own


def _check_counts(**counts: Any) -> None:
    for name, value in counts.items():
        if not isinstance(value, int | np.integer) or value < 1:
            raise InvalidInput(f"{name} must be a whole number of 1 or more; got {value!r}.")


def learning_method(
    method: str | Method | None, activation: str | Activation | Callable, *, by_steps: bool = False
) -> Method:
    """The method, or else expectation maximisation of noisy-or units, and weighted states of sigmoid units.

    `by_steps`: an optimiser was given, or rows are streamed. Then it is a scheme, of sigmoid units a bound, as learning
    exploits an estimate that may exceed the truth.
    """
    f = as_activation(activation)
    of_sigmoid, of_noisy_or = ("SJJ", "G12") if by_steps else ("reweighted", "em")
    is_noisy_or = f.has_linear_log_off and not f.mixes_kinds
    return parse_method(method or (of_sigmoid if isinstance(f, Sigmoid) else of_noisy_or if is_noisy_or else "G12"))
