"""`bethe` and `loops` as data: their options, and where they are computed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plefka.methods.method import Method, does_not_apply, option, steps_at_most, tolerance
from plefka.methods.registry import library_method

if TYPE_CHECKING:
    from plefka.networks.network import Network


@library_method("bethe", place=4)
@dataclass(frozen=True)
class Bethe(Method):
    """Loopy belief propagation: exact where the network has no loops, and an estimate elsewhere.

    - `tol`: the largest change of a mean that a further sweep may still make.
    - `max_steps`: sweeps, in each of which every factor sends all its messages, at most.
    - `damping`: the fraction of old messages that is kept in the first sweep; from then on it adapts.
    """

    module = "plefka.messages.bethe"
    tol: float = tolerance(1e-8)
    max_steps: int = steps_at_most(1000)
    damping: float = option(0.0, lambda damping: 0 <= damping < 1, "0 <= damping < 1 must hold")


@library_method("loops", place=4)
@dataclass(frozen=True)
class Loops(Method):
    """Generalised belief propagation on short loops of a sparse graph: exact where these form a junction tree.

    - `length`: the most units of a loop; with 2 there are none, and the answer is that of `bethe`.
    - `joined`: whether all loops around a unit are one region, of up to 10 units; `no` is quicker and less close.
    - `tol`: the largest change of a mean that a further sweep may still make.
    - `max_steps`: sweeps, in each of which all regions send their messages, at most.
    """

    module = "plefka.messages.loops"
    length: int = option(4, lambda length: 2 <= length <= 8, "length must be a whole number from 2 to 8")
    joined: bool = True
    tol: float = tolerance(1e-6)
    max_steps: int = steps_at_most(5000)

    def check(self, network: "Network") -> None:
        if network.activation is not None and network.activation.has_linear_log_off:
            raise does_not_apply(self, "noisy-or units have too many parents for tables of all of them", "bethe")
