"""Which way of averaging suits an activation, a number of parents, and how far the fields of a network go."""

import math
from typing import Any, NamedTuple

import numpy as np

from plefka.averages.any_activation import Enumerated, GaussHermite
from plefka.averages.average import Average
from plefka.averages.exponentials import SMALLEST_LEAK, Exponentials
from plefka.averages.fourier import Fourier
from plefka.networks.activations import Activation, Mixed, NoisyOr, Sigmoid
from plefka.runtime.precision import is_traced

FEW_PARENTS = 5  # parents whose states are fewer than the nodes of a quadrature
MOST = 12  # parents whose states can be summed over
GRID = 1.2  # reaches are rounded up to powers of it, so that few programs are compiled
LEAST_REACH = 8.0
SMALLEST_WEIGHT = 1e-3
USUAL_LEAK = 0.1
FEW_WEIGHTS = 2**16  # weights up to which a few generous ranges serve all networks, so that they share programs
REACH_IN_A_TRACE, LEAK_IN_A_TRACE = 60.0, 1e-4  # where weights are not known


def activation_for(activation: Activation, positions: int) -> Activation:
    """The activation of units that are stored with so many parents: tables are stored with no more than they need."""
    return activation.of_fields if isinstance(activation, Mixed) and positions > activation.most_summed else activation


def states_held(activation: Activation, most_parents: int) -> int:
    """How many numbers a sum over the states of a table's parents holds at once, for one row."""
    return 4 * 2 ** min(most_parents, activation.most_summed) if isinstance(activation, Mixed) else 0


class Range(NamedTuple):
    """The largest field of a unit with parents in any state, its least leak, the largest weight, rounded."""

    reach: float = REACH_IN_A_TRACE  # which matters for the sigmoid
    leak: float = LEAK_IN_A_TRACE  # which matters for noisy-or
    largest: float = math.inf  # of the weights, which matters for the sigmoid
    is_guess: bool = True  # fields of a trace may be out of it

    def average(self, activation: Activation, positions: int) -> Average:
        """The cheapest average over so many parents that is as good as exact, or else the normal one."""
        activation = activation_for(activation, positions)
        if positions <= FEW_PARENTS or activation.mixes_kinds:
            return Enumerated(activation)
        if isinstance(activation, Sigmoid):
            average = Fourier(self.reach, self.largest)
            states_are_fewer = positions <= MOST and 2**positions < positions * len(average.rule.nodes.t)
            return Enumerated(activation) if states_are_fewer else average
        if isinstance(activation, NoisyOr):
            return Exponentials(self.leak)
        return Enumerated(activation) if positions <= MOST else GaussHermite(activation)


def range_of(model: Any) -> Range:
    """The range that averages over the parents of a network must cover, in all rows.

    A usual one where weights are traced, or where all averages are sums over the few states of the parents.
    """
    storage = model.weights
    traced = is_traced(storage, model.h)
    if traced or storage.most_parents() <= FEW_PARENTS:
        return Range(is_guess=traced)
    with np.errstate(over="ignore"):
        low, high = (np.asarray(model.h) + np.atleast_2d(part).T for part in storage.extreme_sums())
    averaged = np.broadcast_to(
        np.asarray(model.counted) & storage.has_average()[:, None] & model.activation.has_field(np.asarray(model.h)),
        np.broadcast(low, model.counted).shape,
    )
    low, high = (np.broadcast_to(part, averaged.shape)[averaged] for part in (low, high))
    largest = max((np.abs(w).max(initial=0.0) for w in storage.leaves()), default=0.0)
    own_range = storage.num_edges > FEW_WEIGHTS and not model.activation.mixes_kinds
    found = rounded_range(low, high, largest if own_range else math.inf)
    # For noisy-or the leak is all that matters: networks of other weights share a program.
    return found._replace(reach=LEAST_REACH, largest=math.inf) if model.activation.has_linear_log_off else found


def rounded_range(low: np.ndarray, high: np.ndarray, largest: float) -> Range:
    """The range of fields between these; rounded generously where weights may be of any size, as in small networks."""
    low, high = np.nan_to_num(low, nan=USUAL_LEAK), np.nan_to_num(high)
    reach = float(np.maximum(np.abs(low), np.abs(high)).max(initial=0.0))
    leak = np.maximum(low, SMALLEST_LEAK).min(initial=USUAL_LEAK)  # a unit without leak may gain any
    decades = 1 if math.isfinite(largest) else 4
    grid = GRID if math.isfinite(largest) else 4.0
    lowest = 10.0 ** (decades * math.floor(math.log10(leak) / decades))
    return Range(
        _rounded_up(reach, LEAST_REACH, grid), lowest, _rounded_up(float(largest), SMALLEST_WEIGHT, GRID), False
    )


def _rounded_up(number: float, least: float, grid: float) -> float:
    if number <= least or not math.isfinite(number):
        return least if number <= least else number
    return least * grid ** math.ceil(math.log(number / least) / math.log(grid) - 1e-9)
