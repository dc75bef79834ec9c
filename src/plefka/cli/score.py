"""`plefka score`: how probable the rows of a table are."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plefka.cli import options, output
from plefka.cli.targets import claimed, write_table, writer_of

if TYPE_CHECKING:
    from plefka.learning.row_scores import Score


def score(
    model: options.Model,
    data: options.Data = None,
    rows: options.Rows = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write ln P of every row to this file: .csv or .parquet."),
    ] = None,
    id_column: options.Id = None,
    seed: options.Seed = 0,
    samples: Annotated[
        int, typer.Option(min=2, help="The number of samples for each row, if the exact value is too expensive.")
    ] = 1000,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Compute ln P of the rows of a table, exactly if that is affordable."""
    import numpy as np

    from plefka.cli.source import read_network
    from plefka.learning.scoring import score_table
    from plefka.tables.table import read_table, table_units

    source = options.table_of(data, rows, "--out")
    if out is not None:
        writer_of(out)
    with claimed(out, [source, Path(model)], force=force):
        network = read_network(model)
        options.check_single(network, model, "score")
        table = read_table(source, network, id_column)
        table_units(network, table)
        found = score_table(network, table, None, seed, samples)
        if out is not None:
            columns = _columns(found)
            words = {"accuracy": list(map(str, found.accuracy))} | table.ids
            write_table(out, columns, np.column_stack(list(columns.values())), words)
    content = _score_content(found, model, source)
    output.print_json(content) if json else _print_score(content, out)


def _columns(found: "Score") -> dict[str, Any]:
    """What is known of every row."""
    columns = {"log_likelihood": found.log_likelihood, "standard_error": found.standard_error}
    more = {"bound": found.bound, "effective_samples": found.effective}
    return columns | {name: column for name, column in more.items() if column is not None}


def _score_content(found: "Score", model: str, data: Path) -> dict[str, Any]:
    bound, effective = found.bound, found.effective
    return {
        "network": model,
        "data": str(data),
        "rows": len(found.log_likelihood),
        "log_likelihood": found.mean,
        "standard_error": found.mean_error,
        "is_exact": found.is_exact,
        "method": None if found.method is None else str(found.method),
        "bound": None if bound is None else float(bound.mean()),
        "least_effective_samples": None if effective is None else float(effective.min()),
        "exact_rows": int((found.accuracy == "exact").sum()),
        "each": {
            "accuracy": list(map(str, found.accuracy)),
            **{name: column.tolist() for name, column in _columns(found).items()},
        },
    }


def _print_score(content: dict[str, Any], written: Path | None) -> None:
    sampled = [
        ("standard error", f"{content['standard_error']:.4f}"),
        *([] if content["bound"] is None else [("lower bound per row", f"{content['bound']:.4f}")]),
        ("effective samples, of the worst row", f"{content['least_effective_samples'] or 0:.1f}"),
    ]
    sampling = f"importance sampling from {content['method']}" if content["method"] else "annealed importance sampling"
    how = "exact" if content["is_exact"] else sampling
    some = f"an estimate; {content['exact_rows']:,} rows are exact" if content["exact_rows"] else "an estimate"
    rows = [
        ("ln P per row", f"{content['log_likelihood']:.4f} ({'exact' if content['is_exact'] else some})"),
        *([] if content["is_exact"] else sampled),
        ("by", how),
        *([("written", str(written))] if written else []),
    ]
    output.print_table(("rows", f"{content['rows']:,}"), rows)
