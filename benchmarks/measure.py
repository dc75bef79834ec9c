"""How the benchmarks measure: the best of a few runs, alternating, so that a noisy machine is noisy for both sides."""

import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

TIME_LIMIT = 300  # seconds of a part that runs in a process of its own
MEMORY_LIMIT = 8 * 2**30  # bytes of the same, so that a part that needs more ends and others on the machine go on
COMPILED = "/jax/core/compile/backend_compile_duration"  # JAX's event for every program, also of eager operations


@dataclass(frozen=True)
class Row:
    """One line of the table: a figure, what it was compared with, and what it should be."""

    name: str
    value: float
    unit: str
    aim: str
    met: bool
    details: dict

    def __post_init__(self):
        object.__setattr__(self, "value", float(self.value))  # NumPy's numbers are no JSON
        object.__setattr__(self, "met", bool(self.met))


def at_most(name: str, value: float, unit: str, most: float, details: dict) -> Row:
    """A row whose figure should not exceed a number."""
    return Row(name, value, unit, f"at most {most:g}", value <= most, details)


def at_least(name: str, value: float, unit: str, least: float, details: dict) -> Row:
    """A row whose figure should reach a number."""
    return Row(name, value, unit, f"at least {least:g}", value >= least, details)


def best(function: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the quickest of a few calls."""
    return min(_once(function) for _ in range(repeats))


def best_of_both(a: Callable[[], object], b: Callable[[], object], repeats: int = 5) -> tuple[float, float]:
    """The quickest call of each, taken by turns."""
    pairs = [(_once(a), _once(b)) for _ in range(repeats)]
    return min(x for x, _ in pairs), min(y for _, y in pairs)


def _once(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def compilations() -> list[float]:
    """Seconds of every program that this process compiles from now on; the list grows as it does."""
    import jax

    seconds: list[float] = []

    def listen(event: str, duration_secs: float, **_):
        if event == COMPILED:
            seconds.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    return seconds


def python_seconds(arguments: Sequence[str], cache: str | Path) -> float:
    """Seconds of `python ARGUMENTS`, from start to end, where compiled code is kept in `cache` and nowhere else."""
    environment = {**os.environ, "PLEFKA_CACHE_DIR": str(cache)}
    for name in ("JAX_COMPILATION_CACHE_DIR", "PYTHONDONTWRITEBYTECODE"):  # an installed package has bytecode
        environment.pop(name, None)
    command = [sys.executable, *arguments]
    return _once(partial(subprocess.run, command, check=True, stdout=subprocess.DEVNULL, env=environment))


def in_a_process(function: Callable[..., dict], *arguments: object, seconds: float = TIME_LIMIT) -> dict:
    """What the function returns in a fresh process, or why there is no answer: too slow, too large, or an error."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, function, arguments))
    process.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(seconds) else {"unfinished": f"no answer in {seconds} s"}
    except EOFError:
        process.join()
        return {"unfinished": f"the process ended without an answer (exit code {process.exitcode})"}
    finally:
        process.kill()
        process.join()


def _answer(sender: Connection, function: Callable[..., dict], arguments: tuple) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
    sender.send(function(*arguments))


def resident_memory() -> int:
    """Bytes that this process holds now (Linux)."""
    return _memory("VmRSS")


def peak_memory() -> int:
    """Bytes that this process has held at most; getrusage would count what its parent held before it was started."""
    try:
        return _memory("VmHWM")
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _memory(field: str) -> int:
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def machine() -> dict:
    """The machine's facts, for the record."""
    from plefka.runtime import provenance  # not at the top: this module also runs beside an older plefka

    return {**provenance.machine(), "date": time.strftime("%Y-%m-%d %H:%M:%S")}
