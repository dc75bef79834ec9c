"""`plefka validate`, `plefka diff` and `plefka lint`: whether a network is right, what changed, what is suspicious."""

from pathlib import Path
from typing import Annotated, Any

import typer

import plefka as pf
from plefka.cli import options, output, source
from plefka.cli.exits import FOUND
from plefka.cli.targets import claimed
from plefka.runtime.extras import pandas

Cases = Annotated[Path, typer.Argument(metavar="ROWS", help="The table of cases, with one column for each unit.")]
OF_TRUTH = "The column that names the true cause; or a cause whose column has 0 and 1, and the option for each of them."
Truth = Annotated[list[str], typer.Option(metavar="COLUMN", help=OF_TRUTH)]
Ranked = Annotated[list[str] | None, options.of_units(help="The units to rank: causes, or a list of names.")]
Page = Annotated[Path | None, options.of_out(metavar="PAGE", help="Write a page of HTML, too.")]


def validate(
    net: options.Network, rows: Cases, truth: Truth, id_column: options.Id = None, units: Ranked = None,
    method: options.Method = None, out: Page = None, force: options.Force = False, json: options.Json = False,
) -> None:  # fmt: skip
    """Compare the answers to cases with their truth: ranks, calibration, confusions and the worst cases."""
    with claimed(out, [rows, Path(net)], force=force):
        network = source.read_single(net, "validate")
        ranked, of_truth = source.read_units(network, units) or "causes", truth[0] if len(truth) == 1 else truth
        found = pf.validate(network, rows, of_truth, method=method or "auto", units=ranked, id_columns=id_column)
        if out is not None:
            found.page(out)
    tables = {title: table.to_dict("records") for title, table in found.tables().items()}
    content = {"network": net, "rows": str(rows), **found.about, "notes": found.notes, "measures": found.measures}
    output.print_json({**content, "tables": tables}) if json else print(found)


def diff(
    before: options.Network, after: options.Network, evidence: options.Evidence = None, rows: options.Rows = None,
    method: options.Method = None, json: options.Json = False,
) -> None:  # fmt: skip
    """Show what changed between two networks: units, probabilities and answers. Exit code 1 if they differ."""
    old, new = (source.read_single(net, "diff") for net in (before, after))
    given = source.read_evidence(old, evidence)
    if rows is not None:
        read = source.read_rows(old, rows, given, None)[0].rows
        frame = pandas().DataFrame(read, columns=list(old.names)).dropna(axis="columns", how="all")
        given = frame.__class__({**frame, **{unit: [state] * len(frame) for unit, state in given.items()}})
    found = pf.diff(old, new, given, method=method or "auto")
    content = {"before": before, "after": after, "changes": [change._asdict() for change in found]}
    _print_found(content, list(map(str, found)), "the networks and their answers are the same", json)


def lint(net: options.Network, json: options.Json = False) -> None:
    """Say what is suspicious in a network, which need not be wrong. Exit code 1 if there is something."""
    found = pf.lint(source.read_single(net, "lint"))
    content = {"network": net, "suspicious": [each._asdict() for each in found]}
    _print_found(content, [each.sentence for each in found], "nothing suspicious", json)


def _print_found(content: dict[str, Any], lines: list[str], otherwise: str, json: bool) -> None:
    if json:
        output.print_json(content)
    else:
        print("\n".join(lines[: output.PRINTED_ROWS]) or otherwise)
        output.print_more(len(lines), output.PRINTED_ROWS)
    raise typer.Exit(FOUND if lines else 0)
