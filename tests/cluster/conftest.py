"""A Dask cluster of two worker processes on this machine, each of which a test may kill."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import plefka as pf
from tests.cluster import slow_work

ROOT = Path(__file__).parents[2]
PATIENCE = 600  # seconds: only against a test that hangs
distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed")


class Processes:
    """A scheduler and its workers as processes of their own."""

    def __init__(self, folder: Path, workers: int = 2):
        self.folder = folder
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--idle-timeout", "600"
        )
        deadline = time.monotonic() + PATIENCE
        while not self._file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.workers = [self._worker() for _ in range(workers)]

    @property
    def _file(self) -> Path:
        return self.folder / "scheduler.json"

    def _worker(self) -> subprocess.Popen:
        return self._start(
            "worker", "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "600"
        )

    def _start(self, kind: str, *options: str) -> subprocess.Popen:
        path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", str(self._file), *options]
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
        with open(self.folder / f"{kind}.log", "ab") as log:
            return subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)

    def client(self):
        found = distributed.Client(scheduler_file=str(self._file), timeout=PATIENCE, set_as_default=False)
        found.wait_for_workers(len(self.workers), timeout=PATIENCE)
        return found

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """For tests that leave it as it is."""
    processes = Processes(tmp_path_factory.mktemp("cluster"))
    yield processes
    processes.stop()


@pytest.fixture
def client(cluster):
    with cluster.client() as found:
        yield found


@pytest.fixture
def halt(tmp_path, monkeypatch):
    """The file for which work that is slowed down waits in the middle."""
    monkeypatch.setenv(slow_work.HALT, str(tmp_path / "go on"))
    return tmp_path / "go on"


@pytest.fixture
def fragile(tmp_path_factory, halt):
    """A cluster to kill something of."""
    processes = Processes(tmp_path_factory.mktemp("fragile"))
    yield processes
    processes.stop()


def patients(count: int = 200) -> tuple[pf.BeliefNetwork, pd.DataFrame]:
    """A network of two layers, and rows in which some of its findings are observed."""
    rng = np.random.default_rng(0)
    names = [f"cause{k}" for k in range(4)] + [f"finding{k}" for k in range(6)]
    weights, bias = [rng.uniform(-2, 2, (6, 4))], [rng.uniform(-1, 1, 4), rng.uniform(-1, 1, 6)]
    network = pf.BeliefNetwork.layered(weights, bias, "sigmoid", names)
    values = np.where(rng.random((count, 6)) < 0.8, rng.integers(0, 2, (count, 6)), np.nan)
    frame = pd.DataFrame(values, columns=names[4:])
    frame.insert(0, "patient", [f"p{k}" for k in range(count)])
    return network, frame


def after(folder: Path, count: int, action, halt: Path) -> threading.Thread:
    """Do something as soon as a folder has so many parts, and only then let the rest of the work go on."""

    def watch():
        deadline = time.monotonic() + PATIENCE
        while len(list(folder.glob("*.parquet"))) < count and time.monotonic() < deadline:
            time.sleep(0.005)
        action()
        halt.touch()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def same(folder: Path, other: Path) -> bool:
    """Whether two datasets hold the same, bit by bit, in the same files."""
    import pyarrow.parquet as pq

    files = sorted(path.name for path in folder.glob("*.parquet"))
    others = sorted(path.name for path in other.glob("*.parquet"))
    left_over = [path for path in folder.iterdir() if path.suffix == ".tmp"]
    bits = [[pq.read_table(each / name).replace_schema_metadata(None) for name in files] for each in (folder, other)]
    return bool(files) and files == others and not left_over and all(a.equals(b) for a, b in zip(*bits, strict=True))
