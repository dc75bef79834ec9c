"""`plefka infer --rows FILE --out FILE`: posteriors of any number of rows, from a file to a file."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plefka.cli import completion, options, output
from plefka.cli.exit_codes import INTERRUPTED
from plefka.errors import InvalidInput

if TYPE_CHECKING:
    from plefka.scale.rows_done import RowsDone

Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE|DIR",
        help="With --rows: the file (.parquet or .csv) or folder for the answers. They are written block by block.",
    ),
]
Units = Annotated[
    list[str] | None,
    typer.Option(
        "--units",
        metavar="UNIT,...",
        help="With --out: the units to write. This is all (default), causes, or a list of names.",
        autocompletion=completion.units,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="With --out: the memory that each process may use, such as 4GB. By default 2GB.",
    ),
]
Top = Annotated[
    int | None,
    typer.Option("--top", min=1, help="With --out: write only this many of the most probable units for each row."),
]


def check_options(
    rows: Path | None, out: Path | None, methods: Sequence[str] | None, check: bool, written: dict[str, Any]
) -> None:
    """Options that have no meaning without others, or beside them."""
    if out is None:
        lonely = next((name for name, value in written.items() if value is not None), None)
        if lonely is not None:
            raise InvalidInput(f"--{lonely} goes with --rows and --out, which writes the answers to a file.")
        if rows is not None and not rows.is_file() and (rows.is_dir() or has_magic(str(rows))):
            raise InvalidInput(
                f"--rows {rows}: many files go with --out, which writes the answers to a file or folder."
            )
    elif rows is None:
        raise InvalidInput("--out goes with --rows, a file of evidence in rows.")
    elif len(methods or ()) > 1:
        raise InvalidInput(f"--out takes one method; got {len(methods or ())}. Run once for each.")
    elif check:
        raise InvalidInput("--check does not go with --out. Check some of the rows without it.")


def write(
    net: str,
    evidence: list[str] | None,
    methods: list[str] | None,
    rows: Path,
    id_columns: list[str] | None,
    out: Path,
    written: dict[str, Any],
    *,
    force: bool,
    json: bool,
) -> None:
    """Solve, write, and say how it went."""
    import plefka as pf
    from plefka.cli.source import read_evidence, read_network

    network = read_network(net)
    options.check_single(network, net, "infer --out")
    names = options.names_in(written["units"], network.names) or ["all"]
    units = names[0] if names in (["all"], ["causes"]) else names
    observed = read_evidence(network, evidence)
    try:
        done = pf.infer_rows(
            network, rows, out, methods[0] if methods else None,
            evidence=observed, id_columns=id_columns, units=units, top=written["top"], client=written["scheduler"],
            workers=_workers(written), memory=written["memory"], force=force,
        )  # fmt: skip
    except KeyboardInterrupt:
        print(
            f"plefka: interrupted; finished blocks of {out} are kept. Run the same command to resume.", file=sys.stderr
        )
        raise typer.Exit(INTERRUPTED) from None
    output.print_json(_content(done, net, rows)) if json else print(done)
    _exit_with(done)


def _workers(written: dict[str, Any]) -> int | str | None:
    """The command is never imported by its workers, so that it may start some whenever they pay."""
    return written["workers"] or (None if written["scheduler"] else "auto")


def _content(done: "RowsDone", net: str, rows: Path) -> dict[str, Any]:
    facts = {"mean_log_likelihood": done.mean_log_likelihood, "converged": done.converged}
    return {"network": net, "evidence": str(rows), **asdict(done), "path": str(done.path), **facts}


def _exit_with(done: "RowsDone") -> None:
    if done.converged < done.rows:
        print(f"plefka: {done.rows - done.converged:,} of {done.rows:,} rows have no answer.", file=sys.stderr)
        raise typer.Exit(output.DID_NOT_CONVERGE)
