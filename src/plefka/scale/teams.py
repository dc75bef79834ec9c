"""Who does pieces of work, and the one loop that hands them out: `work(shared, *piece)` for each, in any order.

The work is done by this process, by local processes, or by a Dask cluster (`plefka.scale.cluster`). All of them answer
with futures of `concurrent.futures`, so that one loop serves them. They differ in how what is shared, such as a
network, gets to a worker, which it does once, and in what happens when a worker is lost.
"""

import os
import pickle
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from importlib.util import find_spec
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

from plefka.errors import InvalidInput, WorkersLost
from plefka.runtime.cores import THREADS, bytes_of, num_cores
from plefka.runtime.program_cache import folder_in_use, keep_compiled
from plefka.scale.worker_process import Assignment, WorkerEnded, WorkerProcess

Key = TypeVar("Key")
Work = Callable[..., Any]  # of what is shared, and the parts of a piece
MOST_LOSSES = 3  # times that a piece may be lost with its worker, and begin again
SECONDS_ALONE = 10.0  # CPU seconds: starting two processes takes about as many
ALONE = 0.7  # the share of CPU time of one thread from which processes pay
ROOM = 0.8  # of the memory that is free


class Team(ABC):
    """Workers that do pieces of work."""

    size: int  # pieces that are worked on at once
    lost: tuple[type[BaseException], ...] = ()  # what a worker raises that went away

    @property
    def in_flight(self) -> int:
        """Pieces that are worked on, and as many that wait, so that no worker does."""
        return 2 * self.size

    @contextmanager
    def at_work(self, work: Work, shared: Any) -> Iterator[None]:
        """Workers that know what is shared; after Ctrl-C or an error, what still runs is given up."""
        self.start(work, shared)
        try:
            yield
        except BaseException:
            self.give_up()
            raise
        self.stop()

    @abstractmethod
    def start(self, work: Work, shared: Any) -> None:
        """Tell the workers what to do."""

    @abstractmethod
    def submit(self, piece: tuple) -> Future:
        """Begin with a piece as soon as a worker is free."""

    def stop(self) -> None:  # noqa: B027
        """Let all workers go, who have nothing left to do."""

    def give_up(self) -> None:
        """Let all workers go, whatever they are at."""
        self.stop()

    def recover(self) -> None:  # noqa: B027
        """Replace workers that were lost."""

    def why_lost(self) -> str:
        """What to say where workers are lost again and again."""
        return "workers were lost again and again."


class Here(Team):
    """This process, one piece after another, in the thread that asks: Ctrl-C ends it at once.

    Compiled code uses all cores by itself, see `plefka.solvers.rounds`.
    """

    @property
    def in_flight(self) -> int:
        """There is nobody to wait for."""
        return 1

    def start(self, work: Work, shared: Any) -> None:
        self._work, self._shared = work, shared

    def submit(self, piece: tuple) -> Future:
        future: Future = Future()
        future.set_result(self._work(self._shared, *piece))
        return future


