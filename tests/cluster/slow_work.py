"""The work of blocks, slowed down so that something can happen in its middle; workers import it from here."""

import os
import time
from pathlib import Path

from plefka.rows import answering

PAUSE = 0.05  # seconds
FATAL = "PLEFKA_TEST_FATAL"  # a variable: a file that ends the worker that finds it


def slow_answer(question, first, known, rows):
    time.sleep(PAUSE)
    return answering.answer(question, first, known, rows)


def fatal_answer(question, first, known, rows):
    """Ends the process at the third block, each time."""
    if first >= 16:
        os._exit(9)
    return answering.answer(question, first, known, rows)


def fatal_once(question, first, known, rows):
    """Ends the process at the third block, once."""
    mark = Path(os.environ[FATAL])
    if first == 16 and not mark.exists():
        mark.touch()
        os._exit(9)
    return answering.answer(question, first, known, rows)
