"""Which units to rank: the most probable of them, or those that the evidence changed most, causes first."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from plefka.errors import InvalidInput
from plefka.networks.graph import Graph

if TYPE_CHECKING:
    from plefka.inference.solution import Solution

Units = str | Sequence[str | int]
CAUSES, ALL = "causes", "all"
Ranked = list[tuple[str, float]]


def chosen_units(network: Any, units: Units) -> np.ndarray:
    """The units that "all", "causes" (here units without parents) or a list of names says, whatever is observed."""
    if isinstance(units, str) and units not in (ALL, CAUSES):
        raise InvalidInput(
            f"units must be 'all', 'causes' (units without parents) or a list of names; got {units!r}. "
            "A single unit is a list, too."
        )
    if isinstance(units, str):
        return np.arange(network.size) if units == ALL else np.flatnonzero(network.roots)
    return named_once(network, units)


def named_once(network: Any, units: str | int | Iterable[str | int]) -> np.ndarray:
    """The places of units that are given by name or index, or of one such; of one that is named twice, once."""
    units = [units] if isinstance(units, str | int | np.integer) else units
    if not isinstance(units, Iterable):
        raise InvalidInput(f"units must be names or indices of units, in a list; got {units!r}.")
    return np.array([*dict.fromkeys(network.index(unit) for unit in units)], int)


def check_top(top: int | None) -> None:
    """A whole number of units, or None for all."""
    if top is not None and (not isinstance(top, int | np.integer) or isinstance(top, bool) or top < 1):
        raise InvalidInput(f"top must be a whole number from 1 on, or None for all; got {top!r}.")


def ranked(solution: "Solution", top: int | None, units: Units, rows: int | None = None) -> list[Ranked]:
    """The most probable units of all rows, or of the first so many."""
    check_top(top)
    hidden = ~np.atleast_2d(solution.observed)[:rows]
    return [
        [(solution.names[unit], float(means[unit])) for unit in most_probable(means, candidates, top)]
        for means, candidates in zip(np.atleast_2d(solution.means), _candidates(solution, units, hidden), strict=False)
    ]


def causes_first(solution: "Solution", units: Units = ALL) -> tuple[np.ndarray, np.ndarray]:
    """The hidden units of a single row, in the order of a reader, and the priors of all units, nan where unknown.

    First the causes, those whose probability the evidence changed most first, then causes whose prior is not known,
    then all others; equal ones by their probability. Priors are known of units without parents.
    """
    network, means = cast(Any, solution.network), np.asarray(solution.means)
    priors, place = np.full(network.size, np.nan), np.full(network.size, -2.0)
    hidden = ~np.atleast_2d(solution.observed)
    if network.is_normalised:
        place[_candidates(solution, CAUSES, hidden)[0]] = -1.0
        roots = np.flatnonzero(network.roots & (solution.evidence.exclusive is None))  # a group has no such priors
        priors[roots] = np.exp(network.activation.log_on(np.asarray(network.bias, float)[roots]))
        known = roots[hidden[0, roots] & np.isfinite(means[roots])]
        place[known] = np.round(abs(means[known] - priors[known]), 12)  # what is only rounding is no change
    (found,) = _candidates(solution, units, hidden)
    return found[np.lexsort((-means[found], -place[found]))], priors


def _candidates(solution: "Solution", units: Units, hidden: np.ndarray) -> list[np.ndarray]:
    """The units of each row to choose from, none of them observed."""
    chosen = chosen_units(solution.network, units)
    if units != CAUSES or not solution.network.is_normalised:  # in a Boltzmann machine no unit causes another
        return [chosen[row[chosen]] for row in hidden]
    child, parent, _ = solution.network.storage.edge_list()
    graph = Graph(child, parent, solution.network.size)
    return [np.flatnonzero(row & ~graph.children_of(row)) for row in hidden]  # none of whose parents is hidden


def most_probable(means: np.ndarray, units: np.ndarray, top: int | None) -> np.ndarray:
    """Some units, most probable first; of equal ones, the first."""
    if top is not None and top < len(units):
        least = np.partition(means[units], len(units) - top)[len(units) - top]
        units = units[~(means[units] < least)]  # as many as `top`, or more where some are equal
    return units[np.argsort(-means[units], kind="stable")][:top]
