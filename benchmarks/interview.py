"""Interviews of simulated patients: how many questions until the true cause is first, or among ten, in three orders.

A patient has one cause that is chosen uniformly, every other cause with its prior, and findings as the network draws
them from these. Where findings imply others, they are drawn from the most general to the most specific: a finding may
be on if all that is more general is on, then with its own probability divided by the least of theirs. One finding that
the chosen cause has a link to, and that implies no other one that is on, is known before the first question.

The orders are that of `pf.Interview`, which never stops here; a random one; and that of the findings' probabilities
without evidence, the most probable first. All three observe the same patient, skip what is implied, and rank causes by
`pf.infer` after each answer. A cause that is not so far up after 20 questions counts as 21. Patients are lines of
interview.jsonl, from which a run resumes; `--draws 20` takes so many of each network.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np

import plefka as pf
from benchmarks.measure import Row
from benchmarks.questions import two_layers
from benchmarks.rare_diseases import BESIDE
from plefka.networks.hierarchy import with_implied

QUESTIONS, PATIENTS = 20, {"60 x 300": 100, "hpo": 100}
ORDERS, WANTED = ("interview", "random", "prior"), {"first": 1, "among ten": 10}
AFTER = (0, 5, 10, 20)


class SimulatedPatient(NamedTuple):
    """The place of the true cause, that of the finding that is known, and the states of all units."""

    cause: int
    known: int
    truth: np.ndarray


def rows(folder: Path, draws: int | None = None) -> Iterator[Row]:
    networks: dict[str, Callable[[], pf.BeliefNetwork]] = {"60 x 300": lambda: two_layers(60, 300, 0, 0)[0]}
    data = Path(os.environ.get("PLEFKA_DATA") or BESIDE) / "hpo"
    if data.is_dir():
        networks["hpo"] = lambda: pf.example("hpo", folder=data)
    for name, made in networks.items():
        found = list(patients(name, made(), draws or PATIENTS[name], folder / "interview.jsonl"))
        for wanted, most in WANTED.items():
            yield compared(name, wanted, most, found)
        slowest = max(max(each["seconds"]) for each in found)
        yield Row(f"{name}: slowest question", slowest, "CPU s", "at most 3", slowest <= 3, {})


def compared(name: str, wanted: str, most: int, found: list[dict]) -> Row:
    """The mean number of questions in each order, and for how many patients so many were enough."""
    counts = {order: [questions_until(each[order], most) for each in found] for order in ORDERS}
    mean = {order: float(np.mean(some)) for order, some in counts.items()}
    within = {order: {k: sum(z[order][k] <= most for z in found) for k in AFTER} for order in ORDERS}
    details = {"patients": len(found), "mean": mean, "median": {z: float(np.median(counts[z])) for z in ORDERS}}
    aim = f"fewer than {mean['random']:.3g} (random) and {mean['prior']:.3g} (by prior)"
    is_met = mean["interview"] < min(mean["random"], mean["prior"])
    return Row(f"{name}: {wanted}", mean["interview"], "questions", aim, is_met, details | {"patients after": within})


def questions_until(places: list[int], most: int) -> int:
    """The first number of questions after which the true cause is so far up; 21 for none."""
    return next((count for count, place in enumerate(places) if place <= most), QUESTIONS + 1)


def patients(name: str, network: pf.BeliefNetwork, count: int, path: Path) -> Iterator[dict]:
    """The places of the true cause after 0, 1, ... questions in each order."""
    lines = path.read_text().splitlines() if path.exists() else []
    done = {each["patient"]: each for each in map(json.loads, lines) if each["network"] == network.fingerprint}
    prior = pf.infer(network, {}).means
    start = pf.Interview(network, {}, stop_below=0.0, certain_above=2.0)
    for number in range(count):
        if number not in done:
            done[number] = {"network": network.fingerprint, "name": name, "patient": number}
            done[number] |= interviewed(start, drawn_patient(network, number), prior, number)
            with path.open("a") as file:
                file.write(json.dumps(done[number]) + "\n")
        yield done[number]


def interviewed(start: pf.Interview, patient: SimulatedPatient, prior: np.ndarray, seed: int) -> dict:
    network, seconds = start.network, []
    findings = np.flatnonzero(~network.roots)
    orders = {
        "random": np.random.default_rng(seed).permutation(findings),
        "prior": findings[np.argsort(-prior[findings], kind="stable")],
    }
    begun = pf.Interview(network, {network.names[patient.known]: 1}, {}, 0.0, 2.0, (), start.expected)

    def best(current: pf.Interview) -> str | None:
        before = process_time()
        unit = current.next.unit
        seconds.append(process_time() - before)
        return unit

    chosen = {order: (lambda current, units=units: first_unknown(current, units)) for order, units in orders.items()}
    found = {order: places(begun, patient, choose) for order, choose in {"interview": best, **chosen}.items()}
    return {**found, "seconds": seconds, "cause": network.names[patient.cause]}


def places(current: pf.Interview, patient: SimulatedPatient, choose: Callable[[pf.Interview], str | None]) -> list[int]:
    """Where the true cause ranks, by how many have its probability or more."""
    network, found = current.network, []
    for _ in range(QUESTIONS + 1):
        probabilities = dict(current.ranking)
        own = probabilities[network.names[patient.cause]]
        found.append(sum(p >= own for p in probabilities.values()))
        if len(found) > QUESTIONS or (unit := choose(current)) is None:
            break
        current = current.answered(unit, int(patient.truth[network.index(unit)]))
    return found + found[-1:] * (QUESTIONS + 1 - len(found))


def first_unknown(current: pf.Interview, units: np.ndarray) -> str | None:
    row = np.full((1, current.network.size), np.nan)
    for unit, state in current.observed.items():
        row[0, current.network.index(unit)] = state
    left = units[np.isnan(with_implied(current.network, row)[0, units])]
    return current.network.names[left[0]] if len(left) else None


def drawn_patient(network: pf.BeliefNetwork, seed: int) -> SimulatedPatient:
    """The first draw in which the cause has a finding."""
    rng = np.random.default_rng(seed)
    roots, h = network.roots, network.bias
    links = network.weights.tocsc()
    while True:
        state = roots & (rng.random(network.size) < -np.expm1(-h))
        state[cause := rng.choice(np.flatnonzero(roots))] = True
        p = -np.expm1(-(links @ state + h))
        state = np.where(roots, state, drawn_findings(network, p, rng))
        own = np.zeros(network.size, bool)
        own[links[:, [cause]].indices] = True
        own &= state
        if network.hierarchy is not None:
            own &= ~network.hierarchy.reached(state[None], network.hierarchy.above_and_below[0])[0]
        if own.any():
            return SimulatedPatient(int(cause), int(rng.choice(np.flatnonzero(own))), state.astype(int))


def drawn_findings(network: pf.BeliefNetwork, p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Independent draws; or from general to specific, where findings imply others."""
    state = rng.random(network.size) < p
    if network.hierarchy is None:
        return state
    above, _ = network.hierarchy.above_and_below
    draw, state = rng.random(network.size), np.zeros(network.size, bool)
    for unit in np.argsort(above.counts, kind="stable"):
        general = above.of(np.array([unit]))
        least = p[general].min(initial=1.0)
        state[unit] = state[general].all() and draw[unit] * least < p[unit]
    return state
