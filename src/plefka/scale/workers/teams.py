"""Who does the work: this process, or local processes. A Dask cluster is in `plefka.scale.workers.cluster`.

All three answer with futures of `concurrent.futures`, so that one loop serves them. They differ in how what is shared
gets to a worker, and in what happens when a worker is lost.
"""

import multiprocessing
import os
import pickle
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from plefka.errors import InvalidInput
from plefka.runtime.cores import THREADS, num_cores
from plefka.runtime.program_cache import folder_in_use, keep_compiled

Work = Callable[..., Any]  # of what is shared, and the parts of a piece


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

    @abstractmethod
    def stop(self) -> None:
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

    size = 1

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

    def stop(self) -> None:
        """There is nobody to let go."""


class Processes(Team):
    """Processes of this machine, which share its cores."""

    lost = (BrokenProcessPool,)

    def __init__(self, size: Any):
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise InvalidInput(f"workers must be a whole number of processes from 1 on, or 'auto'; got {size!r}.")
        self.size = size

    def start(self, work: Work, shared: Any) -> None:
        self._assignment = (_pickled((work, shared)), max(1, num_cores() // self.size), folder_in_use())
        self._begin()

    def recover(self) -> None:
        self._executor.shutdown()  # when it has ended, so have all its futures
        self._begin()

    def _begin(self) -> None:
        self._others = multiprocessing.active_children()
        spawn = multiprocessing.get_context("spawn")  # a fork of a process with JAX's threads may hang
        self._executor: Executor = ProcessPoolExecutor(self.size, spawn, _begin, self._assignment)

    def submit(self, piece: tuple) -> Future:
        return self._executor.submit(_do, piece)

    def stop(self) -> None:
        self._executor.shutdown()

    def give_up(self) -> None:
        mine = [process for process in multiprocessing.active_children() if process not in self._others]
        self._executor.shutdown(wait=False, cancel_futures=True)
        for process in mine:
            process.terminate()
        for process in mine:
            process.join()

    def why_lost(self) -> str:
        return (
            "worker processes ended again and again at the same blocks, perhaps for lack of memory. Pass fewer workers "
            "or a smaller memory; in a script, call this under: if __name__ == '__main__':"
        )


_mine: list[tuple[Work, Any]] = []  # in a worker: what it does, and what all of them share


def _begin(assignment: bytes, threads: int, cache: Any) -> None:
    """In a worker process: Ctrl-C is for the process that waits for it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ[THREADS] = str(threads)
    if cache is not None:
        keep_compiled(cache)
    _mine[:] = [pickle.loads(assignment)]


def _do(piece: tuple) -> Any:
    work, shared = _mine[0]
    return work(shared, *piece)


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
