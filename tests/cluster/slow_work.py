"""The work of blocks, slowed down so that something can happen in its middle; workers import it from here."""

import os
import time
from pathlib import Path

from plefka.scale.infer_rows import answer

PAUSE = 0.05  # seconds
HALT = "PLEFKA_TEST_HALT"  # a variable: work stops in the middle until there is this file
HALTING = 64  # the row from which on it does
PATIENCE = 600.0  # seconds: only against a test that hangs
FATAL = "PLEFKA_TEST_FATAL"  # a variable: a file that ends the worker that finds it


def slow_answer(question, first, known, rows):
    time.sleep(PAUSE)
    deadline = time.monotonic() + PATIENCE
    while first >= HALTING and not Path(os.environ[HALT]).exists() and time.monotonic() < deadline:
        time.sleep(PAUSE)
    return answer(question, first, known, rows)


def fatal_answer(question, first, known, rows):
    """Ends the process at the third block, each time."""
    if first >= 16:
        os._exit(9)
    return answer(question, first, known, rows)


def fatal_once(question, first, known, rows):
    """Ends the process at the third block, once."""
    mark = Path(os.environ[FATAL])
    if first == 16 and not mark.exists():
        mark.touch()
        os._exit(9)
    return answer(question, first, known, rows)
