"""Plefka's expansion without Taylor: the energy's average itself, over independent parents (docs/beyond.md).

G1 = G_0 + <E>                                                    a bound, (37), as tight as its form allows
G2 = G1 - 1/2 sum_{i<j} v_i v_j (d^2 <E> / du_i du_j)^2           the second order, by pairs
"""

from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from plefka.activations import Activation, NoisyOr
from plefka.averages.average import mean_field
from plefka.averages.enumerated import Enumerated
from plefka.averages.exponentials import Exponentials
from plefka.averages.parents import Parents
from plefka.averages.range import Range, range_for
from plefka.free_energies.functional import Functional
from plefka.free_energies.problem import Problem
from plefka.networks.fans import Fans

if TYPE_CHECKING:
    from plefka.evidence import Evidence
    from plefka.networks.belief import BeliefNetwork

LARGEST_TABLE = 2**24  # second derivatives that are held at once


class Untruncated(Functional):
    """G1, or G2 with its pairs."""

    order: int = eqx.field(static=True)
    range: Range = eqx.field(static=True, default=Range())
    exact_averages: bool = eqx.field(static=True, default=True)

    def fitted(self, network: "BeliefNetwork", evidence: "Evidence", *, prune: bool) -> "Untruncated":
        found = range_for(network)
        return Untruncated(
            self.order, found, found.average(network.activation, network.storage.most_parents()).is_exact
        )

    @property
    def is_bound(self) -> bool:
        return self.order == 1 and self.exact_averages

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self.exact_averages else (GAUSSIAN,)

    @property
    def needs_fans(self) -> bool:
        return True

    @property
    def needs_pairs(self) -> bool:
        return self.order == 2

    def powers(self, activation: Activation) -> int:
        return 1

    def row_work(self, size: int, num_edges: int, num_pairs: int) -> int:
        return size + 4 * num_edges + num_pairs

    def network_energy(self, problem: Problem, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        fans = problem.weights.fans()
        on, off = self._logs(problem, fans, u)
        E = -(_share(problem, u, on) + _share(problem, 1 - u, off)).sum(0)
        return E if self.order == 1 else E - 0.5 * self.pairs(problem, u, u * (1 - u))

    def _logs(self, problem: Problem, fans: Fans, u):
        """<log_on> and <log_off> of every unit."""
        f = problem.activation
        h = jnp.broadcast_to(f.off_poles(problem.h), u.shape)

        def average(w, u, h, decided):
            way = self.range.average(f, len(w))
            found = way.logs(w, u, h)
            if isinstance(way, Enumerated):
                return found
            x = f.off_poles(mean_field(w, u, h))  # the field itself where no parent is free
            return [jnp.where(decided, *pair) for pair in zip((f.log_on(x), f.log_off(x)), found, strict=True)]

        found = fans.map(average, fans.parents(u), fans.children(h), _decided(problem, fans))
        on, off = ([pair[k] for pair in found] for k in (0, 1))
        on, off = fans.to_children(on, f.log_on(h)), fans.to_children(off, f.log_off(h))
        if self.range != Range():
            return on, off
        beyond = self.beyond(problem, u)  # the weights of a trace may take a field out of the usual range
        return jnp.where(beyond, jnp.nan, on), jnp.where(beyond, jnp.nan, off)

    def beyond(self, problem: Problem, u: Float[Array, "units rows"]) -> Bool[Array, "units rows"]:
        """The units whose fields are out of the range of their average over parents, where one of mean 1 is on."""
        fans, f = problem.weights.fans(), problem.activation
        h, lowest = (jnp.broadcast_to(x, u.shape) for x in (problem.h, _lowest_field(problem, u)))

        def outside(w, h, lowest, decided):
            average = self.range.average(f, len(w))
            covered = lowest >= average.leak if isinstance(average, Exponentials) else average.covers(w, h)
            return ~decided & ~covered

        found = fans.map(outside, fans.children(h), fans.children(lowest), _decided(problem, fans))
        return fans.to_children(found, jnp.zeros_like(problem.free))

    def lacking(self, problem: Problem, u: Float[Array, "units rows"] | None = None) -> Bool[Array, "units rows"]:
        """Where <log_on> is minus infinity: a noisy-or unit that may be on, with no leak and no parent that is on.

        Or with so small a leak that its average is not known.
        """
        if not isinstance(problem.activation, NoisyOr):
            return jnp.zeros_like(problem.free)
        u = undecided(problem) if u is None else u
        lost = (_lowest_field(problem, u) <= 0) | ((self.range != Range()) & self.beyond(problem, u))
        return (problem.counted > 0) & (u > 0) & lost

    def chance(self, problem: Problem, u: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
        """<f(x)>: exact where the parents are independent."""
        fans, f = problem.weights.fans(), problem.activation
        h = jnp.broadcast_to(f.clip(problem.h), u.shape)

        def average(w, u, h, decided):
            x, way = f.clip(mean_field(w, u, h)), self.range.average(f, len(w))
            return jnp.where(decided, f.probability(x), jnp.exp(way.chances(w, Parents.of_means(u), h)[0]))

        found = fans.map(average, fans.parents(u), fans.children(h), _decided(problem, fans))
        return fans.to_children(found, f.probability(h))

    def pairs(self, problem: Problem, u, v):
        """sum_{i<j} v_i v_j (d^2 <E> / du_i du_j)^2, with the derivatives at u."""
        fans = problem.weights.fans()
        return fans.pair_sum(v, *self._second_derivatives(problem, fans, u))

    def hessian(self, problem: Problem, u):
        """Those of <E>, which is linear in every mean, from the table of all pairs unless that is too large."""
        fans = problem.weights.fans()
        entries = sum(len(w) ** 2 * (1 if fans.shared else w.shape[1]) * u.shape[1] for w in fans.weights)
        if self.order > 1 or entries > LARGEST_TABLE:
            return super().hessian(problem, u)
        second = self._second_derivatives(problem, fans, u)
        return lambda z: -fans.pair_product(z, *second)

    def _second_derivatives(self, problem: Problem, fans: Fans, u):
        """Of -<E> by a child and its parent, and by two parents of a child, fan by fan."""
        f, r = problem.activation, problem.counted
        h = jnp.broadcast_to(f.off_poles(problem.h), u.shape)
        terms = (fans.parents(u), fans.children(h))

        def along(w, u, h, counted):
            return counted * self.range.average(f, len(w)).slopes(w, u, h)

        def common(w, u, h, a, b):
            return self.range.average(f, len(w)).curvatures(w, u, h, a, b, fans.shared)

        edges = fans.map(along, *terms, fans.children(r))
        return edges, fans.map(common, *terms, fans.children(r * u), fans.children(r * (1 - u)))

    def shares(self, problem: Problem, u):
        """What each unit contributes to the pairs, all of its pairs counted: sum_j v_i v_j (d^2 <E> / du_i du_j)^2."""
        v = u * (1 - u)
        return v * jax.grad(lambda v: self.pairs(problem, u, v).sum())(v)


def _share(problem: Problem, u, log):
    """u <log>; nothing where the unit does not count or is never in that state, though the logarithm be infinite."""
    there = (problem.counted > 0) & ((u > 0) | jnp.isfinite(log))
    return jnp.where(there, u, 0.0) * jnp.where(there, log, 0.0)


def undecided(problem: Problem) -> Float[Array, "units rows"]:
    """1/2 for what is searched and what is barren, and the evidence elsewhere."""
    return jnp.where(problem.free, 0.5, problem.values)


def _decided(problem: Problem, fans: Fans) -> list[Bool[Array, "columns rows"]]:
    """The columns whose field is known, as each parent is observed, or there is no edge from it."""
    observed = problem.known & ~problem.free & ~problem.summed
    return fans.map(lambda w, observed: ((w == 0) | observed).all(0), fans.parents(observed))


def _lowest_field(problem: Problem, u) -> Float[Array, "units rows"]:
    """The field where only parents are on that are so for certain, or may be and inhibit."""
    sure, free = jnp.where(u == 1, 1.0, 0.0), jnp.where((u > 0) & (u < 1), 1.0, 0.0)
    terms = problem.weights.map_edges(lambda w, sure, free: (w * sure + jnp.minimum(w, 0.0) * free,), (), (sure, free))
    return problem.h + terms[0]


GAUSSIAN = (
    "units with more than 12 parents were averaged as if their fields were normal, so that this is an estimate; "
    "check it with solution.check(seed=0)"
)
