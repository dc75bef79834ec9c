"""Whatever goes wrong, every file is the old one or the new one, whole, and a second run ends as an undisturbed one.

Each case follows from its seed, which its name has: `pytest tests/faults -k "fit-17"` plays it again, and
PLEFKA_FAULT_SEEDS=100:1000 plays others.
"""

import json
import os
import random
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest import mock

import pytest

from plefka.errors import PlefkaError
from plefka.runtime.whole_files import LOCK, TEMPORARY
from plefka.scale.teams import Here, Team
from tests.faults.disk import FAULTS, Disk, Fault, Full, Interrupt, Kill, Killed, LostMount
from tests.faults.scenarios import SCENARIOS, tree

SEEDS = range(*map(int, os.environ.get("PLEFKA_FAULT_SEEDS", "0:12").split(":")))
TIMES = ("monotonic", "perf_counter", "time")


class ClockJumps:
    """Clocks go forwards and backwards, by seconds and by years."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    def __call__(self) -> float:
        return self.rng.choice((-1, 1)) * 10 ** self.rng.uniform(-3, 9)


class LostWorkers(Team):
    """A worker that is lost with the pieces of these numbers, and replaced."""

    class Lost(Exception):
        """The worker went away."""

    size, lost = 1, (Lost,)

    def __init__(self, rng: random.Random):
        self.numbers, self.count = {rng.randrange(4) for _ in range(2)}, 0

    def start(self, work: Any, shared: Any) -> None:
        self.work, self.shared = work, shared

    def submit(self, piece: tuple) -> Future:
        self.count += 1
        future: Future = Future()
        if self.count - 1 in self.numbers:
            future.set_exception(self.Lost())
        else:
            future.set_result(self.work(self.shared, *piece))
        return future

    def stop(self) -> None:
        """There is nobody to let go."""


class Undisturbed(NamedTuple):
    """What a run does to which nothing happens."""

    operations: int
    contents: dict[str, set[bytes]]  # all that files ever held, by their names
    result: Any


@contextmanager
def world(disk: Disk, team: Team, clock: Any = lambda: 0.0) -> Iterator[None]:
    """A disk, workers and clocks; clocks stand still, so that files do not depend on when they are written."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch.multiple(time, strftime=lambda form: "today", **dict.fromkeys(TIMES, clock)))
        for place in ("plefka.scale.infer_rows", "plefka.scale.sweep"):
            stack.enter_context(mock.patch(f"{place}.team_of", return_value=nullcontext(team)))
        stack.enter_context(disk.watched())
        yield


@cache
def undisturbed(name: str) -> Undisturbed:
    scenario = SCENARIOS[name]
    with TemporaryDirectory() as place:
        folder = Path(os.path.realpath(place))
        scenario.prepare(folder)
        before, disk = tree(folder), Disk(folder)
        with world(disk, Here()):
            scenario.act(folder, Here())
        contents = {name: {content} for name, content in before.items()}
        for path, some in disk.contents.items():
            contents.setdefault(str(Path(path).relative_to(folder)), set()).update(some)
        assert not leftovers(folder)
        return Undisturbed(disk.count, contents, scenario.result(folder))


def leftovers(folder: Path) -> list[Path]:
    """Files that are there only while others are written."""
    return [*folder.rglob(TEMPORARY), *folder.rglob(LOCK), *folder.rglob(".*.lock")]


def check_files(folder: Path, known: dict[str, set[bytes]]) -> None:
    """Every file is one that the undisturbed run wrote, or was there before."""
    aside = {str(path.relative_to(folder)) for path in leftovers(folder)}
    for name, content in tree(folder).items():
        if name.endswith("_manifest.json"):
            assert json.loads(content)["settings"]
        elif name not in aside:
            assert content in known[name], f"{name} is neither the old file nor the new one"


def attempt(name: str, folder: Path, disk: Disk, team: Team, clock: Any) -> BaseException | None:
    """How the disturbed run ended."""
    try:
        with world(disk, team, clock):
            SCENARIOS[name].act(folder, team)
    except (Killed, KeyboardInterrupt, PlefkaError) as error:
        return error
    return None


def check_words(error: BaseException | None, fault: Fault | None) -> None:
    if isinstance(error, PlefkaError):
        assert isinstance(fault, Full | LostMount), f"{fault} must not be an error: {error}"
        assert str(error).endswith("."), error
        assert "cannot be" in str(error)
        assert ".tmp" not in str(error)
    if isinstance(error, Killed | KeyboardInterrupt):
        assert isinstance(fault, Kill if isinstance(error, Killed) else Interrupt)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_is_lost(name, seed, tmp_path):
    rng, expected = random.Random(f"{name} {seed}"), undisturbed(name)
    kind = rng.choice((*FAULTS, ClockJumps, LostWorkers))
    fault = kind(rng.randint(1, expected.operations), rng) if issubclass(kind, Fault) else None
    team = LostWorkers(rng) if kind is LostWorkers else Here()
    clock = ClockJumps(rng) if kind is ClockJumps else lambda: 0.0
    folder = Path(os.path.realpath(tmp_path))
    SCENARIOS[name].prepare(folder)
    error = attempt(name, folder, Disk(folder, fault), team, clock)
    check_words(error, fault)
    if kind is not ClockJumps:
        check_files(folder, expected.contents)
    if fault is None or not (isinstance(fault, Kill | LostMount) or fault.struck == "unlink"):
        assert not leftovers(folder)  # unless it could not clear up
    with world(Disk(folder), Here()):
        SCENARIOS[name].act(folder, Here())
    left = {path.name for path in leftovers(folder)}
    for path in leftovers(folder):
        path.unlink()
    assert SCENARIOS[name].result(folder) == expected.result, (kind, fault, left)
