"""Questions about a diagnosis: CPU seconds of the first call and of one after it, each case in a process of its own."""

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import plefka as pf
from benchmarks import diagnoses, joint_answers, most_probable, sensitivity
from benchmarks.measure import Row, at_most, in_a_process
from benchmarks.rare_diseases import BESIDE, PRESENT, RareDiseases
from plefka.networks.evidence import as_evidence

FIRST, AGAIN, HUGE = 1.0, 0.3, 3.0  # CPU seconds of `ask`: a first call, one after it, and on rare diseases
SMALL = {
    "60 x 300, 3 on": (60, 300, 3, 0),
    "60 x 300, 10 on and 30 off": (60, 300, 10, 30),
    "40 x 120, 5 on": (40, 120, 5, 0),
}
IN_DEGREE = 8  # of a finding, on average
TABLES = ("andes", "win95pts")
TOP = 10
OBSERVED = 5  # units of these with parents


def rows() -> Iterator[Row]:
    for name, numbers in SMALL.items():
        yield from asked(name, partial(two_layers, *numbers))
    yield from asked("570 x 4,075, 12 on", partial(large, off=False))
    yield from asked("570 x 4,075, 12 on and 30 off", partial(large, off=True))
    folder = Path(os.environ.get("PLEFKA_DATA") or BESIDE)
    for name in TABLES:
        if (folder / "bif" / f"{name}.bif.gz").is_file():
            yield from asked(f"{name}, {OBSERVED} observed", partial(tables, folder / "bif" / f"{name}.bif.gz"))
    if (folder / "hpo").is_dir():
        yield from asked("8,352 x 11,022, 10 on, the 200 best", rare_diseases, HUGE, HUGE)
    if (folder / "promedas").is_dir():
        yield from most_probable.rows(folder)
    yield from sensitivity.rows()
    yield from joint_answers.rows()


def asked(name: str, case: Callable[[], tuple[Any, Any]], first: float = FIRST, again: float = AGAIN) -> Iterator[Row]:
    """The first answer to `ask` and the best of the next three."""
    found = in_a_process(partial(seconds_of_ask, case))
    details = {"exact": found["exact"], "notes": found["notes"]}
    yield at_most(f"ask, {name}: first call", found["first"], "CPU s", first, details)
    yield at_most(f"ask, {name}: once more", found["again"], "CPU s", again, details)


def seconds_of_ask(case: Callable[[], tuple[Any, Any]]) -> dict[str, Any]:
    network, evidence = case()
    seconds, found = [], []
    for _ in range(4):
        start = time.process_time()
        found.append(pf.ask(network, evidence, top=TOP))
        seconds.append(time.process_time() - start)
    return {"first": seconds[0], "again": min(seconds[1:]), "exact": found[0].is_exact, "notes": found[0].notes}


def two_layers(causes: int, findings: int, on: int, off: int) -> tuple[pf.BeliefNetwork, np.ndarray]:
    """Random causes and findings, and so many findings of one of its states."""
    rng = np.random.default_rng(0)
    in_degrees = np.minimum(1 + rng.poisson(IN_DEGREE - 1, findings), causes)
    network = pf.BeliefNetwork(*diagnoses.drawn(rng, causes, in_degrees), "noisy_or")
    return network, seen(network, causes, on, off)


def seen(network: pf.BeliefNetwork, causes: int, on: int, off: int) -> np.ndarray:
    """Of the first state drawn that has as many findings on, so many on and off."""
    rng = np.random.default_rng(1)
    states = next(s for s in network.sample(0, 10_000) if s[causes:].sum() >= on)
    row = np.full(network.size, np.nan)
    for state, count in ((1, on), (0, off)):
        row[causes + rng.choice(np.flatnonzero(states[causes:] == state), count, replace=False)] = state
    return row


def large(off: bool) -> tuple[pf.BeliefNetwork, np.ndarray]:
    network = diagnoses.large_network()
    (row,) = diagnoses.patients(network, 1, 0)
    return network, row if off else np.where(row == 1, row, np.nan)


def tables(path: Path) -> tuple[pf.BeliefNetwork, np.ndarray]:
    network = pf.load(path)
    units = np.random.default_rng(0).choice(np.flatnonzero(~network.roots), OBSERVED, replace=False)
    row = np.full(network.size, np.nan)
    row[units] = network.sample(0, 1)[0, units]
    return network, row


def rare_diseases() -> tuple[pf.BeliefNetwork, dict[str, int]]:
    """The first published patient with ten findings that do not imply each other."""
    data = RareDiseases()
    for patient in data.patients():
        states = data.evidence(patient, PRESENT)
        found = np.flatnonzero(as_evidence(data.network, states).rows[0] == 1)
        if len(found) >= 10:
            return data.network, {data.network.names[unit]: 1 for unit in found[:10].tolist()}
    raise ValueError("there is no patient with ten findings")
