"""A row of a question as findings that were seen and the free units that they depend on, their causes.

The probability of a finding is a log-concave function of a field that its causes raise. Some findings are summed over
by the elimination behind exact inference, whose tables say how probable it is that each open finding has been switched
on yet: every term is positive, and the cost is exponential only in how many findings are open at once.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from plefka.exact.cost import MOST_GIB_OF_DRAWS, NUMBERS_PER_GIB
from plefka.exact.elimination import EliminationAnswer, eliminated
from plefka.exact.groups import Cost
from plefka.exact.log_factors import LogFactors
from plefka.exact.ordering import TooWide, greedy_plan
from plefka.exact.plans import Plan
from plefka.exact.posterior_draws import drawn


def rate(x: np.ndarray) -> np.ndarray:
    """The derivative 1 / (exp(x) - 1) of ln f, for large fields too; its own is -rate (1 + rate)."""
    with np.errstate(divide="ignore"):
        return np.exp(-x) / -np.expm1(-x)


@dataclass(frozen=True, eq=False)
class FindingsProblem:
    """ln Z = constant + ln sum_S rest(S) exp(sum_j S_j log_on_j + (1 - S_j) log_off_j) prod_i f(x_i).

    x_i = leak_i + sum of the sizes of the weights of those edges of i whose cause is in the state in which it acts: on
    for a positive weight, off for a negative one, so that the leak is the lowest field. An infinite weight is a
    certain edge. `rest` is what hidden units that depend on each other say, and is among the factors.
    """

    constant: float
    log_on: np.ndarray  # of causes
    log_off: np.ndarray
    leak: np.ndarray  # of findings
    finding: np.ndarray  # of edges
    cause: np.ndarray
    weight: np.ndarray
    units: np.ndarray  # of the question: which the causes are
    findings: np.ndarray  # the same for the findings
    factors: LogFactors  # of all of it

    @classmethod
    def of(cls, factors: LogFactors) -> "FindingsProblem":
        """The noisy-or units of a single row that were observed on, and have free parents."""
        structure, free = factors.structure, set(factors.structure.free)
        log_off, log_on = np.array([factors.prior[unit][:, 0] for unit in structure.free]).reshape(-1, 2).T
        findings = [unit for unit in structure.switched if unit not in free]
        constant, units = float(factors.constant[0]), np.array(structure.free, int)
        edges = edges_into(factors, findings)
        return cls(constant, log_on, log_off, *edges, units, np.array(findings, int), factors)


def edges_into(factors: LogFactors, children: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The leaks of some units, and of all edges into them the place of the child, the cause and the weight."""
    place = {unit: k for k, unit in enumerate(children)}
    number = {unit: k for k, unit in enumerate(factors.structure.free)}
    edges = [switch for switch in factors.structure.switches if switch.child in place]
    return (
        np.array([-factors.leak[unit][0, 0] for unit in children]),
        np.array([place[switch.child] for switch in edges], int),
        np.array([number[switch.parent] for switch in edges], int),
        np.array([-factors.strength[switch][0, 0] * (1 if switch.state else -1) for switch in edges]),
    )


def fields(leak: np.ndarray, child: np.ndarray, cause: np.ndarray, weight: np.ndarray, S: np.ndarray) -> np.ndarray:
    """(findings, draws) for states (causes, draws), infinite where an edge of probability one acts."""
    certain, ends, S = np.isinf(weight), (child, cause, weight > 0), S * 1.0
    x = leak[:, None] + acting(*ends, np.where(certain, 0.0, np.abs(weight)), len(leak), S)
    if certain.any():
        x = np.where(acting(*ends, certain * 1.0, len(leak), S) > 0, np.inf, x)
    return x


def acting(child, cause, when_on: np.ndarray, values: np.ndarray, count: int, S: np.ndarray) -> np.ndarray:
    """(children, draws): the sum of the values of those edges whose cause is in the state in which it acts."""

    def total(some: np.ndarray, states: np.ndarray) -> np.ndarray:
        return sp.csr_array((values[some], (child[some], cause[some])), shape=(count, len(S))) @ states

    found = total(when_on, S)
    return found if when_on.all() else found + total(~when_on, 1 - S)


@dataclass(frozen=True, eq=False)
class OpenFindings:
    """Some findings of a row, and all that its free units say of each other, without the chances of the units."""

    problem: FindingsProblem
    factors: LogFactors
    causes: np.ndarray  # those that it depends on

    @classmethod
    def of(cls, problem: FindingsProblem, findings: list[int]) -> "OpenFindings | None":
        """None where there is nothing to sum over together."""
        whole = problem.factors.structure
        left_out = set(problem.findings.tolist()) - set(problem.findings[findings].tolist())
        switches = tuple(switch for switch in whole.switches if switch.child not in left_out)
        switched = tuple(unit for unit in whole.switched if unit not in left_out)
        touched = {unit for units in whole.tables for unit in units}
        touched |= {unit for switch in switches for unit in (switch.parent, switch.child)}
        free = tuple(unit for unit in whole.free if unit in touched)
        if not free:
            return None
        causes = np.flatnonzero(np.isin(problem.units, free))
        priors = tuple(problem.units[causes].tolist())
        leak, strength = problem.factors.leak, problem.factors.strength
        factors = problem.factors._replace(
            structure=whole._replace(free=free, switched=switched, switches=switches, priors=priors),
            leak={unit: leak[unit] for unit in switched},
            strength={switch: strength[switch] for switch in switches},
            constant=np.zeros(1),
        )
        return cls(problem, factors, causes)

    @cached_property
    def _plan(self) -> Plan:
        return greedy_plan(self.factors.structure)

    @cached_property
    def seconds(self) -> float:
        """What a sum takes, about; infinite where its tables would be too large."""
        try:
            order = self._plan
        except TooWide:
            return np.inf
        return float(Cost.of(order).seconds(1)) if order.peak <= MOST_GIB_OF_DRAWS * NUMBERS_PER_GIB else np.inf

    def _with(self, log_on: np.ndarray, log_off: np.ndarray) -> LogFactors:
        """With the chances of the causes, of which the logarithms are given."""
        both = np.stack([log_off, log_on], axis=1)[..., None]
        prior = dict(zip(self.problem.units[self.causes].tolist(), both[self.causes], strict=True))
        return self.factors._replace(prior=prior)

    def summed(self, log_on: np.ndarray, log_off: np.ndarray) -> EliminationAnswer:
        """ln Z, the means of the causes by their units, and how ln Z follows the leaks."""
        return eliminated(self._with(log_on, log_off), self._plan)

    def drawn(self, log_on: np.ndarray, log_off: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
        """States (causes, count) of the causes."""
        states = drawn(self._with(log_on, log_off), self._plan, count, rng)
        return np.stack([states[unit] for unit in self.problem.units[self.causes].tolist()])
