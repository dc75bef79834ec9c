"""Pairs of hidden units given the evidence."""

from typing import Any

import numpy as np

from plefka.errors import InvalidInput
from plefka.networks.network import Network


def named_units(network: Network, units: Any) -> np.ndarray:
    """The places of units that are given by name or index, each once."""
    if isinstance(units, str | int | np.integer):
        units = [units]
    places = np.array([network.index(unit) for unit in units], int)
    if not len(places):
        raise InvalidInput("units must name at least one unit; got none.")
    if len(set(places.tolist())) < len(places):
        twice = next(network.names[unit] for unit in places if (places == unit).sum() > 1)
        raise InvalidInput(f"units must be distinct; got {twice!r} twice.")
    return places
