"""How the command ends: its exit codes, and Ctrl-C while a command starts.

Python drops a KeyboardInterrupt that is raised where no exception can go: in the callback of a weak reference, in
`__del__`, or in what JAX does at each garbage collection. Imports are full of such moments, and a service that has lost
its Ctrl-C would go on to serve. Other packages answer it with an exception of their own.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# What the command returns, beside 0.
DID_NOT_CONVERGE = DID_NOT_LEARN = FOUND = 1
BAD_INPUT = 2
PROCESS_LOST = 3  # one of several that learn together
INTERRUPTED = 130
SOON = 0.02  # seconds, after which an interrupt that was dropped comes again


class Interrupts:
    """Inside, every SIGINT raises KeyboardInterrupt, as usual, and is remembered: see `check`."""

    def __init__(self):
        self.came = False

    def __enter__(self) -> "Interrupts":
        is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        self.is_on = is_usual and threading.current_thread() is threading.main_thread()
        if self.is_on:
            signal.signal(signal.SIGINT, self._take)
            self.hook, sys.unraisablehook = sys.unraisablehook, self._drop
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.is_on:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.unraisablehook = self.hook
        if kind is not None and not issubclass(kind, KeyboardInterrupt):
            self.check()

    def check(self) -> None:
        """Raise what was dropped."""
        if self.came:
            raise KeyboardInterrupt

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt

    def _drop(self, dropped: "sys.UnraisableHookArgs") -> None:
        """Say nothing of an interrupt that is not lost."""
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            self.hook(dropped)


@contextmanager
def resend_dropped_interrupts() -> Iterator[None]:
    """Inside, a KeyboardInterrupt that Python has dropped is raised again a little later, where it can go."""
    before, main_thread = sys.unraisablehook, threading.main_thread().ident
    if sys.platform == "win32" or main_thread is None:  # where Ctrl-C is no signal that a process could send to itself
        yield
        return

    def resend(dropped: "sys.UnraisableHookArgs") -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):  # a signal also wakes the thread where it waits
            threading.Timer(SOON, signal.pthread_kill, (main_thread, signal.SIGINT)).start()
        else:
            before(dropped)

    sys.unraisablehook = resend
    try:
        yield
    finally:
        sys.unraisablehook = before
