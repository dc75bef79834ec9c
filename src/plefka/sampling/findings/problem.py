"""A row of a question as findings that were seen and the free units that they depend on, their causes.

The probability of a finding is a log-concave function of a field that its causes raise. Some findings are summed over
by the elimination behind exact inference, whose tables say how probable it is that each open finding has been switched
on yet: every term is positive, and the cost is exponential only in how many findings are open at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from plefka.exact.cost import MOST_GIB_OF_DRAWS, NUMBERS_PER_GIB
from plefka.exact.elimination import EliminationAnswer, eliminated
from plefka.exact.groups import Cost
from plefka.exact.log_factors import LogFactors
from plefka.exact.ordering import TooWide, greedy_plan
from plefka.exact.plans import Plan
from plefka.exact.posterior_draws import drawn
from plefka.networks.activations import Activation, NoisyOr, Sigmoid
from plefka.networks.edge_list import EdgeList
from plefka.reduction.question import Question


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
class FindingsProblem:
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
    factors: LogFactors | None = None  # of all of it; None where findings are not summed over one by one

    @classmethod
    def of(cls, factors: LogFactors) -> "FindingsProblem":
        """The noisy-or units of a single row that were observed on, and have free parents."""
        structure, free = factors.structure, set(factors.structure.free)
        log_off, log_on = np.array([factors.prior[unit][:, 0] for unit in structure.free]).reshape(-1, 2).T
        findings = [unit for unit in structure.switched if unit not in free]
        constant, units = float(factors.constant[0]), np.array(structure.free, int)
        edges = _edges_into(factors, findings)
        return cls(NoisyOr(), constant, log_on, log_off, *edges, units, np.array(findings, int), factors)

    def switched_fields(self, S: np.ndarray) -> np.ndarray:
        """Of all units that others may switch on, hidden ones among them, for states (causes, draws)."""
        if self.factors is None:
            return np.zeros((0, S.shape[1]))
        return fields(*_edges_into(self.factors, list(self.factors.structure.switched)), S)

    @property
    def rate(self) -> Rate:
        """How fast ln f grows with the field."""
        return RATES[type(self.activation)]


def _edges_into(factors: LogFactors, children: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
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


# ---- two layers of sigmoid units: findings on or off, and hidden causes without parents ------------------------------


def is_two_layered(question: Question) -> bool:
    """Whether the free units of a single row are roots, and all units sigmoid ones."""
    roots = not question.free[EdgeList.of(question.storage).child].any()
    return isinstance(question.model.activation, Sigmoid) and roots


def two_layers(question: Question) -> FindingsProblem:
    """A single row as findings that are on: those that are off are turned around, as 1 - f(x) is f(-x)."""
    f, edges = question.model.activation, EdgeList.of(question.storage)
    child, parent, w = edges.child, edges.parent, edges.weight[:, 0]
    free, counted, values, tilt, h = (
        z[:, 0] for z in (question.free, question.model.counted, question.values, question.tilt, question.model.h)
    )
    log_on, log_off = np.asarray(f.log_on(h) + tilt), np.asarray(f.log_off(h))
    observed, known = counted & ~free, ~free[parent] & (values[parent] == 1)
    x = h + np.bincount(child[known], w[known], edges.size)
    live = free[parent] & observed[child]
    child, parent, w = (z[live] for z in (child, parent, w))
    findings, causes = np.unique(child), np.flatnonzero(free)
    settled = np.setdiff1d(np.flatnonzero(observed), findings)
    constant = np.where(values == 1, f.log_on(x), f.log_off(x))[settled].sum()
    sign = np.where(values == 1, 1.0, -1.0)
    w = w * sign[child]
    leak = sign * x + np.bincount(child, np.minimum(w, 0.0), edges.size)
    place, number = np.searchsorted(findings, child), np.searchsorted(causes, parent)
    return FindingsProblem(
        f, float(constant), log_on[causes], log_off[causes], leak[findings], place, number, w, causes, findings
    )


@dataclass(frozen=True, eq=False)
class OpenFindings:
    """Some findings of a row, and all that its free units say of each other, without the chances of the units."""

    problem: FindingsProblem
    factors: LogFactors
    causes: np.ndarray  # those that it depends on

    @classmethod
    def of(cls, problem: FindingsProblem, findings: list[int]) -> "OpenFindings | None":
        """None where there is nothing to sum over together."""
        if problem.factors is None:
            return None
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
