"""`workers="auto"`: this process first, and local processes as soon as they are worth their start.

Compiled code uses all cores by itself, and then processes gain nothing. NumPy code, as that of `exact`, runs in one
thread. Which of them a question leads to is seen by the share of CPU time that the thread which asks has spent. That
does not depend on what else the machine does.
"""

import os
import time
from concurrent.futures import Future
from typing import Any

from plefka.runtime.cores import num_cores
from plefka.scale.workers.teams import Here, Processes, Team, Work

SECONDS_ALONE = 10.0  # CPU seconds: starting two processes takes about as many
ALONE = 0.7  # the share of CPU time of one thread from which processes pay
ROOM = 0.8  # of the memory that is free


class AutomaticTeam(Team):
    """This process, and later as many processes as there are cores and room in memory for."""

    def __init__(self, process_memory: float):
        self._team: Team = Here()
        self._most = min(num_cores(), int(ROOM * _free_memory() / process_memory))
        self._alone = self._all = 0.0  # CPU seconds of this thread, and of all

    @property
    def in_flight(self) -> int:
        return self._team.in_flight

    def start(self, work: Work, shared: Any) -> None:
        self._assignment = (work, shared)
        self._team.start(work, shared)

    def submit(self, piece: tuple) -> Future:
        if not isinstance(self._team, Here):
            return self._team.submit(piece)
        if self._most > 1 and self._alone > SECONDS_ALONE and self._alone > ALONE * self._all:
            self._team = Processes(self._most)
            self._team.start(*self._assignment)
            self.lost = self._team.lost
            return self._team.submit(piece)
        alone, everything = time.thread_time(), time.process_time()
        found = self._team.submit(piece)
        self._alone += time.thread_time() - alone
        self._all += time.process_time() - everything
        return found

    def recover(self) -> None:
        self._team.recover()

    def why_lost(self) -> str:
        return self._team.why_lost()

    def stop(self) -> None:
        self._team.stop()

    def give_up(self) -> None:
        self._team.give_up()


def _free_memory() -> float:
    """In bytes; without a limit where the system does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return float("1e15")
