"""`plefka fit`: learn a network from a table."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

import plefka as pf
from plefka.cli import options, output
from plefka.cli.exits import DID_NOT_LEARN, INTERRUPTED
from plefka.errors import InvalidInput
from plefka.runtime import whole_files

Coordinator = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Learn together with other processes: the machine of process 0, and a free port there.",
    ),
]
Processes = Annotated[int | None, typer.Option(metavar="N", help="How many processes learn together.")]
Process = Annotated[int | None, typer.Option(metavar="K", help="The number of this process, from 0 to N - 1.")]


def fit(
    out: Annotated[Path, options.of_out(metavar="MODEL", help="The file for the learned network: .json or .npz.")],
    data: options.Data = None,
    rows: options.Rows = None,
    id_column: options.Id = None,
    layers: Annotated[
        str | None, typer.Option(metavar="1x8", help="The sizes of the hidden layers, top layer first; 1x8 by default.")
    ] = None,
    activation: Annotated[
        str | None, typer.Option(help="The activation of all units: sigmoid (the default) or noisy_or.")
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="Learn a Boltzmann machine instead: restricted, or full (all units coupled)."
        ),
    ] = None,
    hidden: Annotated[
        int | None,
        typer.Option(min=0, help="The hidden units of --machine: 64 by default of a restricted one, 0 of a full one."),
    ] = None,
    method: options.LearningMethod = None,
    prior: Annotated[
        str | None,
        typer.Option(
            metavar="CASES", help="How many cases NET is worth, or the MODEL.json to update, or spreadsheets."
        ),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="The number of passes over the rows.")] = 100,
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="The number of distinct rows in each step; 256 by default, and 32 for machines."),
    ] = None,
    seed: options.Seed = 0,
    learning_rate: Annotated[
        float | None, typer.Option(min=0.0, help="The learning rate of Adam; 0.05 by default.", show_default=False)
    ] = None,
    l1: Annotated[float, typer.Option(min=0.0, help="L1 penalty on the weights.")] = 0.0,
    l2: Annotated[float, typer.Option(min=0.0, help="L2 penalty on the weights.")] = 0.0,
    validation: Annotated[
        float,
        typer.Option(min=0.0, max=0.9, help="The fraction of rows to hold out for early stopping, such as 0.1."),
    ] = 0.0,
    validation_rows: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A table of rows to hold out, instead of a fraction.")
    ] = None,
    patience: Annotated[
        int, typer.Option(min=1, help="The number of epochs without improvement after which training stops.")
    ] = 20,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The checkpoint file. If it exists, training resumes from it.")
    ] = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            help="Read Parquet files again in every epoch, or keep them in memory. By default their size decides.",
            show_default=False,
        ),
    ] = None,
    coordinator: Coordinator = None,
    processes: Processes = None,
    process: Process = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="PICTURE", help="Draw the training history to this file.")
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(metavar="PICTURE", help="Draw the weights of each hidden unit as an image to this file."),
    ] = None,
    shape: Annotated[str | None, typer.Option(metavar="8x8", help="The shape of the images in --features.")] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Learn a network from a table.

    `plefka fit NET --rows DATA` starts from a network of yours, `plefka fit DATA` from random weights. With `--machine`
    it learns a Boltzmann machine.
    """
    from plefka.cli.fit_start import Beginning, NewMachine, adam_of, check_targets, image_shape_of, joined, read_rows
    from plefka.learning.devices import Devices
    from plefka.learning.fitting import learning_method

    pf.keep_compiled()
    given, source = (data, rows) if data and rows else (None, options.table_of(data, rows))
    if given is None and prior and prior.endswith(".json"):  # what is updated is the network, too
        given = Path(prior)
    with joined(coordinator, processes, process), ExitStack() as claims:
        devices = Devices()
        with devices.together():
            if devices.is_first:
                check_targets(out, [source, *filter(None, [given])], force, checkpoint, [plot, features])
                claims.enter_context(whole_files.only_run(out))
            if shape and not features:
                raise InvalidInput(
                    "--shape is for the images that --features draws; add --features PICTURE, or leave it out."
                )
            begin = Beginning.of(given, layers, activation, NewMachine.of(machine, hidden))
            by_steps = learning_rate is not None or bool(stream) or devices.several
            chosen = (
                method if begin.is_machine or prior else learning_method(method, begin.activation, by_steps=by_steps)
            )
            worth = float(prior) if prior and prior.lstrip("-").replace(".", "", 1).isdigit() else prior
            optimizer = None if learning_rate is None else adam_of(learning_rate)
            table = read_rows(source, begin.network, id_column, stream)
            image = image_shape_of(table.width, shape) if features else None
            train, held_out = table.split(validation, validation_rows, seed)
            network = begin.start(table, train, seed)
        fitted = pf.fit(
            network, train, chosen, prior=worth, optimizer=optimizer, epochs=epochs, batch_size=batch_size, seed=seed,
            l1=l1, l2=l2, validation=held_out, patience=patience, checkpoint=checkpoint, stream=table.streamed or None,
        )  # fmt: skip
        if not devices.is_first:
            raise typer.Exit(_code(fitted))
        _refuse_unlearned(fitted, network, out)
        fitted.save(out) if prior and out.suffix == ".json" else pf.save(fitted.network, out)
        if prior and out.suffix != ".json":
            print(f"plefka: {out} has no records for a later fit to go on with; .json keeps them.", file=sys.stderr)
        if plot:
            pf.plots.history(fitted, plot)
        if features:
            pf.plots.features(fitted.network, features, image)
        content = _content(fitted, *table.counts(network, train), source, out)
        output.print_json(content) if json else _print(content, [plot, features])
        failed = fitted.stopped in (pf.Stopped.INTERRUPTED, pf.Stopped.NOT_FINITE)
        for sentence in [fitted.stopped.value] if failed else fitted.warnings:
            print(f"plefka: {sentence}.", file=sys.stderr)
        if code := _code(fitted):
            raise typer.Exit(code)


