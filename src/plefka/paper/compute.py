"""From settings to rows: every block that is not there yet or that other code has computed, one after the other.

A block is written as a whole: an interrupted run loses only the block that it was at, and resumes there.
"""

import time
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

import plefka as pf
from plefka.errors import PlefkaWarning
from plefka.mean_field.schemes import MeanField
from plefka.methods.method import Method
from plefka.paper import error_and_time as methods
from plefka.paper import learn_bars
from plefka.paper.as_printed import AsPrinted, ByPrintedFixedPoint
from plefka.paper.experiment_settings import (
    AS_PRINTED,
    BY_73,
    Column,
    Experiment,
    Learning,
    Radii,
    Study,
    Trial,
    TruncatedRadii,
)
from plefka.paper.random_networks import draw, measure_method, measure_radii, observe, radii_count
from plefka.paper.store import Store, code_digest
from plefka.progress import progress
from plefka.runtime.whole_files import LOCK, only_run, write_errors_in_words
from plefka.scale.teams import Here, Team, mapped

Advance = Callable[[], Any]


class RowsFile(NamedTuple):
    """One file of rows: its name, its steps in the progress bar, and the function that computes its columns."""

    name: str
    steps: int
    compute: Callable[[Advance], dict[str, Any]]


def complete(experiment: Experiment, folder: Path, team: Team | None = None) -> None:
    """Compute the blocks that are missing or stale, here or by a team of workers, which gives the same rows."""
    store = Store(folder, experiment)
    with write_errors_in_words(store.folder):
        store.folder.mkdir(parents=True, exist_ok=True)
    with only_run(store.folder, store.folder / LOCK):
        _complete(experiment, store, _team(experiment, team))


def _complete(experiment: Experiment, store: Store, team: Team) -> None:
    blocks = BLOCKS[type(experiment)](experiment, store.folder)
    states = [store.state(block.name) for block in blocks]
    missing = [block for block, state in zip(blocks, states, strict=True) if state != "fresh"]
    for state, what in (("stale", "were computed by other code"), ("damaged", "are damaged")):
        if count := states.count(state):
            message = f"{experiment.name}: {count} of {len(blocks)} blocks of rows {what}; they are computed again."
            warnings.warn(message, PlefkaWarning, stacklevel=3)
    with closing(progress(range(1 + sum(block.steps for block in missing)), experiment.name)) as steps:
        advance = partial(next, steps, None)
        advance()
        here = isinstance(team, Here)
        pieces = ((block, (block,)) for block in missing)
        with closing(mapped(team, _computed, advance if here else None, pieces)) as computed:
            for block, (columns, seconds) in computed:
                store.write(block.name, columns, seconds, len(blocks))
                for _ in range(0 if here else block.steps):
                    advance()


def _team(experiment: Experiment, team: Team | None) -> Team:
    if isinstance(experiment, Trial) and not isinstance(team, Here | None):
        message = f"{experiment.name} measures times, so that this process computes it, one block after another."
        warnings.warn(message, PlefkaWarning, stacklevel=3)
        return Here()
    return team or Here()


def _computed(advance: Advance | None, block: RowsFile) -> tuple[dict[str, Any], float]:
    """The columns of a block, and the seconds that they took; `advance` only where the progress bar is."""
    start = time.monotonic()
    columns = block.compute(advance or (lambda: None))
    return columns, time.monotonic() - start


def _study_blocks(study: Study, folder: Path) -> list[RowsFile]:
    return [
        RowsFile(f"{number}-{first:05}", len(column.methods), partial(solve, study, column, first))
        for number, column in enumerate(study.columns)
        for first in range(0, study.networks, study.block)
    ]


def solve(study: Study, column: Column, first: int, advance: Advance) -> dict[str, Any]:
    """A block of networks by every method of its column: a row for each network and method."""
    count = min(study.block, study.networks - first)
    networks = draw(column.ensemble, study.seed, first, count)
    rows, state, log_z = observe(networks, column.observed)
    parts = []
    for method in column.methods:
        found = pf.infer(networks, rows, _method(method, study.max_steps))
        parts.append(
            {  # seven digits are enough for all that is drawn from it
                "method": np.full(count, method),
                "network": np.arange(first, first + count, dtype=np.int32),
                "log_z": log_z.astype(np.float32),
                "error": (found.log_likelihood / log_z - 1).astype(np.float32),  # (62)
                "status": np.array([status.name.lower() for status in found.status]),
                "steps": np.asarray(found.num_steps, np.int32),
                "cycles": np.asarray(found.num_cycles, np.int32),
            }
        )
        advance()
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return {
        "ensemble": np.full(len(joined["network"]), column.ensemble.name),
        "observed": np.full(len(joined["network"]), column.observed),
        "state": np.tile(state.astype(np.int8), len(column.methods)),
        **joined,
    }


def _method(name: str, max_steps: int) -> Method:
    as_printed = {AS_PRINTED: AsPrinted, BY_73: ByPrintedFixedPoint}
    method = as_printed[name]() if name in as_printed else cast(MeanField, pf.parse_method(name))
    return replace(method, max_steps=max_steps)


def _learning_blocks(settings: Learning, folder: Path) -> list[RowsFile]:
    schemes = [
        learn_bars.LearnedScheme(activation, method, step_size)
        for step_size in settings.step_sizes
        for activation, methods in settings.schemes
        for method in methods
    ]
    return [RowsFile(scheme.name, settings.epochs, partial(_learn, settings, scheme, folder)) for scheme in schemes]


def _learn(settings: Learning, scheme: learn_bars.LearnedScheme, folder: Path, advance: Advance) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    return learn_bars.learn(settings, scheme, folder / f"{scheme.name}-{code_digest()}.checkpoint.npz", advance)


def _trial_blocks(settings: Trial, folder: Path) -> list[RowsFile]:
    blocks = [(method, methods.columns_for(settings, method)) for method in methods.TIMED_METHODS]
    return [
        RowsFile(method, len(numbers), partial(measure_method, settings, method, numbers)) for method, numbers in blocks
    ]


def _radii_blocks(settings: Radii, folder: Path) -> list[RowsFile]:
    """A block for each group, and of truncated energies for each degree."""
    degrees = settings.degrees if isinstance(settings, TruncatedRadii) else (None,)
    return [
        RowsFile(
            group if degree is None else f"C{degree} {group}",
            len(columns) * radii_count(settings, group),
            partial(measure_radii, settings, group, columns, taylor=degree),
        )
        for degree in degrees
        for group, columns in settings.groups
    ]


BLOCKS: dict[type, Callable[..., list[RowsFile]]] = {
    Study: _study_blocks,
    Learning: _learning_blocks,
    Trial: _trial_blocks,
    Radii: _radii_blocks,
    TruncatedRadii: _radii_blocks,
}
