"""`bethe` as data: its options, and where it is computed."""

from dataclasses import dataclass

from plefka.methods.method import Method, option, steps_at_most, tolerance
from plefka.methods.registry import library_method


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
