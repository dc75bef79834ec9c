"""Interrupted runs: what is written stays, what is missing is computed, and the rows are the same."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from plefka.errors import PlefkaWarning
from plefka.paper import compute, tables_and_figures
from plefka.paper.experiment_settings import Study
from plefka.paper.store import Store, code_digest, read_one
from plefka.runtime.provenance import PACKAGE, source

COLUMNS = tuple(replace(column, methods=("G11", "G12")) for column in tables_and_figures.TABLE1)
STUDY = Study("table1", COLUMNS, networks=60, block=1, max_steps=300, seed=0)
CODE = """
import sys
from pathlib import Path
from plefka.paper import compute
from tests.paper.test_resume import STUDY
compute.complete(STUDY, Path(sys.argv[1]))
"""
ROOT = Path(__file__).parents[2]


def start(folder: Path) -> subprocess.Popen:
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    return subprocess.Popen([sys.executable, "-c", CODE, str(folder)], env={**os.environ, "PYTHONPATH": path})


def blocks(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.parquet"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_kill_at_a_random_moment_and_run_again(tmp_path):
    process = start(tmp_path)
    try:
        deadline = time.monotonic() + 600
        while not blocks(tmp_path) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.5))
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = {path: path.stat().st_mtime_ns for path in blocks(tmp_path)}
    assert before
    compute.complete(STUDY, tmp_path)
    after = {path: path.stat().st_mtime_ns for path in blocks(tmp_path)}
    assert len(after) == 120
    assert {path: after[path] for path in before} == before  # nothing twice
    compute.complete(STUDY, tmp_path / "uninterrupted")
    again, whole = read_one(tmp_path, STUDY).columns, read_one(tmp_path / "uninterrupted", STUDY).columns
    assert all(np.array_equal(again[name], whole[name]) for name in whole)


def test_a_block_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("plefka.runtime.whole_files.os.replace", fail)
    with pytest.raises(KeyboardInterrupt):
        compute.complete(STUDY, tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_complete_run_computes_nothing(tmp_path, monkeypatch):
    small = Study("table1", COLUMNS, 2, 2, 300, 0)
    compute.complete(small, tmp_path)
    monkeypatch.setattr("plefka.infer", lambda *_: pytest.fail("it was computed again"))
    compute.complete(small, tmp_path)
    assert read_one(tmp_path, small).complete


def test_rows_of_other_code_are_computed_again(tmp_path, monkeypatch):
    small = Study("table1", COLUMNS[:1], 4, 2, 300, 0)
    compute.complete(small, tmp_path)
    rows = read_one(tmp_path, small)
    monkeypatch.setattr("plefka.paper.store.code_digest", lambda: "other code")
    with pytest.warns(PlefkaWarning, match="table1: 2 of 2 blocks of rows were computed by other code; they are"):
        compute.complete(small, tmp_path)
    again = read_one(tmp_path, small)
    assert again.provenance["sources"] == ["other code"]
    assert again.provenance["first"] >= rows.provenance["last"]
    assert all(np.array_equal(again.columns[name], rows.columns[name]) for name in rows.columns)
    compute.complete(small, tmp_path)  # without a warning


def test_rows_depend_on_the_code_that_computes_them_only(tmp_path):
    package = shutil.copytree(PACKAGE, tmp_path / "plefka", ignore=shutil.ignore_patterns("__pycache__"))
    before = code_digest()
    assert code_digest(package) == before
    drawing = ("plots/network_graph.py", "cli/app.py", "paper/render.py", "explorer/service.py")
    for name in (*drawing, "inference/infer.py", "solvers/loop.py", "paper/random_networks.py"):
        source.cache_clear()
        (package / name).write_text((package / name).read_text() + "# changed\n")
        assert (code_digest(package) == before) is (name in drawing)
        before = code_digest(package)


def test_rows_that_cannot_be_read_are_named(tmp_path):
    small = Study("table1", COLUMNS, 2, 2, 300, 0)
    compute.complete(small, tmp_path)
    path = Store(tmp_path, small).path("0-00000")
    path.write_bytes(b"not rows")
    with pytest.raises(ValueError, match=r"0-00000.parquet: cannot be read as rows of an experiment. Remove it"):
        read_one(tmp_path, small)
