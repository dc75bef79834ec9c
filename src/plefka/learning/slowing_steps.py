"""Adam with steps of a size that stands in its state, and that become shorter as states are drawn again and again."""

from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from plefka.learning.parameters import optax_or_error

SIZE = "learning_rate"  # optax calls it so
MIDDLE = 0.03  # unless a trial chooses
SHORTER_AFTER = 200  # steps
FULL_AFTER = 40  # steps, which are short while states are drawn from means that say nothing yet


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


def with_step_size(state: Any, size: Any) -> Any:
    """The state of the optimiser with another size, of a stack one for each network."""
    sizes = np.broadcast_to(size, np.shape(state.hyperparams[SIZE])).astype(float)
    return state._replace(hyperparams={**state.hyperparams, SIZE: sizes})
