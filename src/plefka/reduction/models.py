"""The energy that a question is about: that of a belief network, or that of a Boltzmann machine.

What differs between the two is asked of the model, and imported where it is used: which functional a scheme is, how
messages are sent, how states are summed over and drawn, which units are worth conditioning on, and how a question of
which more is known is reduced again.
"""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from plefka.networks.activations import CERTAIN_FIELD, Activation, AnyArray
from plefka.runtime.plain_module import PlainModule

if TYPE_CHECKING:
    from plefka.exact.cheapest_sum import Exactly
    from plefka.mean_field.functional import Functional
    from plefka.methods.library import Bethe, MeanField
    from plefka.methods.posterior import Posterior
    from plefka.reduction.machine_reduction import ReducedPairs
    from plefka.reduction.question import Question
    from plefka.reduction.reduce import Part, Together

FEW_PARENTS = 5
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

    @abstractmethod
    def check_scheme(self, method: "MeanField") -> None:
        """Refuse a scheme that has no meaning for this energy, and name one that has."""

    @abstractmethod
    def functional(self, method: "MeanField") -> "Functional":
        """The free energy that a scheme is."""

    @abstractmethod
    def solved_by(self, method: "MeanField") -> str:
        """The scheme that is minimised for a method."""

    def at_inverse_temperature(self, beta: float) -> "Model":
        """The same energy times beta."""
        raise NotImplementedError

    def beyond_reach(self, method: "MeanField", question: "Question", means: Any) -> Any:
        """The rows (rows,) in which a scheme that was solved for itself is better evaluated at the solution of G1."""
        return np.zeros(question.num_rows, bool)

    @abstractmethod
    def start(self, question: "Question") -> Any:
        """Natural parameters (units, rows) to start a search from."""

    @abstractmethod
    def work_per_edge(self) -> float:
        """What belief propagation is predicted to cost."""

    @abstractmethod
    def states_held(self) -> int:
        """How many states of neighbours an average holds at once."""

    @abstractmethod
    def bethe(self, method: "Bethe", part: "Part", dtype: str) -> "Posterior":
        """Belief propagation on a question with this model."""

    @abstractmethod
    def chosen(self, part: "Part", count: int | None, dtype: str) -> Any:
        """The units (count, rows) of a question that are worth conditioning on; -1 where a row has fewer."""

    @abstractmethod
    def exactly(self, question: "Question") -> "Exactly":
        """How its states are summed over."""

    def settled(self, question: "Question") -> "Posterior | None":
        """The answer to a question that leaves nothing to be solved; None where there is something."""
        return None

    @abstractmethod
    def reduced(self, question: "Question", *, needs_slope: bool) -> "Together | ReducedPairs":
        """A question with this model, of which more units are known, is reduced again."""

    @abstractmethod
    def target(self, question: "Question") -> Any:
        """What is sampled."""

    @abstractmethod
    def sampler(self, question: "Question") -> Any:
        """How chains go from state to state."""

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

    def check_scheme(self, method: "MeanField") -> None:
        from plefka.mean_field.minimisation import check_activation

        check_activation(method, self.activation)

    def functional(self, method: "MeanField") -> "Functional":
        return method.functional

    def solved_by(self, method: "MeanField") -> str:
        return method.solved_by

    def start(self, question: "Question") -> Any:
        return np.zeros(question.free.shape)

    def work_per_edge(self) -> float:
        return PASSES_FEW if self.weights.most_parents() <= FEW_PARENTS else PASSES_MANY

    def states_held(self) -> int:
        from plefka.averages.choice import states_held

        return states_held(self.activation, self.weights.most_parents())

    def bethe(self, method: "Bethe", part: "Part", dtype: str) -> "Posterior":
        from plefka.messages.bethe import of_beliefs

        return of_beliefs(method, part, dtype=dtype)

    def chosen(self, part: "Part", count: int | None, dtype: str) -> Any:
        from plefka.inference.conditioned import contributions, highest

        return highest(contributions(part, dtype), part.units, count)

    def exactly(self, question: "Question") -> "Exactly":
        from plefka.exact.cheapest_sum import Exactly

        return Exactly(question)

    def reduced(self, question: "Question", *, needs_slope: bool) -> "Together | ReducedPairs":
        from plefka.reduction.reduce import reduce_belief_question

        return reduce_belief_question(question, needs_slope=needs_slope)

    def target(self, question: "Question") -> Any:
        from plefka.sampling.state_weights import Target

        return Target(question)

    def sampler(self, question: "Question") -> Any:
        from plefka.sampling.gibbs_sweeps import Sampler

        return Sampler(question)


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

    def check_scheme(self, method: "MeanField") -> None:
        from plefka.mean_field.machine_orders import check_scheme

        check_scheme(method)

    def functional(self, method: "MeanField") -> "Functional":
        from plefka.mean_field.machine_orders import functional_of

        return functional_of(method)

    def solved_by(self, method: "MeanField") -> str:
        from plefka.mean_field.machine_orders import solved_by

        return solved_by(method)

    def at_inverse_temperature(self, beta: float) -> "PairModel":
        return PairModel(self.weights.map_weights(lambda w: beta * w), beta * self.h)

    def beyond_reach(self, method: "MeanField", question: "Question", means: Any) -> Any:
        from plefka.mean_field.machine_orders import beyond_reach

        return beyond_reach(method, question, means)

    def start(self, question: "Question") -> Any:
        from plefka.mean_field.machine_orders import start

        return start(question)

    def work_per_edge(self) -> float:
        return PASSES_PAIRS

    def states_held(self) -> int:
        return 1

    def bethe(self, method: "Bethe", part: "Part", dtype: str) -> "Posterior":
        from plefka.messages.coupling_messages import of_pairs

        return of_pairs(method, part, dtype=dtype)

    def chosen(self, part: "Part", count: int | None, dtype: str) -> Any:
        from plefka.mean_field.machine_orders import chosen

        return chosen(part, count, dtype)

    def exactly(self, question: "Question") -> "Exactly":
        from plefka.exact.machine_sums import ExactlyPairs

        return ExactlyPairs(question)

    def settled(self, question: "Question") -> "Posterior | None":
        from plefka.reduction.machine_reduction import settled

        return settled(question)

    def reduced(self, question: "Question", *, needs_slope: bool) -> "Together | ReducedPairs":
        from plefka.reduction.machine_reduction import reduce_pair_question

        return reduce_pair_question(question)

    def target(self, question: "Question") -> Any:
        from plefka.sampling.coupling_chains import PairTarget

        return PairTarget(question)

    def sampler(self, question: "Question") -> Any:
        from plefka.sampling.coupling_chains import PairSampler

        return PairSampler(question)
