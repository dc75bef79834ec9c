"""All subcommands, and how errors are reported."""

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated

import typer

from plefka import progress
from plefka.cli.compare import compare, demo
from plefka.cli.competition import uai
from plefka.cli.exits import BAD_INPUT
from plefka.cli.fit import fit
from plefka.cli.infer import infer
from plefka.cli.interview import interview
from plefka.cli.questions import ask, counterfactuals, explain, most_probable, report, sample, sensitivity
from plefka.cli.reproduce import reproduce
from plefka.cli.review import diff, lint, validate
from plefka.cli.score import impute, score
from plefka.cli.serve import explore, serve
from plefka.cli.show import convert, show
from plefka.errors import PlefkaError, PlefkaWarning
from plefka.runtime.version import __version__

NO_MEMORY = "there is not enough memory for this; take fewer rows, a smaller network or another method."

# Plain help: rich would take longer to import than all the rest.
app = typer.Typer(name="plefka", rich_markup_mode=None, pretty_exceptions_enable=False)
COMMANDS = (
    infer, compare, explain, ask, interview, most_probable, sensitivity, counterfactuals, report, explore, serve,
    sample, fit, score, impute, validate, show, lint, diff, convert, uai, demo, reproduce,
)  # fmt: skip
for command in COMMANDS:
    app.command()(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"plefka {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def plefka(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Compute posteriors in networks of binary units, and learn such networks from data.

    Exit code: 0, 1 if a method did not converge or learn, or if diff or lint found something, 2 for bad
    input, 3 if one of several processes was lost, 130 after Ctrl-C.
    """
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(BAD_INPUT)


def run(arguments: Sequence[str] | None = None) -> int:
    """The exit code; what was wrong with the input is one message on standard error, and so is every warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("once", PlefkaWarning)  # in each run, though several questions read the same evidence
        warnings.onceregistry.clear()  # pyright: ignore[reportAttributeAccessIssue]
        warnings.showwarning = lambda message, *place: print(f"plefka: {message}", file=sys.stderr)
        with progress.show(os.environ.get(progress.VARIABLE) != "0"):
            return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        return app(arguments, prog_name="plefka", standalone_mode=False) or 0
    except PlefkaError as error:
        return _complain(str(error))
    except OSError as error:
        return _complain(f"{error.filename}: {error.strerror}." if error.filename else f"{error}.")
    except MemoryError:
        return _complain(NO_MEMORY)
    except Exception as error:
        if "RESOURCE_EXHAUSTED" in str(error):  # JAX's words for it
            return _complain(NO_MEMORY)
        # Usage errors have this method in every version of typer, but not one common class to import.
        if not hasattr(error, "format_message"):
            raise
        message = error.format_message()  # pyright: ignore[reportAttributeAccessIssue]
        return _complain(message if message.endswith(("?", ".")) else f"{message}.")


def _complain(message: str) -> int:
    print(f"plefka: {message}", file=sys.stderr)
    return BAD_INPUT
