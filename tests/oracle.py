"""The truth from the definition alone, in many digits: a sum over all states, of the numbers that define a network.

Nothing of plefka is imported. `numbers_of` reads the numbers of a network; tests may also write them down by hand.
What is known of the units is a pair (off, on) for each: what the weight of a state is multiplied by. (0, 1) is a unit
that is observed on, (1, 1) a hidden one, and any other pair soft evidence.

Probabilities of both states are computed each by itself, and all terms are positive: nothing cancels, whatever the
weights. A unit without children is summed over inside the sum over all others.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import mpmath
import numpy as np
from mpmath import mp, mpf

DIGITS = 60
INFINITE = mpf("inf")
Digits = Any  # a number of mpmath


class UnitNumbers(NamedTuple):
    """A unit of a belief network: its parents by index, and its weights and bias, or its table P(on | parents)."""

    parents: tuple[int, ...]
    kind: str  # a name in FUNCTIONS, or "table"
    weights: tuple[float, ...] = ()
    bias: float = 0.0
    table: np.ndarray | None = None


class BeliefNumbers(NamedTuple):
    """P(S) = product over units of P(S_i | parents)."""

    units: tuple[UnitNumbers, ...]

    @property
    def size(self) -> int:
        return len(self.units)


class MachineNumbers(NamedTuple):
    """exp(constant + (sum_{i<j} W_ij s_i s_j + sum_i h_i s_i) / T), with s_i = values[S_i]."""

    weights: np.ndarray  # (n, n), symmetric
    bias: np.ndarray
    temperature: float = 1.0
    values: tuple[int, int] = (0, 1)
    constant: float = 0.0

    @property
    def size(self) -> int:
        return len(self.bias)


Numbers = BeliefNumbers | MachineNumbers


class Truth(NamedTuple):
    """ln P(evidence), or ln Z of a machine; -inf, and no means, where it is impossible."""

    log_p: Any
    means: Sequence[Any]

    @property
    def is_possible(self) -> bool:
        return self.log_p != -INFINITE


def _noisy_or(x: Digits) -> tuple[Digits, Digits]:
    return mpmath.exp(-x), -mpmath.expm1(-x)


def _complementary_log_log(x: Digits) -> tuple[Digits, Digits]:
    return _noisy_or(mpmath.exp(x))


def _cauchy(x: Digits) -> tuple[Digits, Digits]:
    on = mpf(0.9) / (1 + x**2) + mpf(0.05)
    return 1 - on, on


FUNCTIONS: dict[str, Callable[[Digits], tuple[Digits, Digits]]] = {  # P(off) and P(on) of a field
    "sigmoid": lambda x: (1 / (1 + mpmath.exp(x)), 1 / (1 + mpmath.exp(-x))),
    "noisy_or": _noisy_or,
    "probit": lambda x: (mpmath.ncdf(-x), mpmath.ncdf(x)),
    "complementary log-log": _complementary_log_log,
    "cauchy": _cauchy,
}


def answer(numbers: Numbers, known: Any, digits: int = DIGITS) -> Truth:
    """The truth about a row of evidence, pairs (off, on) of every unit."""
    known = [tuple(map(float, pair)) for pair in known]
    with mp.workdps(digits):
        terms = _of_machine(numbers, known) if isinstance(numbers, MachineNumbers) else _of_belief(numbers, known)
        total, on = mpf(0), [mpf(0)] * numbers.size
        for weight, means in terms:
            total += weight
            for unit, mean in means:
                on[unit] += weight * mean
        return Truth(mpmath.log(total), [mean / total for mean in on]) if total > 0 else Truth(-INFINITE, ())


def _of_machine(machine: MachineNumbers, known: list) -> Iterator[tuple[Digits, list]]:
    """Of every state, its weight and the units that are on."""
    n, T = machine.size, mpf(machine.temperature)
    pairs = [(i, j, mpf(float(machine.weights[i, j]))) for i in range(n) for j in range(i) if machine.weights[i, j]]
    for state in _states(known):
        s = [machine.values[on] for on in state]
        energy = sum((w * s[i] * s[j] for i, j, w in pairs), mpf(0))
        energy += sum((mpf(float(h)) * value for h, value in zip(machine.bias, s, strict=True)), mpf(0))
        weight = mpmath.exp(energy / T + mpf(float(machine.constant)))
        yield (
            weight * _product(known[unit][on] for unit, on in enumerate(state)),
            [(i, 1) for i in range(n) if state[i]],
        )


def _of_belief(network: BeliefNumbers, known: list) -> Iterator[tuple[Digits, list]]:
    """Of every state of the units with children, its weight, and the means of all units in it."""
    has_children = {parent for unit in network.units for parent in unit.parents}
    core = sorted(has_children)
    chances: dict = {}

    def chance(i: int, state: dict[int, int]) -> tuple[Digits, Digits]:
        own = i, *(state[parent] for parent in network.units[i].parents)
        if own not in chances:
            chances[own] = _chance(network.units[i], own[1:])
        return chances[own]

    for states in _states([known[i] for i in core]):
        state = dict(zip(core, states, strict=True))
        weight, means = mpf(1), [(i, 1) for i in core if state[i]]
        for i in range(network.size):
            off, on = (p * factor for p, factor in zip(chance(i, state), known[i], strict=True))
            if i not in has_children:
                means.append((i, on / (off + on) if off + on > 0 else 0))
            weight *= off + on if i not in has_children else (off, on)[state[i]]
            if not weight:
                break
        yield weight, means


def _chance(unit: UnitNumbers, state: tuple[int, ...]) -> tuple[Digits, Digits]:
    """P(off) and P(on) in a state of the parents."""
    if unit.table is not None:
        on = mpf(float(unit.table[state]))
        return 1 - on, on
    x = mpf(unit.bias) + sum((mpf(w) for w, on in zip(unit.weights, state, strict=True) if on), mpf(0))
    return (mpf(0), mpf(1)) if x == INFINITE else FUNCTIONS[unit.kind](x)


def _states(known: list) -> Iterator[tuple[int, ...]]:
    """All states that evidence of this kind leaves."""
    return product(*([state for state in (0, 1) if pair[state] > 0] for pair in known))


def _product(factors: Any) -> Digits:
    found = mpf(1)
    for factor in factors:
        found *= mpf(factor)
    return found


def known_of(rows: Any, soft: dict[int, tuple[float, float]] | None = None) -> np.ndarray:
    """Pairs (off, on) of a row of 0, 1 and nan, with (off, on) of units of which there is soft evidence."""
    rows = np.asarray(rows, float)
    known = np.stack([rows != 1, rows != 0], axis=-1) * 1.0
    for unit, pair in (soft or {}).items():
        known[unit] = pair
    return known


def numbers_of(network: Any) -> Numbers:
    """The numbers that define a network of plefka's, not of a stack."""
    bias = np.asarray(network.bias, float)
    if hasattr(network, "temperature"):
        W = np.asarray(network.weights.todense() if hasattr(network.weights, "todense") else network.weights, float)
        if network.layers is not None:
            visible, hidden = network.layers
            W = np.block([[np.zeros((visible, visible)), W], [W.T, np.zeros((hidden, hidden))]])
        return MachineNumbers(W, bias, network.temperature, network.values, float(network.constant))
    place = {name: k for k, name in enumerate(network.names)}
    return BeliefNumbers(tuple(_unit_of(unit, place) for unit in network.units))


def _unit_of(unit: Any, place: dict[str, int]) -> UnitNumbers:
    parents = tuple(place[parent] if isinstance(parent, str) else parent for parent in unit.parents)
    if hasattr(unit.kind, "probabilities"):
        return UnitNumbers(parents, "table", table=unit.kind.probabilities)
    kind = getattr(unit.kind, "name", unit.kind)
    return UnitNumbers(parents, kind, tuple(map(float, unit.weights)), float(unit.bias))
