"""Frozen configurations: what is computed, in full, so that equal settings mean equal rows."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from plefka.runtime.version import __version__

LAYERS = (2, 4, 6)
AS_PRINTED = "G22 as printed"
BY_73 = "G11 by (73) as printed"
PARTS: dict[str, tuple[str, ...]] = {  # of the paper, and the experiments that each needs
    "table1": ("table1",),
    "table2": ("table2",),
    "figures": ("table1", "table2"),
    "learning": ("learning", "learning_beyond"),
    "misprints": ("misprints",),
    "variants": ("variants",),
    "policies": ("policies", "sequential"),
    "radius": ("radius", "truncated"),
    "methods": ("methods",),
}
# All but the methods, which are beyond the paper.
PARTS["all"] = tuple(dict.fromkeys(name for part in PARTS if part != "methods" for name in PARTS[part]))


@dataclass(frozen=True)
class Ensemble:
    """Random networks: weights uniform in [low, high], and biases too unless they have a range of their own."""

    activation: str
    low: float
    high: float
    biases: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        own = f", biases {_range(*self.biases)}" if self.biases else ""
        return f"{self.activation.replace('_', '-')} {_range(self.low, self.high)}{own}"


def _range(low: float, high: float) -> str:
    return f"[{low:g}, {high:g}]" if low < high else f"all {low:g}"


@dataclass(frozen=True)
class Column:
    """An ensemble, what is observed of the bottom layer, and the methods to try.

    `observed` is `off` (all units), or `likeliest` or `unlikeliest`: the state with the largest or smallest ln Z.
    """

    ensemble: Ensemble
    observed: str
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Study:
    """Columns of random networks, each solved by its methods; a block of networks is written at a time."""

    name: str
    columns: tuple[Column, ...]
    networks: int
    block: int
    max_steps: int  # of a solve; what has not converged by then hardly ever does
    seed: int


@dataclass(frozen=True)
class Learning:
    """Figure 10: bars learned from several starts at once; a block is an activation, a method and a step size."""

    name: str
    schemes: tuple[tuple[str, tuple[str, ...]], ...]  # by activation
    step_sizes: tuple[float, ...]  # of Adam
    layers: tuple[int, ...]
    patterns: int
    starts: int
    epochs: int
    max_steps: int  # evaluations of the free energy in a solve
    seed: int


@dataclass(frozen=True)
class Trial:
    """Columns of fresh networks, solved by every method: how far off, and how long. A block is a method.

    The methods are not among the settings, so that one more is added to those that are there.
    """

    name: str
    columns: tuple[tuple[Ensemble, str], ...]  # and what is observed of the bottom layer
    networks: int
    seed: int  # of the first column; each further one has the next


@dataclass(frozen=True)
class Radii:
    """The radius of convergence of Plefka's series, network by network. A block is a group of columns."""

    name: str
    groups: tuple[tuple[str, tuple[tuple[Ensemble, str], ...]], ...]  # a name, ensembles and what is observed
    networks: int  # of each column of the paper
    scale_networks: int  # of each column of a group that scales weights
    order: int
    seed: int


@dataclass(frozen=True)
class TruncatedRadii(Radii):
    """The radius for the energy (43) of these degrees, on the same networks. A block is a degree and a group."""

    degrees: tuple[int, ...] = (1, 2)


Experiment = Study | Learning | Trial | Radii


def spelled(experiment: Any) -> dict[str, Any]:
    """The settings as they go into files: plain JSON."""
    return json.loads(json.dumps(asdict(experiment)))


def digest(experiment: Any) -> str:
    """A name for the settings and the version that computes them: another one for every change."""
    text = json.dumps({"version": __version__, **spelled(experiment)}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
