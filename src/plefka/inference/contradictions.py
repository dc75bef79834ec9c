"""Which observations contradict each other, where evidence has probability zero.

A set of observations that is impossible, and possible without any one of them. Of a list that is impossible as a whole,
the last observation of its shortest impossible beginning must be part of such a set, and so on with the observations
before it: a few tests for each of them. What single units rule out is tested first, which is quick, and then exact
inference on the few observations that are left.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from plefka.errors import InvalidInput, listed
from plefka.exact.cost import CONTRADICTION_SECONDS
from plefka.exact.state_sum import planned_sum
from plefka.methods.posterior import Status
from plefka.networks.belief import BeliefNetwork
from plefka.networks.evidence import Evidence, ExclusiveGroup
from plefka.networks.markov import MarkovNetwork
from plefka.reduction.certainty import Possible
from plefka.reduction.reduce import reduce

if TYPE_CHECKING:
    from plefka.inference.solution import Solution

MOST_NAMED = 20  # observations in a message
UNKNOWN = "the observations that contradict each other could not be found, because exact inference would take too long"
PERHAPS_FEWER = "; a smaller set may already be impossible, but exact inference would take too long to find it"


@dataclass(frozen=True)
class Contradiction:
    """Observations that cannot all be true; `is_minimal`: all but any one of them can."""

    states: dict[int, int]
    is_minimal: bool

    def sentence(self, network: BeliefNetwork | MarkovNetwork, is_set: np.ndarray | None = None) -> str:
        """'the observations fever=yes, cold=no and flu=no cannot all be true', without a full stop.

        `is_set`: (n,), the states of units that were not observed but set, nan of all others.
        """
        ours = {unit: "" if is_set is None or np.isnan(is_set[unit]) else " (set)" for unit in self.states}
        noun = "state" if any(ours.values()) else "observation"
        seen = [f"{network.names[unit]}={network.states[unit][on]}{ours[unit]}" for unit, on in self.states.items()]
        if not seen:
            return "no state is possible, whatever is observed"
        if len(seen) == 1:
            return f"the {noun} {seen[0]} cannot be true"
        *others, last = seen
        named = listed(seen, MOST_NAMED) if len(seen) > MOST_NAMED else f"{', '.join(others)} and {last}"
        which = "both" if len(seen) == 2 else "all"
        return f"the {noun}s {named} cannot {which} be true{'' if self.is_minimal else PERHAPS_FEWER}"


def with_contradiction(solution: "Solution") -> "Solution":
    """The solution of a single row with a note that names the contradiction, where the evidence is impossible."""
    found = in_words(solution, 0) if solution.network.stack is None else None
    notes = tuple(note for note in solution.notes if note != found)
    return solution if found is None else replace(solution, notes=(*notes, found))


def in_words(solution: "Solution", row: int | None) -> str | None:
    """The contradiction of a row that is impossible; None of any other row."""
    status = np.atleast_1d(solution.status)
    if row is None and len(status) > 1:
        raise InvalidInput(f"row must be one of the {len(status)} rows of this batch; got none. Say which.")
    number = 0 if row is None else row
    if not isinstance(number, int | np.integer) or not -len(status) <= number < len(status):
        raise InvalidInput(f"row must be a whole number from 0 to {len(status) - 1}; got {row!r}.")
    if status[number] is not Status.IMPOSSIBLE:
        return None
    network = solution.network if solution.network.stack is None else solution.network.take(number)
    evidence = solution.evidence
    return sentence(
        cast(BeliefNetwork, network), np.asarray(evidence.rows)[number], evidence.exclusive, evidence.intervened
    )


def sentence(
    network: BeliefNetwork | MarkovNetwork,
    row: np.ndarray,
    group: ExclusiveGroup | None = None,
    is_set: np.ndarray | None = None,
) -> str:
    """What contradicts what in a row of evidence that is impossible, or that it could not be found."""
    found = contradiction(network, row)
    if found is None and group is not None:
        return f"the observations leave no state in which {group.in_words(network.names)}"
    return UNKNOWN if found is None else found.sentence(network, is_set)


def contradiction(network: BeliefNetwork | MarkovNetwork, row: np.ndarray) -> Contradiction | None:
    """Observations of a row, as few as can be found, that are impossible; None where that is not seen."""
    test, units = _ImpossibilityTest(network, row), np.flatnonzero(~np.isnan(row))
    if test.by_unit(units):
        units = _smallest(units, lambda some: test.by_unit(some) is True)
    elif not test(units):
        return None
    is_minimal = test.is_minimal(units)
    if not is_minimal:
        units = _smallest(units, lambda some: test(some) is True)
        is_minimal = test.is_minimal(units)
    return Contradiction({unit: int(row[unit]) for unit in np.sort(units).tolist()}, is_minimal)


def _smallest(units: np.ndarray, is_impossible: Callable[[np.ndarray], bool]) -> np.ndarray:
    """A part of an impossible set that is impossible and, as far as is seen, has no part that is."""
    core, order = units[:0], units
    while not is_impossible(core):

        def begins(count: int, core: np.ndarray = core, order: np.ndarray = order) -> bool:
            return is_impossible(np.concatenate([core, order[:count]]))

        count = _shortest(begins, len(order))
        core, order = np.append(core, order[count - 1]), order[: count - 1]
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


class _ImpossibilityTest:
    """Whether observations are impossible: by what units rule out, then by exact inference while there is time."""

    def __init__(self, network: BeliefNetwork | MarkovNetwork, row: np.ndarray):
        self._always = np.zeros(0, int)  # units that stand for factors
        if isinstance(network, MarkovNetwork):
            self._always = np.arange(network.size, network.carrier.size)
            network, row = network.carrier, np.append(row, np.ones(network.num_observed))
        self.network, self.row, self.seconds = network, row, CONTRADICTION_SECONDS
        self._possible = Possible(network, np.flatnonzero(~np.isnan(row)).tolist())
        self._known: dict[bytes, bool | None] = {}

    def by_unit(self, units: np.ndarray) -> bool | None:
        """None where single units do not see it."""
        units = np.append(units, self._always)
        return self._possible.is_ruled_out(units, self.row[units].astype(int))

    def __call__(self, units: np.ndarray) -> bool | None:
        """None where it would take too long to know."""
        key = np.sort(units).tobytes()
        if key not in self._known:
            found = self.by_unit(units)
            self._known[key] = self._by_exact_inference(units) if found is None else found
        return self._known[key]

    def is_minimal(self, units: np.ndarray) -> bool:
        """Whether observations are known to be possible without any one of them."""
        return all(self(np.delete(units, k)) is False for k in range(len(units)))

    def _by_exact_inference(self, units: np.ndarray) -> bool | None:
        if self.seconds < 0:
            return None
        start = time.perf_counter()
        try:
            row, units = np.full((1, self.network.size), np.nan), np.append(units, self._always)
            row[0, units] = self.row[units]
            reduction = reduce(self.network, Evidence(row, batched=True))
            if reduction.impossible[0]:
                return True
            ways = [planned_sum(part) for part in reduction.parts]
            if sum(way.seconds for way in ways) > self.seconds:
                return None
            return any(np.isneginf(way.sums("float64")[0]).any() for way in ways)
        finally:
            self.seconds -= time.perf_counter() - start
