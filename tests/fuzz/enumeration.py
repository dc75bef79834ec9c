"""The truth by enumeration in logarithms, in float64 and vectorised: `tests.oracle` for many rows of one network.

Logarithms of the chances of all units in all states are computed once for a network; a row of evidence adds to them.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import log_expit, log_ndtr

from tests.oracle import BeliefNumbers, MachineNumbers, Numbers, UnitNumbers


class Enumerated(NamedTuple):
    """ln P(evidence), or ln Z of a machine, and the means of all units; nan where it is impossible."""

    log_p: float
    means: np.ndarray


def _noisy_or(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    small = x < 0.7
    rare = np.log(-np.expm1(-np.where(small, x, 1.0)))
    return -x, np.where(small, rare, np.log1p(-np.exp(-np.where(small, 1.0, x))))


def _cauchy(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    on = 0.9 / (1 + x**2) + 0.05
    return np.log1p(-on), np.log(on)


LOGS: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {  # ln P(off), ln P(on)
    "sigmoid": lambda x: (log_expit(-x), log_expit(x)),
    "noisy_or": _noisy_or,
    "probit": lambda x: (log_ndtr(-x), log_ndtr(x)),
    "complementary log-log": lambda x: _noisy_or(np.exp(x)),
    "cauchy": _cauchy,
}


class Enumeration(NamedTuple):
    """All states of the units that have children, and the logarithms that belong to them."""

    core: np.ndarray  # (c,): the units that have children; all units of a machine
    states: np.ndarray  # (2^c, c)
    logs: np.ndarray  # (2^c, n, 2): of both states of every unit; 0 for a machine
    energy: np.ndarray  # (2^c,): of a machine; 0 for a belief network

    @classmethod
    def of(cls, numbers: Numbers) -> "Enumeration":
        return _of_machine(numbers) if isinstance(numbers, MachineNumbers) else _of_belief(numbers)

    def answer(self, known: np.ndarray) -> Enumerated:
        """The truth about pairs (off, on) of all units, (n, 2)."""
        off, on = (known[self.core, state] > 0 for state in (0, 1))
        fits = np.flatnonzero(((self.states == 0) & off | (self.states == 1) & on).all(axis=1))
        states, energy = self.states[fits], self.energy[fits]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = self.logs[fits] + np.log(known)
            inner = np.setdiff1d(np.arange(len(known)), self.core)
            own = np.where(states == 1, logs[:, self.core, 1], logs[:, self.core, 0])
            both = np.logaddexp(logs[:, inner, 0], logs[:, inner, 1])
            terms = energy + own.sum(axis=1) + both.sum(axis=1)
            largest = terms.max()
            if largest == -np.inf:
                return Enumerated(-np.inf, np.full(len(known), np.nan))
            weights = np.exp(terms - largest)
            some, total = weights > 0, weights.sum()
            means = np.zeros(len(known))
            means[self.core] = weights @ states / total
            means[inner] = weights[some] @ np.exp(logs[some][:, inner, 1] - both[some]) / total
            return Enumerated(float(largest + np.log(total)), means)


def _of_machine(machine: MachineNumbers) -> Enumeration:
    n = machine.size
    states, (off, on) = all_states(n), machine.values
    s = np.where(states == 1, float(on), float(off))
    energy = (
        0.5 * np.einsum("mi,ij,mj->m", s, machine.weights, s, optimize=True) + s @ machine.bias
    ) / machine.temperature
    return Enumeration(np.arange(n), states, np.zeros((len(states), n, 2)), energy + machine.constant)


def _of_belief(network: BeliefNumbers) -> Enumeration:
    core = np.array(sorted({parent for unit in network.units for parent in unit.parents}), int)
    states = all_states(len(core))
    place = {int(unit): k for k, unit in enumerate(core)}
    logs = [log_chances(unit, states[:, [place[parent] for parent in unit.parents]]) for unit in network.units]
    return Enumeration(core, states, np.stack(logs, axis=1), np.zeros(len(states)))


def log_chances(unit: UnitNumbers, parents: np.ndarray) -> np.ndarray:
    """(states, 2): ln P(off) and ln P(on) in states (states, parents) of the parents."""
    with np.errstate(divide="ignore", over="ignore"):
        return _log_chances(unit, parents)


def _log_chances(unit: UnitNumbers, parents: np.ndarray) -> np.ndarray:
    if unit.table is not None:
        on = np.asarray(unit.table)[tuple(parents.T)] + np.zeros(len(parents))
        return np.stack([np.log1p(-on), np.log(on)], axis=-1)
    w = np.array(unit.weights, float)
    certain = np.isinf(w)
    x = unit.bias + parents[:, ~certain] @ w[~certain]
    x = np.where(parents[:, certain].any(axis=1), np.inf, x)
    return np.stack(LOGS[unit.kind](x), axis=-1)


def all_states(count: int) -> np.ndarray:
    """(2^count, count)."""
    return np.arange(2**count)[:, None] >> np.arange(count) & 1
