"""A worker process as the service sees it: started, asked, and ended."""

import asyncio
import multiprocessing
import signal
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, NamedTuple

from plefka.explorer import worker


class Ready(NamedTuple):
    """What a worker is started with."""

    network: Any
    warm: list[tuple[str, Mapping[str, Any]]]
    memory: int | None


class WorkerEnded(Exception):
    """The process is not there any more."""


@contextmanager
def without_signals() -> Iterator[None]:
    """A process that is started inside ignores Ctrl-C, which a terminal sends to all: the service ends its workers.

    Only this thread is. What keeps track of processes must be there before, as it undoes that when it starts.
    """
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Process:
    """One worker, and the pipe to it. Whatever waits for the pipe does so in a thread."""

    def __init__(self, ready: Ready, threads: ThreadPoolExecutor):
        context = multiprocessing.get_context("spawn")
        self.threads = threads
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=worker.run, args=(theirs,), daemon=True, name="plefka worker")
        self.theirs, self.ready = theirs, ready
        self.was_ended = False

    async def start(self) -> None:
        """Return when it is ready to answer."""
        await self._in_thread(self._start)

    def _start(self) -> None:
        """The network goes through our own pipe: one that is closed says so, as that of `multiprocessing` does not."""
        try:
            with without_signals():
                self.process.start()
        except OSError as error:
            raise WorkerEnded from error
        self.theirs.close()
        if self.was_ended:  # while it was being started
            self.process.kill()
        self._send(tuple(self.ready))
        self._receive()

    async def answer(self, kind: str, asked: list[Mapping[str, Any]]) -> list[Any]:
        return await self._in_thread(self._exchange, kind, asked)

    def _exchange(self, kind: str, asked: list[Mapping[str, Any]]) -> Any:
        self._send((kind, asked))
        return self._receive()

    def _send(self, message: Any) -> None:
        try:
            self.pipe.send(message)
        except OSError as error:
            raise WorkerEnded from error

    def _receive(self) -> Any:
        try:
            return self.pipe.recv()
        except (EOFError, OSError) as error:
            raise WorkerEnded from error

    async def _in_thread(self, function: Any, *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.threads, function, *arguments)

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked; a process that was ended may be there for a moment longer."""
        return not self.was_ended and self.process.is_alive()

    def end(self) -> None:
        """At once; whoever waits for its pipe is told so."""
        self.was_ended = True
        if self.process.pid is not None:
            self.process.kill()
