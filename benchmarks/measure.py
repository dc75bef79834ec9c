"""How the benchmarks measure: the best of a few runs, alternating, so that a noisy machine is noisy for both sides."""

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

from plefka.experiments import provenance


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


def peak_memory() -> int:
    """Bytes that this process has held at most; getrusage would count what its parent held before it was started."""
    try:
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def machine() -> dict:
    """The machine's facts, for the record."""
    return {**provenance.machine(), "date": time.strftime("%Y-%m-%d %H:%M:%S")}
