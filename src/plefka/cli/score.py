"""`plefka score`: how probable the rows of a table are; `plefka impute`: fill its gaps."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import plefka as pf
from plefka.cli import options, output, source
from plefka.cli.exits import DID_NOT_CONVERGE
from plefka.cli.targets import claimed, write_table, writer_of

if TYPE_CHECKING:
    import numpy as np

ROWS_PER_BLOCK = 2**13  # rows that are filled at once


def score(
    model: options.Model,
    data: options.Data = None,
    rows: options.Rows = None,
    out: Annotated[
        Path | None, options.of_out(metavar="FILE", help="Write ln P of every row to this file: .csv or .parquet.")
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

    from plefka.learning.scoring import score_table

    data = options.table_of(data, rows, "--out")
    if out is not None:
        writer_of(out)
    with claimed(out, [data, Path(model)], force=force):
        network, table, _ = source.read_model(model, "score", data, id_column)
        found = score_table(network, table, None, seed, samples)
        if out is not None:
            columns = _columns(found)
            words = {"accuracy": list(map(str, found.accuracy))} | table.ids
            words |= {name: [text] * len(found.accuracy) for name, text in network.identity.items() if text}
            write_table(out, columns, np.column_stack(list(columns.values())), words)
    content = _score_content(found, model, data) | network.identity
    output.print_json(content) if json else _print_score(content, out)


def _columns(found: "pf.Score") -> dict[str, Any]:
    columns = {"log_likelihood": found.log_likelihood, "standard_error": found.standard_error}
    more = {"bound": found.bound, "effective_samples": found.effective}
    return columns | {name: column for name, column in more.items() if column is not None}


def _score_content(found: "pf.Score", model: str, data: Path) -> dict[str, Any]:
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


def impute(
    model: options.Model,
    out: Annotated[
        Path, options.of_out(metavar="FILLED", help="The file for the filled table: .csv, .parquet or .npy.")
    ],
    data: options.Data = None,
    rows: options.Rows = None,
    id_column: options.Id = None,
    method: options.LearningMethod = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Fill in the probability of being on instead of 0 or 1.")
    ] = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Fill in the missing entries of a table."""
    from plefka.learning.scoring import answering

    data = options.table_of(data, rows)
    writer_of(out)
    with claimed(out, [data, Path(model)], force=force):
        network, table, units = source.read_model(model, "impute", data, id_column)
        normalised = network.is_normalised
        chosen = answering(method, network) if normalised else pf.parse_method(method or "auto")
        values, content = _filled(network, table.values, units, chosen, probabilities)
        names = table.names
        if names is None and out.suffix.lower() != ".csv":
            names = [network.names[unit] for unit in units]
        write_table(out, names, values, table.ids)
    content |= {"network": model, "data": str(data), "filled": str(out), "method": str(chosen), **network.identity}
    if json:
        output.print_json(content)
    else:
        gaps = f"{content['missing']:,} in {content['rows_with_gaps']:,} rows"
        found = [("missing", gaps), ("filled by", str(chosen)), ("written", str(out))]
        output.print_table(("rows", f"{content['rows']:,}"), found)
    if content["not_converged"]:
        print(f"plefka: {chosen}: {content['message']}.", file=sys.stderr)
        raise typer.Exit(DID_NOT_CONVERGE)


def _filled(
    network: "pf.BeliefNetwork", given: "np.ndarray", units: "np.ndarray", method: "pf.Method", probabilities: bool
) -> tuple["np.ndarray", dict[str, Any]]:
    """The table without gaps, and how that went. Only rows with gaps are solved, block by block."""
    import numpy as np

    from plefka.networks.evidence import Evidence, without_implied
    from plefka.tables.table import evidence_of

    values = np.array(given, float)
    missing = np.isnan(values)
    gaps = np.flatnonzero(missing.any(axis=1))
    content = {"rows": len(values), "missing": int(missing.sum()), "rows_with_gaps": len(gaps), "not_converged": 0}
    failed = []
    for first in range(0, len(gaps), ROWS_PER_BLOCK):
        block = gaps[first : first + ROWS_PER_BLOCK]
        observed = Evidence(evidence_of(network, units, values[block]), batched=True)
        solution = pf.infer(network, without_implied(network, observed), method)
        means = solution.means[:, units]
        values[block] = np.where(missing[block], means if probabilities else means > 0.5, values[block])
        failed += [status.value for status in solution.status[~solution.converged]]
    if failed:
        content |= {"not_converged": len(failed), "message": f"{len(failed)} rows: {failed[0]}"}
    off, on = network.values
    return values if probabilities else (off + (on - off) * values).astype(np.int8), content
