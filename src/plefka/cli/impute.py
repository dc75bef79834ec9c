"""`plefka impute`: fill the gaps of a table."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plefka.cli import options, output
from plefka.cli.targets import claimed, write_table, writer_of

if TYPE_CHECKING:
    import numpy as np

    from plefka.methods.method import Method
    from plefka.networks.belief import BeliefNetwork
    from plefka.tables.table import NumberTable

ROWS_PER_BLOCK = 2**13  # rows that are filled at once


def impute(
    model: options.Model,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILLED", help="The file for the filled table: .csv, .parquet or .npy."),
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
    from plefka.cli.source import read_network
    from plefka.inference.library import parse_method
    from plefka.learning.fitting import learning_method
    from plefka.tables.table import read_table

    source = options.table_of(data, rows)
    writer_of(out)
    with claimed(out, [source, Path(model)], force=force):
        network = read_network(model)
        options.check_single(network, model, "impute")
        table = read_table(source, network, id_column)
        normalised = network.is_normalised
        chosen = learning_method(method, network.activation) if normalised else parse_method(method or "auto")
        values, content = _filled(network, table, chosen, probabilities)
        names = table.names or (None if out.suffix.lower() == ".csv" else _names(network, table))
        write_table(out, names, values, table.ids)
    content = {"network": model, "data": str(source), "filled": str(out), "method": str(chosen), **content}
    output.print_json(content) if json else _print_impute(content)
    if content["not_converged"]:
        print(f"plefka: {chosen}: {content['message']}.", file=sys.stderr)
        raise typer.Exit(output.DID_NOT_CONVERGE)


def _names(network: "BeliefNetwork", table: "NumberTable") -> list[str]:
    from plefka.tables.table import table_units

    return [network.names[unit] for unit in table_units(network, table)]


def _filled(
    network: "BeliefNetwork", table: "NumberTable", method: "Method", probabilities: bool
) -> tuple["np.ndarray", dict[str, Any]]:
    """The table without gaps, and how that went. Only rows with gaps are solved, block by block."""
    import numpy as np

    import plefka as pf
    from plefka.networks.evidence import Evidence
    from plefka.tables.table import evidence_of, table_units

    units, values = table_units(network, table), np.array(table.values, float)
    missing = np.isnan(values)
    gaps = np.flatnonzero(missing.any(axis=1))
    content = {"rows": len(values), "missing": int(missing.sum()), "rows_with_gaps": len(gaps), "not_converged": 0}
    failed = []
    for first in range(0, len(gaps), ROWS_PER_BLOCK):
        block = gaps[first : first + ROWS_PER_BLOCK]
        solution = pf.infer(network, Evidence(evidence_of(network, units, values[block]), batched=True), method)
        means = solution.means[:, units]
        values[block] = np.where(missing[block], means if probabilities else means > 0.5, values[block])
        failed += [status.value for status in solution.status[~solution.converged]]
    if failed:
        content |= {"not_converged": len(failed), "message": f"{len(failed)} rows: {failed[0]}"}
    off, on = network.values
    return values if probabilities else (off + (on - off) * values).astype(np.int8), content


def _print_impute(content: dict[str, Any]) -> None:
    rows = [
        ("missing", f"{content['missing']:,} in {content['rows_with_gaps']:,} rows"),
        ("filled by", content["method"]),
        ("written", content["filled"]),
    ]
    output.print_table(("rows", f"{content['rows']:,}"), rows)
