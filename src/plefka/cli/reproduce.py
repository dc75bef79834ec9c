"""`plefka reproduce`: the tables and figures of the paper again, beside what was printed."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from plefka.cli import options, output
from plefka.cli.targets import check_folder
from plefka.errors import InvalidFile, InvalidInput, nearest
from plefka.paper.experiment_settings import PARTS, Experiment
from plefka.runtime.program_cache import COMPILE_FAST, keep_compiled

Out = Annotated[Path, options.of_out(metavar="DIR", help="The folder for the rows and the report.")]


def reproduce(
    parts: Annotated[
        list[str] | None, typer.Argument(metavar="[PART]...", help=f"What to compute: {', '.join(PARTS)}.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use fewer networks, starts and epochs. This takes about two minutes.")
    ] = False,
    networks: Annotated[
        int | None, typer.Option(min=2, help="The number of networks in each column of a table. By default 10,000.")
    ] = None,
    seed: options.Seed = 0,
    out: Out = Path("reproduction"),
    scheduler: options.Scheduler = None,
    workers: options.Workers = None,
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Only redraw the report from the rows in DIR; compute nothing.")
    ] = False,
) -> None:
    """Compute the tables and figures of the paper again."""
    from plefka.paper import plan, render, store

    wanted = parts or ["all"]
    for name in (part for part in wanted if part not in PARTS):
        raise InvalidInput(f"there is no part {name!r}; there are {', '.join(PARTS)}." + nearest(name, PARTS))
    if redraw:
        rows = store.read(out)
    else:
        size = plan.QUICK_SIZE if quick else plan.FULL
        chosen = plan.experiments(wanted, size if networks is None else plan.with_networks(size, networks), seed)
        check_folder(out)
        if (page := out / "report.html").exists() and not (out / "rows").is_dir():  # somebody else's
            raise InvalidFile(
                f"{page}: already exists, and {out} has no rows of plefka reproduce. Name another folder."
            )
        _compute(chosen, out, quick, scheduler, workers)
        rows = {experiment.name: store.read_one(out, experiment) for experiment in chosen}
    sections = render.sections(rows)
    paths = render.write(rows, out, sections)
    tables: list[Any] = [part for section in sections for part in section.parts if hasattr(part, "rows")]
    for part in tables:
        keep = [k for k, name in enumerate(part.header) if name != "why"]  # explanations are in the report
        shown = [[row[k] for k in keep] for row in part.rows]
        output.print_table([part.header[k] for k in keep], shown, part.caption)
        print()
    if quick_run := plan.quick_label(rows):
        print(quick_run)
    print(f"The report is in {' and '.join(map(str, paths))}.")


def _compute(chosen: list[Experiment], folder: Path, quick: bool, scheduler: str | None, workers: int | None) -> None:
    """What is missing, block by block; an interruption says how to go on."""
    if quick:
        os.environ.setdefault("XLA_FLAGS", COMPILE_FAST)
    from plefka.paper.compute import complete
    from plefka.scale.cluster import team_of

    keep_compiled()
    with output.resumable(folder), team_of(scheduler, workers) as team:
        for experiment in chosen:
            print(f"{experiment.name} ...", file=sys.stderr, flush=True)
            complete(experiment, folder, team)
