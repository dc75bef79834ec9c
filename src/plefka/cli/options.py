"""The arguments that several subcommands share, each with one spelling, and what the shell can complete of them."""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import plefka as pf
from plefka.errors import InvalidInput, PlefkaError

# ---- completion ------------------------------------------------------------------------------------------------------


def complete_networks(incomplete: str) -> list[str]:
    """Bundled examples, and files and folders from here on."""
    from plefka.files import EXAMPLE

    return _starting([EXAMPLE + name for name in pf.example_names()], incomplete) + complete_files(incomplete)


def complete_files(incomplete: str) -> list[str]:
    """Paths, folders with a slash behind them."""
    folder, slash, start = incomplete.rpartition("/")
    try:
        found = sorted(Path(folder + slash or ".").iterdir())
    except OSError:
        return []
    shown = [path for path in found if path.name.startswith(start) and (start or not path.name.startswith("."))]
    return [f"{folder}{slash}{path.name}{'/' if path.is_dir() else ''}" for path in shown]


def complete_methods(incomplete: str) -> list[str]:
    """Methods by name, without their options."""
    return _starting(pf.METHODS, incomplete)


def complete_units(context: typer.Context, incomplete: str) -> list[str]:
    """Names of units, after those that stand there already with commas between."""
    before, comma, start = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _starting(_states(context), start)]


def complete_evidence(context: typer.Context, incomplete: str) -> list[str]:
    """UNIT= for every unit, and its states after the equals sign."""
    before, comma, start = incomplete.rpartition(",")
    unit, equals, state = start.rpartition("=")
    if not equals:
        return [f"{before}{comma}{name}=" for name in _starting(_states(context), start)]
    states = _states(context).get(unit, ())
    return [f"{before}{comma}{unit}={word}" for word in _starting(states, state)]


def _starting(words: Iterable[str], start: str) -> list[str]:
    return [word for word in words if word.startswith(start)]


def _states(context: typer.Context) -> dict[str, tuple[str, str]]:
    """The units of the network on the command line, with their states; nothing where it cannot be read."""
    source = context.params.get("net") or next(iter(context.args), None)  # there, if an option still lacks its value
    try:
        network = pf.load(str(source)) if source else None
    except (PlefkaError, OSError):
        network = None
    return {} if network is None else dict(zip(network.names, network.states, strict=True))


# ---- arguments -------------------------------------------------------------------------------------------------------

of_unit = partial(typer.Argument, metavar="UNIT", autocompletion=complete_units)
of_units = partial(typer.Option, metavar="UNIT,...", autocompletion=complete_units)
of_states = partial(typer.Option, metavar="UNIT=STATE,...", autocompletion=complete_evidence)
of_method = partial(typer.Option, "--method", "-m", metavar="METHOD", autocompletion=complete_methods)
of_out = partial(typer.Option, "--out", "-o")
_network = typer.Argument(
    metavar="NET",
    help="A network file (.json, .bif, .uai, .csv, ...), or a bundled example such as example:espresso.",
    autocompletion=complete_networks,
)
Network = Annotated[str, _network]
AnyNetwork = Annotated[str | None, _network]
Evidence = Annotated[
    list[str] | None,
    of_states(
        "--evidence",
        "-e",
        help="The observed units: a=1,b=0. Uncertain observations have a likelihood for on and off: c=0.9:0.2.",
    ),
]
Do = Annotated[
    list[str] | None,
    of_states(help="The units that are set from outside: the edges to them are cut before the evidence counts."),
]
Exclusive = Annotated[
    list[str] | None,
    of_units(help="Exactly one of these units is on: a list of names, or causes for all units without parents."),
]
OrNone = Annotated[bool, typer.Option("--or-none", help="With --exclusive: at most one of the units is on.")]
Method = Annotated[
    str | None,
    of_method(help="The method: auto (default), exact, bethe, ..."),
]
Candidates = Annotated[
    list[str] | None,
    of_units(
        "--candidate",
        "-c",
        help="The units that could be observed. By default these are all hidden units with parents.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Data = Annotated[
    Path | None,
    typer.Argument(
        metavar="[DATA]",
        help="The table to read; the same as --rows.",
        show_default=False,
        autocompletion=complete_files,
    ),
]
Rows = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The table to read, with one column for each unit: .csv, .csv.gz, .xlsx, .parquet, .jsonl or .npy.",
        autocompletion=complete_files,
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
    str, typer.Argument(metavar="MODEL", help="A network file (.json or .npz).", autocompletion=complete_networks)
]
LearningMethod = Annotated[
    str | None,
    of_method(help="The method. By default reweighted (sigmoid), em (noisy-or) or G12; machines choose by size."),
]
Seed = Annotated[int, typer.Option("--seed", "-s", min=0, help="The same seed gives the same result.")]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Work on the Dask cluster with this scheduler: tcp://HOST:8786."),
]
Workers = Annotated[int | None, typer.Option(metavar="N", min=1, help="Work in so many processes of this machine.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output file if it exists.")]


# ---- what they say ---------------------------------------------------------------------------------------------------


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
