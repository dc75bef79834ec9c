"""Random questions about small networks of every kind, with their extremes, and all their states."""

from typing import Any, NamedTuple

import numpy as np

import plefka as pf
from tests.zoo import PROBIT


class SmallQuestion(NamedTuple):
    """A network, evidence, and chosen units."""

    network: Any
    evidence: dict
    units: list[int]

    def all_logs(self) -> np.ndarray:
        """ln P(state, evidence) of all states of the chosen units, a plain sum over the others; descending."""
        network, n = self.network, self.network.size
        off, on = network.values
        states = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        with np.errstate(divide="ignore"):
            logs = np.asarray(network.log_joint(off + (on - off) * states), float)
            for unit, seen in self.evidence.items():
                if isinstance(seen, pf.Likelihood):
                    logs = logs + np.log(np.where(states[:, unit] == 1, seen.on, seen.off))
                else:
                    logs = np.where(states[:, unit] == (seen == on), logs, -np.inf)
        key = states[:, self.units] @ (1 << np.arange(len(self.units)))
        total = np.full(2 ** len(self.units), -np.inf)
        np.logaddexp.at(total, key, logs)
        return np.sort(total)[::-1]


def question(seed: int) -> SmallQuestion:
    """One of all kinds, by turns."""
    rng = np.random.default_rng(seed)
    network = KINDS[seed % len(KINDS)](rng, int(rng.integers(1, 8)))
    off, on = network.values
    evidence, seen = {}, rng.random(network.size) < rng.choice([0.0, 0.3, 0.6])
    for unit in np.flatnonzero(seen).tolist():
        if rng.random() < 0.2:
            evidence[unit] = pf.Likelihood(*rng.choice([0.1, 0.5, 1.0, 2.0], 2).tolist())
        else:
            evidence[unit] = int(rng.choice([off, on]))
    hidden = [k for k in range(network.size) if isinstance(evidence.get(k), pf.Likelihood | None)]
    if rng.random() < 0.4 and hidden:
        hidden = sorted(rng.choice(hidden, int(rng.integers(1, len(hidden) + 1)), replace=False).tolist())
    return SmallQuestion(network, evidence, hidden)


def _edges(rng: np.random.Generator, n: int, values: Any) -> np.ndarray:
    """Weights of random edges to later units."""
    return np.tril(np.where(rng.random((n, n)) < 0.6, values, 0.0), -1)


def _noisy_or(rng: np.random.Generator, n: int) -> pf.BeliefNetwork:
    """With leaks of 0, edges of probability one, priors of 1e-20, and ties."""
    W = _edges(rng, n, rng.choice([0.5, 1.5, 0.01, np.inf, 3.0], (n, n), p=[0.4, 0.25, 0.1, 0.1, 0.15]))
    return pf.BeliefNetwork(W, rng.choice([0.0, 0.1, 0.5, 1e-20, 3.0], n), "noisy_or")


def _inhibited(rng: np.random.Generator, n: int) -> pf.BeliefNetwork:
    """Noisy-or units with negative weights."""
    W = _edges(rng, n, rng.uniform(-1, 1.5, (n, n)))
    return pf.BeliefNetwork(W, rng.choice([0.0, 0.3], n) - np.minimum(W, 0).sum(axis=1), "noisy_or")


def _diagnosis(rng: np.random.Generator, n: int) -> pf.BeliefNetwork:
    """Two layers."""
    W = rng.exponential(1.0, (n, 4)) * (rng.random((n, 4)) < 0.7)
    return pf.BeliefNetwork.layered([W], [rng.uniform(0.01, 0.3, 4), rng.uniform(0, 0.1, n)], "noisy_or")


def _sigmoid(rng: np.random.Generator, n: int) -> pf.BeliefNetwork:
    W = _edges(rng, n, rng.choice([-2.0, -1.0, 1.0, 5.0, 30.0], (n, n)))
    return pf.BeliefNetwork(W, rng.choice([-1.0, 0.0, 1.0, -40.0], n, p=[0.3, 0.3, 0.3, 0.1]), "sigmoid")


def _probit(rng: np.random.Generator, n: int) -> pf.BeliefNetwork:
    return pf.BeliefNetwork(_edges(rng, n, rng.normal(size=(n, n))), rng.normal(size=n), PROBIT)


def _tables(rng: np.random.Generator, n: int) -> pf.BeliefNetwork:
    """With probabilities 0 and 1, and ties."""
    parents = [sorted(rng.choice(k, min(k, int(rng.integers(0, 4))), replace=False).tolist()) for k in range(n)]
    levels = [0.0, 0.1, 0.5, 0.7, 1.0]
    return pf.BeliefNetwork.from_tables(parents, [rng.choice(levels, (2,) * len(some)) for some in parents])


def _mixed(rng: np.random.Generator, n: int) -> pf.BeliefNetwork:
    """Units of different kinds."""
    units = []
    for k in range(n):
        parents = sorted(rng.choice(k, min(k, 3), replace=False).tolist())
        kind = rng.choice(["sigmoid", "noisy_or", "table"])
        if kind == "table":
            units.append((None, parents, pf.Table(rng.random((2,) * len(parents)))))
        else:
            units.append((None, parents, str(kind), rng.uniform(0.1, 2, len(parents)).tolist(), 0.3))
    return pf.BeliefNetwork.of_units(units)


def _machine(rng: np.random.Generator, n: int) -> pf.BoltzmannMachine:
    """Of either values, at several temperatures, with ties."""
    W = _edges(rng, n, rng.choice([-1.0, 1.0, 0.5], (n, n)))
    values = (0, 1) if rng.random() < 0.5 else (-1, 1)
    return pf.BoltzmannMachine(W + W.T, rng.choice([0.0, 0.3, -1.0], n), float(rng.choice([1.0, 2.0])), values)


def _restricted(rng: np.random.Generator, n: int) -> pf.BoltzmannMachine:
    return pf.BoltzmannMachine.restricted(rng.normal(size=(n, 3)), rng.normal(size=n), rng.normal(size=3))


KINDS = (_noisy_or, _inhibited, _diagnosis, _sigmoid, _probit, _tables, _mixed, _machine, _restricted)
