"""Streams: networks of different sizes one after another, and patients of one network with different findings.

Each part runs in a process of its own. One that gives no answer within the limits of `measure.py` counts as infinitely
slow or large, and its details say why.
"""

import math
import time
from collections.abc import Iterator
from functools import partial

import numpy as np

import plefka as pf
from benchmarks.diagnoses import large_network, patients, small_network
from benchmarks.measure import (
    Row,
    at_least,
    at_most,
    best_of_both,
    compilations,
    in_a_process,
    peak_memory,
    resident_memory,
)

METHODS = ("bethe", "G12", "G1", "mixture[3]")
NETWORKS, PROGRAMS, SECONDS = 40, 8, 20  # of the first stream, and what it should take at most
LONG, RESIDENT, GROWTH = 200, 1.5, 5  # networks of a long stream, GB at its end, % that its second half may add
THOUSAND, PER_SECOND = 1000, 300
COUNTS, NOISE = (1, 4, 16, 64), 0.05  # rows of one call, and how far two equal times may differ
MANY, PEAK = 10_000, 2  # patients, and GB


# ---- what runs in a process of its own -------------------------------------------------------------------------------


def solve(network: pf.BeliefNetwork, rows: np.ndarray, method: str = "bethe") -> np.ndarray:
    """Whether each row converged."""
    return np.atleast_1d(pf.infer(network, rows, method, throw=False).converged)


def solve_one_by_one(network: pf.BeliefNetwork, rows: np.ndarray) -> None:
    for row in rows:
        solve(network, row)


def one_after_another(method: str, count: int) -> dict:
    """Programs and seconds of a stream of networks."""
    programs, stream = compilations(), [small_network(seed) for seed in range(count)]
    start = time.perf_counter()
    converged = [solve(network, row, method) for network, row in stream]
    seconds = time.perf_counter() - start
    return {
        "programs": len(programs), "seconds": seconds,
        "seconds_of_compilation": sum(programs), "converged": int(np.sum(converged)),
    }  # fmt: skip


def memory_of_a_stream(count: int) -> dict:
    """Bytes that the process holds after half of a stream of networks and after all of it."""
    held = []
    for seed in range(count):
        solve(*small_network(seed))
        held.append(resident_memory())
    return {"half": held[count // 2 - 1], "whole": held[-1]}


def second_thousand(count: int) -> dict:
    """Patients a second of a second call, and the programs that it compiles."""
    network = large_network()
    first, second = (patients(network, count, seed) for seed in (0, 1))
    programs = compilations()
    solve(network, first)
    before, start = len(programs), time.perf_counter()
    converged = solve(network, second)
    seconds = time.perf_counter() - start
    return {"per_second": count / seconds, "programs": len(programs) - before, "converged": int(converged.sum())}


def call_over_loop(count: int) -> dict:
    """Seconds of one call and of a loop over the same patients, both compiled before."""
    network = large_network()
    rows = patients(network, count, 0)
    together, loop = partial(solve, network, rows), partial(solve_one_by_one, network, rows)
    together()
    loop()
    call, one_by_one = best_of_both(together, loop)
    return {"ratio": call / one_by_one, "call": call, "loop": one_by_one}


def second_hundred(count: int) -> dict:
    """Programs that a second hundred of patients compiles, one patient at a time."""
    network = large_network()
    first, second = (patients(network, count, seed) for seed in (0, 1))
    programs = compilations()
    solve_one_by_one(network, first)
    before = len(programs)
    solve_one_by_one(network, second)
    return {"programs": len(programs) - before, "programs_before": before}


def memory_of_one_call(count: int) -> dict:
    """Bytes that the process has held at most; patients are drawn in parts, so that drawing them is not what counts."""
    network = large_network()
    part = min(count, 500)
    rows = np.concatenate([patients(network, part, seed) for seed in range(count // part)])
    start = time.perf_counter()
    converged = solve(network, rows)
    return {"peak": peak_memory(), "seconds": time.perf_counter() - start, "converged": int(converged.sum())}


# ---- rows ------------------------------------------------------------------------------------------------------------


def networks_of_different_sizes() -> Iterator[Row]:
    for method in METHODS:
        found = in_a_process(one_after_another, method, NETWORKS)
        name = f"{NETWORKS} networks of different sizes by {method}"
        yield at_most(f"{name}: compiled", found.get("programs", math.inf), "programs", PROGRAMS, found)
        yield at_most(f"{name}: time", found.get("seconds", math.inf), "s", SECONDS, found)


def a_long_stream() -> Iterator[Row]:
    found = in_a_process(memory_of_a_stream, LONG)
    half, whole = found.get("half", math.inf), found.get("whole", math.inf)
    growth = 100 * (whole / half - 1) if found.get("half") else math.inf
    yield at_most(f"resident memory after {LONG} networks by bethe", whole / 1e9, "GB", RESIDENT, found)
    yield at_most(f"growth of it since network {LONG // 2}", growth, "%", GROWTH, found)


def many_patients() -> Iterator[Row]:
    found = in_a_process(second_thousand, THOUSAND)
    name = f"{THOUSAND:,} patients in one call by bethe, after as many others"
    yield at_least(name, found.get("per_second", 0), "per s", PER_SECOND, found)
    yield at_most(f"{name}: compiled", found.get("programs", math.inf), "programs", 0, found)
    found = in_a_process(memory_of_one_call, MANY)
    yield at_most(f"peak memory of {MANY:,} patients in one call", found.get("peak", math.inf) / 1e9, "GB", PEAK, found)


def few_patients() -> Iterator[Row]:
    for count in COUNTS:
        found = in_a_process(call_over_loop, count)
        ratio, name = found.get("ratio", math.inf), f"patients by bethe, one call / loop, rows: {count}"
        yield Row(name, ratio, "x", "at most 1, give or take 5 %", ratio <= 1 + NOISE, found)
    found = in_a_process(second_hundred, 100)
    name = "a second hundred of patients by bethe, one at a time: compiled"
    yield at_most(name, found.get("programs", math.inf), "programs", 0, found)


def rows() -> Iterator[Row]:
    """All of them, one after another."""
    yield from networks_of_different_sizes()
    yield from a_long_stream()
    yield from few_patients()
    yield from many_patients()
