"""Workers that come late, and workers that cannot import plefka."""

import subprocess
import sys

import pytest

import plefka as pf
from plefka.errors import InvalidInput, PlefkaWarning, WorkersLost
from plefka.scale import cluster as cluster_module
from tests.cluster.conftest import PATIENCE, Processes, distributed, patients, same

# A worker whose Python finds no plefka.
WITHOUT_PLEFKA = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "plefka":
            raise ModuleNotFoundError("No module named 'plefka'", name="plefka")

sys.meta_path.insert(0, Refuse())
from distributed.cli.dask_worker import main
main()
"""


def answer(out, **options):
    network, frame = patients(64)
    return pf.infer_rows(network, frame, out, "exact", id_columns="patient", block=8, **options)


def local(**options):
    return distributed.LocalCluster(
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        **options,
    )


def test_an_adaptive_cluster_starts_its_first_worker(tmp_path):
    answer(tmp_path / "here")
    with local(n_workers=0) as adaptive, distributed.Client(adaptive, set_as_default=False) as client:
        adaptive.adapt(maximum=1, interval="100ms")
        assert answer(tmp_path / "out", client=client).rows == 64
    assert same(tmp_path / "out", tmp_path / "here")


def test_a_cluster_of_this_program_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_module, "SECONDS_WITHOUT_WORKERS", 0.5)
    with local(n_workers=0) as late, distributed.Client(late, set_as_default=False) as client:

        def and_then_one_comes(client):
            client.loop.add_callback(late.scale, 1)
            return said(client)

        said = cluster_module._address
        monkeypatch.setattr(cluster_module, "_address", and_then_one_comes)
        with pytest.warns(PlefkaWarning, match=r"has no workers yet, and this call waits for the first one. If none"):
            assert answer(tmp_path / "out", client=client).rows == 64


def test_an_address_without_workers(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_module, "SECONDS_WITHOUT_WORKERS", 0.5)
    with local(n_workers=0) as empty, pytest.raises(WorkersLost, match=r"has no workers. Start some with: dask worker"):
        answer(tmp_path / "out", client=empty.scheduler_address)


def test_workers_without_plefka(tmp_path):
    cluster = Processes(tmp_path, workers=0)
    command = [sys.executable, "-c", WITHOUT_PLEFKA, "--scheduler-file", str(tmp_path / "scheduler.json")]
    with open(tmp_path / "worker.log", "wb") as log:
        worker = subprocess.Popen([*command, "--no-nanny", "--no-dashboard"], cwd=tmp_path, stdout=log, stderr=log)
    try:
        with distributed.Client(scheduler_file=command[-1], timeout=PATIENCE, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=PATIENCE)
            with pytest.raises(InvalidInput, match=r"cannot import this plefka: No module named 'plefka'. Install the"):
                answer(tmp_path / "out", client=client)
            assert len(client.nthreads()) == 1  # the worker is still there
    finally:
        worker.kill()
        worker.wait()
        cluster.stop()
