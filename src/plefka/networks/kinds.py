"""What each unit of a network is, in one word."""

from typing import Any

import numpy as np


def kinds_of(network: Any) -> list[str]:
    """Of each unit "sigmoid", "noisy_or", "table", the name of a custom activation, or "boltzmann"."""
    if network.activation is None:
        return ["boltzmann"] * network.size
    given = network.conditionals
    if given is None:
        return [network.activation.name] * network.size
    kinds = [given.with_fields.name] * network.size
    words = [*(kind.name for kind in given.kinds), "table"]  # TABLE is -1, the last
    for unit, kind in zip(np.asarray(given.units), np.asarray(given.kind), strict=True):
        kinds[unit] = words[kind]
    return kinds
