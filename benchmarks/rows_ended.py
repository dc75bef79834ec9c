"""Rows that have ended: 10,000 networks of 2x4x6 units in one call, some of which need ten times the steps of others.

PLEFKA_BASE names the src folder of another checkout, to compare with. `python -m benchmarks.rows_ended METHOD REACH`
is the process that solves.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

import plefka as pf
from benchmarks.measure import Row, at_least

NETWORKS, REPEATS = 10_000, 5
LIBDAI = {"networks_a_second": 4100, "by": "belief propagation of libDAI, one core of a machine of the same kind"}
METHODS = ("bethe", "G12", "G2")
FASTER = {("bethe", 5): 4, ("G12", 5): 4, ("bethe", 1): 1, ("G12", 1): 1}  # times as fast as the other checkout


def rows() -> Iterator[Row]:
    for reach in (5, 1):
        for method in METHODS:
            yield from networks_a_second(method, reach)


def networks_a_second(method: str, reach: int) -> Iterator[Row]:
    """How many are solved in a second, and how many times as many as by the other checkout, if there is one."""
    new, *old = quickest(method, reach, [None, *other_source()])
    name, rate = f"networks 2x4x6, sigmoid [-{reach}, {reach}], {method}", NETWORKS / new["seconds"]
    yield Row(name, rate, "per s", "for the record", True, {"found": new, "libDAI": LIBDAI})
    for base in old:
        ratio, details = base["seconds"] / new["seconds"], {"found": new, "base": base}
        if least := FASTER.get((method, reach)):
            yield at_least(f"{name}, over PLEFKA_BASE", ratio, "x as fast", least, details)
        else:
            yield Row(f"{name}, over PLEFKA_BASE", ratio, "x as fast", "for the record", True, details)


def other_source() -> list[Path]:
    """The folder that PLEFKA_BASE names, if it does."""
    source = os.environ.get("PLEFKA_BASE")
    if source and not (Path(source) / "plefka").is_dir():
        raise SystemExit(f"PLEFKA_BASE must be the src folder of a checkout; there is no plefka in {source}.")
    return [Path(source).resolve()] if source else []


def quickest(method: str, reach: int, sources: list[Path | None]) -> list[dict]:
    """The quickest answer with each source; they are asked by turns, and the first turn compiles."""
    with ExitStack() as stack:
        solvers = [stack.enter_context(solver(method, reach, source)) for source in sources]
        turns = [[ask() for ask in solvers] for _ in range(1 + REPEATS)]
    return [min(answers, key=lambda answer: answer["seconds"]) for answers in zip(*turns[1:], strict=True)]


@contextmanager
def solver(method: str, reach: int, source: Path | None) -> Iterator[Callable[[], dict]]:
    """A process that solves the networks whenever it is asked, with the plefka of `source` or, if None, this one."""
    path = [str(source)] if source else []
    path += filter(None, [os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    command = [sys.executable, "-m", "benchmarks.rows_ended", method, str(reach)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asking, answers = process.stdin, process.stdout

        def ask() -> dict:
            print(file=asking, flush=True)
            return json.loads(answers.readline())

        yield ask


def answer_when_asked(method: str, reach: str) -> None:
    """For each line that comes in, solve the networks once and print how long that took and what was found."""
    networks = pf.ensembles.layered((2, 4, 6), -float(reach), float(reach), NETWORKS, seed=0, activation="sigmoid")
    row = np.r_[np.full(6, np.nan), np.zeros(6)]  # the bottom layer is observed off, as in the paper's table 1
    for _ in sys.stdin:
        start = time.perf_counter()
        solution = pf.infer(networks, row, method, throw=False)
        answer = {"seconds": time.perf_counter() - start, "converged": int(np.sum(solution.converged))}
        answer["mean_log_likelihood"] = float(np.nanmean(solution.log_likelihood))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    answer_when_asked(*sys.argv[1:])
