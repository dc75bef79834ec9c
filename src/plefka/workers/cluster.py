"""A Dask cluster as a team of workers."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from plefka import extras
from plefka.errors import InvalidInput, WorkersLost
from plefka.experiments.provenance import source
from plefka.workers.growing import Growing
from plefka.workers.teams import Here, Processes, Team, Work

AUTO, PROCESS_MEMORY = "auto", 2e9
COUNT_EVERY = 2.0  # seconds
LARGE = 2**17  # bytes
PATIENCE = 20  # seconds until a scheduler must answer, and until it must have a worker


class Shared(NamedTuple):
    """What travels to a worker once."""

    code: tuple[str, str]  # what a worker must run
    work: Work
    value: Any


class Cluster(Team):
    """All workers of a Dask client."""

    def __init__(self, client: Any):
        distributed = extras.distributed()
        if not isinstance(client, distributed.Client):
            raise InvalidInput(
                f"client must be a dask.distributed.Client or the address of a scheduler; got {type(client).__name__}."
            )
        self.client, self.size, self._counted = client, 1, -COUNT_EVERY
        self.lost = (distributed.scheduler.KilledWorker,)

    @property
    def in_flight(self) -> int:
        """For as many threads as workers have now: they may come and go."""
        if time.monotonic() - self._counted > COUNT_EVERY:
            with suppress(OSError, CancelledError):
                self.size = max(1, sum(self.client.nthreads().values()))
            self._counted = time.monotonic()
        return super().in_flight

    def start(self, work: Work, shared: Any) -> None:
        self._told = Shared(_code(), work, shared)
        self._executor = self.client.get_executor(pure=False)
        self.recover()

    def recover(self) -> None:
        """The network goes to all workers that are there, and from them to those that come later."""
        end = time.monotonic() + PATIENCE
        while self.client.status != "running" and time.monotonic() < end:  # a call would wait for minutes
            time.sleep(0.1)
        if self.client.status != "running":
            raise WorkersLost(_why_none(self.client))
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE)
            (self._shared,) = self.client.scatter([self._told], broadcast=True, hash=False)
        except (OSError, RuntimeError, ValueError, CancelledError) as error:
            raise WorkersLost(_why_none(self.client)) from error

    def submit(self, piece: tuple) -> Future:
        return self._executor.submit(do, self._shared, *map(self._sent, piece))

    def _sent(self, value: Any) -> Any:
        """Rows go to a worker by themselves, not through the scheduler's list of tasks; what is small goes with it."""
        from dask.sizeof import sizeof

        return self.client.scatter([value], hash=False)[0] if sizeof(value) > LARGE else value

    def why_lost(self) -> str:
        return (
            "workers of the cluster were lost again and again at the same blocks, perhaps for lack of memory. Give "
            "them more, or pass a smaller memory. What is done is kept: run the same again to resume."
        )

    def stop(self) -> None:
        if self.client.status == "running":
            self._executor.shutdown(wait=False)


def do(shared: Shared, *piece: Any) -> Any:
    """In a worker."""
    code, flags = shared.code
    if _code()[0] != code:
        raise InvalidInput("the workers run another plefka than this process. Install the same version everywhere.")
    if _code()[1] != flags:
        raise InvalidInput(
            "the workers must have the XLA_FLAGS of this process, without which numbers differ in their last bits. "
            f"Start them with XLA_FLAGS={flags!r} in their environment."
        )
    return shared.work(shared.value, *piece)


def _code() -> tuple[str, str]:
    """A digest of plefka's code, and how XLA compiles: what the last bits of answers depend on."""
    return source(), os.environ.get("XLA_FLAGS", "")


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler at an address."""
    distributed = extras.distributed()
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInput(
            f"no Dask scheduler answers at {address!r}. Give its address as tcp://HOST:8786, and start it with: "
            "dask scheduler"
        ) from error
    with client:
        yield client


def _why_none(client: Any) -> str:
    if client.status != "running":
        return "the connection to the Dask scheduler was lost. What is done is kept: run the same again to resume."
    address = client.scheduler_info(n_workers=0)["address"]
    return f"the Dask cluster at {address} has no workers. Start some with: dask worker {address}"


@contextmanager
def team_of(client: Any, workers: int | str | None, process_memory: float = PROCESS_MEMORY) -> Iterator[Team]:
    """Workers of a Dask client, or of the scheduler at an address; local processes; or, without either, this one.

    `process_memory` is what a process may need where their number is "auto".
    """
    if client is not None and workers is not None:
        raise InvalidInput("give either a client (--scheduler) or a number of workers (--workers), not both.")
    if isinstance(client, str):
        with connected(client) as found:
            yield Cluster(found)
    elif client is not None:
        yield Cluster(client)
    elif workers == AUTO:
        yield Growing(process_memory)
    else:
        yield Here() if workers is None else Processes(workers)
