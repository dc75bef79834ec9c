"""`plefka infer`: posterior means and ln P(evidence) by one or more methods; of rows, from a file to a file."""

import sys
from collections.abc import Mapping
from dataclasses import asdict
from glob import has_magic
from pathlib import Path
from typing import Annotated, Any

import typer

import plefka as pf
from plefka.cli import options, output, source
from plefka.cli.exits import DID_NOT_CONVERGE
from plefka.errors import InvalidInput
from plefka.inference.solution_words import accuracies, kind_of, quantity_of, status_word

Methods = Annotated[
    list[str] | None,
    options.of_method(help="The method: auto (default), exact, bethe, G12, ... Repeat the option for several methods."),
]
Out = Annotated[
    Path | None,
    options.of_out(
        metavar="FILE|DIR",
        help="With --rows: the file (.parquet or .csv) or folder for the answers. They are written block by block.",
    ),
]
Units = Annotated[
    list[str] | None,
    options.of_units(help="The units to show, or with --out to write: all (default), causes, or a list of names."),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="With --out: the memory that each process may use, such as 4GB. By default 2GB.",
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="The number of units to show for each row; with --out, write only so many of the most probable ones.",
    ),
]
Joint = Annotated[
    list[str] | None,
    options.of_units(help="Print the probability of every state of these units together, 12 of them at most."),
]
Check = Annotated[bool, typer.Option("--check", help="Check every answer by importance sampling.")]


