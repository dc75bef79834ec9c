"""Random networks and evidence: everything about a draw follows from its seed.

Sizes come from short lists, as every new one is compiled. The numbers are those that have broken something: no leak,
edges of probability one and of 1e-20, weights of 1e3, a hundred findings that are off, soft evidence up to 1e300.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import plefka as pf
from tests.fuzz.enumeration import log_chances
from tests.oracle import BeliefNumbers, MachineNumbers, Numbers, UnitNumbers, known_of
from tests.zoo import CLOGLOG, PROBIT

ROWS = 384  # of a batch, or networks of a stack: three times a size that is compiled
CAUCHY = pf.Custom(lambda x: 0.9 / (1 + x**2) + 0.05, name="cauchy")
CUSTOM = {"probit": PROBIT, "complementary log-log": CLOGLOG, "cauchy": CAUCHY}


class Draw(NamedTuple):
    """Networks and rows of evidence, one for each network of a stack, or any number for one network."""

    kind: str
    network: Any
    numbers: Sequence[Numbers]  # of the network, or of every network of the stack
    known: np.ndarray  # (rows, n, 2)

    @property
    def is_stack(self) -> bool:
        return self.network.stack is not None

    def of_row(self, row: int) -> Numbers:
        return self.numbers[row if self.is_stack else 0]

    def row_network(self, row: int) -> Any:
        return self.network.take(row) if self.is_stack else self.network

    def take(self, rows: np.ndarray) -> "Draw":
        """Some rows alone."""
        if len(rows) == len(self.known):
            return self
        if not self.is_stack:
            return self._replace(known=self.known[rows])
        return Draw(self.kind, self.network.take(rows), [self.numbers[row] for row in rows], self.known[rows])

    @property
    def is_soft(self) -> np.ndarray:
        """(rows, n): where there is soft evidence."""
        return (self.known > 0).all(axis=-1) & (self.known != 1).any(axis=-1)

    def evidence(self, row: int | None = None) -> Any:
        """As `infer` takes it: an array, or dictionaries where there is soft evidence; of all rows, or of one."""
        off, on = self.network.values
        if not self.is_soft.any():
            hard = np.where(self.known[..., 1] == 0, off, np.where(self.known[..., 0] == 0, on, np.nan)).astype(float)
            return hard if row is None else hard[row]
        found = [
            {unit: self._state(pair) for unit, pair in enumerate(pairs) if (pair != 1).any()} for pairs in self.known
        ]
        return found if row is None else found[row]

    def _state(self, pair: np.ndarray) -> Any:
        off, on = pair.tolist()
        hard = dict(zip(((1.0, 0.0), (0.0, 1.0)), self.network.values, strict=True))
        return hard.get((off, on), pf.Likelihood(on=on, off=off))


def kind_of(seed: int) -> str:
    """What a seed draws."""
    return [*KINDS][np.random.default_rng([seed, 0]).integers(len(KINDS))]


def drawn(seed: int) -> Draw:
    """What belongs to a seed."""
    rng, kind = np.random.default_rng([seed, 1]), kind_of(seed)
    network, numbers = KINDS[kind](rng)
    return Draw(kind, network, numbers, _evidence(rng, kind, numbers))


# Networks.


def _layered(rng: np.random.Generator, kind: str) -> tuple[Any, list[Numbers]]:
    """A stack of networks with the same layers."""
    sizes = (
        [(2, 4, 6), (3, 8), (4, 4, 4), (6, 12)][rng.integers(4)]
        if kind not in CUSTOM
        else [(2, 3, 4), (4, 6)][rng.integers(2)]
    )
    layer = np.repeat(np.arange(len(sizes)), sizes)
    edges = layer[:, None] == layer[None, :] + 1
    W, h = _weights(rng, kind, edges, ROWS)
    starts = np.cumsum((0, *sizes))
    cuts = [slice(a, b) for a, b in pairwise(starts)]
    blocks = [W[:, below, above] for above, below in pairwise(cuts)]
    network = pf.BeliefNetwork.layered(blocks, [h[:, cut] for cut in cuts], CUSTOM.get(kind, kind))
    return network, [_numbers(kind, *pair) for pair in zip(W, h, strict=True)]


def _graph(rng: np.random.Generator, core: int, leaves: int, most: int) -> np.ndarray:
    """edges[child, parent] of an acyclic graph in which only `core` units have children."""
    size = core + leaves
    edges = np.zeros((size, size), bool)
    for unit in range(1, size):
        count = min(rng.integers(0 if unit < core else 1, most + 1), min(unit, core))
        edges[unit, rng.choice(min(unit, core), count, replace=False)] = True
    order = rng.permutation(size)
    return edges[order][:, order]


def _sparse(rng: np.random.Generator, kind: str) -> tuple[Any, list[Numbers]]:
    """One network, stored sparsely or densely."""
    core, leaves = [(6, 6), (9, 12), (12, 4), (14, 20)][rng.choice(4, p=[0.35, 0.35, 0.2, 0.1])]
    W, h = _weights(rng, kind, _graph(rng, core, leaves, 3), 1)
    dense = rng.random() < 0.3
    network = pf.BeliefNetwork(W[0] if dense else sp.csr_array(W[0]), h[0], CUSTOM.get(kind, kind))
    return network, [_numbers(kind, W[0], h[0])]


def _chain(rng: np.random.Generator, kind: str) -> tuple[Any, list[Numbers]]:
    """One network that is narrow: a chain, with a unit below each."""
    size = 10
    edges = np.zeros((2 * size, 2 * size), bool)
    edges[np.arange(1, size), np.arange(size - 1)] = edges[size + np.arange(size), np.arange(size)] = True
    W, h = _weights(rng, kind, edges, 1)
    return pf.BeliefNetwork(sp.csr_array(W[0]), h[0], kind), [_numbers(kind, W[0], h[0])]


def _diagnosis(rng: np.random.Generator) -> tuple[Any, list[Numbers]]:
    """A few causes of many findings, of which nearly all will be off."""
    causes, findings = [(1, 40), (2, 120), (4, 100), (8, 40)][rng.integers(4)]
    edges = np.zeros((causes + findings,) * 2, bool)
    edges[causes:, :causes] = rng.random((findings, causes)) < [1.0, 0.7, 0.4][rng.integers(3)]
    W, h = np.where(edges, _noisy_or_weights(rng, edges.shape), 0.0), _leaks(rng, (causes + findings,))
    prior = 10 ** rng.uniform(-4, 0, causes)
    if rng.random() < 0.5:  # all alike and without leak, so that a hundred of them exclude a cause
        W = np.where(edges, -np.log1p(-rng.choice([0.9, 0.95, 0.99, 0.999, 1 - 1e-9, 1e-3])), 0.0)
        h[causes:] *= rng.random() < 0.3
    elif rng.random() < 0.5:  # faint edges from causes that are on as a rule, and nothing else
        W, prior = np.where(edges, 10 ** rng.uniform(-18, -6), 0.0), rng.uniform(0.5, 1, causes)
        h[causes:] = 0.0
    h[:causes] = -np.log1p(-np.minimum(prior, 1 - 1e-9))
    return pf.BeliefNetwork.layered([W[causes:, :causes]], [h[:causes], h[causes:]], "noisy_or"), [
        _numbers("noisy_or", W, h)
    ]


def _of_units(rng: np.random.Generator, kinds: Sequence[str]) -> tuple[Any, list[Numbers]]:
    """Units of different kinds, in any order."""
    core, leaves = [(4, 4), (7, 9), (10, 6)][rng.integers(3)]
    edges = _graph(rng, core, leaves, 3)
    found = []
    for unit in range(core + leaves):
        parents, kind = tuple(np.flatnonzero(edges[unit]).tolist()), kinds[int(rng.integers(len(kinds)))]
        if kind == "table":
            found.append(UnitNumbers(parents, kind, table=_table(rng, len(parents))))
        else:
            W, h = _weights(rng, kind, np.ones((1, len(parents)), bool), 1)
            found.append(UnitNumbers(parents, kind, tuple(W[0, 0].tolist()), float(h[0, 0])))
    numbers = BeliefNumbers(tuple(found))
    return pf.BeliefNetwork.of_units([_unit(unit) for unit in found]), [numbers]


def _unit(unit: UnitNumbers) -> pf.Unit:
    if unit.table is not None:
        return pf.Unit(None, unit.parents, pf.Table(unit.table))
    return pf.Unit(None, unit.parents, CUSTOM.get(unit.kind, unit.kind), unit.weights, unit.bias)


def _table(rng: np.random.Generator, parents: int) -> np.ndarray:
    p = rng.random((2,) * parents)
    p = np.where(rng.random(p.shape) < 0.1, 10 ** rng.uniform(-20, 0, p.shape), p)
    return np.where(rng.random(p.shape) < rng.choice([0, 0, 0.3]), np.round(p), p)


def _machine(rng: np.random.Generator, values: tuple[int, int]) -> tuple[Any, list[Numbers]]:
    """Dense in a stack, a grid that is stored sparsely, or restricted in a stack."""
    form, T = rng.integers(3), float(rng.choice([1.0, 0.5, 3.0]))
    visible, hidden = [(4, 4), (6, 4)][rng.integers(2)]
    size, count = (9, 1) if form == 1 else (visible + hidden, ROWS)
    half = np.tril(rng.normal(size=(count, size, size)) * _scale(rng, count, -2, 1.5), -1)
    if form == 1:
        at = np.arange(9)
        side = np.abs(at[:, None] // 3 - at // 3) + np.abs(at[:, None] % 3 - at % 3) == 1
        half = half * side
    if form == 2:
        half[:, :visible, :visible] = half[:, visible:, visible:] = 0.0
    W, h = half + half.swapaxes(1, 2), rng.normal(size=(count, size)) * _scale(rng, count, -2, 1.5)[:, 0]
    h = h * (rng.random() < 0.8)
    numbers: list[Numbers] = [MachineNumbers(*pair, T, values) for pair in zip(W, h, strict=True)]
    if form == 2:
        block = W[:, :visible, visible:]
        return pf.BoltzmannMachine.restricted(block, h[:, :visible], h[:, visible:], T, values), numbers
    return pf.BoltzmannMachine(sp.csr_array(W[0]) if form == 1 else W, h[0] if form == 1 else h, T, values), numbers


def _numbers(kind: str, W: np.ndarray, h: np.ndarray) -> BeliefNumbers:
    parents = [np.flatnonzero(row) for row in W]
    units = zip(parents, W, h.tolist(), strict=True)
    return BeliefNumbers(tuple(UnitNumbers(tuple(p.tolist()), kind, tuple(w[p].tolist()), b) for p, w, b in units))


# Numbers.


def _scale(rng: np.random.Generator, count: int, low: float, high: float) -> np.ndarray:
    """A size of its own for every network."""
    return 10 ** rng.uniform(low, high, (count, 1, 1))


def _weights(rng: np.random.Generator, kind: str, edges: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights (count, children, parents) and biases (count, children)."""
    shape = (count, *edges.shape)
    if kind == "noisy_or":
        W, h = np.where(edges, _noisy_or_weights(rng, shape), 0.0), _leaks(rng, shape[:2])
        return _with_inhibitors(rng, W, h) if rng.random() < 0.25 else (W, h)
    W = rng.uniform(-1, 1, shape) * _scale(rng, count, -3, 3 if kind == "sigmoid" else 0.3) * edges
    W[rng.random(shape) < rng.choice([0, 0, 0.3])] = 0.0
    return W, rng.uniform(-1, 1, shape[:2]) * _scale(rng, count, -3, 3 if kind == "sigmoid" else 0.3)[:, 0]


