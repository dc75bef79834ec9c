"""How often the intervals of `smc` contain the truth: Boltzmann machines of several kinds that `exact` answers.

Every interval is of a machine of its own, drawn with its own seed. Populations are small, so that there is an error
to speak of; intervals of answers that have not converged do not count, and how many these are is a row as well.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

import plefka as pf
from benchmarks.measure import Row

INTERVALS = 1000  # of ln Z, and of a mean, of each method
METHODS = ("smc[particles=64,budget=0.01s]", "smc[particles=256,budget=0.1s]")
KINDS: dict[str, Callable[[int], pf.BoltzmannMachine]] = {
    "glasses, 12 units": lambda seed: pf.ensembles.spin_glass(12, 1, seed, scale=2.0, field=0.3).take(0),
    "grids, 6 x 6": lambda seed: pf.ensembles.ising_grid(6, 6, 1.0, 0.3, seed=seed),
    "tori, 5 x 5, strong": lambda seed: pf.ensembles.ising_grid(5, 5, 2.0, 0.5, periodic=True, seed=seed),
    "attractive, 6 x 6": lambda seed: attractive(6, seed),
    "restricted, 10 and 8": lambda seed: restricted(10, 8, seed),
}


def attractive(side: int, seed: int) -> pf.BoltzmannMachine:
    """A ferromagnet in random fields."""
    grid, rng = pf.ensembles.ising_grid(side, side, 0.5), np.random.default_rng(seed)
    return pf.BoltzmannMachine(grid.storage, rng.uniform(-0.5, 0.5, grid.size), values=(-1, 1))


def restricted(visible: int, hidden: int, seed: int) -> pf.BoltzmannMachine:
    """Couplings of two standard deviations."""
    rng = np.random.default_rng(seed)
    W, v, h = 2 * rng.normal(size=(visible, hidden)), rng.normal(size=visible), rng.normal(size=hidden)
    return pf.BoltzmannMachine.restricted(W, v, h)


@dataclass
class Coverage:
    """Whether each interval contains the truth, and how wide it is."""

    log_z: list[bool] = field(default_factory=list)
    means: list[bool] = field(default_factory=list)
    width: list[float] = field(default_factory=list)
    width_of_means: list[float] = field(default_factory=list)
    unconverged: int = 0

    def add(self, machine: pf.BoltzmannMachine, method: str, seed: int) -> None:
        """ln Z, and the mean of a unit at random."""
        exact = pf.infer(machine, None, "exact")
        found = pf.infer(machine, None, f"{method[:-1]},seed={seed}]", throw=False)
        if found.status is not pf.Status.CONVERGED:
            self.unconverged += 1
            return
        unit = int(np.random.default_rng(seed).integers(machine.size))
        low, high = found.log_partition_interval
        lowest, highest = (end[unit] for end in found.intervals())
        self.log_z.append(bool(low <= exact.log_partition <= high))
        self.means.append(bool(lowest <= exact.means[unit] <= highest))
        self.width.append(float(high) - float(low))
        self.width_of_means.append(highest - lowest)


def rows() -> Iterator[Row]:
    """A row for each kind of number, with its median width."""
    for method in METHODS:
        found = Coverage()
        for seed in range(INTERVALS):
            kind = list(KINDS)[seed % len(KINDS)]
            found.add(KINDS[kind](seed), method, seed)
        by_name = {"ln Z": (found.log_z, found.width), "means": (found.means, found.width_of_means)}
        for name, (inside, width) in by_name.items():
            share, middle = float(np.mean(inside)), float(np.median(width))
            label = f"{method}: intervals of {name} that contain the truth, median width {middle:.2g}"
            details = {"intervals": len(inside), "median width": middle}
            yield Row(label, 100 * share, "%", "93 to 97", 0.93 <= share <= 0.97, details)
        share = found.unconverged / INTERVALS
        yield Row(f"{method}: not converged", 100 * share, "%", "below 20", share < 0.2, {})