def _refuse_unlearned(fitted: "pf.Fitted", start: "pf.BeliefNetwork", out: Path) -> None:
    """Write no file for a network that has learned nothing."""
    import numpy as np

    if fitted.epochs == 0:
        print(f"plefka: interrupted before the first epoch was done; {out} was not written.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)
    if fitted.stopped is pf.Stopped.NOT_FINITE and np.array_equal(fitted.network.bias, start.bias):
        print(f"plefka: {fitted.stopped.value}. Nothing was learned, and {out} was not written.", file=sys.stderr)
        raise typer.Exit(DID_NOT_LEARN)


def _code(fitted: "pf.Fitted") -> int:
    codes = {pf.Stopped.INTERRUPTED: INTERRUPTED, pf.Stopped.NOT_FINITE: DID_NOT_LEARN}
    return codes.get(fitted.stopped, DID_NOT_LEARN if fitted.warnings else 0)


# ---- what it says ----------------------------------------------------------------------------------------------------


def _content(fitted: "pf.Fitted", rows: int, distinct: int | None, data: Path, out: Path) -> dict[str, Any]:
    import numpy as np

    history = fitted.history
    held_out = np.isfinite(history["validation"]).any()
    kept = int(np.nanargmax(history["validation"])) if held_out else -1  # the network is that of this epoch
    return {
        "data": str(data),
        "network": str(out),
        **fitted.network.identity,
        "layers": list(fitted.network.layers or ()),
        "activation": getattr(fitted.network.activation, "name", None),
        "kind": "belief network" if fitted.network.is_normalised else "Boltzmann machine",
        "units": fitted.network.size,
        "method": str(fitted.method),
        "is_bound": fitted.accuracy in ("exact", "lower bound"),
        "accuracy": str(fitted.accuracy),
        "kind_of_objective": fitted.kind_of_objective,
        "rows": rows,
        "distinct_rows": distinct,
        "epochs": fitted.epochs,
        "kept_epoch": int(history["epoch"][kept]),
        "objective": float(history["objective"][kept]),
        "log_likelihood": float(history["log_likelihood"][kept]),
        "validation": float(history["validation"][kept]),
        "validation_error": float(history["validation_error"][kept]),
        "stopped": fitted.stopped.name.lower(),
        "message": fitted.stopped.value,
        "warnings": fitted.warnings,
        "history": {name: column.tolist() for name, column in history.items()},
    }


def _print(content: dict[str, Any], pictures: list[Path | None]) -> None:
    pseudo = content["method"] == "pseudolikelihood"
    objective = "ln P of units given all others, per row," if pseudo else "ln P per row"
    is_machine = content["kind"] == "Boltzmann machine"
    if content["method"] == "exact" and not is_machine:
        objective = "ln P per row, less the prior's part,"
    exact, validation = content["log_likelihood"], content["validation"]
    error = content["validation_error"]
    held_out = f"{validation:.4f} " + (f"+- {error:.4f}, sampled" if error else "(exact)")
    kept = f", that of epoch {content['kept_epoch']} kept" if content["kept_epoch"] != content["epochs"] else ""
    distinct = "streamed" if content["distinct_rows"] is None else f"{content['distinct_rows']:,} of them distinct"
    rows = [
        ("rows", f"{content['rows']:,}, {distinct}"),
        ("epochs", f"{content['epochs']:,}{kept}"),
        (f"{objective} by {content['method']}", f"{content['objective']:.4f} ({content['kind_of_objective']})"),
        ("exact ln P per row", f"{exact:.4f}" if exact == exact else "not computed: too many states"),
        *([("ln P per validation row", held_out)] if validation == validation else []),
        ("stopped", content["message"].split(";")[0]),
        ("written", ", ".join(map(str, [content["network"], *filter(None, pictures)]))),
    ]
    shape = " x ".join(map(str, content["layers"] or [content["units"]]))
    title = f"Boltzmann machine of {shape} units" if is_machine else f"{shape} {content['activation']} units"
    output.print_table(("network", title), rows)
