"""`plefka infer`: posterior means and ln P(evidence) by one or more methods."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from plefka.cli import completion, options, output, rows_out
from plefka.errors import InvalidInput
from plefka.inference.solution_text import accuracies, kind_of, marked, quantity_of, status_word

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from plefka.inference.solution import Solution
    from plefka.networks.evidence import Likelihood

Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        "-m",
        metavar="METHOD",
        help="The method: auto (default), exact, bethe, G12, ... Repeat the option for several methods.",
        autocompletion=completion.methods,
    ),
]
Check = Annotated[bool, typer.Option("--check", help="Check every answer by importance sampling.")]


def infer(
    net: options.Network,
    evidence: options.Evidence = None,
    method: Methods = None,
    rows: options.Rows = None,
    check: Check = False,
    out: rows_out.Out = None,
    id_column: options.Id = None,
    units: rows_out.Units = None,
    top: rows_out.Top = None,
    scheduler: options.Scheduler = None,
    workers: options.Workers = None,
    memory: rows_out.Memory = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Compute the probability of every hidden unit, and ln P(evidence)."""
    import plefka as pf
    from plefka.cli.source import read_evidence, read_network, read_rows

    written = {"units": units, "top": top, "scheduler": scheduler, "workers": workers, "memory": memory}
    if id_column and rows is None:
        raise InvalidInput("--id names a column of --rows; add --rows FILE, or leave it out.")
    rows_out.check_options(rows, out, method, check, written)
    if rows is not None and out is not None:
        rows_out.write(net, evidence, method, rows, id_column, out, written, force=force, json=json)
        return
    methods: list[dict[str, Any]] = [{"method": pf.parse_method(spelling)} for spelling in method or ()] or [{}]
    network = read_network(net)
    observed = read_evidence(network, evidence)
    given, ids = (observed, {}) if rows is None else read_rows(network, rows, observed, id_column)
    solutions = [pf.infer(network, given, **each, throw=False, check=check) for each in methods]
    if json:
        output.print_json(
            {"network": net, "evidence": output.as_json(observed), "solutions": [_content(s, ids) for s in solutions]}
        )
    else:
        print(_heading(observed, rows))
        print()
        _print(solutions, ids)
    output.exit_with(solutions)


def _content(solution: "Solution", ids: "Mapping[str, list[Any]]") -> dict[str, Any]:
    """What `to_dict` says, with the columns that name the rows."""
    content = solution.to_dict()
    for k, row in enumerate(content["rows"] if ids else ()):
        row["id"] = {name: output.plain(values[k]) for name, values in ids.items()}
    return content


def _heading(observed: "Mapping[str, int | Likelihood]", rows: "Path | None") -> str:
    if rows is None:
        return output.state_text(observed)
    return f"{output.state_text(observed)} in every row" if observed else f"observed: the rows of {rows}"


def _print(solutions: list["Solution"], ids: "Mapping[str, list[Any]]") -> None:
    if solutions[0].is_batch:
        for solution in solutions:
            _print_batch(solution, ids)
    else:
        _print_answers(solutions)
        _print_notes(solutions)
        output.print_doubts(solutions)
        print()
        _print_means(solutions)


def _print_answers(solutions: list["Solution"]) -> None:
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


def _print_notes(solutions: list["Solution"]) -> None:
    """How each was computed, and what its check says."""
    for solution in solutions:
        for note in [*solution.notes, *([f"check: {solution.checked.verdict}"] if solution.checked else [])]:
            print(f"{solution.method}: {note}")


def _print_means(solutions: list["Solution"]) -> None:
    """P(on | evidence) of hidden units by every method, most probable by the first one on top.

    Of one method with the accuracy of each, of several with a mark of those that are estimates.
    """
    first, names = solutions[0], {name: unit for unit, name in enumerate(solutions[0].names)}
    ranking = [names[name] for name, _ in first.ranking(None, units="all")]
    shown = ranking[: output.PRINTED_ROWS]
    if len(solutions) == 1:
        rows = [(first.names[u], f"{first.means[u]:.6f}", str(first.accuracy[u])) for u in shown]
    else:
        rows = [(first.names[u], *(marked(solution, None, u, 6) for solution in solutions)) for u in shown]
    if rows:
        methods = [str(solution.method) for solution in solutions]
        output.print_table(("P(on | evidence)", *methods, *(["accuracy"] if len(methods) == 1 else [])), rows)
        output.print_legend(cell for _, *cells in rows for cell in cells)
    output.print_more(len(ranking), len(rows))


def _print_batch(solution: "Solution", ids: "Mapping[str, list[Any]]") -> None:
    count, accuracy = solution.num_rows, accuracies(solution)
    rows = [
        (
            str(row),
            *(str(values[row]) for values in ids.values()),
            f"{solution.log_partition[row]:.6f}",
            accuracy[row],
            status_word(solution.status[row]),
            output.steps_text(solution.num_steps[row]),
            _most_probable(solution, row),
        )
        for row in range(min(count, output.PRINTED_ROWS))
    ]
    header = ("row", *ids, quantity_of(solution), "accuracy", "status", "steps", "most probable hidden units")
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


def _most_probable(solution: "Solution", row: int) -> str:
    import numpy as np

    hidden = np.flatnonzero(~solution.observed[row])
    best = hidden[np.argsort(-solution.means[row, hidden], kind="stable")][:3]
    return ", ".join(f"{solution.names[unit]} {marked(solution, row, unit, 3)}" for unit in best)
