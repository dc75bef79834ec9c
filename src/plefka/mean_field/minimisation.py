"""What the methods of `schemes` compute: the minimum of a free energy of the means, for every row.

`posterior` is computed outside a trace of JAX, and `traced` inside one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from plefka.averages.choice import states_held
from plefka.mean_field.free_energies import (
    better_at_first_order,
    check_scheme,
    functional_of,
    solved_by,
    starting_point,
)
from plefka.mean_field.schemes import HigherOrder, MeanField
from plefka.methods.method import does_not_apply
from plefka.methods.posterior import CONVERGED, IMPOSSIBLE, NOT_FINITE, RUNNING, WITHOUT_LEAK, About, Posterior
from plefka.methods.registry import parse_method
from plefka.networks.activations import AnyArray, namespace, numpy_sigmoid
from plefka.reduction.dependence import where_converged
from plefka.reduction.question import LARGEST_THETA, Part, Question
from plefka.runtime.programs import Program
from plefka.solvers.functional import Functional, Objective
from plefka.solvers.implicit import differentiable, other_free_energy
from plefka.solvers.loop import Policy, Search, descend, evaluator, limits, start
from plefka.solvers.policies import POLICIES
from plefka.solvers.rounds import Criteria, Iteration, by_rows, in_rounds

if TYPE_CHECKING:
    from plefka.reduction.traced_reductions import TracedReduction

MOST_PAIRS = 200_000_000  # what fits in memory for one row


def check(method: MeanField, question: Question) -> None:
    """Refuse a question that the method cannot answer, and name a method that can."""
    check_scheme(method, question.model.activation)
    if functional_of(question.model, method).needs_pairs and question.storage.num_pairs() > MOST_PAIRS:
        pairs = f"{question.storage.num_pairs():,} pairs of parents"
        raise does_not_apply(method, f"it would sum over {pairs} (the limit is {MOST_PAIRS:,})", "G221")


def objective_of(method: MeanField, question: Question) -> Objective:
    """What a method minimises and evaluates."""
    model, last = question.model, functional_of(question.model, method).fitted(question)
    name = solved_by(model, method)
    if name == method.name:
        return Objective(last)
    return Objective(functional_of(model, scheme(name)).fitted(question), last)


def scheme(name: str) -> MeanField:
    """The method of this name."""
    return cast(MeanField, parse_method(name))


class Minimum(NamedTuple):
    """Where a search ended; and d ln P / dh, and what each unit contributes to the second order, where wanted."""

    theta: AnyArray
    G: AnyArray
    status: AnyArray
    steps: AnyArray
    cycles: AnyArray
    residual: AnyArray
    slope: Any = None
    contributions: Any = None

    @classmethod
    def of(cls, search: Search, policy: Policy, slope: Any = None, contributions: Any = None) -> "Minimum":
        """What is known of every row at the end of a search."""
        point, cycles = search.point, policy.cycles(search.memory)
        found = point.theta, point.G, search.status, search.steps, cycles, point.residual
        return cls(*found, slope, contributions)


@dataclass(frozen=True)
class Minimisation(Iteration):
    """Downhill on a free energy."""

    functional: Functional
    policy: Policy
    pairs: Functional | None = None  # whose contributions at the minimum are wanted
    needs_slope: bool = False

    def prepare(self, question: Question) -> Question:
        degree = max(z.powers(question.model.activation) for z in (self.functional, self.pairs) if z is not None)
        return question.opened(degree, pairs=self.functional.needs_pairs or self.pairs is not None)

    def advance(self, prepared: Question, state: Search, tol, max_steps, few) -> Search:
        evaluate = evaluator(prepared, self.functional.energy)
        return descend(evaluate, limits(prepared, tol, max_steps), self.policy, state, few)

    def answer(self, prepared: Question, state: Search) -> Minimum:
        u = prepared.means(state.point.theta)
        slope = self.functional.bias_slope(prepared, u) if self.needs_slope else None
        added = None if self.pairs is None else prepared.free * self.pairs.pair_contributions(prepared, u)
        return Minimum.of(state, self.policy, slope, added)


def posterior(method: MeanField, part: Part, *, dtype: str, contributions: bool = False) -> Posterior:
    """Solve every row, from every starting point, and keep the lowest free energy that converged.

    `contributions`: of each unit to the second order at the solution, as well.
    """
    check(method, part.question)
    descent = _Descent.of(method, part, dtype, contributions=contributions)
    best = None
    for theta in starts(method, descent.question):
        found = descent.minimum(descent.cooled(theta))
        best = found if best is None else better(best, found)
    assert best is not None
    found = _answer(descent, best)
    beyond = np.flatnonzero(better_at_first_order(method, part.question, found.means))
    if not beyond.size:
        return found
    at_first = posterior(replace(cast(HigherOrder, method), solve=False), part.take(beyond), dtype=dtype)
    return found.with_rows(beyond, at_first)


def slopes_at(
    method: MeanField, part: Part, means: np.ndarray, *, dtype: str, contributions: bool = False
) -> np.ndarray:
    """d ln P / dh at these means, (units, rows), by the program of `posterior`: a search that has ended stays there."""
    descent = _Descent.of(method, part, dtype, contributions=contributions)._replace(needs_slope=True)
    u = means[: descent.question.num_searched]
    with np.errstate(divide="ignore", invalid="ignore"):
        theta = np.clip(np.log(u) - np.log1p(-u), -LARGEST_THETA, LARGEST_THETA)
    return descent.minimum(theta, status=CONVERGED).slope


class _Descent(NamedTuple):
    """What is minimised, about a question that has all that is looked up."""

    method: MeanField
    objective: Objective
    question: Question
    pairs: Functional | None  # whose contributions are wanted
    needs_slope: bool
    dtype: str

    @classmethod
    def of(cls, method: MeanField, part: Part, dtype: str, *, contributions: bool) -> "_Descent":
        objective = objective_of(method, part.question)
        pairs = functional_of(part.question.model, scheme("G2")).fitted(part.question) if contributions else None
        question = objective.prepared(part.question, pairs=contributions)
        return cls(method, objective, question, pairs, part.needs_slope, dtype)

    def cooled(self, theta: np.ndarray) -> np.ndarray:
        """Where searches at higher temperatures end, each of which starts where the one before ended."""
        question, model = self.question, self.question.model
        for step in range(self.method.anneal):
            hot = replace(question, model=model.at_inverse_temperature((step + 1) / (self.method.anneal + 1)))
            theta = self._replace(question=hot).minimum(theta).theta
        return theta

    def minimum(self, theta: np.ndarray, status: int = RUNNING) -> Minimum:
        """From theta downhill."""
        functional, question, storage = self.objective.minimised, self.question, self.question.storage
        policy, num_pairs = POLICIES[self.method.policy], storage.num_pairs() if functional.needs_pairs else 0
        work = [
            max(storage.num_edges, functional.row_work(question.size, storage.num_edges, pairs))
            for pairs in (num_pairs, num_pairs if self.pairs is None else storage.num_pairs())
        ]  # what units contribute is computed once, at the end
        if (f := question.model.activation) is not None:
            work[1] = max(work[1], states_held(f, storage.most_parents()))
        theta = np.where(question.searched, theta, 0.0).astype(self.dtype)

        def first(rows: Any) -> Search:
            search = start(policy, theta[:, rows])
            search.status[:] = status
            return search

        wants_slope = self.needs_slope and self.objective.evaluated is None
        criteria = Criteria(float(self.method.tol), self.method.max_steps)
        iteration = Minimisation(functional, policy, self.pairs, wants_slope)
        found = in_rounds(iteration, question, first, criteria, row_work=work[1], step_work=work[0], dtype=self.dtype)
        return Minimum(*found)


def starts(method: MeanField, question: Question) -> Iterator[Any]:
    """Natural parameters to start from: those of the model, which are u = 1/2 or near it, then u uniform at random."""
    shape = (question.num_searched, question.num_rows)
    yield starting_point(question)[: question.num_searched]
    if method.restarts:
        rng = np.random.default_rng(method.seed)
        yield from (random_start(rng, shape) for _ in range(method.restarts))


def random_start(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """The natural parameters of means that are uniform between 0 and 1."""
    u = rng.uniform(1e-6, 1 - 1e-6, shape)
    return np.log(u) - np.log1p(-u)


def better(a: Minimum, b: Minimum) -> Minimum:
    """Row by row the search that converged, or of two such the one with the lower minimum."""
    done_a, done_b = a.status == CONVERGED, b.status == CONVERGED
    b_wins = (done_b & ~done_a) | ((done_a == done_b) & (b.G < a.G))
    chosen = jax.tree.map(lambda x, y: namespace(b_wins).where(b_wins, y, x), a, b)
    return chosen._replace(steps=a.steps + b.steps)


def _answer(descent: _Descent, found: Minimum) -> Posterior:
    """Means and free energies at the minimum."""
    question, last = descent.question, descent.objective.last
    G, slope, means = found.G, found.slope, _means(question, found.theta)
    if descent.objective.evaluated is not None:
        work = question.storage.num_edges * question.num_rows
        options = {"objective": descent.objective, "needs_slope": descent.needs_slope, "dtype": descent.dtype}
        G, means, slope = by_rows(_evaluate, question, means, work=work, **options)
    status = np.where(np.isnan(means).any(0) | np.isnan(G), NOT_FINITE, found.status)
    missing = last.units_without_leak(question)
    if missing is not None and missing.any():
        without = missing.any(axis=0)
        status, G = np.where(without, WITHOUT_LEAK, status), np.where(without, np.inf, G)
    else:
        missing = None
    about = About(
        is_bound=last.is_bound, notes=last.notes, by_field=last.predicts_by_field, without_leak=missing,
        contributions=found.contributions,
        exact_rows=partial(where_converged, last.exact_rows, question, found.residual),
    )  # fmt: skip
    return Posterior(means, G, status, found.steps, found.cycles, found.residual, slope, about)


def _means(question: Question, theta: AnyArray) -> np.ndarray:
    """u_i = sigma(theta_i), or the value."""
    u = np.array(question.values, theta.dtype)
    head = question.num_searched
    u[:head] = np.where(question.searched, numpy_sigmoid(theta), u[:head])
    return u


def _at_minimum(question: Question, means, *, objective: Objective, needs_slope: bool):
    last = objective.last
    question = question.opened(last.powers(question.model.activation), pairs=last.needs_pairs)
    G, means = other_free_energy(question, objective, means)
    return G, means, last.bias_slope(question, means) if needs_slope else None


_evaluate = Program(_at_minimum)


# ---- inside a user's trace, where the search is the same, and has derivatives at its end -----------------------------


def traced(method: MeanField, reduction: "TracedReduction") -> Posterior:
    """Inside a user's trace, in its precision and with derivatives by everything in the network."""
    check(method, reduction.question)
    objective = objective_of(method, reduction.question)
    question = objective.prepared(reduction.question)
    opened = objective.opened(question)
    found = _traced_minimum(method, objective.minimised, *jax.lax.stop_gradient((question, opened)))
    beyond = better_at_first_order(method, question, opened.means(found.theta))
    if isinstance(beyond, np.ndarray):  # nowhere, whatever the numbers are
        return _traced_answer(objective, reduction, question, opened, found)
    # 0 times a slope that is no number would be no number: where another answer counts, this one is at means of 1/2.
    own = _traced_answer(
        objective, reduction, question, opened, found._replace(theta=jnp.where(beyond, 0.0, found.theta))
    )

    def with_others() -> tuple:
        at_first = traced(replace(cast(HigherOrder, method), solve=False), reduction)
        return tuple(jnp.where(beyond, *fields) for fields in zip(at_first[:6], own[:6], strict=True))

    return Posterior(*jax.lax.cond(beyond.any(), with_others, lambda: tuple(own[:6])), about=own.about)


