"""A progress bar for work that takes longer than a second: how much is done, and how much time is left."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TextIO, TypeVar

Item = TypeVar("Item")
PATIENCE = 1.0  # seconds without a bar
PAUSE = {True: 0.1, False: 10.0}  # between two updates, on a terminal and in a log
WIDTH = 30


def progress(items: Sequence[Item], label: str | Callable[[], str], stream: TextIO | None = None) -> Iterator[Item]:
    """The same items, with a bar on standard error once a second has passed; a label may change as it goes."""
    return _tracked(items, len(items), label, stream or sys.stderr)


def _tracked(items: Iterable[Item], total: int, label: str | Callable[[], str], stream: TextIO) -> Iterator[Item]:
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
