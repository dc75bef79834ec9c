"""`plefka fit`: learn a network from a table."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plefka.cli import INTERRUPTED, options, output
from plefka.cli.targets import check_new, check_target
from plefka.errors import InvalidFile, InvalidInput

if TYPE_CHECKING:
    from plefka.learning.fitted import Fitted
    from plefka.learning.patterns import Patterns
    from plefka.networks.belief import BeliefNetwork
    from plefka.tabular.table import Table

MOST_ROWS = 2**16  # whose frequencies the visible units start from
DID_NOT_LEARN = 1


def fit(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="MODEL", help="The file for the learned network: .json or .npz.")
    ],
    data: options.Data = None,
    rows: options.Rows = None,
    id_column: options.Id = None,
    layers: Annotated[
        str, typer.Option(metavar="1x8", help="The sizes of the hidden layers, top layer first.")
    ] = "1x8",
    activation: Annotated[str, typer.Option(help="The activation of all units: sigmoid or noisy_or.")] = "sigmoid",
    method: options.LearningMethod = None,
    epochs: Annotated[int, typer.Option(min=1, help="The number of passes over the rows.")] = 100,
    batch_size: Annotated[int, typer.Option(min=1, help="The number of distinct rows in each step.")] = 256,
    seed: options.Seed = 0,
    learning_rate: Annotated[float, typer.Option(min=0.0, help="The learning rate of Adam.")] = 0.05,
    l1: Annotated[float, typer.Option(min=0.0, help="L1 penalty on the weights.")] = 0.0,
    l2: Annotated[float, typer.Option(min=0.0, help="L2 penalty on the weights.")] = 0.0,
    validation: Annotated[
        float,
        typer.Option(min=0.0, max=0.9, help="The fraction of rows to hold out for early stopping, such as 0.1."),
    ] = 0.0,
    patience: Annotated[
        int, typer.Option(min=1, help="The number of epochs without improvement after which training stops.")
    ] = 20,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The checkpoint file. If it exists, training resumes from it.")
    ] = None,
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
    """Learn a network from a table."""
    import plefka as pf
    from plefka.cache import keep_compiled
    from plefka.learning.fitting import learning_method
    from plefka.learning.patterns import as_patterns
    from plefka.tabular.table import read_table

    hidden = sizes(layers, "--layers")
    source = options.table_of(data, rows)
    _check_targets(out, source, force, checkpoint, [plot, features])
    if shape and not features:
        raise InvalidInput("--shape is for the images that --features draws; add --features PICTURE, or leave it out.")
    chosen = learning_method(method, activation)
    optimizer = _adam(learning_rate)
    keep_compiled()
    table = read_table(source, id_columns=id_column)
    image = _image_shape(table, shape) if features else None
    train, held_out = split(table, validation, seed)
    network = start(table, train, hidden, activation, seed)
    fitted = pf.fit(
        network, train, chosen, optimizer=optimizer, epochs=epochs, batch_size=batch_size, seed=seed, l1=l1, l2=l2,
        validation=held_out, patience=patience, checkpoint=checkpoint,
    )  # fmt: skip
    _refuse_unlearned(fitted, network, out)
    pf.save(fitted.network, out)
    if plot:
        pf.plots.history(fitted, plot)
    if features:
        pf.plots.features(fitted.network, features, image)
    content = _fit_content(fitted, as_patterns(network, train), source, out)
    output.print_json(content) if json else _print_fit(content, [plot, features])
    _end(fitted)


def sizes(text: str, option: str) -> tuple[int, ...]:
    """(1, 8) from '1x8'."""
    if not re.fullmatch(r"[1-9][0-9]{0,8}(x[1-9][0-9]{0,8})*", text):
        raise InvalidInput(f"{option} must be whole numbers with x between, as in 1x8; got {text!r}.")
    return tuple(int(size) for size in text.split("x"))


def _check_targets(out: Path, data: Path, force: bool, checkpoint: Path | None, pictures: list[Path | None]) -> None:
    """Refuse before learning what would fail after hours of it."""
    from plefka.formats import NATIVE

    if out.suffix.lower() not in NATIVE:
        raise InvalidFile(f"{out}: the name of a network must end with {' or '.join(NATIVE)}.")
    targets = [path for path in (out, checkpoint, *pictures) if path is not None]
    for path in targets:
        check_target(path)
    _check_different(targets)
    check_new(out, [data], force=force)
    if any(pictures):
        from plefka.plots.style import check_name

        for path in filter(None, pictures):
            check_name(path)


def _check_different(targets: list[Path]) -> None:
    """Two outputs of the same name would overwrite each other."""
    places = [path.resolve() for path in targets]
    twice = next((path for k, path in enumerate(targets) if places[k] in places[:k]), None)
    if twice is not None:
        raise InvalidFile(f"{twice}: every output must have a file of its own; two options name this one.")


def _adam(learning_rate: float) -> Any:
    if not 0 < learning_rate < float("inf"):
        raise InvalidInput(f"--learning-rate must be a positive number; got {learning_rate:g}.")
    from plefka.learning.fitting import adam

    return adam(learning_rate)


def _image_shape(table: "Table", shape: str | None) -> tuple[int, ...]:
    from plefka.plots.learning import image_shape

    return image_shape(table.values.shape[1], sizes(shape, "--shape") if shape else None)


def split(table: "Table", fraction: float, seed: int) -> tuple[Any, Any]:
    """The training rows and the validation rows, drawn by the seed; None for these where the fraction is 0."""
    import numpy as np

    count = len(table.values)
    if fraction == 0:
        return table.values, None
    held_out = max(1, round(fraction * count))
    if held_out >= count:
        raise InvalidFile(f"{table.path}: {count} rows are too few to hold out a fraction of {fraction:g}.")
    order = np.random.default_rng(seed).permutation(count)
    return table.values[np.sort(order[held_out:])], table.values[np.sort(order[:held_out])]


def start(table: "Table", rows: Any, hidden: tuple[int, ...], activation: str, seed: int) -> "BeliefNetwork":
    """A network to learn, with units hidden0, hidden1, ... and one named after each column."""
    import plefka as pf

    visible = table.names or [f"visible{k}" for k in range(table.values.shape[1])]
    network = pf.ensembles.to_learn(hidden, rows[:: 1 + len(rows) // MOST_ROWS], seed, activation)
    try:
        return pf.ensembles.named(network, visible)
    except InvalidInput as error:
        raise InvalidFile(f"{table.path}: {error}") from error


def _refuse_unlearned(fitted: "Fitted", start: "BeliefNetwork", out: Path) -> None:
    """Write no file for a network that has learned nothing."""
    import numpy as np

    from plefka.learning.fitted import Stopped

    if fitted.epochs == 0:
        print(f"plefka: interrupted before the first epoch was done; {out} was not written.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)
    if fitted.stopped is Stopped.NOT_FINITE and np.array_equal(fitted.network.bias, start.bias):
        print(f"plefka: {fitted.stopped.value}. Nothing was learned, and {out} was not written.", file=sys.stderr)
        raise typer.Exit(DID_NOT_LEARN)


def _fit_content(fitted: "Fitted", patterns: "Patterns", data: Path, out: Path) -> dict[str, Any]:
    import numpy as np

    history = fitted.history
    held_out = np.isfinite(history["validation"]).any()
    kept = int(np.nanargmax(history["validation"])) if held_out else -1  # the network is that of this epoch
    return {
        "data": str(data),
        "network": str(out),
        "layers": list(fitted.network.layers or ()),
        "activation": fitted.network.activation.name,
        "method": str(fitted.method),
        "is_bound": fitted.method.is_bound,
        "rows": int(patterns.total),
        "distinct_rows": len(patterns),
        "epochs": fitted.epochs,
        "kept_epoch": int(history["epoch"][kept]),
        "objective": float(history["objective"][kept]),
        "log_likelihood": float(history["log_likelihood"][kept]),
        "validation": float(history["validation"][kept]),
        "stopped": fitted.stopped.name.lower(),
        "message": fitted.stopped.value,
        "warnings": fitted.warnings,
        "history": {name: column.tolist() for name, column in history.items()},
    }


def _print_fit(content: dict[str, Any], pictures: list[Path | None]) -> None:
    kind = "a lower bound" if content["is_bound"] else "an estimate, not a bound"
    exact, validation = content["log_likelihood"], content["validation"]
    kept = f", that of epoch {content['kept_epoch']} kept" if content["kept_epoch"] != content["epochs"] else ""
    rows = [
        ("rows", f"{content['rows']:,}, {content['distinct_rows']:,} of them distinct"),
        ("epochs", f"{content['epochs']:,}{kept}"),
        (f"ln P per row by {content['method']}", f"{content['objective']:.4f} ({kind})"),
        ("exact ln P per row", f"{exact:.4f}" if exact == exact else "not computed: too many states"),
        *([("on validation rows", f"{validation:.4f}")] if validation == validation else []),
        ("stopped", content["message"].split(";")[0]),
        ("written", ", ".join(map(str, [content["network"], *filter(None, pictures)]))),
    ]
    title = f"{' x '.join(map(str, content['layers']))} {content['activation']} units"
    output.print_table(("network", title), rows)


def _end(fitted: "Fitted") -> None:
    from plefka.learning.fitted import Stopped

    codes = {Stopped.INTERRUPTED: INTERRUPTED, Stopped.NOT_FINITE: DID_NOT_LEARN}
    code = codes.get(fitted.stopped, DID_NOT_LEARN if fitted.warnings else 0)
    for sentence in [fitted.stopped.value] if fitted.stopped in codes else fitted.warnings:
        print(f"plefka: {sentence}.", file=sys.stderr)
    if code:
        raise typer.Exit(code)
