"""Latency: what a user waits for from start to end, as a ratio to what a Python that starts JAX takes anyway."""

import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import plefka as pf
from benchmarks import cpcs360b
from benchmarks.measure import Row, at_most, python_seconds

FLOOR = ("-c", "import jax, equinox, scipy.sparse; jax.jit(lambda x: x+1)(1.)")
REPEATS = 3
EVIDENCE = ("--evidence", "slow_flow=1,thin_crema=1")
AIMS = {
    "infer --method auto": (1.5, 1.4),
    "infer --method G12": (1.9, 1.5),
    "infer --method bethe": (1.9, 1.5),
    "infer --method G2": (2.5, 1.6),
    "compare": (9, 3.5),
}  # command: ratios with an empty cache and with what the first run has put there
MACHINE = {
    "infer --method exact": AIMS["infer --method auto"],
    "infer --method bethe": AIMS["infer --method bethe"],
    "infer --method G2": AIMS["infer --method G2"],
}  # the same aims for a Boltzmann machine
MACHINE_UNITS = (15, 20)  # as many as espresso has, and a machine whose messages are laid out as a matrix
CPCS360B = {"bethe": 3, "auto": 6}  # method: ratio with an empty cache


def rows() -> Iterator[Row]:
    for command, aims in AIMS.items():
        name, *options = command.split()
        arguments = ("-m", "plefka", name, "example:espresso", *EVIDENCE, *options)
        yield from by_the_floor(f"plefka {command}", arguments, aims)
    yield from of_a_machine()
    if reason := cpcs360b.missing():
        print(f"cpcs360b is left out: {reason}", file=sys.stderr)
        return
    for method, most in CPCS360B.items():
        arguments = ("-m", "benchmarks.cpcs360b", method)
        yield from by_the_floor(f"cpcs360b, 50 observations, {method}", arguments, (most,))


def of_a_machine() -> Iterator[Row]:
    """First answers on a spin glass, two of whose units are observed."""
    with tempfile.TemporaryDirectory() as folder:
        for units, (command, aims) in product(MACHINE_UNITS, MACHINE.items()):
            path = Path(folder) / f"{units}.json"
            pf.save(pf.ensembles.spin_glass(units, 1, 0, field=0.5).take(0), path)
            name, *options = command.split()
            arguments = ("-m", "plefka", name, str(path), "--evidence", "0=1,3=-1", *options)
            yield from by_the_floor(f"plefka {command}, a Boltzmann machine of {units} units", arguments, aims)


def by_the_floor(name: str, arguments: tuple[str, ...], aims: tuple[float, ...]) -> Iterator[Row]:
    """Runs with an empty cache and, where there is an aim for it, once more with the same cache, over the floor."""
    rounds = [one_round(arguments, len(aims)) for _ in range(REPEATS)]
    floor, *runs = (min(seconds) for seconds in zip(*rounds, strict=True))
    for cache, seconds, most in zip(("cold", "warm"), runs, aims, strict=False):
        details = {"seconds": seconds, "floor": floor, "rounds": rounds}
        yield at_most(f"{name}, {cache}", seconds / floor, "x the floor", most, details)


def one_round(arguments: tuple[str, ...], runs: int) -> list[float]:
    """Seconds of the floor, then of as many runs that share a cache, which is empty at first."""
    with tempfile.TemporaryDirectory() as cache:
        return [python_seconds(command, cache) for command in (FLOOR, *[arguments] * runs)]
