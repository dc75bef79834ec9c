"""`plefka infer`: posterior means and ln P(evidence) by one or more methods."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from plefka.cli import options, output, rows_out
from plefka.tables import kind_of, status_word

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plefka.evidence import Likelihood
    from plefka.sampling.verdict import Check as Checked
    from plefka.solution import Solution

Methods = Annotated[
    list[str] | None,
    typer.Option("--method", "-m", metavar="METHOD", help="auto (default), G12, bethe, exact, ...; may be repeated."),
]
Rows = Annotated[
    str | None,
    typer.Option(
        "--rows", metavar="FILE", help="Evidence in rows, .csv, .parquet or .jsonl: columns are units, empty = hidden."
    ),
]

Check = Annotated[bool, typer.Option("--check", help="Check every answer by importance sampling.")]


def infer(
    net: options.Network,
    evidence: options.Evidence = None,
    method: Methods = None,
    rows: Rows = None,
    check: Check = False,
    out: rows_out.Out = None,
    id_column: rows_out.Id = None,
    among: rows_out.Among = None,
    top: rows_out.Top = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Posterior means and ln P(evidence)."""
    import plefka as pf
    from plefka.cli.source import read_evidence, read_network, read_rows

    written = {"id": id_column, "among": among, "top": top}
    rows_out.check_options(rows, out, method, check, written)
    if rows is not None and out is not None:
        rows_out.write(net, evidence, method, rows, out, written, force=force, json=json)
        return
    methods: list[dict[str, Any]] = [{"method": pf.parse_method(spelling)} for spelling in method or ()] or [{}]
    network = read_network(net)
    observed = read_evidence(network, evidence)
    given = observed if rows is None else read_rows(network, rows, observed)
    solutions = [pf.infer(network, given, **each, throw=False, check=check) for each in methods]
    if json:
        output.print_json(
            {"network": net, "evidence": output.as_json(observed), "solutions": [_content(s) for s in solutions]}
        )
    else:
        print(_heading(observed, rows))
        print()
        _print(solutions)
    output.exit_with(solutions)


def _content(solution: "Solution") -> dict[str, Any]:
    rows = _row_contents(solution)
    return {
        "method": str(solution.method),
        "kind": kind_of(solution),
        "is_bound": solution.is_bound,
        "notes": list(solution.notes),
        **({"rows": rows} if solution.is_batch else rows[0]),
    }


def _row_contents(solution: "Solution") -> list[dict[str, Any]]:
    """One for each row of a batch, or the single one that there is."""
    s = solution
    checks = (s.checked or [None] * len(s.means)) if s.is_batch else s.checked
    fields = (s.log_likelihood, s.status, s.num_steps, s.residual, s.warnings, s.means, checks)
    return [
        {
            "log_likelihood": float(log_likelihood),
            "status": status_word(status),
            "message": status.value,
            "warnings": warnings,
            "num_steps": int(num_steps),
            "residual": float(residual),
            "num_restarts": s.num_restarts,
            "means": dict(zip(s.names, means.tolist(), strict=True)),
            **({} if check is None else {"check": _check_content(check)}),
        }
        for log_likelihood, status, num_steps, residual, warnings, means, check in zip(
            *(fields if s.is_batch else ([field] for field in fields)), strict=True
        )
    ]


def _check_content(check: "Checked") -> dict[str, Any]:
    return {
        "log_likelihood": check.log_likelihood,
        "standard_error": check.standard_error,
        "pareto_k": check.pareto_k,
        "effective_samples": check.effective_samples,
        "num_samples": check.num_samples,
        "trusted": check.trusted,
        "verdict": check.verdict,
    }


def _heading(observed: "Mapping[str, int | Likelihood]", rows: str | None) -> str:
    if rows is None:
        return output.state_text(observed)
    return f"{output.state_text(observed)} in every row" if observed else f"observed: the rows of {rows}"


def _print(solutions: list["Solution"]) -> None:
    if solutions[0].is_batch:
        for solution in solutions:
            _print_batch(solution)
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
            f"{s.log_likelihood:.6f}",
            kind_of(s),
            status_word(s.status),
            output.steps_text(s, s.num_steps),
            f"{s.residual:.1e}",
        )
        for s in solutions
    ]
    output.print_table(("method", "ln P(evidence)", "bound?", "status", "steps", "residual"), rows)


def _print_notes(solutions: list["Solution"]) -> None:
    """How each was computed, and what its check says."""
    for solution in solutions:
        for note in [*solution.notes, *([f"check: {solution.checked.verdict}"] if solution.checked else [])]:
            print(f"{solution.method}: {note}")


def _print_means(solutions: list["Solution"]) -> None:
    """P(on | evidence) of hidden units by every method, most probable by the first one on top."""
    ranking = [unit for unit, _ in solutions[0].ranking()]
    marginals = [solution.marginals() for solution in solutions]
    rows = [(unit, *(f"{means[unit]:.6f}" for means in marginals)) for unit in ranking[: output.MOST_ROWS]]
    if rows:
        output.print_table(("P(on | evidence)", *(str(s.method) for s in solutions)), rows)
    output.print_more(len(ranking), len(rows))


def _print_batch(solution: "Solution") -> None:
    count = len(solution.log_likelihood)
    rows = [
        (
            str(row),
            f"{solution.log_likelihood[row]:.6f}",
            status_word(solution.status[row]),
            output.steps_text(solution, solution.num_steps[row]),
            _most_probable(solution, row),
        )
        for row in range(min(count, output.MOST_ROWS))
    ]
    header = ("row", "ln P(evidence)", "status", "steps", "most probable hidden units")
    output.print_table(header, rows, f"{solution.method} ({kind_of(solution)})")
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
    return ", ".join(f"{solution.names[unit]} {solution.means[row, unit]:.3f}" for unit in best)
