"""What a free energy is to a solver: a functional of the means with a price."""

from abc import abstractmethod

import equinox as eqx
from jaxtyping import Array, Float

from plefka.activations import Activation
from plefka.free_energies.problem import Problem


class Functional(eqx.Module):
    """G = G_0 + energy; subclasses are the schemes."""

    @property
    @abstractmethod
    def is_bound(self) -> bool:
        """Whether -G never exceeds ln P(evidence)."""

    @property
    def needs_pairs(self) -> bool:
        """Whether all pairs of units that share a child come in."""
        return False

    @abstractmethod
    def powers(self, activation: Activation) -> int:
        """The highest power of a weight in the formulas."""

    @abstractmethod
    def row_work(self, size: int, num_edges: int, num_pairs: int) -> int:
        """How many numbers are held at once for one row."""

    @abstractmethod
    def energy(self, problem: Problem, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        """G - G_0 at the means u, for every row."""

    def smooth_energy(self, problem: Problem, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        """The same, for second derivatives."""
        return self.energy(problem, u)
