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
from plefka.averages.parents import Parents
from plefka.averages.range import Range, range_for
from plefka.free_energies.functional import Functional
from plefka.free_energies.problem import Problem
from plefka.networks.fans import Fans

if TYPE_CHECKING:
    from plefka.evidence import Evidence
    from plefka.networks.belief import BeliefNetwork


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
        E = -(problem.counted * (u * on + (1 - u) * off)).sum(0)
        return E if self.order == 1 else E - 0.5 * self.pairs(problem, u, u * (1 - u))

    def _logs(self, problem: Problem, fans: Fans, u):
        """<log_on> and <log_off> of every unit."""
        f = problem.activation
        h = jnp.broadcast_to(f.off_poles(problem.h), u.shape)

        def average(w, u, h):
            return self.range.average(f, len(w)).logs(w, u, h)

        found = fans.map(average, fans.parents(u), fans.children(h))
        if self.range == Range():
            found = [
                self._inside(f, w, h, pair) for w, h, pair in zip(fans.weights, fans.children(h), found, strict=True)
            ]
        on, off = ([pair[k] for pair in found] for k in (0, 1))
        return fans.to_children(on, f.log_on(h)), fans.to_children(off, f.log_off(h))

    def _inside(self, f: Activation, w, h, pair):
        """The averages, or no numbers where the weights of a trace take a field out of the usual range."""
        covered = self.range.average(f, len(w)).covers(w, h)
        return tuple(jnp.where(covered, z, jnp.nan) for z in pair)

    def lacking(self, problem: Problem) -> Bool[Array, "units rows"]:
        """Where <log_on> is minus infinity: a noisy-or unit that may be on, with no leak and no parent that is on."""
        if not isinstance(problem.activation, NoisyOr):
            return jnp.zeros_like(problem.free)
        sure = jnp.where(problem.free | ~problem.known, 0.0, problem.values)
        lowest = problem.h + problem.weights.field_of(sure)
        may_be_on = problem.free | (problem.values == 1)
        return (problem.counted > 0) & may_be_on & (lowest <= 0)

    def chance(self, problem: Problem, u: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
        """<f(x)>: exact where the parents are independent."""
        fans, f = problem.weights.fans(), problem.activation
        h = jnp.broadcast_to(f.clip(problem.h), u.shape)

        def average(w, u, h):
            return jnp.exp(self.range.average(f, len(w)).chances(w, Parents.of_means(u), h)[0])

        return fans.to_children(fans.map(average, fans.parents(u), fans.children(h)), f.probability(h))

    def pairs(self, problem: Problem, u, v):
        """sum_{i<j} v_i v_j (d^2 <E> / du_i du_j)^2, with the derivatives at u."""
        fans, f = problem.weights.fans(), problem.activation
        r, h = problem.counted, jnp.broadcast_to(f.off_poles(problem.h), u.shape)
        terms = (fans.parents(u), fans.children(h))

        def along(w, u, h, counted):
            return counted * self.range.average(f, len(w)).slopes(w, u, h)

        def common(w, u, h, a, b):
            return self.range.average(f, len(w)).curvatures(w, u, h, a, b, fans.shared)

        edges = fans.map(along, *terms, fans.children(r))
        shared = fans.map(common, *terms, fans.children(r * u), fans.children(r * (1 - u)))
        return fans.pair_sum(v, edges, shared)

    def shares(self, problem: Problem, u):
        """What each unit contributes to the pairs, all of its pairs counted: sum_j v_i v_j (d^2 <E> / du_i du_j)^2."""
        v = u * (1 - u)
        return v * jax.grad(lambda v: self.pairs(problem, u, v).sum())(v)


GAUSSIAN = (
    "units with more than 12 parents were averaged as if their fields were normal, so that this is an estimate; "
    "check it with solution.check(seed=0)"
)
