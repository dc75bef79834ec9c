"""Which observations contradict each other, where evidence has probability zero.

A set of observations that is impossible, and possible without any one of them. Of a list that is impossible as a whole,
the last observation of its shortest impossible beginning must be part of such a set, and so on with the observations
before it: a few tests for each of them. What single units rule out is tested first, which is quick, and then exact
inference on the few observations that are left.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from plefka.errors import listed
from plefka.evidence import Evidence
from plefka.exact.ways import Exactly
from plefka.networks.belief import BeliefNetwork
from plefka.reduction.possible import Possible
from plefka.reduction.reduce import reduce
from plefka.solution import Solution, Status

SECONDS = 2.0  # of exact inference, as predicted, for one contradiction
MOST_NAMED = 20  # observations in a message
UNKNOWN = "which observations contradict each other could not be found: exact inference would take too long here"
PERHAPS_FEWER = ", and perhaps not even some of them: exact inference, which could tell, would take too long here"
States = dict[int, int]


@dataclass(frozen=True)
class Contradiction:
    """Observations that cannot all be true; `is_minimal`: all but any one of them can."""

    states: States
    is_minimal: bool

    def sentence(self, network: BeliefNetwork) -> str:
        """'the observations fever=yes, cold=no and flu=no cannot all be true', without a full stop."""
        seen = [f"{network.names[unit]}={network.states[unit][state]}" for unit, state in self.states.items()]
        if len(seen) == 1:
            return f"the observation {seen[0]} cannot be true"
        *others, last = seen
        named = listed(seen, MOST_NAMED) if len(seen) > MOST_NAMED else f"{', '.join(others)} and {last}"
        which = "both" if len(seen) == 2 else "all"
        return f"the observations {named} cannot {which} be true{'' if self.is_minimal else PERHAPS_FEWER}"


def named(solution: Solution) -> Solution:
    """The solution of a single row with a note that names the contradiction, where the evidence is impossible."""
    if np.atleast_1d(solution.status).tolist() != [Status.IMPOSSIBLE] or solution.network.stack is not None:
        return solution
    found = sentence(solution.network, solution.evidence.rows[0])
    return replace(solution, notes=(*solution.notes, found))


def sentence(network: BeliefNetwork, row: np.ndarray) -> str:
    """What contradicts what in a row of evidence that is impossible, or that it could not be found."""
    found = contradiction(network, row)
    return UNKNOWN if found is None else found.sentence(network)


def contradiction(network: BeliefNetwork, row: np.ndarray) -> Contradiction | None:
    """Observations of a row, as few as can be found, that are impossible; None where that is not seen."""
    states = {int(unit): int(row[unit]) for unit in np.flatnonzero(~np.isnan(row))}
    test = _Test(network, states)
    if test.by_unit(states):
        states = _smallest(states, lambda some: test.by_unit(some) is True)
    elif not test(states):
        return None
    if not test.is_minimal(states):
        states = _smallest(states, lambda some: test(some) is True)
    in_order = {unit: states[unit] for unit in sorted(states)}
    return Contradiction(in_order, test.is_minimal(states))


def _smallest(states: States, is_impossible: Callable[[States], bool]) -> States:
    """A part of an impossible set that is impossible and, as far as is seen, has no part that is."""
    order, core = list(states.items()), {}
    while not is_impossible(core):
        count = _shortest(lambda count, core=core, order=order: is_impossible(core | dict(order[:count])), len(order))
        core |= [order[count - 1]]
        order = order[: count - 1]
    return core


def _shortest(is_impossible: Callable[[int], bool], high: int) -> int:
    """How long the shortest impossible beginning of a list is, all of which is: by steps from the end, then halves."""
    low, step = 0, 1
    while high - low > 1:
        middle = max(high - step, (low + high) // 2)
        if is_impossible(middle):
            high, step = middle, 2 * step
        else:
            low = middle
    return high


class _Test:
    """Whether observations are impossible: by what units rule out, then by exact inference while there is time."""

    def __init__(self, network: BeliefNetwork, states: States):
        self.network, self.seconds = network, SECONDS
        self.by_unit = Possible(network, states).is_ruled_out
        self._known: dict[frozenset[int], bool | None] = {}

    def __call__(self, states: States) -> bool | None:
        """None where it would take too long to know."""
        key = frozenset(states)
        if key not in self._known:
            found = self.by_unit(states)
            self._known[key] = self._exactly(states) if found is None else found
        return self._known[key]

    def is_minimal(self, states: States) -> bool:
        """Whether observations are known to be possible without any one of them."""
        without = ({other: state for other, state in states.items() if other != unit} for unit in states)
        return all(self(others) is False for others in without)

    def _exactly(self, states: States) -> bool | None:
        start = time.perf_counter()
        try:
            return self._looked_at(states)
        finally:
            self.seconds -= time.perf_counter() - start

    def _looked_at(self, states: States) -> bool | None:
        if self.seconds < 0:
            return None
        row = np.full((1, self.network.size), np.nan)
        row[0, list(states)] = list(states.values())
        reduction = reduce(self.network, Evidence(row, batched=True))
        if reduction.impossible[0]:
            return True
        ways = [Exactly.of(part) for part in reduction.parts]
        if sum(way.seconds for way in ways) > self.seconds:
            return None
        return any(np.isneginf(way.sums("float64")[0]).any() for way in ways)
