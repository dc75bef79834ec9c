"""What a free energy is to a solver: a functional of the means with a price."""

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from plefka.activations import Activation
from plefka.free_energies.problem import Problem, mean_field_chance
from plefka.reductions import Given, recovered, sums_out

if TYPE_CHECKING:
    from plefka.evidence import Evidence
    from plefka.networks.belief import BeliefNetwork


class Functional(eqx.Module):
    """G = G_0 + energy; subclasses are the schemes."""

    def fitted(self, network: "BeliefNetwork", evidence: "Evidence", *, prune: bool) -> "Functional":
        """The functional with whatever it must know of the network and the evidence before computing."""
        return self

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of how it was computed."""
        return ()

    @property
    @abstractmethod
    def is_bound(self) -> bool:
        """Whether -G never exceeds ln P(evidence)."""

    @property
    def needs_pairs(self) -> bool:
        """Whether all pairs of units that share a child come in."""
        return False

    @property
    def needs_fans(self) -> bool:
        """Whether all parents of a unit come in together."""
        return False

    def lacking(self, problem: Problem, u: Float[Array, "units rows"] | None = None) -> Bool[Array, "units rows"]:
        """The units for lack of whose leak the free energy is infinite: at the means u, or at all that are searched."""
        return jnp.zeros_like(problem.free)

    @abstractmethod
    def powers(self, activation: Activation) -> int:
        """The highest power of a weight in the formulas."""

    @abstractmethod
    def row_work(self, size: int, num_edges: int, num_pairs: int) -> int:
        """How many numbers are held at once for one row."""

    @abstractmethod
    def network_energy(self, problem: Problem, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        """What the units of the network add to G at the means u, for every row."""

    def smooth_network_energy(self, problem: Problem, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        """The same, for second derivatives."""
        return self.network_energy(problem, u)

    def energy(self, problem: Problem, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        """G - G_0 at the means u, for every row."""
        return self.network_energy(problem, u) + problem.offset(u)

    def smooth_energy(self, problem: Problem, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        """The same, for second derivatives."""
        return self.smooth_network_energy(problem, u) + problem.offset(u)

    def slope(self, problem: Problem, u: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
        """Its first derivatives, by the means of the units that are free."""
        return jnp.where(problem.free, jax.grad(lambda u: self.smooth_energy(problem, u).sum())(u), 0.0)

    def hessian(self, problem: Problem, u: Float[Array, "units rows"]) -> Callable:
        """Products with the second derivatives of the energy at u: z -> H z, right for the units that are free."""
        return lambda z: jax.grad(lambda u: jnp.vdot(self.slope(problem, u), z))(u)

    def chance(self, problem: Problem, u: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
        """How probable each unit is when its parents have the means u: what barren units are predicted by."""
        return mean_field_chance(problem, u)

    def with_summed(self, problem: Problem, given: Given, u: Float[Array, "units rows"]):
        """The means u, and those of the units that were summed out, which follow from dG/dh."""
        if not sums_out(given.activation):
            return u

        def follow(u):
            def energy(h):
                return self.smooth_energy(eqx.tree_at(lambda p: p.h, problem, h), u).sum()

            return jnp.where(problem.summed, recovered(given, problem.reduced, -jax.grad(energy)(problem.h)), u)

        return jax.lax.cond(jnp.any(problem.summed), follow, lambda u: u, u)
