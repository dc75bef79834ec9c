"""The energy that a question is about: that of a belief network, or that of a Boltzmann machine.

What differs between the two is asked of the model, and imported where it is used: which functional a scheme is, how
messages are sent, how states are summed over and drawn, which units are worth conditioning on, and how a question of
which more is known is reduced again.
"""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from plefka.averages.choice import FEW_PARENTS
from plefka.networks.activations import CERTAIN_FIELD, Activation, AnyArray
from plefka.runtime.plain_module import PlainModule

PASSES_FEW, PASSES_MANY, PASSES_PAIRS = 1e3, 4e3, 1e2  # work of belief propagation for each edge or coupling
LOWEST = -1.0  # a free energy of a belief network is -ln P and not negative; an estimate may be, but not by this much


class Model(PlainModule):
    """The energy of the states of a question's units, and what methods may ask of it."""

    weights: eqx.AbstractVar[Any]  # Storage, or OpenStorage inside a computation
    h: eqx.AbstractVar[AnyArray]  # (units, 1 or rows)
    activation: eqx.AbstractVar[Any]

    @abstractmethod
    def opened(self, degree: int = 1, *, certain: float = CERTAIN_FIELD, pairs: bool = False) -> "Model":
        """With weights that are ready for products."""

    @abstractmethod
    def take(self, rows: Any) -> "Model":
        """That of some of the rows."""

    @property
    @abstractmethod
    def lowest_free_energy(self) -> float | None:
        """What the free energy cannot be below, up to the error of an approximation; None where there is no limit."""

    def at_inverse_temperature(self, beta: float) -> "Model":
        """The model whose energy is beta times this one."""
        raise NotImplementedError

    @abstractmethod
    def work_per_edge(self) -> float:
        """What belief propagation is predicted to cost."""

    def _of_rows(self, rows: Any) -> tuple[Any, Any]:
        """Weights and biases of some rows, where each row has its own."""
        weights = self.weights if self.weights.stack is None else self.weights.take(rows)
        return weights, self.h if self.h.shape[1] == 1 else self.h[:, rows]


class BeliefModel(Model):
    """The energy of a belief network: E(S) = -sum over counted units of S log_on(x) + (1 - S) log_off(x).        (4)"""

    weights: Any
    h: AnyArray
    activation: Activation
    counted: AnyArray  # (units, rows): whose term is part of the energy

    def opened(self, degree: int = 1, *, certain: float = CERTAIN_FIELD, pairs: bool = False) -> "BeliefModel":
        """With weights that are ready for products."""
        weights = self.weights.open(degree, certain, pairs=pairs)
        return BeliefModel(weights, jnp.asarray(self.h), self.activation, jnp.asarray(self.counted))

    def take(self, rows: Any) -> "BeliefModel":
        return BeliefModel(*self._of_rows(rows), self.activation, self.counted[:, rows])

    @property
    def lowest_free_energy(self) -> float | None:
        return LOWEST

    def work_per_edge(self) -> float:
        return PASSES_FEW if self.weights.most_parents() <= FEW_PARENTS else PASSES_MANY


class PairModel(Model):
    """The energy of a Boltzmann machine: E(S) = -sum_{i<j} W_ij S_i S_j - sum_i h_i S_i, with units of 0 and 1.

    The weights hold every coupling once. Units that are not free are 0: what they add is part of the biases.
    """

    weights: Any
    h: AnyArray
    activation: None = None  # no unit is a function of others

    def opened(self, degree: int = 1, *, certain: float = CERTAIN_FIELD, pairs: bool = False) -> "PairModel":
        return PairModel(self.weights.open(degree, certain), jnp.asarray(self.h))

    def take(self, rows: Any) -> "PairModel":
        return PairModel(*self._of_rows(rows))

    @property
    def lowest_free_energy(self) -> float | None:
        return None

    def at_inverse_temperature(self, beta: float) -> "PairModel":
        return PairModel(self.weights.map_weights(lambda w: beta * w), beta * self.h)

    def work_per_edge(self) -> float:
        return PASSES_PAIRS
