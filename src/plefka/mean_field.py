"""Mean-field methods: a free energy of the means is minimised for every row, starting point after starting point."""

from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import expit

from plefka.activations import Activation, AnyArray, namespace
from plefka.free_energies.functional import Functional
from plefka.free_energies.orders import Orders
from plefka.free_energies.sjj import SaulJaakkolaJordan
from plefka.free_energies.taylor import Taylor
from plefka.free_energies.untruncated import Untruncated
from plefka.methods import MeanField, does_not_apply
from plefka.posterior import About, Posterior
from plefka.programs import Program
from plefka.question import Question
from plefka.reduction.predicting import predict_traced
from plefka.solution import CONVERGED, IMPOSSIBLE, NOT_FINITE, WITHOUT_LEAK
from plefka.solvers.implicit import differentiable, other_free_energy
from plefka.solvers.loop import Policy, Search, descend, evaluator, limits, start
from plefka.solvers.monotone import Monotone
from plefka.solvers.paper import Paper
from plefka.solvers.rounds import by_rows, in_rounds

if TYPE_CHECKING:
    from plefka.reduction.reduce import Part, TracedReduction

FUNCTIONALS: dict[str, Functional] = {
    **{f"G1{degree}": Taylor(1, degree) for degree in range(5)},
    "G21": Taylor(2, 1, 1),
    "G22": Taylor(2, 2, 2),
    "G221": Taylor(2, 2, 1),
    "G212": Taylor(2, 1, 2),
    "SJJ": SaulJaakkolaJordan(),
    "G1": Untruncated(1),
    "G2": Untruncated(2),
    "G3": Orders(3),
    "G4": Orders(4),
}
POLICIES: dict[str, Policy] = {"monotone": Monotone(), "paper": Paper()}
MOST_PAIRS = 200_000_000  # what fits in memory for one row


def check_activation(method: MeanField, activation: Activation) -> None:
    """SJJ is for the sigmoid."""
    if method.name == "SJJ" and not activation.has_linear_log_odds:
        why = f"its bound is for sigmoid networks, and this one is {activation.name}"
        raise does_not_apply(method, why, "G1, a bound for every activation,")


def check(method: MeanField, question: Question) -> None:
    """Refuse a question that the method cannot answer, and name a method that can."""
    check_activation(method, question.model.activation)
    if method.functional.needs_pairs and question.storage.num_pairs() > MOST_PAIRS:
        pairs = f"{question.storage.num_pairs():,} pairs of parents"
        raise does_not_apply(method, f"it would sum over {pairs}, and {MOST_PAIRS:,} is the most", "G221")


class Objective(NamedTuple):
    """The free energy that is minimised, and the one that is evaluated at the minimum, where that is another one."""

    minimised: Functional
    evaluated: Functional | None = None

    @property
    def last(self) -> Functional:
        """The one whose value is the answer."""
        return self.evaluated or self.minimised

    def prepared(self, question: Question, *, pairs: bool = False) -> Question:
        """The question with all that the functionals look up."""
        storage = question.storage.prepared(
            pairs=pairs or self.last.needs_pairs or self.minimised.needs_pairs,
            tables=self.last.needs_tables or self.minimised.needs_tables,
        )
        return question.with_model(weights=storage)


def objective_of(method: MeanField, question: Question) -> Objective:
    """What a method minimises and evaluates."""
    last = method.functional.fitted(question)
    if method.solved_by == method.name:
        return Objective(last)
    return Objective(FUNCTIONALS[method.solved_by].fitted(question), last)


class Descent(eqx.Module):
    """A search, and at its end d ln P / dh and what each unit contributes to the second order, where wanted."""

    search: Search
    slope: Any = None
    contributions: Any = None

    @property
    def status(self) -> Any:
        """Of every row."""
        return self.search.status


