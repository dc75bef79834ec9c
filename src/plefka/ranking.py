"""Which units to rank, and the most probable of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from plefka.errors import InvalidInput

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork
    from plefka.solution import Solution

Among = str | Sequence[str | int]
CAUSES, ALL = "causes", "all"


def units_among(network: "BeliefNetwork", among: Among) -> np.ndarray:
    """The units that "all", "causes" or a list of names says."""
    if isinstance(among, str):
        if among not in (ALL, CAUSES):
            raise InvalidInput(
                f"among must be 'all', 'causes' (units without parents) or a list of names; got {among!r}."
            )
        return np.arange(network.size) if among == ALL else np.flatnonzero(network.roots)
    return np.array([*dict.fromkeys(network.index(unit) for unit in among)], int)


def check_top(top: int | None) -> None:
    """A whole number of units, or None for all."""
    if top is not None and (not isinstance(top, int | np.integer) or isinstance(top, bool) or top < 1):
        raise InvalidInput(f"top must be a whole number from 1 on, or None for all; got {top!r}.")


def ranking(solution: "Solution", top: int | None, among: Among) -> list:
    """See `Solution.ranking`."""
    check_top(top)
    units = units_among(solution.network, among)
    if not solution.is_batch:
        return _of_row(solution, units, solution.means, solution.observed, top)
    return [
        _of_row(solution, units, means, observed, top)
        for means, observed in zip(solution.means, solution.observed, strict=True)
    ]


def _of_row(solution: "Solution", units: np.ndarray, means: np.ndarray, observed: np.ndarray, top: int | None) -> list:
    best = most_probable(means, units[~observed[units]], top)
    return [(solution.names[unit], float(means[unit])) for unit in best]


def most_probable(means: np.ndarray, units: np.ndarray, top: int | None) -> np.ndarray:
    """Some units, most probable first; of equal ones, the first."""
    if top is not None and top < len(units):
        least = np.partition(means[units], len(units) - top)[len(units) - top]
        units = units[~(means[units] < least)]  # as many as `top`, or more where some are equal
    return units[np.argsort(-means[units], kind="stable")][:top]
