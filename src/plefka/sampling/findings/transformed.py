"""The bound with some findings transformed, as a function of where, and the other findings exact.

For a finding that is on, follow the tangent of ln f from its leak up to the field x where it touches, and ln f itself
from there on. That curve is concave and never below ln f, so that what several causes add to it is at most the sum of
what each adds alone:

    ln f(leak + sum_j w_j S_j) <= base + sum_j a_j S_j,    base = ln f(x) - rate (x - leak),  rate = (ln f)'(x),
                                                           a_j = rate w_j where leak + w_j <= x,
                                                                 ln f(leak + w_j) - base beyond

Jaakkola and Jordan take the tangent for all fields, a_j = rate w_j, which is never less, and infinite for a certain
edge. What is left of the finding moves the odds of its causes, and their posterior is that of a network without it:

    ln P <= constant + sum_i base_i + sum_j ln(exp(log_on_j + sum_i a_ij) + exp(log_off_j))

over causes that are then independent of all else; the others are summed over together with the exact findings. An
inhibitor adds a_j when it is off.

Which findings are exact is chosen greedily, the one next whose exact treatment lowers the bound most (T. Jaakkola and
M. Jordan, "Variational probabilistic inference and the QMR-DT network", J. Artificial Intelligence Research 10, 1999).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plefka.exact.cost import FINDINGS_EDGE, FINDINGS_ROW, STEP
from plefka.networks.activations import Activation, NoisyOr
from plefka.networks.edge_list import EdgeList
from plefka.reduction.question import Question
from plefka.sampling.findings.descent import descend
from plefka.sampling.findings.problem import FindingsProblem, OpenFindings, acting, fields, rate

NOISY_OR: Activation = NoisyOr()
NEAREST, FARTHEST = -60.0, 10.0  # of ln(x - leak)
FLATTEST = 1e-12
LONGEST_MOVE = 30.0  # how far an edge counts in the fields to begin with
CHOICE_SECONDS = 0.05  # of one sum over the exact findings, of which a search takes some dozens
SUMS_AT_LEAST, SUMS = 12, 5  # of a search, and for each finding that is exact
STEPS_PER_FINDING_EDGE = 0.7  # of a sum, for each edge into findings that are exact
EXACT = (12, 8, 4, 2, 0)  # findings, of which as many are taken as fit


class TangentSearch(NamedTuple):
    """How far the best tangents are searched for; any give a bound."""

    max_steps: int
    tol: float  # the largest slope that may be left


ON_THE_WAY = TangentSearch(max_steps=6, tol=1e-2)  # until the last finding is chosen


@dataclass(frozen=True)
class BestTangents:
    """ln(x - leak) of every transformed finding, the posterior means of the causes under them, and the bound."""

    z: np.ndarray
    means: np.ndarray
    bound: float


class Transformed:
    """A row with some findings exact and the others transformed."""

    def __init__(self, problem: FindingsProblem, exact: list[int]):
        self.problem, self.exact = problem, exact
        self.transformed = np.setdiff1d(np.arange(len(problem.leak)), exact)
        self.leak = problem.leak[self.transformed]
        edges = np.isin(problem.finding, self.transformed)
        self.finding, self.cause = np.searchsorted(self.transformed, problem.finding[edges]), problem.cause[edges]
        self.weight = problem.weight[edges]
        self.size, self.when_on = np.abs(self.weight), self.weight > 0
        self.reach = self.leak[self.finding] + self.size  # the field with one cause alone
        self.top = NOISY_OR.log_on(self.reach)
        self.open = OpenFindings.of(problem, exact)
        self._last: tuple[np.ndarray, tuple[float, np.ndarray]] | None = None  # where it was summed, and what was found

    def bound(self, z: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The bound where the tangents touch at x = leak + exp(z), its gradient, and about its second derivatives."""
        value, means = self._bound_and_means(z)
        t = np.exp(np.clip(z, NEAREST, FARTHEST))
        added = self._by_finding(self._acting(means) * np.minimum(self.size, t[self.finding]))
        slope = rate(self.leak + t)
        curvature = slope * (1 + slope) * t**2  # where the means do not depend on z
        slope = np.where((z > NEAREST) & (z < FARTHEST), curvature * (1 - added / t), 0.0)
        return value, slope, np.maximum(curvature, FLATTEST)

    def _bound_and_means(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        if self._last is None or not np.array_equal(self._last[0], z):
            self._last = z.copy(), self._summed(z)
        return self._last[1]

    def _summed(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        base, on, off = self.odds(z)
        log_z = np.logaddexp(on, off)
        means, together = np.exp(on - log_z), 0.0
        if self.open is not None:
            found, causes = self.open.summed(on, off), self.open.causes
            mean = found.mean_of
            means[causes] = [mean[unit][0] for unit in self.problem.units[causes].tolist()]
            together, log_z[causes] = found.log_z[0], 0.0
        return float(self.problem.constant + base.sum() + log_z.sum() + together), means

    def odds(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What findings have without any cause, and ln of what a cause has when it is on, and when it is off."""
        base, a = self._exponents(z)
        on = self.problem.log_on + self._by_cause(np.where(self.when_on, a, 0.0))
        off = self.problem.log_off + self._by_cause(np.where(self.when_on, 0.0, a))
        return base, on, off

    def drawn(self, z: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """States (causes, count) of the transformed row's posterior, and ln of what truth and transform differ by.

        The mean of its exponential is P / exp(bound). No weight is above one, so that no few draws outweigh all others.
        """
        _, on, off = self.odds(z)
        S = rng.random((len(on), count)) < np.exp(on - np.logaddexp(on, off))[:, None]
        if self.open is not None:
            S[self.open.causes] = self.open.drawn(on, off, count, rng)
        return S, self._log_ratio(z, S)

    def _log_ratio(self, z: np.ndarray, S: np.ndarray) -> np.ndarray:
        base, a = self._exponents(z)
        bound = base[:, None] + acting(self.finding, self.cause, self.when_on, a, len(base), S * 1.0)
        true = NOISY_OR.log_on(fields(self.leak, self.finding, self.cause, self.weight, S))
        return np.minimum(true - bound, 0.0).sum(axis=0)

    def _exponents(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What a finding has without any cause, and what each edge adds to it."""
        t = np.exp(np.clip(z, NEAREST, FARTHEST))
        x = self.leak + t
        slope = rate(x)
        base = NOISY_OR.log_on(x) - slope * t
        straight = self.reach <= x[self.finding]
        along = slope[self.finding] * np.where(straight, self.size, 0.0)
        return base, np.where(straight, along, self.top - base[self.finding])

    def rates(self, z: np.ndarray) -> np.ndarray:
        """How fast the bound grows with the leak of each finding."""
        return rate(self.leak + np.exp(np.clip(z, NEAREST, FARTHEST)))

    def _acting(self, means: np.ndarray) -> np.ndarray:
        """The chance that the cause of an edge is in the state in which it adds to the field."""
        return np.where(self.when_on, means[self.cause], 1 - means[self.cause])

    def _by_finding(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.finding, values, len(self.leak))

    def _by_cause(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.cause, values, len(self.problem.log_on))

    def start(self) -> np.ndarray:
        """Tangents at the mean fields that the findings have while nothing is known of them."""
        on = np.exp(self.problem.log_on - np.logaddexp(self.problem.log_on, self.problem.log_off))
        added = self._by_finding(self._acting(on) * np.minimum(self.size, LONGEST_MOVE))
        return np.log(np.maximum(added, np.exp(NEAREST)))

    def minimise(self, z: np.ndarray, search: TangentSearch) -> BestTangents:
        """The lowest bound that a search from here finds; it is never above the one it starts from."""
        lowest = descend(self.bound, z, search.max_steps, search.tol)
        _, means = self._bound_and_means(lowest.at)
        return BestTangents(lowest.at, means, lowest.value)

    def costs(self, found: BestTangents) -> np.ndarray:
        """How much lower the bound of a noisy-or network would be with one more finding exact, for each of them.

        Causes count as independent, which they are as long as no finding is exact.
        """
        base, a = self._exponents(found.z)
        means = np.clip(self._acting(found.means), 1e-300, 1 - 1e-16)
        log_odds = np.log(means) - np.log1p(-means) - a  # without what this finding says of the cause
        acting = np.exp(-np.logaddexp(0, -log_odds))
        bounded = base - self._by_finding(np.log1p(-means * -np.expm1(-a)))
        stay = self._by_finding(np.log1p(acting * np.expm1(-self.size)))
        return bounded - NOISY_OR.log_on(self.leak - stay)


def transformed(problem: FindingsProblem, most: int, search: TangentSearch) -> tuple[Transformed, BestTangents]:
    """At most so many findings exact, fewer where a sum over them would take too long; the others transformed."""
    relaxed = Transformed(problem, _from_the_start(problem, most))
    found = relaxed.minimise(relaxed.start(), search if len(relaxed.exact) == most else ON_THE_WAY)
    while len(relaxed.exact) < most and (finding := _costliest(relaxed, found)) is not None:
        z = found.z[relaxed.transformed != finding]
        relaxed = Transformed(problem, [*relaxed.exact, finding])
        found = relaxed.minimise(z, ON_THE_WAY)
    return relaxed, relaxed.minimise(found.z, search)


def _from_the_start(problem: FindingsProblem, most: int) -> list[int]:
    """All findings, where that is feasible."""
    findings = list(range(len(problem.leak)))
    return findings if len(findings) <= most and _is_quick(problem, findings) else []


def _costliest(relaxed: Transformed, found: BestTangents) -> int | None:
    """The finding that gains most by being exact, of those with which a sum does not take too long."""
    by_cost = relaxed.transformed[np.argsort(-relaxed.costs(found), kind="stable")].tolist()
    return next((finding for finding in by_cost if _is_quick(relaxed.problem, [*relaxed.exact, finding])), None)


def _is_quick(problem: FindingsProblem, findings: list[int]) -> bool:
    together = OpenFindings.of(problem, findings)
    return together is None or together.seconds <= CHOICE_SECONDS


def affordable(questions: list[Question], seconds: float, *, kept: int = 0) -> int | None:
    """How many findings can be exact; None where none is on, or it takes too long even if all are transformed.

    `kept`: findings that are never exact, of the row that has most of them.
    """
    sizes = np.concatenate([_sizes(question) for question in questions], axis=1) if questions else np.zeros((2, 0))
    most = int(sizes[1].max(initial=0))
    if most == 0:
        return None
    counts = (min(k, max(0, most - kept)) for k in EXACT)
    return next(
        (k for k in counts if sum(_seconds(edges, findings, k) for edges, findings in sizes.T.tolist()) <= seconds),
        None,
    )


def _seconds(num_edges: float, num_findings: float, k: int) -> float:
    """For one row."""
    exact = min(1.0, k / max(1.0, num_findings))
    return (
        FINDINGS_ROW
        + FINDINGS_EDGE * num_edges
        + (SUMS_AT_LEAST + SUMS * k) * STEP * STEPS_PER_FINDING_EDGE * num_edges * exact
    )


def _sizes(question: Question) -> np.ndarray:
    """Of every row, how many edges lead into noisy-or units that are observed on, and how many these units are."""
    f, edges = question.model.activation, EdgeList.of(question.storage)
    if not f.has_linear_log_off:
        return np.zeros((2, question.num_rows), int)
    on = question.model.counted & ~question.free & (question.values == 1) & f.is_linear_off(question.model.h)
    live = on[edges.child] & question.free[edges.parent] & (edges.weight != 0)
    seen = np.zeros(question.free.shape, bool)
    np.logical_or.at(seen, edges.child, live)
    return np.stack([live.sum(axis=0), seen.sum(axis=0)])
