"""P(all of some findings are on) in a two-layer noisy-or network, by the elimination that exact inference uses.

Its tables say how probable it is that each open finding has been switched on yet. Every term is positive, so that
nothing cancels, and the cost is exponential only in how many findings are open at once.
"""

from dataclasses import dataclass

import numpy as np

from plefka.bounding.two_layers import TwoLayers
from plefka.exact.elimination import eliminated
from plefka.exact.factors import Factors, Structure, Switch
from plefka.exact.ordering import TooWide, plan
from plefka.exact.steps import Plan

MOST_OPEN = 15  # axes of a table: findings that are open at once, and a cause that acts on them


@dataclass(frozen=True, eq=False)
class OpenFindings:
    """Some findings of a network and their causes, as factors without the chances of the causes."""

    structure: Structure
    leak: dict[int, np.ndarray]
    strength: dict[Switch, np.ndarray]
    num_causes: int

    @classmethod
    def of(cls, problem: TwoLayers, findings: list[int]) -> "OpenFindings":
        """Causes come first among the units, then the findings of the network."""
        f, count = problem.activation, len(problem.log_on)
        edges = np.isin(problem.finding, findings)
        finding, cause, weight = (z[edges] for z in (problem.finding, problem.cause, problem.weight))

        def chances(x: np.ndarray) -> np.ndarray:
            return np.stack([f.log_off(x), f.log_on(x)], axis=1)[..., None]

        leak = dict(zip([count + i for i in findings], chances(problem.leak[findings]), strict=True))
        ends = zip(cause.tolist(), (count + finding).tolist(), (weight > 0).tolist(), strict=True)
        switches = tuple(Switch(parent, child, int(when_on)) for parent, child, when_on in ends)
        free = tuple(np.unique(cause).tolist())
        structure = Structure(count + len(problem.leak), free, tuple(leak), switches, (), free)
        return cls(structure, leak, dict(zip(switches, chances(np.abs(weight)), strict=True)), count)

    @property
    def fits(self) -> bool:
        """Whether the tables do not grow too large."""
        try:
            return self._plan.width <= MOST_OPEN
        except TooWide:
            return False

    @property
    def _plan(self) -> Plan:
        return plan(self.structure)

    def log_all_on(self, log_on: np.ndarray, log_off: np.ndarray) -> tuple[float, np.ndarray]:
        """ln P(all findings on) and the posterior means of all causes, given ln of their chances to be on and off."""
        prior = {cause: np.array([[log_off[cause]], [log_on[cause]]]) for cause in self.structure.free}
        none = np.zeros((0, 1))
        factors = Factors(np.zeros(1, int), self.structure, prior, self.leak, self.strength, (), np.zeros(1), none)
        found = eliminated(factors, self._plan)
        means = np.exp(log_on)
        for cause, mean in zip(found.units, found.means, strict=True):
            means[cause] = mean[0]
        return float(found.log_z[0]), means
