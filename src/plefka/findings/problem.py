"""A row of a question as findings that were seen and the free units that they depend on, their causes.

The probability of a finding is a log-concave function of a field that its causes raise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plefka.activations import Activation, NoisyOr, Sigmoid
from plefka.exact.factors import Factors


class Rate(NamedTuple):
    """The derivative of ln f, which falls with the field, and its own derivative."""

    value: Callable
    slope: Callable


def _odds_against(x):
    """1 / (exp(x) - 1), for large fields too."""
    with np.errstate(divide="ignore"):
        return np.exp(-x) / -np.expm1(-x)


RATES = {
    NoisyOr: Rate(_odds_against, lambda x: -_odds_against(x) * (1 + _odds_against(x))),
    Sigmoid: Rate(lambda x: np.exp(-np.logaddexp(0, x)), lambda x: -np.exp(-np.logaddexp(0, x) - np.logaddexp(0, -x))),
}


@dataclass(frozen=True, eq=False)
class Problem:
    """ln Z = constant + ln sum_S rest(S) exp(sum_j S_j log_on_j + (1 - S_j) log_off_j) prod_i f(x_i).

    x_i = leak_i + sum of the sizes of the weights of those edges of i whose cause is in the state in which it acts: on
    for a positive weight, off for a negative one, so that the leak is the lowest field. An infinite weight is a
    certain edge. `rest` is what hidden units that depend on each other say, and is among the factors.
    """

    activation: Activation
    constant: float
    log_on: np.ndarray  # of causes
    log_off: np.ndarray
    leak: np.ndarray  # of findings
    finding: np.ndarray  # of edges
    cause: np.ndarray
    weight: np.ndarray
    units: np.ndarray  # of the question: which the causes are
    findings: np.ndarray  # the same for the findings
    factors: Factors | None = None  # of all of it; None where findings are not summed over one by one

    @classmethod
    def of(cls, factors: Factors) -> "Problem":
        """The noisy-or units of a single row that were observed on, and have free parents."""
        structure = factors.structure
        log_off, log_on = np.array([factors.prior[unit][:, 0] for unit in structure.free]).reshape(-1, 2).T
        free = set(structure.free)
        findings = [unit for unit in structure.switched if unit not in free]
        place = {unit: k for k, unit in enumerate(findings)}
        number = {unit: k for k, unit in enumerate(structure.free)}
        edges = [switch for switch in structure.switches if switch.child in place]
        return cls(
            NoisyOr(),
            float(factors.constant[0]), log_on, log_off,
            np.array([-factors.leak[unit][0, 0] for unit in findings]),
            np.array([place[switch.child] for switch in edges], int),
            np.array([number[switch.parent] for switch in edges], int),
            np.array([-factors.strength[switch][0, 0] * (1 if switch.state else -1) for switch in edges]),
            np.array(structure.free, int), np.array(findings, int), factors,
        )  # fmt: skip

    @property
    def rate(self) -> Rate:
        """How fast ln f grows with the field."""
        return RATES[type(self.activation)]
