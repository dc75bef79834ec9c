"""Networks that exact inference can still answer and other methods find hard: the cases of `python -m benchmarks hard`.

The truth is that of `exact`, of large grids without fields one determinant (Kac and Ward), and that of the machines of
UAI 2014 is published. Each kind has draws of its own, numbered from 0.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import plefka as pf
from benchmarks.calibration_machines import kac_ward
from benchmarks.real_machines import real_machines

SEED = 27_000


class Aims(NamedTuple):
    """What the median and the 95th percentile of |error of ln P| should not exceed (in nats), and in which time."""

    median: float
    high: float
    seconds: float = 5.0


class HardCase(NamedTuple):
    """A question with its answer."""

    network: Any
    evidence: Any
    log_z: float
    means: np.ndarray


class Kind(NamedTuple):
    """Cases of one kind: how to draw them, and what is asked of `auto` there."""

    name: str
    draw: Callable[[int], HardCase]
    aims: Aims
    methods: tuple[str, ...] = ()  # more than those that every kind is answered by
    most: int | None = None  # draws


def _exact(network: Any, evidence: Any = None) -> HardCase:
    found = pf.infer(network, evidence, "exact")
    return HardCase(network, evidence, float(found.log_partition), found.means)


def _grid(side: int, most: float, field: float, *, periodic: bool = False) -> Callable[[int], HardCase]:
    """Couplings and fields drawn evenly from -most to most, and from -field to field; units are -1 and 1."""

    def draw(number: int) -> HardCase:
        rng, plain = np.random.default_rng(SEED + number), pf.ensembles.ising_grid(side, side, periodic=periodic)
        child, parent, _ = plain.storage.edge_list()
        W = sp.coo_array((rng.uniform(-most, most, len(child)), (child, parent)), shape=(side**2,) * 2)
        machine = pf.BoltzmannMachine(sp.csr_array(W + W.T), rng.uniform(-field, field, side**2), values=(-1, 1))
        return _exact(machine) if field else HardCase(machine, None, kac_ward(machine, side), np.full(side**2, 0.5))

    return draw


def _ferromagnet(side: int, coupling: float) -> Callable[[int], HardCase]:
    def draw(number: int) -> HardCase:
        machine = pf.ensembles.ising_grid(side, side, coupling)
        return HardCase(machine, None, kac_ward(machine, side), np.full(side**2, 0.5))

    return draw


def _restricted(number: int) -> HardCase:
    """18 and 18 units of 0 and 1, couplings and fields as large as those of the DBN machines."""
    rng = np.random.default_rng(SEED + number)
    W = 4.0 * rng.normal(size=(18, 18))
    visible, hidden = (rng.uniform(-1, 1, 18) * 4 - W.sum(axis=axis) / 2 for axis in (1, 0))
    return _exact(pf.BoltzmannMachine.restricted(W, visible, hidden))


def _sigmoid(*layers: int, size: float) -> Callable[[int], HardCase]:
    """Layers with weights and biases drawn evenly from -size to size, the last observed in a state of the network."""

    def draw(number: int) -> HardCase:
        rng = np.random.default_rng(SEED + number)
        W = [rng.uniform(-size, size, (below, above)) for above, below in pairwise(layers)]
        network = pf.BeliefNetwork.layered(W, [rng.uniform(-size, size, n) for n in layers], "sigmoid")
        row = np.full(network.size, np.nan)
        row[-layers[-1] :] = np.asarray(network.sample(SEED + number, 1))[0, -layers[-1] :]
        return _exact(network, row)

    return draw


def _sparse_network(number: int) -> HardCase:
    """60 units with up to 6 parents among the 20 before them; the last 15 are observed."""
    rng, W = np.random.default_rng(SEED + number), np.zeros((60, 60))
    for unit in range(1, 60):
        near = np.arange(max(0, unit - 20), unit)
        parents = rng.choice(near, min(len(near), int(rng.integers(0, 7))), replace=False)
        W[unit, parents] = rng.uniform(-3, 3, len(parents))
    network, row = pf.BeliefNetwork(W, rng.uniform(-1, 1, 60)), np.full(60, np.nan)
    row[45:] = np.asarray(network.sample(SEED + number, 1))[0, 45:]
    return _exact(network, row)


def kinds() -> Iterator[Kind]:
    """All of them, the machines of UAI 2014 one by one where they are there."""
    near = Aims(0.05, 0.15)
    for known in real_machines():
        if "_" in known.name and not known.name.startswith("ising"):
            found = HardCase(known.machine, None, known.log_z, known.means)
            aims = Aims(0.05, 0.1) if known.name.startswith("Seg") else near
            yield Kind(known.name, lambda number, found=found: found, aims, most=1)
    yield Kind("12 x 12 grids, couplings to 1", _grid(12, 1.0, 0.25), near)
    yield Kind("12 x 12 grids, couplings to 2", _grid(12, 2.0, 0.25), near)
    far = Aims(0.3, 1.0, 20.0)
    for most in (1.0, 2.0):
        yield Kind(f"32 x 32 grids, couplings to {most:g}", _grid(32, most, 0.0), far, ("auto[budget=20s,exact=no]",))
    yield Kind("32 x 32 ferromagnet .44", _ferromagnet(32, 0.44), far, ("auto[budget=20s,exact=no]",), most=1)
    for coupling in (0.3, 0.45, 0.8):
        yield Kind(f"8 x 8 ferromagnet {coupling:g}", _ferromagnet(8, coupling), near, most=1)
    yield Kind("10 x 10 tori, couplings to 2", _grid(10, 2.0, 0.25, periodic=True), near)
    yield Kind("restricted, 18 and 18 units", _restricted, near)
    yield Kind("sigmoid 8x12x20 [-5, 5]", _sigmoid(8, 12, 20, size=5.0), Aims(0.005, 0.02))
    yield Kind("sigmoid 4x8x12 [-5, 5]", _sigmoid(4, 8, 12, size=5.0), Aims(0.001, 0.005))
    yield Kind("sigmoid 3x4x4x4x8 [-3, 3]", _sigmoid(3, 4, 4, 4, 8, size=3.0), Aims(0.001, 0.005))
    yield Kind("60 units, up to 6 parents", _sparse_network, Aims(0.005, 0.02))
