"""`minibucket`: the best bound that a search over shifts, weights and tangents finds, row by row."""

import numpy as np
from scipy.optimize import minimize

from plefka.exact.bounding_tables import bounding_tables
from plefka.exact.cost import BOUND_ENTRY, BOUND_MEMBER
from plefka.exact.elimination import EliminationAnswer
from plefka.exact.exact_method import MiniBucketMethod
from plefka.exact.mini_buckets import BucketBound, MiniBuckets, OrderWriter
from plefka.exact.question_elimination import slopes_of
from plefka.methods.posterior import CONVERGED, IMPOSSIBLE, OUT_OF_STEPS, About, Posterior
from plefka.reduction.question import Part, Question
from plefka.runtime.value_cache import cached_for


class BoundedRow:
    """A question with a single row, and its mini-buckets."""

    def __init__(self, question: Question, most: int):
        self.question, self.tables = question, bounding_tables(question, most)
        self.scopes = self.tables.scopes + [axes for each in self.tables.tangents for axes in each.scopes]
        form = (OrderWriter, *self.scopes)  # which mostly are the same however many axes a mini-bucket may have
        self.order = cached_for(question, form, lambda: OrderWriter(self.scopes).written().eliminated)
        self.buckets = MiniBuckets(self.scopes, self.order, most)
        self.ends = np.cumsum([0, *(len(each.field) for each in self.tables.tangents)])  # of parameters of tangents
        self.num_parameters = int(self.ends[-1]) + self.buckets.num_parameters
        self.is_exact = self.tables.is_exact and not self.num_parameters
        self.seconds = BOUND_MEMBER * self.buckets.num_members + BOUND_ENTRY * self.buckets.entries  # of a bound

    def logs(self, parameters: np.ndarray) -> list[np.ndarray]:
        """All tables, with those of tangents."""
        pieces = zip(self.tables.tangents, np.split(parameters, self.ends[1:]), strict=False)
        return self.tables.logs + [log for each, z in pieces for log in each.logs(z)]

    def bound(self, parameters: np.ndarray) -> BucketBound:
        """At these tangents, shifts and logits of weights."""
        found = self.buckets.bound(self.logs(parameters), parameters[self.ends[-1] :])
        gradients, place = [], len(self.tables.logs)
        for each, z in zip(self.tables.tangents, np.split(parameters, self.ends[1:]), strict=False):
            gradients.append(each.gradient(z, found.chances[place : place + len(each.scopes)]))
            place += len(each.scopes)
        value = self.tables.constant + found.value
        return found._replace(value=value, gradient=np.concatenate([*gradients, found.gradient]))

    def best(self, max_steps: int, tol: float) -> Posterior:
        """The lowest bound on the way of a quasi-Newton search, with what rounding may have taken from it."""
        x, num_steps, converged = np.zeros(self.num_parameters), 1, True
        best = [(x, self.bound(x))]
        if self.num_parameters and np.isfinite(best[0][1].value):

            def evaluate(x: np.ndarray) -> tuple[float, np.ndarray]:
                found = self.bound(x)
                if found.value < best[0][1].value:
                    best[0] = x.copy(), found
                return found.value, found.gradient

            ftol = tol / max(1.0, abs(best[0][1].value))
            options = {"maxfun": max_steps, "maxiter": max_steps, "gtol": 0.0, "ftol": ftol}
            with np.errstate(all="ignore"):  # a step may be so long that there is no number
                ended = minimize(evaluate, x, jac=True, method="L-BFGS-B", options=options)
            num_steps, converged = ended.nfev, bool(ended.success)
        x, found = best[0]
        means = np.where(self.question.free, 0.5, self.question.values)[:, 0]
        places = [(axis, place) for place, axis in enumerate(self.order) if axis < len(means)]
        axes, at = np.array(places, int).reshape(-1, 2).T
        means[axes] = found.means[at]
        log_z = found.value if self.is_exact else found.value + self._rounding(x)
        status = np.array([IMPOSSIBLE if np.isneginf(log_z) else CONVERGED if converged else OUT_OF_STEPS])
        one, residual = np.ones(1, int), np.abs(found.gradient).max(initial=0.0, keepdims=True)
        slope = self._slope(means, found.chances)
        return Posterior(means[:, None], -one * log_z, status, one * num_steps, 0 * one, residual, slope)

    def _rounding(self, x: np.ndarray) -> float:
        """No number on the way is above the sum of the largest entries of all tables and shifts."""
        sizes = sum(float(np.abs(log[np.isfinite(log)]).max(initial=0.0)) for log in self.logs(x)) + np.abs(x).sum()
        steps = 2 * self.buckets.num_members + 8 * len(self.buckets.mini_buckets)
        return float(np.finfo(float).eps * steps * (1 + abs(self.tables.constant) + sizes))

    def _slope(self, means: np.ndarray, chances: list[np.ndarray]) -> np.ndarray:
        """d ln Z / dh of all units, (units, 1)."""
        factors, leaks = self.tables.factors, self.tables.leaks
        if factors is None:
            return np.zeros((len(means), 1))
        slopes = np.array([chances[number].ravel() @ slope for number, slope in leaks.values()]).reshape(-1, 1)
        found = EliminationAnswer(slopes, slopes, slopes, np.array(list(leaks), int), slopes)
        return slopes_of(self.question, factors, means[:, None], found)


def posterior(method: MiniBucketMethod, part: Part, *, dtype: str) -> Posterior:
    """Bounds of ln P(evidence) from above, and means; the residual is by how much marginals of mini-buckets differ."""
    rows = [BoundedRow(part.question.take([row]), method.i) for row in range(part.question.num_rows)]
    exact = np.array([row.is_exact for row in rows])
    about = About(bool(exact.all()), is_upper=True, exact_rows=lambda: exact)
    found = Posterior.join([row.best(method.max_steps, method.tol) for row in rows], about)
    slope = found.slope if part.needs_slope else None
    return found._replace(means=found.means.astype(dtype), slope=slope)  # ln P is not rounded, to stay a bound
