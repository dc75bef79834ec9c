"""The bound as a function of the rates, one for each finding that is transformed; the other findings are exact.

    ln P <= constant + sum_i [rate_i leak_i - conjugate(rate_i)]
                     + sum_j ln(exp(log_on_j + sum_i a_ij) + exp(log_off_j)) + ln P(exact findings on)

with a_ij = rate_i w_ij, or, where that is less, the room that is left up to ln f = 0: a cause that fills it alone makes
the bound of f one, whatever the other causes do. So certain edges have a finite bound too.
"""

from dataclasses import dataclass

import numpy as np

from plefka.bounds.open_findings import Effect, Plan, plan
from plefka.bounds.two_layers import Edges, TwoLayers, log_noisy_or

LIMIT = 60.0  # of the numbers y that spell rates
MAX_STEPS = 300
LONGEST = 30.0  # how far an edge counts in the rates to begin with


@dataclass(frozen=True)
class Found:
    """The rates that were found, the posterior means of the causes under them, and the bound."""

    y: np.ndarray
    means: np.ndarray
    bound: float
    converged: bool
    num_steps: int


class Transformed:
    """A two-layer network with some findings exact and the others transformed."""

    def __init__(self, problem: TwoLayers, exact: list[int]):
        self.problem = problem
        self.exact = exact
        self.soft = np.setdiff1d(np.arange(len(problem.leak)), exact)
        self.leak = problem.leak[self.soft]
        edges = problem.edges.take(np.isin(problem.edges.child, self.soft))
        self.edges = edges._replace(child=np.searchsorted(self.soft, edges.child))
        self.reach = self.leak[self.edges.child] + np.abs(self.edges.weight)  # the field with one cause alone
        self.top = problem.family.log_on(self.reach)
        self.highest = np.minimum(problem.family.y_of_slope(self.leak), LIMIT)
        self.plan = exact_plan(problem, exact) if exact else None

    def bound(self, y: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The bound at some rates, its gradient, and the means of the causes."""
        family, edges = self.problem.family, self.edges
        base, a, slope = self._exponents(y)
        on = self.problem.log_on + _by_cause(edges, np.where(edges.weight > 0, a, 0.0), self.problem)
        off = self.problem.log_off + _by_cause(edges, np.where(edges.weight < 0, a, 0.0), self.problem)
        log_z = np.logaddexp(on, off)
        means, log_p = np.exp(on - log_z), 0.0
        if self.plan is not None:
            log_p, means = self.plan.log_all_on(means)
        acting = np.where(edges.weight > 0, means[edges.parent], 1 - means[edges.parent])
        by_rate = self.leak - family.slope(y) + np.bincount(edges.child, acting * slope, len(self.leak))
        value = self.problem.constant + base.sum() + log_z.sum() + log_p
        return float(value), by_rate * family.d_rate(y), means

    def _exponents(self, y: np.ndarray):
        """What a finding has with no cause; what each edge adds to it, and the derivative of that by the rate."""
        family, edges = self.problem.family, self.edges
        rate, touch = family.rate(y), family.slope(y)
        base = rate * self.leak - family.conjugate(y)
        size = np.abs(edges.weight)
        straight = self.reach <= touch[edges.child]
        a = np.where(straight, rate[edges.child] * np.where(straight, size, 0.0), self.top - base[edges.child])
        return base, a, np.minimum(size, (touch - self.leak)[edges.child])

    def start(self) -> np.ndarray:
        """The rates that are best if every cause is as probable as before the findings."""
        edges, problem = self.edges, self.problem
        on = np.exp(problem.log_on - np.logaddexp(problem.log_on, problem.log_off))
        acting = np.where(edges.weight > 0, on[edges.parent], 1 - on[edges.parent])
        added = np.bincount(edges.child, acting * np.minimum(np.abs(edges.weight), LONGEST), len(self.leak))
        return np.clip(problem.family.y_of_slope(self.leak + added), -LIMIT, self.highest)

    def minimise(self, y: np.ndarray) -> Found:
        """The lowest bound that a search from these rates finds; it is never above the one it starts from."""
        if y.size == 0:
            value, _, means = self.bound(y)
            return Found(y, means, value, True, 1)
        from scipy.optimize import minimize

        found = minimize(
            lambda y: self.bound(y)[:2], y, jac=True, method="L-BFGS-B", bounds=[(-LIMIT, high) for high in self.highest],
            options={"maxiter": MAX_STEPS, "ftol": 1e-13, "gtol": 1e-7},
        )  # fmt: skip
        value, _, means = self.bound(found.x)
        return Found(found.x, means, value, bool(found.success), int(found.nfev) + 1)

    def costs(self, found: Found) -> np.ndarray:
        """How much lower the bound would be if a transformed finding were exact, for each, taking causes as independent."""
        edges = self.edges
        base, a, _ = self._exponents(found.y)
        means = np.clip(found.means, 1e-300, 1 - 1e-16)
        log_odds = (np.log(means) - np.log1p(-means))[edges.parent] * np.sign(edges.weight) - a
        acting = 1 / (1 + np.exp(-log_odds))  # without what this finding says of the cause
        bounded = base + np.bincount(edges.child, np.log1p(acting * np.expm1(np.minimum(a, 700.0))), len(self.leak))
        stay = np.log1p(acting * np.expm1(-np.abs(edges.weight)))
        return bounded - log_noisy_or(self.leak - np.bincount(edges.child, stay, len(self.leak)))


def _by_cause(edges: Edges, values: np.ndarray, problem: TwoLayers) -> np.ndarray:
    return np.bincount(edges.parent, values, len(problem.log_on))


def exact_plan(problem: TwoLayers, exact: list[int]) -> Plan:
    """The order in which the exact findings are summed over; they are numbered by their place in the list."""
    edges = problem.edges.take(np.isin(problem.edges.child, exact))
    place = {finding: k for k, finding in enumerate(exact)}
    columns = zip(edges.child.tolist(), edges.parent.tolist(), edges.weight.tolist(), strict=True)
    return plan(problem.leak[exact], [Effect(place[i], j, abs(w), w > 0) for i, j, w in columns])
