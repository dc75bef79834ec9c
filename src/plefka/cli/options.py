"""The arguments that several subcommands share, each with one spelling."""

from typing import Annotated

import typer

Network = Annotated[str, typer.Argument(metavar="NET", help="A network file (.json or .npz), or example:espresso.")]
Evidence = Annotated[
    list[str] | None,
    typer.Option(
        "--evidence",
        "-e",
        metavar="UNIT=STATE,...",
        help="What was seen: a=1,b=0, or softly c=0.9:0.2 (on:off).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]
