"""What a method is asked: a network's energy, and which of its units are unknown. There is no evidence any more.

A model is the energy: that of a belief network, or of a Boltzmann machine. A `Question` is all that a method sees; a
`Part` is the question of some rows and what to do with its answer.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plefka.networks.activations import CERTAIN_FIELD, Activation, AnyArray, sigmoid
from plefka.networks.storage import Storage
from plefka.runtime.plain_module import PlainModule, QuicklyMade

LARGEST_THETA = 700.0  # means stay at least 1e-304 above 0
BOTTOMLESS = -1e3  # per unit: a free energy this low will not come back
LOWEST = -1.0  # a free energy of a belief network is -ln P and not negative; an estimate may be, but not by this much


class Model(PlainModule):
    """The energy of the states of a question's units, and what methods may ask of it."""

    weights: eqx.AbstractVar[Any]  # Storage, or OpenStorage inside a computation
    h: eqx.AbstractVar[AnyArray]  # (units, 1 or rows)
    activation: eqx.AbstractVar[Any]
    # What the free energy cannot be below, up to the error of an approximation; None where there is no limit.
    lowest_free_energy: ClassVar[float | None] = None

    @abstractmethod
    def opened(self, degree: int = 1, *, certain: float = CERTAIN_FIELD, pairs: bool = False) -> "Model":
        """With weights that are ready for products."""

    @abstractmethod
    def take(self, rows: Any) -> "Model":
        """That of some of the rows."""

    def _of_rows(self, rows: Any) -> tuple[Any, Any]:
        """Weights and biases of some rows, where each row has its own."""
        weights = self.weights if self.weights.stack is None else self.weights.take(rows)
        return weights, self.h if self.h.shape[1] == 1 else self.h[:, rows]


class BeliefModel(Model, metaclass=QuicklyMade):
    """The energy of a belief network: E(S) = -sum over counted units of S log_on(x) + (1 - S) log_off(x).        (4)"""

    weights: Any
    h: AnyArray
    activation: Activation
    counted: AnyArray  # (units, rows): whose term is part of the energy
    lowest_free_energy = LOWEST

    def opened(self, degree: int = 1, *, certain: float = CERTAIN_FIELD, pairs: bool = False) -> "BeliefModel":
        """With weights that are ready for products."""
        weights = self.weights.open(degree, certain, pairs=pairs)
        return BeliefModel(weights, jnp.asarray(self.h), self.activation, jnp.asarray(self.counted))

    def take(self, rows: Any) -> "BeliefModel":
        return BeliefModel(*self._of_rows(rows), self.activation, self.counted[:, rows])


class PairModel(Model, metaclass=QuicklyMade):
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

    def at_inverse_temperature(self, beta: float) -> "PairModel":
        """The model whose energy is beta times this one."""
        return PairModel(self.weights.map_weights(lambda w: beta * w), beta * self.h)


class Question(PlainModule, metaclass=QuicklyMade):
    """Find the free units; arrays are (units, rows).

    The weight of a state S is exp(-E(S) + sum_i tilt_i S_i), where units that are not free have their values.
    """

    model: Any  # a Model
    free: AnyArray
    values: AnyArray  # of units that are not free; 1/2 elsewhere
    tilt: AnyArray
    num_searched: int = eqx.field(static=True)  # the units from here on are free in no row
    constant: Any = None  # (rows,): what is to be added to ln P, if that is known

    @property
    def size(self) -> int:
        """How many units there are, those that fill it up included."""
        return self.free.shape[0]

    @property
    def num_rows(self) -> int:
        """How many rows."""
        return self.free.shape[1]

    @property
    def storage(self) -> Storage:
        """The weights as they are kept."""
        return self.model.weights

    def opened(self, degree: int = 1, *, certain: float = CERTAIN_FIELD, pairs: bool = False) -> "Question":
        """The question inside a computation, with weights that are ready for products."""
        free, values, tilt = (jnp.asarray(z) for z in (self.free, self.values, self.tilt))
        model = self.model.opened(degree, certain=certain, pairs=pairs)
        return replace(self, model=model, free=free, values=values, tilt=tilt)

    def take(self, rows: Any) -> "Question":
        """Some of the rows."""
        free, values, tilt = (z[:, rows] for z in (self.free, self.values, self.tilt))
        constant = None if self.constant is None else self.constant[rows]
        return Question(self.model.take(rows), free, values, tilt, self.num_searched, constant)

    def with_model(self, **changes: Any) -> "Question":
        """The question with other arrays in its model."""
        return replace(self, model=replace(self.model, **changes))

    @property
    def searched(self) -> AnyArray:
        """Where they are free, (units that are searched, rows)."""
        return self.free[: self.num_searched]

    @property
    def barren(self) -> Any:
        """Units of a trace that are not known and not searched."""
        return ~self.free & (self.values == 0.5)

    def means(self, theta: AnyArray) -> Float[Array, "units rows"]:
        """u_i = sigma(theta_i), or the value."""
        return self.complete(jnp.where(self.searched, sigmoid(theta), self.values[: self.num_searched]))

    def complete(self, u: Float[Array, "searched rows"]) -> Float[Array, "units rows"]:
        """The means that are searched, and the values behind it."""
        return jnp.concatenate([u, self.values[self.num_searched :]]) if self.num_searched < len(self.values) else u

    def tilt_energy(self, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        """What the tilt adds to the energy."""
        return -(self.tilt * u).sum(0)

    def limits(self) -> tuple[Any, Any]:
        """How low the free energy may be: at a solution, and anywhere.

        A solution is judged by ln P(evidence), of which units that were reduced away are part.
        """
        gain = jnp.maximum(self.tilt, 0.0).sum(0)
        lowest = self.model.lowest_free_energy
        if lowest is None:
            return -jnp.inf, -jnp.inf
        bottom = BOTTOMLESS * (1 + self.searched.sum(0)) - gain
        reduced_away = 0.0 if self.constant is None else jnp.minimum(self.constant, 0.0)
        return lowest - gain + reduced_away, bottom


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that are asked together: a question, and what it leaves to be added to ln P(evidence)."""

    rows: np.ndarray
    question: Question
    constant: Any  # (rows,)
    units: np.ndarray  # which unit of the network each is: (units of the question,) or the same for each row; -1: none
    needs_slope: bool = False  # whether d ln P / dh is wanted for the way back
    named: Any = None  # (units of the network,): those that a method names

    def take(self, rows: np.ndarray) -> "Part":
        """Some of the rows, by their places."""
        units = self.units if self.units.ndim == 1 else self.units[:, rows]
        return replace(
            self, rows=self.rows[rows], question=self.question.take(rows), constant=self.constant[rows], units=units
        )

    def narrowed(self, whole: np.ndarray) -> np.ndarray:
        """From (units of the network, rows) to (units of the question, rows); 0 for units that fill up."""
        if self.units.ndim == 1:
            return np.where(self.units[:, None] >= 0, whole[self.units], 0.0)
        return np.where(self.units >= 0, np.take_along_axis(whole, self.units, axis=0), 0.0)