def posterior(method: MeanField, part: "Part", *, dtype: str, contributions: bool = False) -> Posterior:
    """Solve every row, from every starting point, and keep the lowest free energy that converged.

    `contributions`: of each unit to the second order at the solution, as well.
    """
    question = part.question
    check(method, question)
    objective = objective_of(method, question)
    pairs = Untruncated(2).fitted(question) if contributions else None
    question = objective.prepared(question, pairs=contributions)
    best = None
    for theta in _starts(method, question):
        found = _minimum(method, objective, pairs, part.needs_slope, question, theta, dtype)
        best = found if best is None else _better(best, found)
    assert best is not None
    return _answer(objective, question, best, dtype, part.needs_slope)


def _starts(method: MeanField, question: Question):
    """Natural parameters to start from: u = 1/2, then u uniform at random."""
    shape = (question.num_searched, question.num_rows)
    yield np.zeros(shape)
    rng = np.random.default_rng(method.seed)
    for _ in range(method.restarts):
        u = rng.uniform(1e-6, 1 - 1e-6, shape)
        yield np.log(u) - np.log1p(-u)


def _minimum(
    method: MeanField, objective: Objective, pairs: Untruncated | None, needs_slope: bool, question: Question,
    theta: np.ndarray, dtype: str,
) -> Descent:  # fmt: skip
    policy, functional, storage = POLICIES[method.policy], objective.minimised, question.storage
    num_pairs = storage.num_pairs() if functional.needs_pairs or pairs is not None else 0
    row_work = functional.row_work(question.size, storage.num_edges, num_pairs)

    def advance(question: Question, before: Descent, few: int) -> Descent:
        work = max(storage.num_edges, row_work) * question.num_rows
        return _descend(
            question, before, float(method.tol), method.max_steps, few, functional=functional, policy=policy,
            pairs=pairs, work=work, dtype=dtype,
        )  # fmt: skip

    search = start(policy, np.where(question.searched, theta, 0.0).astype(dtype))
    nothing = np.zeros(question.free.shape, dtype)
    slope = nothing if needs_slope and objective.evaluated is None else None
    return in_rounds(advance, question, Descent(search, slope, None if pairs is None else nothing), row_work)


def _descent(
    question: Question, before: Descent, tol, max_steps, few,
    *, functional: Functional, policy: Policy, pairs: Untruncated | None,
) -> Descent:  # fmt: skip
    degree = functional.powers(question.model.activation)
    question = question.opened(degree, pairs=functional.needs_pairs or pairs is not None)
    evaluate = evaluator(question, functional.energy)
    found = descend(evaluate, limits(question, tol, max_steps), policy, before.search, few)
    u = question.means(found.point.theta)
    slope = None if before.slope is None else functional.bias_slope(question, u)
    return Descent(found, slope, None if pairs is None else question.free * pairs.pair_contributions(question, u))


_descend = Program(_descent)


def _better(a: Any, b: Any) -> Any:
    """Row by row the search that converged, or of two such the one with the lower minimum."""
    first, second = (x.search if isinstance(x, Descent) else x for x in (a, b))
    done_a, done_b = first.status == CONVERGED, second.status == CONVERGED
    b_wins = (done_b & ~done_a) | ((done_a == done_b) & (second.point.G < first.point.G))
    chosen = jax.tree.map(lambda x, y: namespace(b_wins).where(b_wins, y, x), a, b)
    steps = first.steps + second.steps
    return eqx.tree_at(lambda x: x.search.steps if isinstance(x, Descent) else x.steps, chosen, steps)


