"""The service under load: 2,000 questions by 20 clients about the QMR-sized network, and one more finding.

Every answer is compared with `pf.infer`. Clients and service share the machine, so that this measures both.
"""

import http.client
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

import plefka as pf
from benchmarks.diagnoses import large_network, patients
from benchmarks.measure import Row, at_least, at_most

QUESTIONS, CLIENTS, VISITS = 2000, 20, 30
METHODS = ("exact", "bethe")
TOP = 20
DIGITS = 1e-9  # by how much ln P or a probability may differ
AIM = 0.3  # seconds until the numbers of one more finding are there


class Answered(NamedTuple):
    """One answer, and how long its client waited for it."""

    content: dict[str, Any]
    seconds: float


def rows() -> Iterator[Row]:
    network = large_network()
    cases = patients(network, QUESTIONS, seed=1)
    asked = [{str(unit): int(row[unit]) for unit in np.flatnonzero(~np.isnan(row))} for row in cases]
    with tempfile.TemporaryDirectory() as folder:
        pf.save(network, path := Path(folder) / "qmr.npz")
        with served(path) as address:
            for method in METHODS:
                yield from under_load(address, network, cases, asked, method)
                yield one_more_finding(address, asked, method)


def under_load(address: str, network: pf.BeliefNetwork, cases: np.ndarray, asked: list, method: str) -> Iterator[Row]:
    """All questions by all clients, each of which asks again as soon as it has an answer."""
    with ThreadPoolExecutor(CLIENTS) as threads:
        list(threads.map(lambda part: ask_all(address, part, method), [asked[k : k + 3] for k in range(0, 60, 3)]))
        start, cpu = time.perf_counter(), cpu_of_all()
        shares = [asked[k::CLIENTS] for k in range(CLIENTS)]
        found = list(threads.map(lambda share: ask_all(address, share, method), shares))
    seconds, cpu = time.perf_counter() - start, cpu_of_all() - cpu
    answers = [found[k % CLIENTS][k // CLIENTS] for k in range(QUESTIONS)]
    waited = np.array([answer.seconds for answer in answers])
    about = f"{QUESTIONS:,} questions by {CLIENTS} clients, {method}: "
    details = {"cpu_seconds": cpu, "load": os.getloadavg()[0], "wall_seconds": seconds}
    yield at_most(f"{about}lost or wrong", wrong(network, cases, answers, method), "", 0, details)
    yield at_least(f"{about}answers", QUESTIONS / seconds, "a second", 20, {})
    yield at_least(f"{about}answers by CPU time", QUESTIONS / cpu, "a CPU second", 20, {})
    yield at_most(f"{about}median wait", float(np.median(waited)), "s", 1.0, {})
    yield at_most(f"{about}99th percentile of the wait", float(np.quantile(waited, 0.99)), "s", 3.0, {})


def one_more_finding(address: str, asked: list, method: str) -> Row:
    """A first answer, and then the time until the numbers with one more finding are there; one client alone."""
    waited = []
    for evidence in asked[:VISITS]:
        *before, last = evidence.items()
        ask_all(address, [dict(before)], method)
        waited += [ask_all(address, [dict([*before, last])], method)[0].seconds]
    details = {"load": os.getloadavg()[0], "seconds": waited}
    return at_most(f"one more finding, {method}: median wait", float(np.median(waited)), "s", AIM, details)


def wrong(network: pf.BeliefNetwork, cases: np.ndarray, answers: list[Answered], method: str) -> int:
    """How many answers are not there, or differ from `pf.infer`."""
    found = pf.infer(network, cases, method)
    means = found.means.tolist()
    places = {name: unit for unit, name in enumerate(network.names)}
    return sum(
        not answer.content.get("converged")
        or abs(answer.content["log_likelihood"] - found.log_likelihood[k]) > DIGITS
        or len(answer.content["ranking"]) != TOP
        or any(abs(each["probability"] - means[k][places[each["name"]]]) > DIGITS for each in answer.content["ranking"])
        for k, answer in enumerate(answers)
    )


def ask_all(address: str, questions: list[dict[str, int]], method: str) -> list[Answered]:
    """One client: a connection that is kept, and one question after another."""
    connection, found = http.client.HTTPConnection(urlsplit(address).netloc, timeout=300), []
    for evidence in questions:
        body = json.dumps({"evidence": evidence, "method": method, "top": TOP}).encode()
        start = time.perf_counter()
        connection.request("POST", "/api/v1/infer", body, {"Content-Type": "application/json"})
        content = json.loads(connection.getresponse().read())
        found.append(Answered(content, time.perf_counter() - start))
    connection.close()
    return found


def cpu_of_all() -> float:
    """Seconds of this process, and of the service and its workers."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime + sum(map(_cpu, _descendants(os.getpid())))


def _descendants(pid: int) -> list[int]:
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(child) for each in lists for child in each.read_text().split()]
    return children + [below for child in children for below in _descendants(child)]


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(path: Path) -> Iterator[str]:
    """The address of a service that is ready."""
    command = [sys.executable, "-m", "plefka", "serve", str(path), "--port", "0", "--no-log"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split(" at ")[1].split()[0]
        while not _health(address)["ready"]:
            time.sleep(0.1)
        try:
            yield address
        finally:
            process.terminate()


def _health(address: str) -> dict[str, Any]:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    connection.request("GET", "/api/v1/health")
    content = json.loads(connection.getresponse().read())
    connection.close()
    return content
