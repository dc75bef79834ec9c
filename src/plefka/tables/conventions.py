"""The numbers for off and on: 0 and 1, or in some Boltzmann machines -1 and 1."""

from typing import Any, TypeAlias

import numpy as np

from plefka.errors import InvalidEvidence
from plefka.runtime.precision import is_traced
from plefka.tables.values import NO_STATE, meaning

Network: TypeAlias = Any  # what has units with names, states and values; networks stand on tables


def numbers_in_words(network: Network) -> str:
    """The numbers for off and on."""
    return f"{network.values[0]} or {network.values[1]}"


def as_off_and_on(network: Network, values: Any) -> Any:
    """Numbers in the values of a network as 0 and 1; a 0 where off is -1 is no state. Words are left as they are."""
    if network.values == (0, 1) or values is None:
        return values
    if isinstance(values, str):
        words = {str(value): state for state, value in enumerate(network.values)}
        return words.get(values.strip(), values if meaning(values) != meaning(values) else "neither off nor on")
    if not isinstance(values, np.ndarray | int | float | np.number):
        return values
    off, on = network.values
    numbers = np.asarray(values, float)
    found = np.where(numbers == off, 0.0, np.where((numbers == on) | np.isnan(numbers), numbers, NO_STATE))
    return found if isinstance(values, np.ndarray) else float(found)


def rows_of_off_and_on(network: Network, rows: np.ndarray) -> np.ndarray:
    """Rows of 0 and 1 from rows in the values of the network; inside a trace they are not checked."""
    if is_traced(rows):
        off, on = network.values
        return (rows - off) / (on - off)
    found = as_off_and_on(network, rows)
    wrong = np.argwhere(found == NO_STATE)
    if wrong.size:
        unit, got = network.names[wrong[0][-1]], rows[tuple(wrong[0])]
        raise InvalidEvidence(
            f"evidence must be {network.values[0]}, {network.values[1]} or nan (hidden), the values of this machine; "
            f"got {got:g} for unit {unit!r}."
        )
    return found
