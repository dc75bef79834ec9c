"""What is driven while things go wrong: every way in which plefka writes files that a user keeps."""

import functools
import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import plefka as pf
from plefka.cli import main
from plefka.cli.exits import INTERRUPTED
from plefka.errors import PlefkaError
from plefka.paper import compute, tables_and_figures
from plefka.paper.experiment_settings import Study
from plefka.paper.store import read_one
from plefka.scale.teams import Team

OLD = pf.BeliefNetwork.diagnosis(
    {"cause": ["flu"], "prior": [0.5]}, {"finding": ["fever"], "cause": ["flu"], "probability": [0.5]}
)
NEW = pf.example("espresso")
ROWS = np.array([[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 0, 1], [0, 1, 1, 1]] * 2, float)
STUDY = Study(
    "table1", (replace(tables_and_figures.TABLE1[0], methods=("G11",)),), networks=4, block=2, max_steps=20, seed=0
)


def tree(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class Scenario(NamedTuple):
    """What is there before, what is done, and what must come of it in the end."""

    prepare: Callable[[Path], Any]
    act: Callable[[Path, Team], Any]
    result: Callable[[Path], Any] = tree


def _save(name: str) -> Scenario:
    return Scenario(lambda folder: pf.save(OLD, folder / name), lambda folder, team: pf.save(NEW, folder / name))


def _convert(folder: Path, team: Team) -> None:
    """By the command, which says what went wrong by its exit code and a sentence."""
    words = io.StringIO()
    with redirect_stderr(words), redirect_stdout(io.StringIO()):
        code = main(["convert", str(folder / "net.bif"), str(folder / "net.csv"), "--force"])
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code:
        raise PlefkaError(words.getvalue().strip())


def _before_convert(folder: Path) -> None:
    pf.save(NEW, folder / "net.bif")
    pf.save(OLD, folder / "net.csv")


def _infer_rows(name: str, folder: Path, team: Team) -> None:
    rows = [{"slow_flow": k % 2, "loud_hum": k // 2 % 2, "patient": f"p{k}"} for k in range(6)]
    pf.infer_rows(NEW, rows, folder / name, "exact", id_columns="patient", block=2, force=True)


def _sweep(folder: Path, team: Team) -> None:
    draw = functools.partial(pf.ensembles.layered, (2, 3), -1, 1)
    pf.sweep(draw, 4, folder / "sweep", "exact", seed=0, evidence={2: 1, 3: 0, 4: 1}, block=2)


def _fit(folder: Path, team: Team) -> None:
    start = pf.ensembles.to_learn((2,), ROWS, 0)
    fitted = pf.fit(
        start, ROWS, "SJJ", epochs=2, batch_size=4, checkpoint=folder / "run.npz", checkpoint_every=0.0, verbose=False
    )
    if fitted.stopped is pf.Stopped.INTERRUPTED:
        raise KeyboardInterrupt
    pf.save(fitted.network, folder / "model.json")


def _columns(folder: Path) -> dict[str, list]:
    return {name: column.tolist() for name, column in read_one(folder, STUDY).columns.items()}


def _nothing(folder: Path) -> None:
    """There is nothing before."""


SCENARIOS = {
    "save .json": _save("net.json"),
    "save .npz": _save("net.npz"),
    "save a pair of .csv": _save("net.csv"),
    "convert": Scenario(_before_convert, _convert),
    "infer_rows to a folder": Scenario(_nothing, functools.partial(_infer_rows, "out")),
    "infer_rows to .parquet": Scenario(
        lambda folder: (folder / "out.parquet").write_bytes(b"old"), functools.partial(_infer_rows, "out.parquet")
    ),
    "infer_rows to .csv": Scenario(_nothing, functools.partial(_infer_rows, "out.csv")),
    "sweep": Scenario(_nothing, _sweep),
    "fit": Scenario(_nothing, _fit, lambda folder: (folder / "model.json").read_bytes()),
    "rows of the paper": Scenario(_nothing, lambda folder, team: compute.complete(STUDY, folder, team), _columns),
}
