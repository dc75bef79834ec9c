"""The part of a row that is summed over by the elimination behind exact inference: some findings, and the rest.

Its tables say how probable it is that each open finding has been switched on yet. Every term is positive, so that
nothing cancels, and the cost is exponential only in how many findings are open at once.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from plefka.exact.cost import MOST_GIB_OF_DRAWS, NUMBERS_PER_GIB
from plefka.exact.elimination import EliminationAnswer, eliminated
from plefka.exact.groups import Cost
from plefka.exact.log_factors import LogFactors
from plefka.exact.ordering import TooWide, greedy_plan
from plefka.exact.plans import Plan
from plefka.exact.posterior_draws import drawn
from plefka.sampling.findings.problem import FindingsProblem


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
