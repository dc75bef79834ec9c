"""The command `plefka`: parse, call, print. Nothing heavy is imported before a subcommand needs it."""

import sys
from collections.abc import Sequence

from plefka.errors import MissingExtra

BAD_INPUT = 2
PROCESS_LOST = 3  # one of several that learn together
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 (did not converge), 2 (bad input), 3 (lost a process) or 130."""
    try:
        from plefka.cli.app import run
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        print(MissingExtra("typer", "cli", "the command plefka"), file=sys.stderr)
        return BAD_INPUT
    try:
        return run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
