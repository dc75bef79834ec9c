"""The arguments and checks that several subcommands share, each with one spelling."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plefka.cli import completion
from plefka.errors import InvalidFile, InvalidInput

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

Network = Annotated[
    str,
    typer.Argument(
        metavar="NET",
        help="A network file (.json, .bif, .uai, .csv, ...), or a bundled example such as example:espresso.",
        autocompletion=completion.networks,
    ),
]
Evidence = Annotated[
    list[str] | None,
    typer.Option(
        "--evidence",
        "-e",
        metavar="UNIT=STATE,...",
        help="The observed units: a=1,b=0. Uncertain observations have a likelihood for on and off: c=0.9:0.2.",
        autocompletion=completion.evidence,
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        metavar="METHOD",
        help="The method: auto (default), exact, bethe, ...",
        autocompletion=completion.methods,
    ),
]
Candidates = Annotated[
    list[str] | None,
    typer.Option(
        "--candidate",
        "-c",
        metavar="UNIT,...",
        help="The units that could be observed. By default these are all hidden units with parents.",
        autocompletion=completion.units,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Data = Annotated[
    Path | None,
    typer.Argument(
        metavar="[DATA]",
        help="The table to read; the same as --rows.",
        show_default=False,
        autocompletion=completion.files,
    ),
]
Rows = Annotated[
    Path | None,
    typer.Option(
        "--rows",
        metavar="FILE",
        help="The table to read, with one column for each unit: .csv, .csv.gz, .parquet, .jsonl or .npy.",
        autocompletion=completion.files,
    ),
]
Id = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="A column that identifies the rows and is copied to the output. Repeat the option for several columns.",
    ),
]
Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="A network file (.json or .npz).", autocompletion=completion.networks)
]
LearningMethod = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        metavar="METHOD",
        help="The method. By default SJJ for sigmoid networks and G12 for others; machines choose by size.",
        autocompletion=completion.methods,
    ),
]
Seed = Annotated[int, typer.Option("--seed", "-s", min=0, help="The same seed gives the same result.")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS", help="Work on the Dask cluster with this scheduler: tcp://HOST:8786."
    ),
]
Workers = Annotated[
    int | None, typer.Option("--workers", metavar="N", min=1, help="Work in so many processes of this machine.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output file if it exists.")]


def table_of(data: Path | None, rows: Path | None, out: str | None = None) -> Path:
    """The table to read, by its place or by --rows. `out`: the option that writes, which --rows was once."""
    if data is not None and rows is not None:
        instead = f" To write the results to {rows}, pass {out} {rows}." if out else ""
        raise InvalidInput(f"--rows names the table to read, as in every command; got {data} as well.{instead}")
    found = data or rows
    if found is None:
        raise InvalidInput("there is no table to read; name one, as in --rows data.csv.")
    return found


def names_in(options: list[str] | None, known: Collection[str] = ()) -> list[str] | None:
    """Names with commas between, in one option or in several; None where there are none.

    A name of a unit that has commas itself is taken as a whole.
    """
    pieces = (piece.strip() for option in options or () for piece in split_at_commas(option, known.__contains__, known))
    return [name for name in pieces if name] or None


def split_at_commas(text: str, is_one: Callable[[str], bool], known: Collection[str]) -> list[str]:
    """The parts between commas; as many as possible together where they are one, as a unit's name may have commas."""
    pieces, found, at = text.split(","), [], 0
    most = 1 + max((name.count(",") for name in known), default=0)
    while at < len(pieces):
        ends = range(min(at + most, len(pieces)), at, -1)
        end = next((end for end in ends if is_one(",".join(pieces[at:end]).strip())), at + 1)
        found.append(",".join(pieces[at:end]))
        at = end
    return found


def check_single(network: "BeliefNetwork", model: str, command: str) -> None:
    if network.stack is not None:
        raise InvalidFile(
            f"{model}: {command} takes one network; got a stack of {network.stack}. Save one of them by itself."
        )