def _traced_answer(
    objective: Objective, reduction: "TracedReduction", question: Question, opened: Question, found: Minimum
) -> Posterior:
    """Means and free energies at the minimum, with derivatives."""
    last, predicted = objective.last, partial(reduction.predicted, opened)
    means, G = differentiable(opened, objective, found.theta, predicted)
    slope = last.bias_slope(opened, means) if reduction.sums_out else None
    means = predicted(reduction.restored(means, slope), last)
    status = jnp.where(jnp.isnan(means).any(0) | jnp.isnan(G), NOT_FINITE, found.status)
    missing = last.units_without_leak(question)
    if missing is not None:
        status, G = (jnp.where(missing.any(0), *pair) for pair in ((WITHOUT_LEAK, status), (jnp.inf, G)))
    nothing_free = jnp.isposinf(G) & (status != WITHOUT_LEAK) & ~question.free.any(0)
    status = jnp.where(nothing_free, IMPOSSIBLE, status)
    about = About(is_bound=last.is_bound, notes=last.notes)
    return Posterior(means, G, status, found.steps, found.cycles, found.residual, None, about)


def _traced_minimum(method: MeanField, functional: Functional, question: Question, opened: Question) -> Minimum:
    """The best of all starting points, of a question that is also given as it is inside a computation."""
    iteration, best = Minimisation(functional, POLICIES[method.policy]), None

    def search(opened: Question, theta: Any) -> Search:
        return iteration.advance(opened, start(iteration.policy, theta), method.tol, method.max_steps, 0)

    def cooler(step: Any, theta: Any) -> Any:
        model = question.model.at_inverse_temperature((step + 1) / (method.anneal + 1))
        return search(iteration.prepare(replace(question, model=model)), theta).point.theta

    for theta in starts(method, question):
        theta = jnp.where(opened.searched, jnp.asarray(theta, opened.values.dtype), 0.0)
        theta = jax.lax.fori_loop(0, method.anneal, cooler, theta) if method.anneal else theta
        found = iteration.answer(opened, search(opened, theta))
        best = found if best is None else better(best, found)
    assert best is not None
    return best