class Processes(Team):
    """Processes of this machine, which share its cores. Each is asked by a thread, and replaced when it has ended."""

    lost = (WorkerEnded,)

    def __init__(self, size: Any):
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise InvalidInput(f"workers must be a whole number of processes from 1 on, or 'auto'; got {size!r}.")
        self.size = size

    def start(self, work: Work, shared: Any) -> None:
        threads = max(1, num_cores() // self.size)
        self._assignment = Assignment(_prepared, (_pickled((work, shared)), threads, folder_in_use()))
        self._threads = ThreadPoolExecutor(self.size, "worker")
        self._workers: list[WorkerProcess] = []
        self._free: SimpleQueue[WorkerProcess] = SimpleQueue()
        self._given_up = False

    def submit(self, piece: tuple) -> Future:
        return self._threads.submit(self._do, piece)

    def _do(self, piece: tuple) -> Any:
        try:
            worker = self._free.get_nowait()
        except Empty:
            worker = self._started()
        try:
            return worker.ask(*piece)
        except WorkerEnded:
            worker.end()  # the system may take a moment to notice
            raise
        finally:
            if worker.is_alive:
                self._free.put(worker)

    def _started(self) -> WorkerProcess:
        worker = WorkerProcess(self._assignment)
        self._workers.append(worker)
        if self._given_up:  # by another thread, which may not have seen this one
            worker.end()
        worker.start()
        return worker

    def stop(self) -> None:
        self._threads.shutdown(cancel_futures=self._given_up)
        for worker in self._workers:
            worker.leave()
        for worker in self._workers:
            if worker.process.pid is not None:
                worker.process.join()

    def give_up(self) -> None:
        self._given_up = True
        for worker in [*self._workers]:
            worker.end()
        self.stop()

    def why_lost(self) -> str:
        return (
            "worker processes ended again and again at the same blocks, perhaps for lack of memory. Pass fewer workers "
            "or a smaller memory; in a script, call this under: if __name__ == '__main__':"
        )


def _prepared(assignment: bytes, threads: int, cache: Any) -> Callable[..., Any]:
    """In a worker process: what it does with a piece."""
    os.environ[THREADS] = str(threads)
    if cache is not None:
        keep_compiled(cache)
    work, shared = pickle.loads(assignment)
    return lambda *piece: work(shared, *piece)


def _pickled(value: Any) -> bytes:
    """Functions of the user's own are sent as well where cloudpickle is there, which comes with Dask."""
    if find_spec("cloudpickle"):
        import cloudpickle

        return cloudpickle.dumps(value)
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InvalidInput(
            f"this network or method cannot be sent to worker processes: {error}. Install plefka[cluster], or leave "
            "out workers."
        ) from error


class AutomaticTeam(Team):
    """This process, and local processes, as many as there are cores and room in memory for, as soon as they pay.

    Compiled code uses all cores by itself, and then processes gain nothing. NumPy code, as that of `exact`, runs in one
    thread. Which of them a question leads to is seen by the share of CPU time that the thread which asks has spent.
    That does not depend on what else the machine does.
    """

    def __init__(self, process_memory: float):
        self._team: Team = Here()
        free_bytes = bytes_of("SC_AVPHYS_PAGES") or 1e15  # where the system does not say, there is no limit
        self._most = min(num_cores(), int(ROOM * free_bytes / process_memory))
        self._alone = self._all = 0.0  # CPU seconds of this thread, and of all

    @property
    def in_flight(self) -> int:
        return self._team.in_flight

    def start(self, work: Work, shared: Any) -> None:
        self._assignment = (work, shared)
        self._team.start(work, shared)

    def submit(self, piece: tuple) -> Future:
        if not isinstance(self._team, Here):
            return self._team.submit(piece)
        if self._most > 1 and self._alone > SECONDS_ALONE and self._alone > ALONE * self._all:
            self._team = Processes(self._most)
            self._team.start(*self._assignment)
            self.lost = self._team.lost
            return self._team.submit(piece)
        alone, everything = time.thread_time(), time.process_time()
        found = self._team.submit(piece)
        self._alone += time.thread_time() - alone
        self._all += time.process_time() - everything
        return found

    def why_lost(self) -> str:
        return self._team.why_lost()

    def stop(self) -> None:
        self._team.stop()

    def give_up(self) -> None:
        self._team.give_up()


# ---- the loop --------------------------------------------------------------------------------------------------------


class ReadyResult(NamedTuple):
    """In the place of a piece: a result that is there without any work."""

    result: Any


class _Waiting(NamedTuple):
    key: Any
    piece: tuple
    losses: int = 0


def mapped(
    team: Team, work: Callable[..., Any], shared: Any, pieces: Iterable[tuple[Key, tuple | ReadyResult]]
) -> Generator[tuple[Key, Any], None, None]:
    """(key, work(shared, *piece)) of every (key, piece), as they are ready."""
    waiting: dict[Future, _Waiting] = {}
    with team.at_work(work, shared):
        for key, piece in pieces:
            if isinstance(piece, ReadyResult):
                yield key, piece.result
                continue
            waiting[_begun(team, piece)] = _Waiting(key, piece)
            if len(waiting) >= team.in_flight:
                yield from _ready(team, waiting)
        while waiting:
            yield from _ready(team, waiting)


def _begun(team: Team, piece: tuple) -> Future:
    try:
        return team.submit(piece)
    except team.lost as error:
        future: Future = Future()
        future.set_exception(error)
        return future


def _ready(team: Team, waiting: dict[Future, _Waiting]) -> Generator[tuple[Any, Any], None, None]:
    """The results that are ready, once there is one; pieces whose worker was lost begin again."""
    ended = wait(waiting, return_when=FIRST_COMPLETED).done
    good = [future for future in ended if not future.cancelled() and future.exception() is None]
    for future in good:
        yield waiting.pop(future).key, future.result()
    for future in ended - {*good}:
        if not _is_lost(team, future):
            future.result()  # raises what went wrong
    if len(good) == len(ended):
        return
    team.recover()
    for future in [future for future in waiting if future.done() and _is_lost(team, future)]:  # also others by now
        lost = waiting.pop(future)
        if lost.losses == MOST_LOSSES:
            raise WorkersLost(team.why_lost())
        waiting[_begun(team, lost.piece)] = lost._replace(losses=lost.losses + 1)


def _is_lost(team: Team, future: Future) -> bool:
    """Whether the worker went away, and not the work went wrong."""
    return future.cancelled() or isinstance(future.exception(), (CancelledError, *team.lost))
