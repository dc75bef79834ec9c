"""Plefka's expansion without Taylor: the energy's average itself, over independent parents (docs/beyond.md).

G1 = G_0 + <E>                                                    a bound, (37), as tight as its form allows
G2 = G1 - 1/2 sum_{i<j} v_i v_j (d^2 <E> / du_i du_j)^2           the second order, by pairs
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from plefka.averages.any_activation import Enumerated
from plefka.averages.average import mean_field
from plefka.averages.choice import FEW_PARENTS, Range, range_of
from plefka.averages.exponentials import SMALLEST_LEAK, Exponentials
from plefka.averages.parents import Parents
from plefka.networks.activations import Activation, namespace
from plefka.networks.edge_list import AnyEdges, EdgeList, TracedEdges
from plefka.networks.storage import OpenStorage
from plefka.reduction.dependence import without_pairs
from plefka.reduction.question import Question
from plefka.reduction.summing import is_edge, times
from plefka.solvers.functional import Functional

TINIEST = 5e-324  # no leak is less than this
LARGEST_TABLE = 2**24  # second derivatives that are held at once


class Untruncated(Functional):
    """G1, or G2 with its pairs."""

    needs_tables = True
    predicts_by_field = False

    order: int = eqx.field(static=True)
    range: Range = eqx.field(static=True, default=Range())
    exact_averages: bool = eqx.field(static=True, default=True)

    def fitted(self, question: Question) -> "Untruncated":
        found = range_of(question.model)
        average = found.average(question.model.activation, question.storage.most_parents())
        return Untruncated(self.order, found, average.is_exact)

    @property
    def is_bound(self) -> bool:
        return self.order == 1 and self.exact_averages

    def is_bound_of(self, activation: Activation, most_parents: int) -> bool:
        return self.is_bound and self.range.average(activation, most_parents).is_exact

    def exact_rows(self, question: Question) -> Any:
        """Where free units are independent of each other: <E> is E, and there is no pair."""
        ruled_out = np.isinf(np.asarray(question.storage.edge_list()[2])).any(axis=0)  # what counts as a finite weight
        if not self.exact_averages or question.model.activation.rules_out_states:
            return False
        missing = self.units_without_leak(question)  # or with so small a leak that it counts as a larger one
        return without_pairs(question) & ~ruled_out & (True if missing is None else ~np.asarray(missing).any(axis=0))

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self.exact_averages else (GAUSSIAN,)

    @property
    def needs_pairs(self) -> bool:
        return self.order == 2

    def row_work(self, size: int, num_edges: int, num_pairs: int) -> int:
        return size + 4 * num_edges + num_pairs

    def network_energy(self, question: Question, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        on, off = self._logs(question, u)
        E = -(_contribution(question, u, on) + _contribution(question, 1 - u, off)).sum(0)
        return E if self.order == 1 else E - 0.5 * self.pairs(question, u, u * (1 - u))

    def _logs(self, question: Question, u):
        """<log_on> and <log_off> of every unit."""
        W, f = question.model.weights, question.model.activation
        h = jnp.broadcast_to(f.off_poles(question.model.h), u.shape)

        def average(w, u, h, decided):
            averages = self.range.average(f, len(w))
            found = averages.logs(w, u, h)
            if isinstance(averages, Enumerated):
                return found
            x = f.off_poles(mean_field(w, u, h))  # the field itself where no parent is free
            return [jnp.where(decided, *pair) for pair in zip(f.finite_logs(x), found, strict=True)]

        found = W.map(average, W.parents(u), W.children(h), _decided(question))
        on, off = ([pair[k] for pair in found] for k in (0, 1))
        on, off = (W.to_children(*pair) for pair in zip((on, off), f.finite_logs(h), strict=True))
        if not self.range.is_guess:
            return on, off
        outside = self.out_of_range(question, u)  # the weights of a trace may take a field out of the usual range
        return jnp.where(outside, jnp.nan, on), jnp.where(outside, jnp.nan, off)

    def out_of_range(self, question: Question, u: Float[Array, "units rows"]) -> Bool[Array, "units rows"]:
        """The units whose fields are out of the range of their average over parents, where one of mean 1 is on."""
        W, f = question.model.weights, question.model.activation
        lowest = lowest_fields(TracedEdges(question.model.weights, question.size), question.model.h, u)
        h, lowest = (jnp.broadcast_to(x, u.shape) for x in (question.model.h, lowest))

        def outside(w, h, lowest, decided):
            average = self.range.average(f, len(w))
            covered = lowest >= average.leak if isinstance(average, Exponentials) else average.covers(w, h)
            return ~decided & ~covered

        found = W.map(outside, W.children(h), W.children(lowest), _decided(question))
        return W.to_children(found, jnp.zeros_like(question.free))

    def units_without_leak(self, question: Question, u: Any = None) -> Any:
        """Where <log_on> is minus infinity: a noisy-or unit that may be on, with no leak and no parent that is on.

        Or with so small a leak that its average is not known.
        """
        if not question.model.activation.has_linear_log_off:
            return None
        if u is None:  # 1/2 for what is searched, and the values elsewhere
            u = namespace(question.values).where(question.free, 0.5, question.values)
        storage, is_numpy = question.storage, namespace(u) is np
        edges = EdgeList.of(storage) if is_numpy else TracedEdges.of(storage, u.shape[1])
        averaged = edges.down(is_edge, (), (u,)) > 0 if storage.most_parents() > FEW_PARENTS else False
        least = edges.xp.where(averaged, SMALLEST_LEAK, TINIEST)
        may_lack = question.model.counted & question.model.activation.is_linear_off(question.model.h)
        return may_lack & (u > 0) & (lowest_fields(edges, question.model.h, u) < least)

    def chance(self, question: Question, u: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
        """<f(x)>: exact where the parents are independent."""
        W, f = question.model.weights, question.model.activation
        h = jnp.broadcast_to(f.clip(question.model.h), u.shape)

        def average(w, u, h, decided):
            x, averages = f.clip(mean_field(w, u, h)), self.range.average(f, len(w))
            return jnp.where(decided, f.probability(x), jnp.exp(averages.chances(w, Parents.of_means(u), h)[0]))

        found = W.map(average, W.parents(u), W.children(h), _decided(question))
        return W.to_children(found, f.probability(h))

    def pairs(self, question: Question, u, v):
        """sum_{i<j} v_i v_j (d^2 <E> / du_i du_j)^2, with the derivatives at u."""
        return question.model.weights.pair_sum(v, *self._second_derivatives(question, u))

    def hessian(self, question: Question, u):
        """Products with the second derivatives of <E>, which is linear in every mean, from the table of all pairs."""
        W = question.model.weights
        if self.order > 1 or not self._fits(W, u):
            return super().hessian(question, u)
        second = self._second_derivatives(question, u)
        return lambda z: -W.pair_product(z, *second)

    def added_to(self, first: Functional, question: Question, u):
        """The pairs alone: the first order cancels, and its Hessian is made of the same second derivatives."""
        W = question.model.weights
        if not self._fits(W, u):
            return super().added_to(first, question, u)

        def added(u):
            second = self._second_derivatives(question, u)
            found = -0.5 * W.pair_sum(u * (1 - u), *second)
            return found.sum(), (found, second)

        slope, (found, second) = jax.grad(added, has_aux=True)(u)
        return found, slope, lambda z: -W.pair_product(z, *second)

    def _fits(self, W: OpenStorage, u) -> bool:
        """Whether the table of all second derivatives can be held at once."""
        entries = sum(len(w) ** 2 * (1 if W.parents_are_shared else w.shape[1]) * u.shape[1] for w in W.tables)
        return entries <= LARGEST_TABLE

    def _second_derivatives(self, question: Question, u):
        """Of -<E> by a child and its parent, and by two parents of a child, table by table."""
        W, f, r = question.model.weights, question.model.activation, question.model.counted
        h = jnp.broadcast_to(f.off_poles(question.model.h), u.shape)
        terms = (W.parents(u), W.children(h))

        def along(w, u, h, counted):
            return counted * self.range.average(f, len(w)).slopes(w, u, h)

        def common(w, u, h, a, b):
            return self.range.average(f, len(w)).curvatures(w, u, h, a, b, W.parents_are_shared)

        edges = W.map(along, *terms, W.children(r))
        return edges, W.map(common, *terms, W.children(r * u), W.children(r * (1 - u)))

    def pair_contributions(self, question: Question, u):
        """What each unit contributes to the pairs, all of its pairs counted: sum_j v_i v_j (d^2 <E> / du_i du_j)^2."""
        v = u * (1 - u)
        return v * jax.grad(lambda v: self.pairs(question, u, v).sum())(v)


def _contribution(question: Question, u, log):
    """u <log>; nothing where the unit does not count or is never in that state, though the logarithm be infinite."""
    there = (question.model.counted > 0) & ((u > 0) | jnp.isfinite(log))
    return jnp.where(there, u, 0.0) * jnp.where(there, log, 0.0)


def _decided(question: Question) -> list[Bool[Array, "columns rows"]]:
    """The columns whose field is known: no parent is free or barren, or there is no edge from it."""
    W, fixed = question.model.weights, ~(question.free | question.barren)
    return W.map(lambda w, fixed: ((w == 0) | fixed).all(0), W.parents(fixed))


def lowest_fields(edges: AnyEdges, h: Any, u: Any) -> Any:
    """The fields where only parents are on that are so for certain, or may be and inhibit."""
    xp = edges.xp
    sure, free = xp.where(u == 1, 1.0, 0.0), xp.where((u > 0) & (u < 1), 1.0, 0.0)
    return h + edges.down(lambda w, sure, free: times(w) * sure + xp.minimum(w, 0.0) * free, (), (sure, free))


GAUSSIAN = (
    "units with more than 12 parents were averaged as if their fields were normally distributed, so this is an "
    "estimate; check it with solution.check(seed=0)"
)
