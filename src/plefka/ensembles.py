"""Random networks, for experiments and tests: stacks drawn from a seed."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from plefka.activations import Activation
from plefka.errors import InvalidInput
from plefka.networks.belief import BeliefNetwork


def layered(
    layers: Sequence[int], low: float, high: float, count: int, seed: int, activation: str | Activation = "sigmoid"
) -> BeliefNetwork:
    """`count` networks of the given layers (top first), all weights and biases uniform in [low, high].

    They are the ensembles of section 4.1 of the paper.
    """
    if len(layers) < 2 or min(layers) < 1 or count < 1:
        raise InvalidInput(
            f"there must be two layers or more, and sizes and count must be positive; "
            f"got layers={tuple(layers)}, count={count}."
        )
    if not low <= high:
        raise InvalidInput(f"low must not exceed high; got low={low}, high={high}.")
    rng = np.random.default_rng(seed)
    weights = [rng.uniform(low, high, (count, below, above)) for above, below in pairwise(layers)]
    bias = [rng.uniform(low, high, (count, units)) for units in layers]
    return BeliefNetwork.layered(weights, bias, activation)
