"""Adam with steps of a size that stands in its state and that become shorter, and the choice of this size.

A few steps are taken with each of several sizes, and the best of these goes on. The trial counts steps and not seconds,
and all sizes see the same rows and random numbers; what it chose stands in the state of the optimiser, and so in
checkpoints.
"""

from functools import lru_cache
from itertools import count, islice
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from plefka.learning.parameters import optax_or_error
from plefka.learning.steps import BatchNumber

if TYPE_CHECKING:
    from plefka.learning.by_weighted_states import WeightedSteps
    from plefka.learning.gradient_step import TrainingState

MIDDLE = 0.03  # unless a trial chooses
SHORTER_AFTER = 200  # steps
FULL_AFTER = 40  # steps, which are short while states are drawn from means that say nothing yet
SIZES = (0.01, 0.03, 0.1, 0.3)
TRIED_STEPS = 80  # with each size
FIRST_EPOCH = 2**20  # of trials, whose rows and random numbers are others than those of learning


@lru_cache
def adam_of_any_size() -> Any:
    """Steps that fall as 1 / sqrt(1 + t / 200): on Plants they lead further than those that fall as 1 / t do."""
    return optax_or_error().inject_hyperparams(_slowing)(learning_rate=MIDDLE)


def _slowing(learning_rate: Any) -> Any:
    optax = optax_or_error()
    return optax.chain(
        optax.scale_by_adam(),
        optax.scale_by_schedule(lambda t: -jnp.minimum(1, (1 + t) / FULL_AFTER) / jnp.sqrt(1 + t / SHORTER_AFTER)),
        optax.scale(learning_rate),
    )


def with_best_step_size(steps: "WeightedSteps", state: "TrainingState") -> "TrainingState":
    """The state with the step size that leads to the highest estimate of ln P, of a stack network by network."""
    memory, reached = steps.keeper.memory, []
    for size in SIZES:
        steps.keeper.memory = jax.tree.map(np.copy, memory)  # which some steps write into
        reached.append(_reached(steps, steps.with_step_size(state, size)))
    steps.keeper.memory = memory
    best = np.argmax(np.where(np.isfinite(reached), reached, -np.inf), axis=0)
    return steps.with_step_size(state, np.asarray(SIZES)[best])


def _reached(steps: "WeightedSteps", state: "TrainingState") -> Any:
    """The estimate per row in the last third of the steps."""
    run, total, counted = steps.run, 0.0, 0.0
    batches = (
        (BatchNumber(epoch, number), piece)
        for epoch in count(FIRST_EPOCH)
        for number, piece in enumerate(run.data.pieces(run.batch_size, run.seed, epoch, 0, run.devices.count))
    )
    for step, (when, piece) in enumerate(islice(batches, TRIED_STEPS)):
        state, outcome = steps.step(state, piece, when)
        if step >= TRIED_STEPS * 2 // 3:
            total, counted = total + outcome.log_likelihood, counted + outcome.counted
    with np.errstate(divide="ignore", invalid="ignore"):
        return total / counted
