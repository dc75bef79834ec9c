"""How far the fields of a network go: what a quadrature has to cover."""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plefka.averages.average import Average
from plefka.averages.choice import FEW, choose
from plefka.averages.exponentials import SMALLEST_LEAK
from plefka.precision import is_traced

if TYPE_CHECKING:
    from plefka.activations import Activation
    from plefka.networks.belief import BeliefNetwork

GRID = 1.2  # reaches are rounded up to powers of it, so that few programs are compiled
LEAST_REACH = 8.0
SMALLEST_WEIGHT = 1e-3
USUAL_LEAK = 0.1
REACH_IN_A_TRACE, LEAK_IN_A_TRACE = 60.0, 1e-4  # where weights are not known


class Range(NamedTuple):
    """The largest field of a unit with parents in any state, its least leak, the largest weight, rounded."""

    reach: float = REACH_IN_A_TRACE
    leak: float = LEAK_IN_A_TRACE
    largest: float = math.inf  # of the weights

    def average(self, activation: "Activation", positions: int) -> Average:
        """The way of averaging over so many parents."""
        return choose(activation, positions, self.reach, self.leak, self.largest)


def range_of(network: "BeliefNetwork") -> Range:
    """The range of a network, or of all networks of a stack; a usual one where weights are traced."""
    if is_traced(network):
        return Range()
    with np.errstate(over="ignore"):
        low, high = (network.bias + part for part in network.storage.extreme_sums())
    averaged = network.storage.has_average()
    reach = np.max(np.maximum(np.abs(low), np.abs(high))[..., averaged], initial=0.0)
    lowest = np.atleast_2d(low)[:, network.storage.has_parents()]
    leak = np.maximum(lowest, SMALLEST_LEAK).min(initial=USUAL_LEAK)  # a unit without leak may gain any
    largest = max((np.abs(w).max(initial=0.0) for w in network.storage.leaves()), default=0.0)
    return Range(_up(float(reach)), 10.0 ** math.floor(math.log10(leak)), _up(float(largest), SMALLEST_WEIGHT))


def range_for(network: "BeliefNetwork") -> Range:
    """The range that averages over the parents must cover; a usual one where all of them are sums over states."""
    if network.storage.most_parents() <= FEW:
        return Range()
    return range_of(network)


def _up(number: float, least: float = LEAST_REACH) -> float:
    if number <= least or not math.isfinite(number):
        return least if number <= least else number
    return least * GRID ** math.ceil(math.log(number / least) / math.log(GRID) - 1e-9)
