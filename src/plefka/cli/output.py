"""Printing: tables for people, JSON for machines."""

import ctypes
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import typer

import plefka as pf
from plefka.cli.exits import DID_NOT_CONVERGE, INTERRUPTED
from plefka.errors import listed
from plefka.inference.solution_words import LEGEND, doubts
from plefka.inference.solution_words import as_json as to_json
from plefka.tables.display import PRINTED_ROWS as PRINTED_ROWS
from plefka.tables.display import rows_by_sentence, text_table


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """On a terminal with rich, where it is installed; otherwise plain text, without a single control code."""
    if sys.stdout.isatty() and find_spec("rich"):
        _print_rich(header, rows, title)
        return
    print("\n".join([*([title] if title else []), text_table(header, rows)]))


def _print_rich(header: Sequence[str], rows: Sequence[Sequence[str]], title: str) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False, header_style="bold")
    for k, name in enumerate(header):
        table.add_column(name, justify="right" if k else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(markup=False, highlight=False, emoji=False).print(table)


@contextmanager
def resumable(out: object) -> Iterator[None]:
    """After Ctrl-C, say that what is done is kept, and end with the exit code for it."""
    try:
        yield
    except KeyboardInterrupt:
        kept = f"interrupted; finished blocks of {out} are kept. Run the same command to resume."
        print(f"plefka: {kept}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def print_more(total: int, shown: int) -> None:
    """What a table left out."""
    if total > shown:
        print(f"... and {total - shown:,} more; --json prints all")


def print_json(content: Any) -> None:
    """One JSON document; infinities and nan, which JSON does not have, become null."""
    print(to_json(content, indent=2))


@contextmanager
def quiet_solver() -> Iterator[None]:
    """HiGHS prints a line about its own rounding now and then, which must not be part of the answer that follows."""
    try:
        flush, kept, nowhere = ctypes.CDLL(None).fflush, os.dup(1), os.open(os.devnull, os.O_WRONLY)
    except (OSError, TypeError, AttributeError):  # no such library, or no such output
        yield
        return
    try:
        flush(None)
        os.dup2(nowhere, 1)
        yield
    finally:
        flush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def print_answer(
    about: dict[str, Any], evidence: "Mapping[str, int | pf.Likelihood]", text: object, content: Any, json: bool
) -> None:
    """The answer to a question about one case, as text or as JSON, where `about` says which network gave it."""
    if json:
        print_json({**about, "evidence": as_json(evidence), **content})
    else:
        print(f"{state_text(evidence)}\n\n{text}")


def plain(value: Any) -> Any:
    """A value of a table as JSON has it: numbers, words, or the text of anything else."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def state_text(evidence: "Mapping[str, int | pf.Likelihood]", network: "pf.BeliefNetwork | None" = None) -> str:
    """'observed: a=1, b=0, c=0.9:0.2', with the words for the states where the network has some."""
    words = getattr(network, "given_states", None)
    named = dict(zip(network.names, words, strict=True)) if network is not None and words else {}

    def spelled(unit: str, state: "int | pf.Likelihood") -> object:
        if not isinstance(state, int):
            return f"{state.on:g}:{state.off:g}"
        return named[unit][state] if named else state

    states = ", ".join(f"{unit}={spelled(unit, state)}" for unit, state in evidence.items())
    return f"observed: {states}" if states else "nothing observed"


def as_json(evidence: "Mapping[str, int | pf.Likelihood]") -> dict[str, Any]:
    """The states of units; soft evidence as {"on": ..., "off": ...}."""
    return {
        unit: state if isinstance(state, int) else {"on": state.on, "off": state.off}
        for unit, state in evidence.items()
    }


def steps_text(steps: int) -> str:
    """The number of steps; nothing for an answer that took none."""
    return str(steps) if steps else ""


def print_legend(cells: Iterable[str]) -> None:
    """The meaning of ~, where some cell has one."""
    if any("~" in cell for cell in cells):
        print(LEGEND)


def print_left_out(reasons: Mapping[str, str]) -> None:
    """The methods that do not apply, and why."""
    for reason in reasons.values():
        print(f"left out: {reason}")


def print_doubts(solutions: Sequence["pf.Solution"]) -> None:
    """The warnings about answers that converged."""
    for solution in solutions:
        for doubt in doubts(solution):
            print(f"warning: {solution.method}: {doubt}")


def exit_with(solutions: Sequence["pf.Solution"]) -> None:
    """Say what did not converge, with advice, and end with the exit code for it."""
    failures = [line for solution in solutions for line in _failures(solution)]
    for line in failures:
        print(f"plefka: {line}", file=sys.stderr)
    if failures:
        raise typer.Exit(DID_NOT_CONVERGE)


def _failures(solution: "pf.Solution") -> list[str]:
    """A line for each status other than converged; of a batch, with the rows that ended so."""
    statuses = solution.status if solution.is_batch else [solution.status]
    found = rows_by_sentence([] if status is pf.Status.CONVERGED else [status.value] for status in statuses)
    return [
        f"{solution.method}{f' (rows: {listed(rows)})' if solution.is_batch else ''}: {sentence}."
        for sentence, rows in found.items()
    ]
