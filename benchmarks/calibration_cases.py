"""Networks with known answers for the study of how far to rely on a check: ensembles, diagnoses, real networks."""

import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from tests.data import names_in
from tests.test_real_networks import diagnosis

import plefka as pf
from benchmarks import real_networks
from benchmarks.diagnoses import CAUSES, drawn, large_network, patients
from plefka.networks.evidence import as_rows

SCHEMES = ("G1", "G12", "G2", "bethe", "conditioned[bethe,k=3]", "mixture[2]")
WITH_SJJ = (*SCHEMES, "SJJ")
FOR_TABLES = ("G1", "bethe", "conditioned[bethe,k=3]", "mixture[2]")
FOR_MEDICINE = ("bethe", "conditioned[bethe,k=3]")
FOR_DIAGNOSES = ("G1", "bethe")  # others take long to compile for networks of these sizes
NETWORKS = 30  # of each ensemble
LAYERS, VISIBLE = (2, 4, 6), 6
ENSEMBLES = {
    "sigmoid [-1, 1]": ("sigmoid", -1, 1),
    "sigmoid [-5, 5]": ("sigmoid", -5, 5),
    "noisy-or [0, 0.25]": ("noisy_or", 0, 0.25),
    "noisy-or [0.2, 0.8]": ("noisy_or", 0.2, 0.8),
}
CLINICS = {
    "diagnoses, 15 causes": (15, 6, 4),
    "diagnoses, 60 causes": (60, 10, 6),
    "diagnoses, 150 causes": (150, 14, 8),
}
PATIENTS = 8  # of each size
LARGE = "diagnoses, 570 causes"
EVERY = 3  # of the Promedas networks


class Case(NamedTuple):
    """Rows of one network, or of a stack, with what is true of them; means are nan where the truth is not known."""

    group: str
    network: pf.BeliefNetwork | pf.BoltzmannMachine
    rows: np.ndarray
    log_p: np.ndarray
    means: np.ndarray
    methods: tuple[str, ...]


def cases() -> Iterator[Case]:
    """All of them; those that need data that is not there are left out with a word."""
    yield from _ensembles()
    yield from _clinics()
    yield _large_clinic()
    try:
        yield from _promedas()
        yield from _real(real_networks.TABLES, "networks of tables (BIF)", FOR_TABLES)
        yield from _real(real_networks.MEDICINE, "cpcs (internal medicine)", FOR_MEDICINE)
    except pytest.skip.Exception as missing:
        print(missing, file=sys.stderr)


def _ensembles() -> Iterator[Case]:
    """The visible units of every network are a draw from it."""
    for seed, (name, (activation, low, high)) in enumerate(ENSEMBLES.items()):
        stack = pf.ensembles.layered(LAYERS, low, high, NETWORKS, seed, activation)
        rows = np.full((NETWORKS, stack.size), np.nan)
        for number in range(NETWORKS):
            rows[number, -VISIBLE:] = stack.take(number).sample(seed=number, count=1)[0, -VISIBLE:]
        yield _solved(name, stack, rows, WITH_SJJ if activation == "sigmoid" else SCHEMES)


def _clinics() -> Iterator[Case]:
    """Causes above findings, of which some were seen on and some off."""
    for name, (causes, on, off) in CLINICS.items():
        for seed in range(PATIENTS):
            rng = np.random.default_rng(seed)
            in_degrees = np.exp(rng.uniform(np.log(2), np.log(min(causes, 40)), on + off)).astype(int)
            network = pf.BeliefNetwork(*drawn(rng, causes, in_degrees), "noisy_or")
            row = np.r_[np.full(causes, np.nan), np.ones(on), np.zeros(off)]
            yield _solved(name, network, row[None], SCHEMES)


def _large_clinic() -> Case:
    """Patients of whose findings few were looked at; of the others nothing is known, and they are not compared."""
    network = large_network()
    found = _solved(LARGE, network, patients(network, PATIENTS, seed=0), ("bethe", "conditioned[bethe,k=3]"))
    found.means[:, CAUSES:] = np.nan
    return found


def _solved(group: str, network: pf.BeliefNetwork, rows: np.ndarray, methods: tuple[str, ...]) -> Case:
    exact = pf.infer(network, rows, "exact")
    return Case(group, network, rows, exact.log_likelihood, exact.means, methods)


def _promedas() -> Iterator[Case]:
    for name in names_in("promedas")[::EVERY]:
        network, evidence, log_z, posterior = diagnosis(name)
        row, means = np.full(network.size, np.nan), np.full(network.size, np.nan)
        for unit, state in evidence.items():
            row[network.index(unit)] = state
        for unit, mean in posterior.items():
            means[network.index(unit)] = mean
        yield Case("Promedas", network, row[None], np.array([log_z]), means[None], FOR_DIAGNOSES)


def _real(names: tuple[str, ...], group: str, methods: tuple[str, ...]) -> Iterator[Case]:
    for name in names:
        path = real_networks.path_of(name)
        if not path.is_file():
            pytest.skip(f"there is no {path}")
        network = pf.load(path)
        found = real_networks.cases_of(name, network)
        rows = [_row(network, evidence) for evidence, _, _ in found]
        log_p, means = np.array([case[1] for case in found]), np.stack([case[2] for case in found])
        yield Case(group, network, np.stack(rows), log_p, means, methods)


def _row(network: pf.BeliefNetwork, evidence: dict) -> np.ndarray:
    (row,) = as_rows(network, evidence)[0]
    return row
