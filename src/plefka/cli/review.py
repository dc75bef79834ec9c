"""`plefka validate`, `plefka diff` and `plefka lint`: whether a network is right, what changed, what is suspicious."""

from pathlib import Path
from typing import Annotated

import typer

import plefka as pf
from plefka.cli import options, output, source
from plefka.cli.exits import CHANGED, SUSPICIOUS
from plefka.cli.targets import claimed
from plefka.runtime.extras import pandas


def validate(
    net: options.Network,
    rows: Annotated[Path, typer.Argument(metavar="ROWS", help="The table of cases, with one column for each unit.")],
    truth: Annotated[
        list[str],
        typer.Option(
            "--truth",
            metavar="COLUMN",
            help="The column with the name of the true cause; or a cause whose column has 0 and 1, once for each.",
        ),
    ],
    id_column: options.Id = None,
    units: Annotated[
        list[str] | None, options.of_units("--units", help="The units to rank: causes (default), or a list of names.")
    ] = None,
    method: options.Method = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="PAGE", help="Write a page: .html.")] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Compare the answers to cases with their truth: ranks, calibration, confusions and the worst cases."""
    with claimed(out, [rows, Path(net)], force=force):
        network = source.read_single(net, "validate")
        ranked = source.read_units(network, units) or "causes"
        one = truth[0] if len(truth) == 1 else truth
        found = pf.validate(network, rows, one, method=method or "auto", units=ranked, id_columns=id_column)
        if out is not None:
            found.page(out)
    tables = {title: table.to_dict("records") for title, table in found.tables().items()}
    content = {**found.about, "notes": found.notes, "measures": found.measures, "tables": tables}
    output.print_json({"network": net, "rows": str(rows), **content}) if json else print(found)


def diff(
    before: options.Network,
    after: options.Network,
    evidence: options.Evidence = None,
    rows: options.Rows = None,
    method: options.Method = None,
    json: options.Json = False,
) -> None:
    """Show what changed between two networks: units, probabilities and answers. Exit code 1 if they differ."""
    old, new = (source.read_single(net, "diff") for net in (before, after))
    given = source.read_evidence(old, evidence)
    if rows is not None:
        read = source.read_rows(old, rows, given, None)[0].rows
        given = pandas().DataFrame(read, columns=list(old.names)).dropna(axis="columns", how="all")
    found = pf.diff(old, new, given, method=method or "auto")
    if json:
        output.print_json({"before": before, "after": after, "changes": [change._asdict() for change in found]})
    else:
        print("\n".join(map(str, found[: output.PRINTED_ROWS])) or "the networks and their answers are the same")
        output.print_more(len(found), output.PRINTED_ROWS)
    raise typer.Exit(CHANGED if found else 0)


def lint(net: options.Network, json: options.Json = False) -> None:
    """Say what is suspicious in a network, which need not be wrong. Exit code 1 if there is something."""
    found = pf.lint(source.read_single(net, "lint"))
    if json:
        output.print_json({"network": net, "suspicious": [each._asdict() for each in found]})
    else:
        print("\n".join(each.sentence for each in found[: output.PRINTED_ROWS]) or "nothing suspicious")
        output.print_more(len(found), output.PRINTED_ROWS)
    raise typer.Exit(SUSPICIOUS if found else 0)
