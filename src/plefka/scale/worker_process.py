"""One process that works for this one: started, asked through a pipe, and ended by whoever has started it.

Local teams (`plefka.scale.teams`) and the web service (`plefka.explorer.pool`) stand on it. A worker is spawned, as a
fork of a process with JAX's threads may hang, and ignores Ctrl-C, which a terminal sends to all processes.
"""

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker, util
from multiprocessing.connection import Connection
from multiprocessing.pool import ExceptionWithTraceback  # pyright: ignore[reportAttributeAccessIssue]
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

SIGNALS = (signal.SIGINT, signal.SIGTERM)  # for the process that has started the worker


class WorkerEnded(Exception):
    """The process is not there any more."""


class Assignment(NamedTuple):
    """What a worker is started with: `prepare(*arguments)` gives the function that answers questions."""

    prepare: Callable[..., Callable[..., Any]]
    arguments: tuple
    memory: int | None = None  # bytes: a question that needs more fails, before the computer runs out of memory


class WorkerProcess:
    """One worker, and the pipe to it. `start` and `ask` wait, so that many workers need as many threads."""

    def __init__(self, assignment: Assignment):
        context = multiprocessing.get_context("spawn")
        self.assignment = assignment
        self.pipe, self.theirs = context.Pipe()
        self.process = context.Process(target=_run, args=(self.theirs,), name="plefka worker")
        self.was_ended = False

    def start(self) -> None:
        """Return when it is ready to answer.

        The assignment goes through our own pipe: one that is closed says so, as that of `multiprocessing` does not.
        """
        try:
            with _ignoring_signals():
                self.process.start()
        except OSError as error:
            raise WorkerEnded from error
        self.theirs.close()
        util.Finalize(self, self.process.kill, exitpriority=0)  # also at exit, as it ignores being terminated
        if self.was_ended:  # while it was being started
            self.process.kill()
        self._exchange(self.assignment)

    def ask(self, *question: Any) -> Any:
        """The answer; what goes wrong in the worker is raised here."""
        succeeded, found = self._exchange(question)
        if not succeeded:
            raise found
        return found

    def _exchange(self, message: tuple) -> Any:
        try:
            self.pipe.send(message)
            return self.pipe.recv()
        except (EOFError, OSError) as error:
            raise WorkerEnded from error

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked; a process that was ended may be there for a moment longer."""
        return not self.was_ended and self.process.is_alive()

    def end(self) -> None:
        """At once; whoever waits for its answer is told so."""
        self.was_ended = True
        if self.process.pid is not None:
            self.process.kill()

    def leave(self) -> None:
        """Let it end by itself, as it is asked nothing more."""
        self.pipe.close()


@contextmanager
def _ignoring_signals() -> Iterator[None]:
    """A process that is started inside never receives the signals, not even while it starts.

    Only this thread is. What keeps track of processes must be there before, as it undoes that when it starts.
    """
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# ---- in the worker ---------------------------------------------------------------------------------------------------


def _run(connection: Connection) -> None:
    """Take the assignment, say when it is ready, and answer until nobody asks any more."""
    for sent in SIGNALS:
        signal.signal(sent, signal.SIG_IGN)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        prepare, arguments, memory = connection.recv()
        if memory is not None and sys.platform == "linux":
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        work = prepare(*arguments)
        connection.send("ready")
        while True:
            connection.send_bytes(_answered(work, connection.recv()))


def _answered(work: Callable[..., Any], question: tuple) -> Any:
    try:
        return ForkingPickler.dumps((True, work(*question)))
    except Exception as error:
        try:
            return ForkingPickler.dumps((False, ExceptionWithTraceback(error, error.__traceback__)))
        except Exception as why:  # an error that holds what cannot be sent
            words = f"{type(error).__name__} in a worker process: {error} (the error itself could not be sent: {why})"
            return ForkingPickler.dumps((False, RuntimeError(words)))
