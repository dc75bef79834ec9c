"""The arguments and checks that several subcommands share, each with one spelling."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plefka.errors import InvalidFile

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

Network = Annotated[
    str, typer.Argument(metavar="NET", help="A network file (.json, .bif, .uai, .csv, ...), or example:espresso.")
]
Evidence = Annotated[
    list[str] | None,
    typer.Option(
        "--evidence",
        "-e",
        metavar="UNIT=STATE,...",
        help="What was seen: a=1,b=0, or softly c=0.9:0.2 (on:off).",
    ),
]
Method = Annotated[
    str | None, typer.Option("--method", "-m", metavar="METHOD", help="auto (default), exact, bethe, ...")
]
Candidates = Annotated[
    list[str] | None,
    typer.Option(
        "--candidate", "-c", metavar="UNIT,...", help="Units that could be observed; all with parents unless given."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]
Data = Annotated[Path, typer.Argument(metavar="DATA", help="A table of 0, 1 and missing: .csv, .parquet or .npy.")]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A network file (.json or .npz).")]
LearningMethod = Annotated[
    str | None,
    typer.Option("--method", "-m", metavar="METHOD", help="SJJ for sigmoid networks and G12 for others unless given."),
]
Seed = Annotated[int, typer.Option("--seed", "-s", min=0, help="The same seed gives the same result.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output file if it exists.")]


def names_in(options: list[str] | None) -> list[str] | None:
    """Names with commas between, in one option or in several; None where there are none."""
    names = [name.strip() for option in options or () for name in option.split(",")]
    return [name for name in names if name] or None


def check_single(network: "BeliefNetwork", model: str, command: str) -> None:
    if network.stack is not None:
        raise InvalidFile(
            f"{model}: {command} takes one network; got a stack of {network.stack}. Save one of them by itself."
        )
