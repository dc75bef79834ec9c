"""How often the intervals of `smc` contain the truth: machines and belief networks that `exact` answers.

Every interval is of a network of its own, drawn with its own seed. Populations are small, so that there is an error
to speak of; intervals of answers that have not converged do not count, and how many these are is a row as well. Nor do
those of numbers that the reduction has made exact.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

import plefka as pf
from benchmarks.measure import Row

INTERVALS = 1000  # of ln Z, and of a mean, of each method
METHODS = ("smc[particles=64,budget=0.01s]", "smc[particles=256,budget=0.1s]")
MACHINES: dict[str, Callable[[int], pf.BoltzmannMachine]] = {
    "glasses, 12 units": lambda seed: pf.ensembles.spin_glass(12, 1, seed, scale=2.0, field=0.3).take(0),
    "grids, 6 x 6": lambda seed: pf.ensembles.ising_grid(6, 6, 1.0, 0.3, seed=seed),
    "tori, 5 x 5, strong": lambda seed: pf.ensembles.ising_grid(5, 5, 2.0, 0.5, periodic=True, seed=seed),
    "attractive, 6 x 6": lambda seed: attractive(6, seed),
    "restricted, 10 and 8": lambda seed: restricted(10, 8, seed),
}
BELIEFS: dict[str, Callable[[int], pf.BeliefNetwork]] = {
    "sigmoid, 4 x 8 x 12": lambda seed: pf.ensembles.layered((4, 8, 12), -5, 5, 1, seed, "sigmoid").take(0),
    "noisy-or, 8 x 12": lambda seed: noisy_or(8, 12, seed),
    "tables, 14 units": lambda seed: tables(14, seed),
}
NETWORKS: dict[str, dict[str, Callable[[int], Any]]] = {"machines": MACHINES, "belief networks": BELIEFS}


def attractive(side: int, seed: int) -> pf.BoltzmannMachine:
    """A ferromagnet in random fields."""
    grid, rng = pf.ensembles.ising_grid(side, side, 0.5), np.random.default_rng(seed)
    return pf.BoltzmannMachine(grid.storage, rng.uniform(-0.5, 0.5, grid.size), values=(-1, 1))


def restricted(visible: int, hidden: int, seed: int) -> pf.BoltzmannMachine:
    """Couplings of two standard deviations."""
    rng = np.random.default_rng(seed)
    W, v, h = 2 * rng.normal(size=(visible, hidden)), rng.normal(size=visible), rng.normal(size=hidden)
    return pf.BoltzmannMachine.restricted(W, v, h)


def noisy_or(causes: int, findings: int, seed: int) -> pf.BeliefNetwork:
    """Without leaks, so that most states are impossible where a finding is on."""
    rng = np.random.default_rng(seed)
    W = rng.uniform(0.2, 2, (findings, causes)) * (rng.random((findings, causes)) < 0.5)
    return pf.BeliefNetwork.layered([W], [rng.uniform(0.1, 0.5, causes), np.zeros(findings)], "noisy_or")


def tables(size: int, seed: int) -> pf.BeliefNetwork:
    """Of up to three parents each, with zeros and ones."""
    rng, units = np.random.default_rng(seed), []
    for k in range(size):
        parents = rng.choice(k, min(k, int(rng.integers(0, 4))), replace=False)
        p = rng.uniform(0.02, 0.98, (2,) * len(parents))
        p = np.where(rng.random(p.shape) < 0.2, np.round(p), p)
        units.append(pf.Unit(f"u{k}", [f"u{j}" for j in parents], pf.Table(p)))
    return pf.BeliefNetwork.of_units(units)


def observed(network: Any, seed: int) -> np.ndarray | None:
    """The last third of a belief network in a state that was drawn from it; nothing of a machine."""
    if not isinstance(network, pf.BeliefNetwork):
        return None
    row = np.array(network.sample(seed, 1)[0], float)
    row[: 2 * network.size // 3] = np.nan
    return row


@dataclass
class Coverage:
    """Whether each interval contains the truth, and how wide it is."""

    log_z: list[bool] = field(default_factory=list)
    means: list[bool] = field(default_factory=list)
    width: list[float] = field(default_factory=list)
    width_of_means: list[float] = field(default_factory=list)
    unconverged: int = 0

    def add(self, network: Any, method: str, seed: int) -> None:
        """ln Z, and the mean of a hidden unit at random."""
        evidence = observed(network, seed)
        exact = pf.infer(network, evidence, "exact")
        found = pf.infer(network, evidence, f"{method[:-1]},seed={seed}]", throw=False)
        if found.status is not pf.Status.CONVERGED:
            self.unconverged += 1
            return
        (low, high), ends = found.log_partition_interval, found.intervals()
        if (width := float(high) - float(low)) > 0:
            self.log_z.append(bool(low <= exact.log_partition <= high))
            self.width.append(width)
        if len(open_ones := np.flatnonzero(ends[1] > ends[0])):
            unit = np.random.default_rng(seed).choice(open_ones)
            self.means.append(bool(ends[0][unit] <= exact.means[unit] <= ends[1][unit]))
            self.width_of_means.append(float(ends[1][unit] - ends[0][unit]))


def rows() -> Iterator[Row]:
    """A row for each kind of network and of number, with its median width."""
    for (what, kinds), method in product(NETWORKS.items(), METHODS):
        found = Coverage()
        for seed in range(INTERVALS):
            found.add(list(kinds.values())[seed % len(kinds)](seed), method, seed)
        by_name = {"ln Z": (found.log_z, found.width), "means": (found.means, found.width_of_means)}
        for name, (inside, width) in by_name.items():
            share, middle = float(np.mean(inside)), float(np.median(width))
            label = f"{what}, {method}: intervals of {name} that contain the truth, median width {middle:.2g}"
            details = {"intervals": len(inside), "median width": middle}
            yield Row(label, 100 * share, "%", "93 to 97", 0.93 <= share <= 0.97, details)
        share = found.unconverged / INTERVALS
        yield Row(f"{what}, {method}: not converged", 100 * share, "%", "below 20", share < 0.2, {})
