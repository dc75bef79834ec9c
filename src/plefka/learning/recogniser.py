"""A recognition network: one small network that maps every row to the means of its hidden units.

It is learned beside the belief network by the same weighted states: their normalised weights say which of the states
that were drawn the row is likely to have, and these become more probable (the q update of the wake phase). A row costs
it a product or two, where a scheme searches for the means of each.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plefka.learning.gradient_step import Batch, Outcome, StepSettings, TrainingState, question_of, single
from plefka.learning.parameters import adam_of_any_size
from plefka.learning.patterns import Data, Patterns
from plefka.learning.weighted_states import log_mean_weight
from plefka.networks.activations import log_sigmoid, sigmoid
from plefka.runtime.precision import precision, to_numpy
from plefka.runtime.programs import Program

START = 0.1  # of weights to the means, which start near 1/2


class Inputs(NamedTuple):
    """What the recognition network sees of a row."""

    units: Any  # that rows observe
    with_gaps: Any  # places among them where some row has none; each has an input that says so
    frequencies: Any  # of the units, which are taken off

    def of(self, rows: Any) -> Any:
        values = rows[:, self.units]
        missing = jnp.isnan(values)
        return jnp.hstack([jnp.where(missing, 0.0, values - self.frequencies), missing[:, self.with_gaps] * 1.0])


class RecogniserWeights(NamedTuple):
    """From the inputs through a hidden layer, and past it, to logits."""

    first: Any
    first_bias: Any
    second: Any
    direct: Any
    bias: Any

    def logits(self, inputs: Any) -> Any:
        """Of the units that are drawn, (units, rows), for inputs (rows, inputs)."""
        hidden = jnp.tanh(inputs @ self.first + self.first_bias)
        return (hidden @ self.second + inputs @ self.direct + self.bias).T


class Recogniser:
    """The recognition network of a run, of a stack one for each network: `memory` is what steps change."""

    def __init__(self, data: Data, drawn: np.ndarray, units: int, seed: int, stack: tuple[int, ...]):
        frequencies = data.frequencies() if isinstance(data, Patterns) else np.full(len(data.units), 0.5)
        self.inputs = Inputs(data.units, np.flatnonzero(data.has_gaps()), frequencies)
        count, rng = len(data.units) + len(self.inputs.with_gaps), np.random.default_rng([seed, len(drawn)])
        weights = RecogniserWeights(
            rng.normal(size=(*stack, count, units)) / np.sqrt(count),
            np.zeros((*stack, units)),
            START * rng.normal(size=(*stack, units, len(drawn))) / np.sqrt(units),
            np.zeros((*stack, count, len(drawn))),
            np.zeros((*stack, len(drawn))),
        )
        with precision("float64"):
            init = adam_of_any_size().init
            self.memory = weights, to_numpy((jax.vmap(init) if stack else init)(weights))


def _objective(
    learned: tuple[Any, RecogniserWeights], settings: StepSettings, start: Any, batch: Batch, inputs: Inputs
) -> tuple[Any, Outcome]:
    """Minus ln of the mean weight and, for the recognition network, minus the average of ln q under the weights."""
    free, weights = learned
    parameters = settings.rules.parameters(free, start)
    question, constant = question_of(settings, parameters, batch.rows, settings.storage.size)
    seen = weights, inputs, batch.rows
    weights, inputs, rows = single(seen) if settings.draws_in_single else seen
    logits = weights.logits(inputs.of(rows))
    means = question.values.at[settings.drawn].set(jax.lax.stop_gradient(sigmoid(logits)))
    found = log_mean_weight(question, means, settings.drawn, batch.noise, in_single=settings.draws_in_single)
    log_q = jnp.where(question.free[settings.drawn], found.states * logits + log_sigmoid(-logits), 0.0).sum(1)
    value = found.value + constant
    counts = jnp.where(jnp.isfinite(value), batch.counts, 0.0)
    total = jnp.where(counts > 0, value, 0.0) @ counts
    recognised = (found.shares * log_q).sum(0).astype(total.dtype) @ counts
    penalty = settings.rules.penalty(parameters, settings.l1, settings.l2)
    return penalty - (total + recognised) / batch.average, Outcome(total, counts.sum(), counts.sum(), None)


def _recognising_step(
    state: TrainingState, memory: Any, settings: StepSettings, start: Any, batch: Batch, inputs: Inputs, *,
    optimizer: Any,
) -> tuple[TrainingState, Any, Outcome]:  # fmt: skip
    """The state and the recognition network after a step."""

    def of_one(state: TrainingState, memory: Any, start: Any) -> tuple[TrainingState, Any, Outcome]:
        weights, own = memory
        (slope, own_slope), outcome = jax.grad(_objective, has_aux=True)(
            (state.free, weights), settings, start, batch, inputs
        )
        updates, moved = optimizer.update(slope, state.optimizer, state.free)
        own_updates, own = adam_of_any_size().update(own_slope, own, weights)
        free, weights = jax.tree.map(jnp.add, (state.free, weights), (updates, own_updates))
        return TrainingState(free, moved), (weights, own), outcome

    return (jax.vmap(of_one) if settings.stacked else of_one)(state, memory, start)


recognising_step = Program(_recognising_step)
