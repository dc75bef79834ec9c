"""The command `plefka`: parse, call, print. Nothing heavy is imported before a subcommand needs it."""

import sys
from collections.abc import Sequence

from plefka.cli.exits import BAD_INPUT, INTERRUPTED, Interrupts, resend_dropped_interrupts
from plefka.errors import MissingExtra


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 (did not converge), 2 (bad input), 3 (lost a process) or 130."""
    try:
        with Interrupts() as interrupts:
            from plefka.cli.app import run

            interrupts.check()
        with resend_dropped_interrupts():
            return run(arguments)
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        print(MissingExtra("typer", "cli", "the command plefka"), file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
