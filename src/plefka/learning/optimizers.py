"""What moves parameters, unless the user says otherwise: Adam, of optax."""

from functools import lru_cache
from typing import Any

import numpy as np

from plefka.errors import MissingExtra

STEP_SIZE = 0.05
HALVED_AFTER = 200  # steps of Adam, where they become shorter
DESCENT, DESCENT_HALVED_AFTER = 0.1, 1000  # of plain steps


def _optax() -> Any:
    try:
        import optax
    except ImportError as error:
        raise MissingExtra("optax", "learn", "learning") from error
    return optax


@lru_cache
def adam(step_size: float = STEP_SIZE) -> Any:
    """Adam: the gradient's size changes a thousandfold between a start near zero and the end, and between schemes.

    One and the same for a step size, as a program is compiled for each optimiser.
    """
    return _optax().adam(step_size)


@lru_cache
def swept_adam(step_size: float) -> Any:
    """Adam with its step size in its state, so that one compiled program serves all sizes of a sweep."""
    any_size = _adam_of_any_size()

    def init(parameters: Any) -> Any:
        state = any_size.init(parameters)
        sizes = {"learning_rate": np.full_like(state.hyperparams["learning_rate"], step_size)}
        return state._replace(hyperparams=sizes)

    return _optax().GradientTransformation(init, any_size.update)


@lru_cache
def _adam_of_any_size() -> Any:
    return _optax().inject_hyperparams(_optax().adam)(learning_rate=STEP_SIZE)


@lru_cache
def slowing_adam(step_size: float = STEP_SIZE) -> Any:
    """Adam with steps that fall as 1 / (1 + t / 200): random gradients do not settle with steps of one size."""
    return _optax().adam(lambda count: step_size / (1 + count / HALVED_AFTER))


@lru_cache
def slowing_descent(step_size: float = DESCENT) -> Any:
    """Plain gradient steps that fall as 1 / (1 + t / 1000), for machines with hidden units that learn by chains.

    Averages of units lie between 0 and 1, so that one size of steps does for most. On digits they lead further than
    Adam, which takes the noise of a small gradient for its size.
    """
    return _optax().sgd(lambda count: step_size / (1 + count / DESCENT_HALVED_AFTER))
