"""A progress bar for work that takes longer than a second, and steps of it that Ctrl-C must not cut in two.

The command draws bars. The library does where standard error is a terminal and tqdm is installed. `PLEFKA_PROGRESS=0`
or `1` in the environment, `plefka.progress.show(False)` in a program or `with plefka.progress.show(True):` around a
part of it say otherwise.

>>> import plefka as pf
>>> with pf.progress.show(False):
...     solution = pf.infer(pf.example("espresso"), {"slow_flow": 1})
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar

from plefka.runtime.extras import imported

Item = TypeVar("Item")
VARIABLE = "PLEFKA_PROGRESS"
QUIET_SECONDS = 1.0  # seconds without a bar
STYLE: dict[bool, dict[str, Any]] = {  # on a terminal, and in a log: a line every ten seconds
    True: {"mininterval": 0.1},
    False: {"mininterval": 10.0, "bar_format": "{l_bar}{bar}{r_bar}\n"},
}
_chosen: dict[str, bool | None] = {"shown": None}


def show(shown: bool | None) -> ExitStack:
    """Draw bars from now on or, where it is used as a context, until that ends; None leaves it to the defaults."""
    undo = ExitStack()
    undo.callback(_chosen.update, _chosen.copy())
    _chosen["shown"] = shown
    return undo


def is_shown() -> bool:
    if _chosen["shown"] is not None:
        return _chosen["shown"]
    return os.environ[VARIABLE] != "0" if VARIABLE in os.environ else sys.stderr.isatty() and bool(find_spec("tqdm"))


def progress(
    items: Iterable[Item], label: str | Callable[[], str], shown: bool | None = None, total: int | None = None
) -> Generator[Item, None, None]:
    """All items, with a bar on standard error once a second has passed; a label may change as it goes.

    `total` is how many items there are, where they cannot tell; without it the bar has no estimate of the time left.
    """
    total = len(items) if isinstance(items, Sequence) else total
    short = total is not None and total < 2  # short work does not wait for tqdm's import
    if short or not (is_shown() if shown is None else shown):
        yield from items
        return
    text = label if callable(label) else lambda: label
    how: dict[str, Any] = {"delay": QUIET_SECONDS, "miniters": 1, "leave": False, "total": total}
    tqdm = imported("tqdm", "cli", "a progress bar").tqdm
    with tqdm(items, text(), **how, **STYLE[sys.stderr.isatty()]) as bar:
        for item in bar:
            yield item
            bar.set_description(text(), refresh=False)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block has ended; it never reaches other threads, nor a process that ignores it."""
    waiting: list[int] = []
    with _on_interrupt(lambda number, frame: waiting.append(number)):
        yield
    if waiting:
        raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Ctrl-C is raised by the function that is given, where it is called; a second one at once.

    An exception in the midst of a computation may end in a call back from JAX, which swallows it. Other threads, and
    handlers of the user's own, are left alone.
    """
    waiting: list[int] = []

    def check() -> None:
        if waiting:
            raise KeyboardInterrupt

    def wait(number, frame):
        check()
        waiting.append(number)

    with _on_interrupt(wait, instead_of=signal.default_int_handler):
        yield check


@contextmanager
def _on_interrupt(handler: Callable, instead_of: Callable | None = None) -> Iterator[None]:
    """Another handler of Ctrl-C, in the main thread and unless it is ignored or not `instead_of`."""
    before = signal.getsignal(signal.SIGINT)
    elsewhere = threading.current_thread() is not threading.main_thread()
    if elsewhere or before in (None, signal.SIG_IGN) or instead_of not in (None, before):
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
