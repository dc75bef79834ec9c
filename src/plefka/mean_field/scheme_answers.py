"""What the methods of `schemes` compute: `posterior` outside a trace of JAX, and `traced` inside one.

Inside a user's trace the search is that of `minimisation`, and there are derivatives of where it ends.
"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from plefka.mean_field.minimisation import Minimisation, Minimum, Objective, better, check, objective_of, starts
from plefka.mean_field.minimisation import posterior as posterior
from plefka.mean_field.scheme_by_kind import better_at_first_order
from plefka.mean_field.schemes import HigherOrder, MeanField
from plefka.methods.posterior import About, Posterior
from plefka.methods.status import IMPOSSIBLE, NOT_FINITE, WITHOUT_LEAK
from plefka.reduction.question import Question
from plefka.solvers.functional import Functional
from plefka.solvers.implicit import differentiable
from plefka.solvers.loop import Search, start
from plefka.solvers.policies import POLICIES

if TYPE_CHECKING:
    from plefka.reduction.traced_reductions import TracedReduction


def traced(method: MeanField, reduction: "TracedReduction") -> Posterior:
    """Inside a user's trace, in its precision and with derivatives by everything in the network."""
    check(method, reduction.question)
    objective = objective_of(method, reduction.question)
    question = objective.prepared(reduction.question)
    opened = objective.opened(question)
    found = _minimum(method, objective.minimised, *jax.lax.stop_gradient((question, opened)))
    beyond = better_at_first_order(method, question, opened.means(found.theta))
    if isinstance(beyond, np.ndarray):  # nowhere, whatever the numbers are
        return _at_minimum(objective, reduction, question, opened, found)
    # 0 times a slope that is no number would be no number: where another answer counts, this one is at means of 1/2.
    own = _at_minimum(objective, reduction, question, opened, found._replace(theta=jnp.where(beyond, 0.0, found.theta)))

    def with_others() -> tuple:
        at_first = traced(replace(cast(HigherOrder, method), solve=False), reduction)
        return tuple(jnp.where(beyond, *fields) for fields in zip(at_first[:6], own[:6], strict=True))

    return Posterior(*jax.lax.cond(beyond.any(), with_others, lambda: tuple(own[:6])), about=own.about)


def _at_minimum(
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


def _minimum(method: MeanField, functional: Functional, question: Question, opened: Question) -> Minimum:
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
