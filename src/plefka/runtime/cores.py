"""How many cores this process may use."""

import os

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
