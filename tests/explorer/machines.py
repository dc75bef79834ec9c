"""Two small machines, one for each kind of values, with couplings of either sign and some that are missing."""

import numpy as np

import plefka as pf

NAMES = ("north", "east", "south", "west", "up", "down", "in", "out")


def random_machine(values: tuple[int, int], seed: int = 0) -> pf.BoltzmannMachine:
    """A sparse one whose units have names."""
    generator, n = np.random.default_rng(seed), len(NAMES)
    weights = np.tril(generator.normal(size=(n, n)) * (generator.random((n, n)) < 0.5), -1)
    return pf.BoltzmannMachine(weights + weights.T, generator.normal(size=n), 2.0, values, NAMES)


def couplings(machine: pf.BoltzmannMachine) -> dict[frozenset[str], float]:
    """Every coupling once, by the names of its two units."""
    lower = np.tril(machine.weights.toarray() if hasattr(machine.weights, "toarray") else machine.weights)
    return {frozenset((machine.names[i], machine.names[j])): float(lower[i, j]) for i, j in np.argwhere(lower)}
