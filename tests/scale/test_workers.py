"""What workers and sweeps refuse, each in a sentence."""

import functools
import multiprocessing
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import plefka as pf
from plefka.errors import InvalidFile, InvalidInput, PlefkaWarning
from plefka.paper import compute
from plefka.paper.experiment_settings import Trial
from plefka.runtime.cores import num_cores
from plefka.runtime.provenance import source
from plefka.scale import cluster
from plefka.scale.answer_parts import AnswerParts, BlockAnswer
from plefka.scale.teams import Here, Processes, Team
from plefka.scale.worker_process import Assignment, WorkerEnded, WorkerProcess

DRAW = functools.partial(pf.ensembles.layered, (2, 3), -1, 1)
SEEN = {2: 1, 3: 0, 4: 1}


def test_workers_run_the_same_code():
    flags = os.environ.get("XLA_FLAGS", "")
    same = cluster.Shared((source(), flags), max, 3)
    assert cluster.do(same, 5) == 5
    with pytest.raises(InvalidInput, match=r"a worker runs another plefka than this process. Install the same"):
        cluster.do(same._replace(code=("other", flags)), 5)
    with pytest.raises(
        InvalidInput, match=r"must have the XLA_FLAGS of this process.* Start all workers with XLA_FLAGS='a'"
    ):
        cluster.do(same._replace(code=(source(), "a")), 5)


def test_a_worker_that_cannot_serve_is_named():
    mine = cluster._code()
    cluster._check_codes({"tcp://a:1": mine, "tcp://b:2": OSError("gone")}, mine)
    with pytest.raises(InvalidInput, match=r"the worker at tcp://b:2 runs another plefka than this process"):
        cluster._check_codes({"tcp://a:1": mine, "tcp://b:2": ("other", "")}, mine)
    missing = Exception("No module named 'plefka'")
    with pytest.raises(
        InvalidInput, match=r"tcp://b:2 cannot import this plefka: No module .*Install the same version"
    ):
        cluster._check_codes({"tcp://b:2": missing}, mine)


def test_a_cluster_without_workers():
    client = SimpleNamespace(status="running", scheduler_info=lambda n_workers: {"address": "tcp://a:1"})
    assert cluster._why_none(client) == (
        "the Dask cluster at tcp://a:1 has no workers. Start some with: dask worker tcp://a:1"
    )
    assert "lost again and again at the same blocks" in cluster.DaskCluster.why_lost(SimpleNamespace())  # pyright: ignore
    assert Team.why_lost(Here()) == "workers were lost again and again."


def test_a_part_that_is_damaged(tmp_path):
    with pytest.raises(InvalidFile, match=r"00000003.parquet: is damaged. Run the same again, which computes it anew"):
        AnswerParts(tmp_path, {}).keep(3, BlockAnswer(None, None))


@pytest.mark.parametrize("text", ["0", "two", "-1", "1.5"])
def test_bad_numbers_of_threads(monkeypatch, text):
    monkeypatch.setenv("PLEFKA_THREADS", text)
    with pytest.raises(InvalidInput, match=f"PLEFKA_THREADS must be a whole number from 1 on; got '{text}'"):
        num_cores()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "count must be a whole number of networks from 1 on; got 0"),
        ({"block": 0}, "block must be a whole number of networks from 1 on; got 0"),
        ({"seed": -1}, r"seed must be a whole number from 0 to 2\^63 - 1; got -1"),
        ({"methods": "G99"}, "there is no method 'G99'"),
        (
            {"draw": lambda count, seed: None},
            r"draw\(count=4, seed=...\) must give a stack of 4 networks; got NoneType",
        ),
        ({"draw": lambda count, seed: DRAW(count=3, seed=seed)}, "a stack of 4 networks; got a stack of 3"),
    ],
)
def test_bad_sweeps(tmp_path, arguments, message):
    given: dict[str, Any] = {"draw": DRAW, "count": 4, "methods": "exact", "seed": 0, "evidence": SEEN, **arguments}
    with pytest.raises(InvalidInput, match=message):
        pf.sweep(out=tmp_path / "rows", **given)


def test_a_sweep_is_drawn_block_by_block_and_resumes(tmp_path):
    done = pf.sweep(DRAW, 25, tmp_path / "rows", ["exact", "SJJ"], seed=1, evidence=SEEN, block=10)
    table = pd.read_parquet(tmp_path / "rows")
    assert (done.rows, done.converged, len(table)) == (50, 50, 50)
    assert sorted(table["network"].unique()) == list(range(25))
    by_method = table.pivot(index="network", columns="method", values="log_likelihood")
    assert np.all(by_method["SJJ"].to_numpy() <= by_method["exact"].to_numpy() + 1e-9)
    (tmp_path / "rows" / "00000001.parquet").unlink()
    again = pf.sweep(DRAW, 25, tmp_path / "rows", ["exact", "SJJ"], seed=1, evidence=SEEN, block=10)
    assert again.resumed == 30
    assert pd.read_parquet(tmp_path / "rows").equals(table)
    with pytest.raises(InvalidFile, match="has answers of another run, which differs in seed"):
        pf.sweep(DRAW, 25, tmp_path / "rows", ["exact", "SJJ"], seed=2, evidence=SEEN, block=10)


def test_times_are_measured_by_this_process():
    trial = Trial("methods", (), 1, 0)
    with pytest.warns(PlefkaWarning, match="methods measures times, so that this process computes it"):
        assert isinstance(compute._team(trial, Processes(2)), Here)


class Unsendable(Exception):
    """Holds what no process can send."""

    def __init__(self):
        super().__init__("too small")
        self.held = lambda: None


def divided(number: int, by: int) -> Any:
    """In a worker."""
    if by > number:
        raise Unsendable
    return os._exit(3) if by < 0 else number // by


def grandchild(number: int) -> int:
    """In a worker that starts a process of its own."""
    return int(subprocess.run([sys.executable, "-c", f"print({number})"], capture_output=True, check=True).stdout) + (
        0 if multiprocessing.current_process().daemon else 1
    )


def test_a_worker_says_what_went_wrong_and_that_it_has_ended():
    worker = WorkerProcess(Assignment(functools.partial, (divided, 6)))
    worker.start()
    assert worker.ask(3) == 2
    with pytest.raises(ZeroDivisionError) as found:
        worker.ask(0)
    assert "in divided" in str(found.value.__cause__)
    assert worker.ask(2) == 3
    with pytest.raises(RuntimeError, match="Unsendable in a worker process: too small"):
        worker.ask(7)
    with pytest.raises(WorkerEnded):
        worker.ask(-1)
    worker.process.join()
    assert not worker.is_alive


def test_work_may_start_processes():
    worker = WorkerProcess(Assignment(functools.partial, (grandchild,)))
    worker.start()
    assert worker.ask(6) == 7
    worker.end()
