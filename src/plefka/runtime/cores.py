"""How many cores this process may use and how much memory there is, and work on all cores."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from plefka.errors import InvalidInput

THREADS = "PLEFKA_THREADS"  # a variable of the environment


def num_cores() -> int:
    """As many as PLEFKA_THREADS says, or else all that the system gives to this process."""
    text = os.environ.get(THREADS)
    if text:
        if not text.isdecimal() or int(text) < 1:
            raise InvalidInput(f"{THREADS} must be a whole number from 1 on; got {text!r}.")
        return int(text)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def bytes_of(pages: str) -> int | None:
    """Of memory, "SC_PHYS_PAGES" in all or "SC_AVPHYS_PAGES" that are free; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf(pages)
    except (AttributeError, ValueError, OSError):
        return None


def on_all_cores(work: Callable[[Any], Any], pieces: list) -> list:
    """The results of all pieces in their order; compiled code lets threads run side by side."""
    cores = num_cores()
    if len(pieces) == 1 or cores == 1:
        return [work(piece) for piece in pieces]
    pool = ThreadPoolExecutor(min(cores, len(pieces)))
    try:
        return list(pool.map(work, pieces))
    finally:
        pool.shutdown(cancel_futures=True)
