"""Boltzmann machines of every kind, small enough to be summed over, and the sums."""

import itertools

import numpy as np
import scipy.sparse as sp

import plefka as pf


def couplings(n: int, size: float, seed: int, share: float = 1.0) -> np.ndarray:
    """Symmetric, normal, each there with probability `share`."""
    rng = np.random.default_rng(seed)
    lower = np.tril(rng.normal(size=(n, n)) * size * (rng.random((n, n)) < share), -1)
    return lower + lower.T


def fields(n: int, size: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=n) * size


def restricted(visible: int, hidden: int, size: float, seed: int, **options) -> pf.BoltzmannMachine:
    rng = np.random.default_rng(seed)
    return pf.BoltzmannMachine.restricted(
        rng.normal(size=(visible, hidden)) * size, rng.normal(size=visible), rng.normal(size=hidden), **options
    )


MACHINES = {
    "dense": pf.BoltzmannMachine(couplings(6, 1.0, 0), fields(6, 1.0, 1)),
    "dense, spins, temperature": pf.BoltzmannMachine(couplings(6, 1.0, 2), fields(6, 1.0, 3), 1.7, (-1, 1)),
    "sparse": pf.BoltzmannMachine(sp.csr_array(couplings(7, 1.5, 4, 0.4)), fields(7, 1.0, 5), constant=0.7),
    "restricted": restricted(4, 3, 1.0, 6, names=list("abcdefg")),
    "restricted, spins": restricted(3, 4, 0.5, 7, values=(-1, 1), temperature=0.8),
    "large couplings": pf.BoltzmannMachine(couplings(6, 20.0, 8), fields(6, 10.0, 9)),
}


def full_weights(machine: pf.BoltzmannMachine) -> np.ndarray:
    """As a matrix of all units."""
    L = sp.csr_array(machine.storage.to_sparse()).toarray()
    return L + L.T


def states(machine: pf.BoltzmannMachine) -> np.ndarray:
    """All of them, (states, units), in the machine's own values."""
    return np.array(list(itertools.product(machine.values, repeat=machine.size)), float)


def log_weights(machine: pf.BoltzmannMachine, S: np.ndarray) -> np.ndarray:
    """-E(S) / T + constant, from the definition."""
    pairs = np.einsum("si,ij,sj->s", S, full_weights(machine), S) / 2
    return (pairs + S @ machine.bias) / machine.temperature + machine.constant


def summed(machine: pf.BoltzmannMachine, evidence: dict[int, int] | None = None) -> tuple[float, np.ndarray]:
    """ln Z with the evidence clamped, and the means of all units, by the definition."""
    S = states(machine)
    for unit, value in (evidence or {}).items():
        S = S[S[:, unit] == value]
    log_w = log_weights(machine, S)
    log_z = np.logaddexp.reduce(log_w)
    return float(log_z), np.exp(log_w - log_z) @ (machine.values[1] == S)


def some_evidence(machine: pf.BoltzmannMachine) -> dict[int, int]:
    return {1: machine.values[1], machine.size - 2: machine.values[0]}