def _answer(objective: Objective, question: Question, found: Descent, dtype: str, needs_slope: bool) -> Posterior:
    """Means and free energies at the minimum."""
    search, last, slope = found.search, objective.last, found.slope
    G, means = search.point.G, _means(question, np.asarray(search.point.theta))
    if objective.evaluated is not None:
        work = question.storage.num_edges * question.num_rows
        options = {"objective": objective, "needs_slope": needs_slope, "work": work, "dtype": dtype}
        G, means, slope = by_rows(_evaluate, question, means, **options)
    status = np.where(np.isnan(means).any(0) | np.isnan(G), NOT_FINITE, search.status)
    missing = last.units_without_leak(question)
    if missing is not None and missing.any():
        without = missing.any(axis=0)
        status, G = np.where(without, WITHOUT_LEAK, status), np.where(without, np.inf, G)
    else:
        missing = None
    about = About(
        is_bound=last.is_bound, notes=last.notes, by_field=last.predicts_by_field, without_leak=missing,
        contributions=found.contributions,
    )  # fmt: skip
    return Posterior(means, G, status, search.steps, _cycles(search), search.point.residual, slope, about)


def bias_slopes(functional: Functional, question: Question, means: np.ndarray, dtype: str) -> np.ndarray:
    """d ln P / dh at these means, (units, rows)."""
    work = question.storage.num_edges * question.num_rows
    prepared = Objective(functional).prepared(question)
    return by_rows(_bias_slope, prepared, means, functional=functional, work=work, dtype=dtype)


def _cycles(found: Search) -> np.ndarray:
    return found.memory if isinstance(found.memory, np.ndarray) else np.zeros(found.status.shape, int)


def _means(question: Question, theta: AnyArray) -> np.ndarray:
    """u_i = sigma(theta_i), or the value."""
    u = np.array(question.values, theta.dtype)
    head = question.num_searched
    u[:head] = np.where(question.searched, expit(theta), u[:head])
    return u


def _at_minimum(question: Question, means, *, objective: Objective, needs_slope: bool):
    last = objective.last
    question = question.opened(last.powers(question.model.activation), pairs=last.needs_pairs)
    G, means = other_free_energy(question, objective, means)
    return G, means, last.bias_slope(question, means) if needs_slope else None


def _slope_at(question: Question, means, *, functional: Functional):
    opened = question.opened(functional.powers(question.model.activation), pairs=functional.needs_pairs)
    return functional.bias_slope(opened, means)


_evaluate, _bias_slope = Program(_at_minimum), Program(_slope_at)


def traced(method: MeanField, reduction: "TracedReduction") -> Posterior:
    """Inside a user's trace, in its precision and with derivatives by everything in the network."""
    question = reduction.question
    check(method, question)
    objective = objective_of(method, question)
    question = objective.prepared(question)
    functional, last, policy = objective.minimised, objective.last, POLICIES[method.policy]
    opened = question.opened(functional.powers(question.model.activation), pairs=last.needs_pairs)
    found = _search_traced(method, functional, policy, jax.lax.stop_gradient(opened))

    def predicted(u, functional):
        return predict_traced(opened, u, functional.chance)

    means, G = differentiable(opened, objective, found.point.theta, predicted)
    slope = last.bias_slope(opened, means) if reduction.sums_out else None
    means = predicted(reduction.with_summed(means, slope), last)
    status = jnp.where(jnp.isnan(means).any(0) | jnp.isnan(G), NOT_FINITE, found.status)
    missing = last.units_without_leak(question)
    if missing is not None:
        status, G = (jnp.where(missing.any(0), *pair) for pair in ((WITHOUT_LEAK, status), (jnp.inf, G)))
    nothing_free = jnp.isposinf(G) & (status != WITHOUT_LEAK) & ~question.free.any(0)
    status = jnp.where(nothing_free, IMPOSSIBLE, status)
    about = About(is_bound=last.is_bound, notes=last.notes)
    return Posterior(means, G, status, found.steps, policy.cycles(found.memory), found.point.residual, None, about)


def _search_traced(method: MeanField, functional: Functional, policy: Policy, question: Question) -> Search:
    """The best of all starting points."""
    evaluate, best = evaluator(question, functional.energy), None
    for theta in _starts(method, question):
        search = start(policy, jnp.where(question.searched, jnp.asarray(theta, question.values.dtype), 0.0))
        found = descend(evaluate, limits(question, method.tol, method.max_steps), policy, search)
        best = found if best is None else _better(best, found)
    assert best is not None
    return best
