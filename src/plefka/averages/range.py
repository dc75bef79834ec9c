"""How far the fields of a network go, which decides how many nodes its averages need."""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plefka.activations import NoisyOr, Sigmoid
from plefka.precision import is_traced

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

SHORTEST, STEP = 8.0, 1.2  # reaches are rounded up to SHORTEST x STEP^k, so that few programs are compiled


class Range(NamedTuple):
    """What `averages.choose` wants to know of a network; equal ones share their compiled programs."""

    reach: float = SHORTEST  # the largest |field|, for the sigmoid
    leak: float = 0.1  # the smallest positive bias of a unit with parents, for noisy-or


UNKNOWN = Range(60.0, 1e-4)  # of networks that are being traced


def range_of(network: "BeliefNetwork") -> Range:
    """Rounded outwards; a number that does not matter for the activation is the same for all networks."""
    if is_traced(network.storage, network.bias):
        return UNKNOWN
    if isinstance(network.activation, Sigmoid):
        return Range(reach=_reach(network))
    if isinstance(network.activation, NoisyOr):
        return Range(leak=_leak(network))
    return Range()


def _reach(network: "BeliefNetwork") -> float:
    ends = [np.abs(network.bias + part).max(initial=0.0) for part in network.storage.extreme_sums()]
    steps = math.ceil(math.log(max(*ends, SHORTEST) / SHORTEST) / math.log(STEP) - 1e-9)
    return SHORTEST * STEP**steps


def _leak(network: "BeliefNetwork") -> float:
    low, high = network.storage.extreme_sums()
    leaks = np.broadcast_to(network.bias, low.shape)[((low != 0) | (high != 0)) & (network.bias > 0)]
    return 10.0 ** math.floor(math.log10(leaks.min()) + 1e-9) if leaks.size else 0.1
