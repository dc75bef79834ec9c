"""Workers, schedulers and disks that fail in the middle: nothing is lost or half-written, and a second run finishes."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import plefka as pf
from plefka.errors import InvalidFile, WorkersLost
from plefka.scale import cluster as cluster_module
from plefka.scale import infer_rows as module
from plefka.scale import teams
from tests.cluster import slow_work
from tests.cluster.conftest import PATIENCE, ROOT, after, patients, same
from tests.faults.disk import Disk, Full

BLOCKS = 25  # of 8 rows
FULL = r"cannot be written: No space left on device.* Finished blocks of .*out are kept; run the same again to resume"


def answer(out, **options):
    network, frame = patients(8 * BLOCKS)
    return pf.infer_rows(network, frame, out, "exact", id_columns="patient", block=8, **options)


@pytest.fixture
def slow(monkeypatch):
    monkeypatch.setattr(module, "answer", slow_work.slow_answer)


@pytest.fixture
def whole(tmp_path):
    """What an undisturbed run writes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "answer", slow_work.answer)
        answer(tmp_path / "whole")
    return tmp_path / "whole"


def finished(out: Path, whole: Path, **options) -> pf.RowsDone:
    """A second run, which does only what is missing."""
    before = {path: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    manifest = json.loads((out / "_manifest.json").read_bytes())
    assert not manifest["complete"]
    assert {entry["file"] for entry in manifest["blocks"]} <= {path.name for path in before}
    done = answer(out, **options)
    assert done.resumed == 8 * len(before)
    assert all(path.stat().st_mtime_ns == at for path, at in before.items())
    assert same(out, whole)
    assert json.loads((out / "_manifest.json").read_bytes())["complete"]
    return done


def test_a_worker_of_a_cluster_is_killed(tmp_path, fragile, slow, whole, halt):
    with fragile.client() as client:
        killing = after(tmp_path / "out", 4, fragile.workers[0].kill, halt)
        done = answer(tmp_path / "out", client=client)
        killing.join()
    assert fragile.workers[0].wait() == -signal.SIGKILL
    assert done.rows == 8 * BLOCKS
    assert same(tmp_path / "out", whole)


def test_the_scheduler_is_killed(tmp_path, fragile, slow, whole, monkeypatch, halt):
    monkeypatch.setattr(cluster_module, "SECONDS_WITHOUT_WORKERS", 3)
    with fragile.client() as client:
        killing = after(tmp_path / "out", 4, fragile.scheduler.kill, halt)
        with pytest.raises(WorkersLost, match=r"the connection to the Dask scheduler was lost. What is done is kept"):
            answer(tmp_path / "out", client=client)
        killing.join()
    assert finished(tmp_path / "out", whole).resumed >= 32


def test_a_local_process_is_killed(tmp_path, monkeypatch, whole):
    monkeypatch.setenv(slow_work.FATAL, str(tmp_path / "fatal"))
    monkeypatch.setattr(module, "answer", slow_work.fatal_once)
    assert answer(tmp_path / "out", workers=2).rows == 8 * BLOCKS
    assert (tmp_path / "fatal").exists()
    assert same(tmp_path / "out", whole)


def test_local_processes_that_end_again_and_again(tmp_path, monkeypatch, whole):
    monkeypatch.setattr(module, "answer", slow_work.fatal_answer)
    monkeypatch.setattr(teams, "MOST_LOSSES", 1)  # each takes the start of a process
    with pytest.raises(WorkersLost, match="worker processes ended again and again at the same blocks, perhaps"):
        answer(tmp_path / "out", workers=1)
    monkeypatch.undo()
    finished(tmp_path / "out", whole)


@pytest.mark.parametrize("team", ["here", "cluster"])
def test_the_disk_is_full(tmp_path, request, whole, team):
    options = {} if team == "here" else {"client": request.getfixturevalue("client")}
    with Disk(tmp_path, Full(40, random.Random(0))).watched(), pytest.raises(InvalidFile, match=FULL):
        answer(tmp_path / "out", **options)
    assert not list((tmp_path / "out").glob(".plefka*"))
    finished(tmp_path / "out", whole, **options)


@pytest.mark.slow
def test_a_file_system_that_is_full(tmp_path, whole):
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=96k", "plefka-test", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a file system of a few blocks cannot be mounted here")
    try:
        with pytest.raises(InvalidFile, match=FULL):
            answer(place / "out")
        assert not list((place / "out").glob(".plefka*"))
        subprocess.run(["mount", "-o", "remount,size=10m", str(place)], check=True)
        finished(place / "out", whole)
    finally:
        subprocess.run(["umount", str(place)], check=True)


COMMAND = """
import sys
from plefka.cli import main
from plefka.scale import infer_rows as module
from tests.cluster import slow_work
module.answer = slow_work.slow_answer
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("workers", [(), ("--workers", "2")])
def test_interrupted_by_the_keyboard(tmp_path, workers, whole, halt):
    network, frame = patients(8 * BLOCKS)
    pf.save(network, tmp_path / "net.json")
    frame.to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "command.py").write_text(COMMAND)
    out = tmp_path / "out"
    pf.infer_rows(network, frame.head(8), out, "exact", id_columns="patient", block=8)  # makes blocks of 8 rows
    arguments = ["infer", "net.json", "--rows", "rows.parquet", "--id", "patient", "-m", "exact", "-o", "out", *workers]
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])  # the package that is tested, wherever it is
    environment = {**os.environ, "PYTHONPATH": path, "PLEFKA_CACHE_DIR": "", "PLEFKA_PROGRESS": "0"}
    start = partial(subprocess.Popen, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    process = start([sys.executable, "command.py", *arguments], start_new_session=True)
    interrupting = after(out, 4, lambda: os.killpg(process.pid, signal.SIGINT), halt)  # as a terminal does
    _, errors = process.communicate(timeout=PATIENCE)
    interrupting.join()
    assert process.returncode == 130, errors
    assert "plefka: interrupted; finished blocks of out are kept. Run the same command to resume." in errors
    assert "Traceback" not in errors
    deadline = time.monotonic() + PATIENCE
    while _is_alive(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _is_alive(process.pid)  # nor is any worker
    assert 4 <= len(list(out.glob("*.parquet"))) < BLOCKS
    finished(out, whole)


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
