"""Which way of averaging suits an activation and a number of parents."""

from math import inf

from plefka.averages.average import Average
from plefka.averages.enumerated import Enumerated
from plefka.averages.exponentials import Exponentials
from plefka.averages.fourier import Fourier
from plefka.averages.gauss_hermite import GaussHermite
from plefka.networks.activations import Activation, Mixed, NoisyOr, Sigmoid

FEW_PARENTS = 5  # parents whose states are fewer than the nodes of a quadrature
MOST = 12  # parents whose states can be summed over


def choose(activation: Activation, positions: int, reach: float, leak: float, largest: float = inf) -> Average:
    """The cheapest average that is as good as exact, or else the normal one.

    `reach` is the largest |field| of a unit in any state and `largest` the largest |w_j|, which matter for the sigmoid;
    `leak` is the smallest h, which matters for noisy-or.
    """
    activation = of_parents(activation, positions)
    if positions <= FEW_PARENTS or activation.mixes_kinds:
        return Enumerated(activation)
    if isinstance(activation, Sigmoid):
        average = Fourier(reach, largest)
        states_are_fewer = positions <= MOST and 2**positions < positions * len(average.rule.nodes.t)
        return Enumerated(activation) if states_are_fewer else average
    if isinstance(activation, NoisyOr):
        return Exponentials(leak)
    return Enumerated(activation) if positions <= MOST else GaussHermite(activation)


def of_parents(activation: Activation, positions: int) -> Activation:
    """The activation of units that are stored with so many parents: tables are stored with no more than they need."""
    return activation.of_fields if isinstance(activation, Mixed) and positions > activation.most_summed else activation


def states_held(activation: Activation, most_parents: int) -> int:
    """How many numbers a sum over the states of a table's parents holds at once, for one row."""
    return 4 * 2 ** min(most_parents, activation.most_summed) if isinstance(activation, Mixed) else 0
