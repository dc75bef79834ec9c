"""What it costs to observe a unit: from a dictionary, or from a column of the spreadsheet that a network came from."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from plefka.errors import InvalidInput, listed
from plefka.networks.belief import BeliefNetwork
from plefka.tables.columns import is_frame

NAMED = ("unit", "finding", "symptom", "name", "cause", "disease")  # columns that may hold the units, the first counts
COST = "cost"


def costs_of(network: BeliefNetwork, costs: Any) -> np.ndarray:
    """(units,): 1 where nothing is given."""
    if costs is not None and not is_frame(costs) and not isinstance(costs, Mapping):
        raise InvalidInput(
            f"costs must be a dictionary {{unit: cost}} or a table with the columns 'finding' and 'cost'; "
            f"got {type(costs).__name__}."
        )
    found = np.ones(network.size)
    for unit, cost in (_of_frame(costs) if is_frame(costs) else costs or {}).items():
        try:
            number = float(cost)
        except (TypeError, ValueError):
            number = np.nan
        if not 0 < number < np.inf:
            raise InvalidInput(
                f"the cost of a unit must be a number above 0; got {cost!r} for {unit!r}. Leave out a unit that costs "
                "as much as most, which is 1, and list candidates=[...] without those that cannot be observed."
            )
        found[network.index(unit)] = number
    return found


def _of_frame(frame: Any) -> dict[str, Any]:
    """Rows that have a cost: of a finding with several rows, one of them may say it, or all of them the same."""
    columns = {str(name).strip().lower(): name for name in frame.columns}
    named = next((columns[name] for name in NAMED if name in columns), None)
    if named is None or COST not in columns:
        there = listed(map(repr, map(str, frame.columns))) or "none"
        raise InvalidInput(f"a table of costs must have the columns 'finding' (or 'unit') and 'cost'; got {there}.")
    found: dict[str, Any] = {}
    for unit, cost in zip(frame[named], frame[columns[COST]], strict=True):
        name = str(unit).strip()
        if cost == cost and cost not in (None, "") and found.setdefault(name, cost) != cost:
            raise InvalidInput(f"the cost of {name!r} must be the same in all rows; got {found[name]} and {cost}.")
    return found
