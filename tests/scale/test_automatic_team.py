"""`workers="auto"` starts processes where one thread does the work, and only there."""

import os
import time

import pytest

from plefka.scale import teams
from plefka.scale.teams import AutomaticTeam, Here, Processes, mapped


def busy(seconds: float, number: int) -> tuple[int, int]:
    """CPU time of the thread that is called."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return number, os.getpid()


@pytest.mark.parametrize(("patience", "cores", "grows"), [(0.05, 2, True), (99, 2, False), (0.05, 1, False)])
def test_processes_begin_when_they_pay(monkeypatch, patience, cores, grows):
    monkeypatch.setattr(teams, "SECONDS_ALONE", patience)
    monkeypatch.setenv("PLEFKA_THREADS", str(cores))
    team = AutomaticTeam(process_memory=1e6)
    found = dict(mapped(team, busy, 0.03, ((k, (k,)) for k in range(6))))
    assert {key: number for key, (number, _) in found.items()} == {k: k for k in range(6)}
    assert (len({process for _, process in found.values()}) > 1) is grows
    assert isinstance(team._team, Processes if grows else Here)


def test_there_are_no_more_processes_than_memory_for_them():
    assert AutomaticTeam(process_memory=1e18)._most == 0
