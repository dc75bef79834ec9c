"""What the shell can complete: networks, methods, and the names of units."""

from collections.abc import Iterable
from pathlib import Path

import typer


def networks(incomplete: str) -> list[str]:
    """Bundled examples, and files and folders from here on."""
    from plefka.files import EXAMPLE
    from plefka.networks.examples import example_names

    return _starting([EXAMPLE + name for name in example_names()], incomplete) + files(incomplete)


def files(incomplete: str) -> list[str]:
    """Paths, folders with a slash behind them."""
    folder, slash, start = incomplete.rpartition("/")
    try:
        found = sorted(Path(folder + slash or ".").iterdir())
    except OSError:
        return []
    shown = [path for path in found if path.name.startswith(start) and (start or not path.name.startswith("."))]
    return [f"{folder}{slash}{path.name}{'/' if path.is_dir() else ''}" for path in shown]


def methods(incomplete: str) -> list[str]:
    """Methods by name, without their options."""
    from plefka.inference.library import METHODS

    return _starting(METHODS, incomplete)


def units(context: typer.Context, incomplete: str) -> list[str]:
    """Names of units, after those that stand there already with commas between."""
    before, comma, start = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _starting(_names(context), start)]


def evidence(context: typer.Context, incomplete: str) -> list[str]:
    """UNIT= for every unit, and its states after the equals sign."""
    before, comma, start = incomplete.rpartition(",")
    unit, equals, state = start.rpartition("=")
    if not equals:
        return [f"{before}{comma}{name}=" for name in _starting(_names(context), start)]
    states = _states(context).get(unit, ())
    return [f"{before}{comma}{unit}={word}" for word in _starting(states, state)]


def _starting(words: Iterable[str], start: str) -> list[str]:
    return [word for word in words if word.startswith(start)]


def _names(context: typer.Context) -> list[str]:
    return list(_states(context))


def _states(context: typer.Context) -> dict[str, tuple[str, str]]:
    """The units of the network on the command line, with their states; nothing where it cannot be read."""
    from plefka.errors import PlefkaError
    from plefka.files import load

    source = context.params.get("net") or next(iter(context.args), None)  # there, if an option still lacks its value
    try:
        network = load(str(source)) if source else None
    except (PlefkaError, OSError):
        network = None
    return {} if network is None else dict(zip(network.names, network.states, strict=True))
