"""`--coordinator`, `--processes` and `--process`: the command as one of several processes that learn together."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from plefka.cli.exit_codes import PROCESS_LOST
from plefka.errors import InvalidInput, ProcessLost

Coordinator = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Learn together with other processes: the machine of process 0, and a free port there.",
    ),
]
Processes = Annotated[int | None, typer.Option(metavar="N", help="How many processes learn together.")]
Process = Annotated[int | None, typer.Option(metavar="K", help="The number of this process, from 0 to N - 1.")]


@contextmanager
def joined(coordinator: str | None, processes: int | None, process: int | None) -> Iterator[None]:
    """Inside, this process is one of several, if the options say so."""
    options = {"--coordinator": coordinator, "--processes": processes, "--process": process}
    missing = [name for name, value in options.items() if value is None]
    if coordinator is None or processes is None or process is None:
        if len(missing) < len(options):
            raise InvalidInput(
                f"--coordinator HOST:PORT, --processes N and --process K belong together; add {' and '.join(missing)}."
            )
        yield
        return
    from plefka.learning.process_group import join_processes

    join_processes(coordinator, processes, process)
    try:
        yield
    except ProcessLost as error:
        print(f"plefka: {error}", file=sys.stderr, flush=True)
        os._exit(PROCESS_LOST)  # the ordinary way out would wait for the process that is lost
