"""Questions that take too long, workers that are killed, clients that leave, and how the service ends."""

import http.client
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import plefka as pf
from tests.explorer.browser_service import Serving
from tests.explorer.client import PATIENCE, Client, Reply, until

NETWORK = pf.example("espresso")
ENDLESS = {"evidence": {"slow_flow": 1}, "method": "gibbs[seed=0,sweeps=2000000000]"}
QUICK = {"evidence": {"slow_flow": 1}, "method": "exact"}
BUSY = 50  # ticks of CPU time, half a second, that nothing but a long question takes
TOKEN = "a-token-of-some-length"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for the processes of a service in /proc")


class Logged(Serving):
    """A service with two workers, whose log is kept."""

    def start(self) -> None:
        self.errors = tempfile.NamedTemporaryFile("r")  # noqa: SIM115
        command = [part for part in self.command if part != "--no-log"]
        with open(self.errors.name, "w") as errors:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, env=self.environment, text=True
            )
        assert self.process.stdout is not None
        assert "serves" in self.process.stdout.readline()

    @property
    def log(self) -> str:
        return Path(self.errors.name).read_text()

    def stop(self) -> None:
        super().stop()
        self.errors.close()

    def workers(self) -> list[int]:
        """The processes that answer; a thread of the service has started each."""
        lists = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        started = [int(child) for each in lists for child in each.read_text().split()]
        return [pid for pid in started if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def until(self, sentence: str, times: int = 1) -> None:
        until(lambda: self.log.count(sentence) >= times, lambda: self.log[-1500:])

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """At the end, a worker is busy with what was asked inside, however long it took to come there."""
        before = {pid: _ticks(pid) for pid in self.workers()}
        yield
        until(lambda: any(_ticks(pid) > ticks + BUSY for pid, ticks in before.items()))


def _ticks(pid: int) -> int:
    """The CPU time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@pytest.fixture(scope="module")
def service():
    started = Logged("example:espresso", "--workers", "2", "--max-waiting", "3", token=TOKEN)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def hurried():
    """One that gives little time to a question."""
    started = Logged("example:espresso", "--no-warm", "--max-seconds", "8", "--max-waiting", "3")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def client(service):
    return Client(service.address, TOKEN)


@pytest.fixture(autouse=True)
def all_is_well(client):
    """Every test begins and ends with a service whose workers are ready."""
    client.until_ready()
    until(lambda: client.get("unit", name="limescale").json["prior"] is not None)  # the first thing they compute
    yield
    answer_in_time(client)


def answer_in_time(client: Client) -> None:
    """A question that is asked again if no worker is there yet."""
    found = asked_again(client, QUICK)
    exact = pf.infer(NETWORK, QUICK["evidence"], "exact").log_likelihood
    assert found.json["log_likelihood"] == pytest.approx(exact, rel=1e-13)


def asked_again(client: Client, question: dict[str, Any]) -> Reply:
    """As long as no worker is there for it."""
    found: list[Reply] = []
    until(lambda: found.append(client.post("infer", question)) or not is_refused_for_others(found[-1]))
    return found[-1]


def is_refused_for_others(reply: Reply) -> bool:
    return reply.status == 503 and reply.error[1] in ("busy", "worker_ended")


def test_a_question_that_takes_too_long_is_ended(hurried):
    client = Client(hurried.address)
    client.until_ready()
    before = set(hurried.workers())
    refused = asked_again(client, ENDLESS)
    assert refused.error == (503, "too_long")
    assert "took more than 8 s and was ended" in refused.message
    assert refused.headers["retry-after"] == "5"
    hurried.until("a question was ended: it took too long")
    until(lambda: before - set(hurried.workers()))  # a process that was killed is listed for a moment longer


def test_others_are_answered_while_a_question_takes_long(client, service):
    """It would take hours; when its worker is killed, the client is told."""
    with ThreadPoolExecutor(1) as threads:
        with service.at_work():
            endless = threads.submit(client.post, "infer", ENDLESS)
        assert [client.post("infer", QUICK).status for _ in range(5)] == [200] * 5
        assert not endless.done()
        for pid in service.workers():
            os.kill(pid, signal.SIGKILL)
        assert endless.result().error == (503, "worker_ended")


def test_workers_are_deaf_to_control_c_from_the_start(service):
    for pid in service.workers():
        status = Path(f"/proc/{pid}/status").read_text()
        blocked = int(status.partition("SigBlk:")[2].split()[0], 16)
        assert blocked >> (signal.SIGINT - 1) & 1


@pytest.mark.slow
def test_one_method_that_takes_too_long_leaves_the_others(hurried):
    client = Client(hurried.address)
    client.until_ready()
    asked_again(client, QUICK)
    found = client.answer("compare", {"methods": ["exact", ENDLESS["method"]], "evidence": {"slow_flow": 1}})
    assert [each["status"] for each in found["methods"]] == ["converged", "too_long"]
    assert found["methods"][1]["log_likelihood"] is None


def test_workers_that_are_killed_are_replaced(client, service):
    replaced = service.log.count("is replaced")
    killed = service.workers()
    assert len(killed) == 2
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    service.until("a worker process ended and is replaced", replaced + len(killed))
    answer_in_time(client)
    assert not set(killed) & set(service.workers())


def test_a_worker_that_is_killed_while_it_starts_is_replaced(client, service):
    """Several times, as it may be killed before, while or after it takes the network."""
    for pause in (0.0, 0.5, 1.0):
        for pid in service.workers():
            os.kill(pid, signal.SIGKILL)
        time.sleep(pause)
    answer_in_time(client)


def test_a_question_whose_client_has_left_is_dropped(client, service):
    dropped = service.log.count("its client has left")
    place = client.place.hostname, client.place.port
    with closing(http.client.HTTPConnection(*place)) as connection:
        headers = {"Content-Type": "application/json", **client.headers}
        body = b'{"method": "gibbs[seed=0,sweeps=2000000001]"}'
        with service.at_work():
            connection.request("POST", "/api/v1/infer", body, headers)
    service.until("its client has left", dropped + 1)


@pytest.mark.slow
def test_more_questions_than_may_wait_are_refused(hurried):
    """One is being answered and three wait: the others are told to come back."""
    client = Client(hurried.address)
    with ThreadPoolExecutor(12) as threads:
        asked = [{**ENDLESS, "check": True} for _ in range(12)]
        found = [reply.error for reply in threads.map(lambda each: client.post("infer", each), asked)]
    assert set(found) <= {(503, "busy"), (503, "too_long")}
    assert found.count((503, "busy")) >= 7


def test_many_questions_at_once_are_all_answered(client):
    names = [name for name in NETWORK.names if name not in NETWORK.names[:7]]
    asked = [{name: state} for name in names for state in (0, 1)]
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda each: client.answer("infer", {"evidence": each, "units": "all"}), asked))
    for evidence, answer in zip(asked, found, strict=True):
        alone = pf.infer(NETWORK, evidence)
        assert answer["log_likelihood"] == pytest.approx(alone.log_likelihood, rel=1e-12)
        assert {each["name"]: each["probability"] for each in answer["ranking"]} == pytest.approx(
            dict(alone.ranking(None, units="all")), rel=1e-12
        )


def test_the_log_has_no_secrets(client, service):
    client.get("unit", name="limescale")
    client.request("GET", f"/api/v1/network?token={TOKEN}")
    client.request("GET", "/api/v1/%0afake%20line")
    Client(service.address, "another-token-than-it").get("network")
    service.until("/api/v1/network 401")
    log = service.log
    assert "GET /api/v1/unit 200" in log
    assert "GET /api/v1/%0afake%20line 404" in log
    assert "token" not in log
    assert "limescale" not in log
    assert "slow_flow" not in log


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGTERM, 0), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)]
)
def test_it_ends_in_good_order(sent, code):
    """With a question that is being answered, and a connection that is half open."""
    service = Logged("example:espresso", "--no-warm")
    try:
        client = Client(service.address)
        client.until_ready()
        with ThreadPoolExecutor(1) as threads, closing(http.client.HTTPConnection(client.place.netloc)) as half_open:
            half_open.putrequest("POST", "/api/v1/infer")
            half_open.putheader("Content-Type", "application/json")
            half_open.putheader("Content-Length", "100")
            half_open.endheaders()
            with service.at_work():
                endless = threads.submit(client.post, "infer", ENDLESS)
            workers = service.workers()
            assert len(workers) == 1
            for pid in (*workers, service.process.pid):  # as systemd and a terminal do
                os.kill(pid, sent)
            assert endless.result().error == (503, "closing")
        assert service.process.wait(PATIENCE) == code
        assert "Traceback" not in service.log
        assert not [pid for pid in workers if Path(f"/proc/{pid}/cmdline").exists()]
    finally:
        service.stop()
