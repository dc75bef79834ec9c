"""A progress bar for work that takes longer than a second, and steps of it that Ctrl-C must not cut in two."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO, TypeVar

Item = TypeVar("Item")
PATIENCE = 1.0  # seconds without a bar
PAUSE = {True: 0.1, False: 10.0}  # between two updates, on a terminal and in a log
WIDTH = 30


def progress(
    items: Sequence[Item], label: str | Callable[[], str], stream: TextIO | None = None
) -> Generator[Item, None, None]:
    """The same items, with a bar on standard error once a second has passed; a label may change as it goes."""
    return _tracked(items, len(items), label, stream or sys.stderr)


def _tracked(
    items: Iterable[Item], total: int, label: str | Callable[[], str], stream: TextIO
) -> Generator[Item, None, None]:
    start = time.monotonic()
    terminal, shown, last = stream.isatty(), False, 0.0
    try:
        for done, item in enumerate(items):
            elapsed = time.monotonic() - start
            if elapsed > PATIENCE and elapsed - last > PAUSE[terminal]:
                line = bar(label() if callable(label) else label, done, total, elapsed)
                stream.write(f"\r{line}\033[K" if terminal else f"{line}\n")
                stream.flush()
                shown, last = True, elapsed
            yield item
    finally:
        if shown and terminal:
            stream.write("\r\033[K")
            stream.flush()


def bar(label: str, done: int, total: int, elapsed: float) -> str:
    """'label [####......]  40 %, 12 s left'."""
    share = done / total
    filled = round(WIDTH * share)
    left = f"{elapsed * (total - done) / done:.0f} s left" if done else "estimating"
    return f"{label} [{'#' * filled}{'.' * (WIDTH - filled)}] {share:4.0%}, {left}"


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block has ended; to other threads, and where it is ignored, it does not come at all."""
    elsewhere = threading.current_thread() is not threading.main_thread()
    if elsewhere or signal.getsignal(signal.SIGINT) in (None, signal.SIG_IGN):
        yield
        return
    waiting: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting:
        raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Ctrl-C is raised by the function that is given, at places of one's choice; a second one at once.

    An exception in the midst of a computation may end in a call back from JAX, which swallows it. Other threads, and
    handlers of the user's own, are left alone.
    """
    waiting: list[int] = []

    def check() -> None:
        if waiting:
            raise KeyboardInterrupt

    def wait(number, frame):
        if waiting:
            signal.default_int_handler(number, frame)
        waiting.append(number)

    elsewhere = threading.current_thread() is not threading.main_thread()
    if elsewhere or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield check
        return
    signal.signal(signal.SIGINT, wait)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