def infer(
    net: options.Network,
    evidence: options.Evidence = None,
    do: options.Do = None,
    exclusive: options.Exclusive = None,
    or_none: options.OrNone = False,
    method: Methods = None,
    rows: options.Rows = None,
    check: Check = False,
    out: Out = None,
    id_column: options.Id = None,
    units: Units = None,
    top: Top = None,
    joint: Joint = None,
    scheduler: options.Scheduler = None,
    workers: options.Workers = None,
    memory: Memory = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Compute the probability of every hidden unit, and ln P(evidence)."""
    written = {"units": units, "top": top, "scheduler": scheduler, "workers": workers, "memory": memory}
    if id_column and rows is None:
        raise InvalidInput("--id names a column of --rows; add --rows FILE, or leave it out.")
    if joint is not None and not options.names_in(joint):
        raise InvalidInput("--joint must name at least one unit; got none.")
    if joint and (rows is not None or exclusive):
        raise InvalidInput("--joint is for one row of evidence, given by --evidence; leave out --rows and --exclusive.")
    if out is None:
        _check_printed(rows, {name: value for name, value in written.items() if name not in ("units", "top")})
    else:
        rows = _check_written(rows, method, check)
        chosen = {"method": method[0] if method else None, "id_columns": id_column, "force": force}
        chosen["conditions"] = do, exclusive, or_none
        _print_done(_write(net, evidence, rows, out, written, **chosen), net, rows, json=json)
        return
    from plefka.networks.hierarchy import without_implied

    methods: list[dict[str, Any]] = [{"method": pf.parse_method(spelling)} for spelling in method or ()] or [{}]
    network = source.read_network(net)
    shown = source.read_units(network, units), top
    observed = source.read_evidence(network, evidence)
    given, ids = (observed, {}) if rows is None else source.read_rows(network, rows, observed, id_column)
    given = given if isinstance(given, dict) else without_implied(network, given)
    conditions = source.read_conditions(network, do, exclusive, or_none)
    solutions = [pf.infer(network, given, **each, throw=False, check=check, **conditions) for each in methods]
    tables = []
    if (together := options.names_in(joint, network.names)) and all(solution.converged for solution in solutions):
        first = solutions[0]  # whose network has lost the edges to what is set
        tables = [pf.joint(first.network, first.evidence, together, **each) for each in methods]
    if json:
        told = [_content(solution, ids, *shown) for solution in solutions]
        about = {"network": net, **network.identity, "evidence": output.as_json(observed)}
        content = {**about, "solutions": told, **conditions}
        output.print_json({**content, "joint": [table.to_dict() for table in tables]} if tables else content)
    else:
        heading = output.state_text(observed, network)
        if rows is not None:
            heading = f"{heading} in every row" if observed else f"observed: the rows of {rows}"
        print(f"{heading}\n")
        _print(solutions, ids, *shown)
        for table in tables:
            print(f"\n{table}")
    output.exit_with(solutions)


def _content(solution: "pf.Solution", ids: Mapping[str, list[Any]], units: Any, top: int | None) -> dict[str, Any]:
    """What `to_dict` says, of all units or of the chosen ones, with the columns that name the rows."""
    content = solution.to_dict()
    if units or top:
        best_by_row = solution.ranking(top, units=units or "all")
        of_rows = zip(content["rows"], best_by_row, strict=True) if solution.is_batch else [(content, best_by_row)]
        for row, best in of_rows:
            row |= {field: {name: row[field][name] for name, _ in best} for field in ("means", "means_accuracy")}
    for k, row in enumerate(content["rows"] if ids else ()):
        row["id"] = {name: output.plain(values[k]) for name, values in ids.items()}
    return content


def _print(solutions: list["pf.Solution"], ids: Mapping[str, list[Any]], units: Any, top: int | None) -> None:
    from plefka.inference import solution_text

    first = solutions[0]
    if first.is_batch:
        for solution in solutions:
            best = solution_text.most_probable_units(solution, output.PRINTED_ROWS, top or 3, units or "causes")
            _print_batch(solution, ids, best)
        return
    if len(solutions) == 1:
        print("\n".join(solution_text.answer_lines(first)))
        header, shown, count = solution_text.probability_table(first, top or output.PRINTED_ROWS, units or "all")
    else:
        _print_answers(solutions)
        by_method = solution_text.probabilities_by_method
        header, shown, count = by_method(solutions, top or output.PRINTED_ROWS, units or "all")
    for solution in solutions:
        if solution.checked:
            print(f"{solution.method}: check: {solution.checked.verdict}")
    print()
    if shown:
        output.print_table(header, shown)
        output.print_legend(cell for _, *cells in shown for cell in cells)
    output.print_more(count, len(shown))


def _print_answers(solutions: list["pf.Solution"]) -> None:
    """What each of several methods says of ln P, and how it came to it."""
    rows = [
        (
            str(s.method),
            f"{s.log_partition:.6f}",
            kind_of(s),
            status_word(s.status),
            output.steps_text(s.num_steps),
            f"{s.residual:.1e}",
        )
        for s in solutions
    ]
    output.print_table(("method", quantity_of(solutions[0]), "bound?", "status", "steps", "residual"), rows)
    for solution in solutions:
        for note in solution.notes:
            print(note if note.startswith("auto chose") else f"{solution.method}: {note}")
    output.print_doubts(solutions)


def _print_batch(solution: "pf.Solution", ids: Mapping[str, list[Any]], best: list[str]) -> None:
    count, accuracy = solution.num_rows, accuracies(solution)
    rows = [
        (
            str(row),
            *(str(values[row]) for values in ids.values()),
            f"{solution.log_partition[row]:.6f}",
            accuracy[row],
            status_word(solution.status[row]),
            output.steps_text(solution.num_steps[row]),
            best[row],
        )
        for row in range(min(count, output.PRINTED_ROWS))
    ]
    header = ("row", *ids, quantity_of(solution), "accuracy", "status", "steps", "most probable")
    output.print_table(header, rows, f"{solution.method} ({kind_of(solution)})")
    output.print_legend(row[-1] for row in rows)
    output.print_more(count, len(rows))
    for note in solution.notes:
        print(note)
    if solution.checked:
        trusted = sum(check.trusted for check in solution.checked)
        print(f"check: {trusted:,} of {count:,} rows were confirmed; --json prints each verdict")
    output.print_doubts([solution])
    print()


# ---- from a file to a file -------------------------------------------------------------------------------------------


def _check_printed(rows: Path | None, written: dict[str, Any]) -> None:
    """Options that have no meaning without --out."""
    lonely = next((name for name, value in written.items() if value is not None), None)
    if lonely is not None:
        raise InvalidInput(f"--{lonely} goes with --rows and --out, which writes the answers to a file.")
    if rows is not None and not rows.is_file() and (rows.is_dir() or has_magic(str(rows))):
        raise InvalidInput(f"--rows {rows}: many files go with --out, which writes the answers to a file or folder.")


def _check_written(rows: Path | None, methods: list[str] | None, check: bool) -> Path:
    """Options that --out needs, or that have no meaning beside it."""
    if rows is None:
        raise InvalidInput("--out goes with --rows, a file of evidence in rows.")
    if len(methods or ()) > 1:
        raise InvalidInput(f"--out takes one method; got {len(methods or ())}. Run once for each.")
    if check:
        raise InvalidInput("--check does not go with --out. Check some of the rows without it.")
    return rows


def _write(
    net: str, evidence: list[str] | None, rows: Path, out: Path, written: dict[str, Any], **given: Any
) -> "pf.RowsDone":
    """Solve and write. The command is never imported by its workers, so that it may start some whenever they pay."""
    network = source.read_single(net, "infer --out")
    units = source.read_units(network, written["units"]) or "all"
    observed = source.read_evidence(network, evidence)
    given |= source.read_conditions(network, *given.pop("conditions"))
    workers = written["workers"] or (None if written["scheduler"] else "auto")
    with output.resumable(out):
        return pf.infer_rows(
            network, rows, out, evidence=observed, units=units, top=written["top"], client=written["scheduler"],
            workers=workers, memory=written["memory"], **given,
        )  # fmt: skip


def _print_done(done: "pf.RowsDone", net: str, rows: Path, *, json: bool) -> None:
    if json:
        facts = {"mean_log_likelihood": done.mean_log_likelihood, "converged": done.converged}
        output.print_json({"network": net, "evidence": str(rows), **asdict(done), "path": str(done.path), **facts})
    else:
        print(done)
    if done.converged < done.rows:
        print(f"plefka: {done.rows - done.converged:,} of {done.rows:,} rows have no answer.", file=sys.stderr)
        raise typer.Exit(DID_NOT_CONVERGE)