def _noisy_or_weights(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Ordinary ones, and some that are certain, next to nothing, or huge."""
    odd = rng.choice([0.0, 0.0, 0.2, 0.5, 1.0])
    rare = np.stack([
        np.full(shape, np.inf), np.full(shape, 1e-20), 10 ** rng.uniform(-20, 0, shape), rng.uniform(20, 1000, shape),
    ])  # fmt: skip
    which = rng.integers(len(rare), size=shape)
    return np.where(rng.random(shape) < odd, np.take_along_axis(rare, which[None], 0)[0], rng.exponential(1.0, shape))


def _leaks(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    none, odd = rng.choice([0.0, 0.5, 1.0]), rng.choice([0.0, 0.2])
    found = rng.exponential(rng.choice([0.3, 0.3, 3.0, 30.0]), shape)
    found = np.where(rng.random(shape) < odd, 10 ** rng.uniform(-20, 2, shape), found)
    return np.where(rng.random(shape) < none, 0.0, found)


def _with_inhibitors(rng: np.random.Generator, W: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some weights negative, in quarters, so that the lowest field is 0 without rounding, or well above it."""
    negative = (rng.random(W.shape) < 0.3) & np.isfinite(W) & (W != 0)
    W = np.where(negative, -np.ceil(4 * np.minimum(W, 5)) / 4, W)
    lowest = -np.where(W < 0, W, 0.0).sum(axis=-1)
    above = np.where(rng.random(h.shape) < 0.3, 0.0, 0.25 + np.round(4 * h) / 4)
    return W, np.where(lowest > 0, lowest + above, h)


# Evidence.


def _evidence(rng: np.random.Generator, kind: str, numbers: Sequence[Numbers]) -> np.ndarray:
    """(rows, n, 2): nothing, a little, much or all is observed; states of the network, or any."""
    count, size = (len(numbers) if len(numbers) > 1 else ROWS), numbers[0].size
    share = rng.choice([0.0, 0.15, 0.4, 0.7, 1.0], p=[0.05, 0.3, 0.35, 0.25, 0.05])
    seen = rng.random((count, size)) < share
    if kind == "diagnosis":
        roots = np.array([not unit.parents for unit in numbers[0].units])  # pyright: ignore
        seen = np.where(
            roots, rng.random((count, size)) < 0.05, rng.random((count, size)) < rng.choice([0.5, 0.95, 1.0])
        )
    patterns = rng.choice([1, 4, count], p=[0.5, 0.4, 0.1])  # of units that are observed together
    seen = seen[np.arange(count) % patterns]
    states = _states(rng, kind, numbers, count)
    rows = np.where(seen, states, np.nan)
    known = known_of(rows)
    if rng.random() < 0.3:
        soft = rng.random((count, size)) < rng.choice([0.1, 0.4])
        powers = rng.uniform(-1, 1, (count, size, 2)) * rng.choice([1.0, 3.0, 300.0])
        known = np.where((soft & np.isnan(rows))[..., None], 10**powers, known)
    return known


def _states(rng: np.random.Generator, kind: str, numbers: Sequence[Numbers], count: int) -> np.ndarray:
    """(count, n): drawn from the networks themselves, where that is easy, or fair coins, or nearly all off."""
    size, way = numbers[0].size, rng.random()
    if kind == "diagnosis" and way < 0.6:
        return (rng.random((count, size)) < rng.choice([1.0, 4.0]) / size) * 1.0
    if isinstance(numbers[0], MachineNumbers) or way > 0.7:
        return rng.integers(0, 2, (count, size)) * 1.0
    return np.concatenate([_sampled(rng, network, count // len(numbers)) for network in numbers])


def _sampled(rng: np.random.Generator, network: Any, count: int) -> np.ndarray:
    """(count, n): every unit after its parents."""
    states = np.full((count, network.size), -1)
    waiting = list(range(network.size))
    while waiting:
        unit = waiting.pop(0)
        parents = states[:, list(network.units[unit].parents)]
        if (parents < 0).any():
            waiting.append(unit)
        else:
            states[:, unit] = rng.random(count) < np.exp(log_chances(network.units[unit], parents)[:, 1])
    return states * 1.0


KINDS: dict[str, Callable[[np.random.Generator], tuple[Any, list[Numbers]]]] = {
    "sigmoid, layered": lambda rng: _layered(rng, "sigmoid"),
    "sigmoid, sparse": lambda rng: _sparse(rng, "sigmoid"),
    "sigmoid, chain": lambda rng: _chain(rng, "sigmoid"),
    "noisy-or, layered": lambda rng: _layered(rng, "noisy_or"),
    "noisy-or, sparse": lambda rng: _sparse(rng, "noisy_or"),
    "noisy-or, chain": lambda rng: _chain(rng, "noisy_or"),
    "diagnosis": _diagnosis,
    "tables": lambda rng: _of_units(rng, ["table"]),
    "mixed": lambda rng: _of_units(rng, ["table", "sigmoid", "noisy_or", "cauchy"]),
    "custom": lambda rng: (_layered if rng.random() < 0.6 else _sparse)(rng, [*CUSTOM][rng.integers(len(CUSTOM))]),
    "machine of 0 and 1": lambda rng: _machine(rng, (0, 1)),
    "machine of -1 and 1": lambda rng: _machine(rng, (-1, 1)),
}
