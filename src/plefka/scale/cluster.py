"""A Dask cluster as a team of workers."""

import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from plefka.errors import InvalidInput, PlefkaWarning, WorkersLost
from plefka.runtime import extras
from plefka.runtime.provenance import source
from plefka.scale.teams import AutomaticTeam, Here, Processes, Team, Work

AUTO, PROCESS_MEMORY = "auto", 2e9
COUNT_EVERY = 2.0  # seconds
LARGE = 2**17  # bytes
SAME_VERSION = "Install the same version everywhere."
SECONDS_WITHOUT_WORKERS = 20  # seconds until a scheduler must answer, and until it must have a worker


class Shared(NamedTuple):
    """What travels to a worker once."""

    code: tuple[str, str]  # what a worker must run
    work: Work
    value: Any


class DaskCluster(Team):
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
        self._assignment = Shared(_code(), work, shared)
        self._executor = self.client.get_executor(pure=False)
        self.recover()

    def recover(self) -> None:
        """The network goes to all workers that are there, and from them to those that come later."""
        end = time.monotonic() + SECONDS_WITHOUT_WORKERS
        while self.client.status != "running" and time.monotonic() < end:  # a call would wait for minutes
            time.sleep(0.1)
        if self.client.status != "running":
            raise WorkersLost(_why_none(self.client))
        try:
            self._meet_a_worker()
            _check_codes(self.client.run(_code, on_error="return"), self._assignment.code)
            (self._shared,) = self.client.scatter([self._assignment], broadcast=True, hash=False)
        except InvalidInput:
            raise
        except (OSError, RuntimeError, ValueError, CancelledError) as error:
            raise WorkersLost(_why_none(self.client)) from error

    def _meet_a_worker(self) -> None:
        """By a task: an adaptive cluster starts no worker before it has one, and stops a worker that has none.

        A cluster of the caller's own program may have jobs in a queue, so there is no limit to that wait.
        """
        task = self.client.submit(_import_there(), pure=False)
        while True:
            try:
                task.result(timeout=SECONDS_WITHOUT_WORKERS)
                return
            except ImportError as error:
                raise InvalidInput(f"the workers cannot import this plefka: {error}. {SAME_VERSION}") from error
            except TimeoutError:
                if self.client.status != "running":
                    raise
            if self.client.nthreads():  # they import plefka, or have other work
                continue
            if self.client.cluster is None:
                raise WorkersLost(_why_none(self.client))
            warnings.warn(
                f"the Dask cluster at {_address(self.client)} has no workers yet, and this call waits for the first "
                "one. If none comes, see whether its jobs or pods wait in a queue or have failed.",
                PlefkaWarning,
                stacklevel=2,
            )

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
    _check_code("a worker", _code(), shared.code)
    return shared.work(shared.value, *piece)


def _import_there() -> Callable[[], None]:
    """A function within a function travels as code, which a worker without plefka can read as well."""

    def import_plefka() -> None:
        import plefka.inference.infer  # noqa: F401

    return import_plefka


def _check_codes(codes: dict[str, Any], asked: tuple[str, str]) -> None:
    """Before anything is sent that a worker without plefka could not read, which would end it."""
    for address, code in codes.items():
        if isinstance(code, OSError):  # a worker that has just gone
            continue
        if isinstance(code, Exception):
            raise InvalidInput(f"the worker at {address} cannot import this plefka: {code}. {SAME_VERSION}")
        _check_code(f"the worker at {address}", code, asked)


def _check_code(worker: str, code: tuple[str, str], asked: tuple[str, str]) -> None:
    (digest, flags), (asked_digest, asked_flags) = code, asked
    if digest != asked_digest:
        raise InvalidInput(f"{worker} runs another plefka than this process. {SAME_VERSION}")
    if flags != asked_flags:
        raise InvalidInput(
            f"{worker} must have the XLA_FLAGS of this process, without which numbers differ in their last bits. "
            f"Start all workers with XLA_FLAGS={asked_flags!r} in their environment."
        )


def _code() -> tuple[str, str]:
    """A digest of plefka's code, and how XLA compiles: what the last bits of answers depend on."""
    return source(), os.environ.get("XLA_FLAGS", "")


def connected(address: str) -> Any:
    """A client of the scheduler at an address, to be closed."""
    distributed = extras.distributed()
    try:
        distributed.comm.get_address_host(address)  # a client of an address without a port would not end
        return distributed.Client(address, timeout=SECONDS_WITHOUT_WORKERS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInput(
            f"no Dask scheduler answers at {address!r}. Give its address as tcp://HOST:8786, and start it with: "
            "dask scheduler"
        ) from error


def _why_none(client: Any) -> str:
    if client.status != "running":
        return "the connection to the Dask scheduler was lost. What is done is kept: run the same again to resume."
    address = _address(client)
    return f"the Dask cluster at {address} has no workers. Start some with: dask worker {address}"


def _address(client: Any) -> str:
    return client.scheduler_info(n_workers=0)["address"]


@contextmanager
def team_of(client: Any, workers: int | str | None, process_memory: float = PROCESS_MEMORY) -> Iterator[Team]:
    """Workers of a Dask client, or of the scheduler at an address; local processes; or, without either, this one.

    `process_memory` is what a process may need where their number is "auto".
    """
    if client is not None and workers is not None:
        raise InvalidInput("give either a client (--scheduler) or a number of workers (--workers), not both.")
    if isinstance(client, str):
        with connected(client) as found:
            yield DaskCluster(found)
    elif client is not None:
        yield DaskCluster(client)
    elif workers == AUTO:
        yield AutomaticTeam(process_memory)
    else:
        yield Here() if workers is None else Processes(workers)
