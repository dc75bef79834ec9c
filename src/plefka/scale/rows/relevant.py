"""The part of a large network that a block of rows is about: what is observed, what is wanted, and all above them.

All other units are barren in every row, so that leaving them out changes nothing, and a block of rows with a few
findings each costs no more than these findings do.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from plefka.networks.belief import BeliefNetwork
from plefka.networks.edges import Edges
from plefka.reduction.by_row import FEW_EDGES


@dataclass(frozen=True, eq=False)
class Relevant:
    """A network whose edges are listed by child."""

    network: BeliefNetwork
    edges: Edges
    starts: Int[np.ndarray, " unit"]
    counts: Int[np.ndarray, " unit"]

    @classmethod
    def of(cls, network: BeliefNetwork) -> "Relevant | None":
        """None where the network is too small for it to be worth while, in blocks, in tables, or of different kinds."""
        edges = network.storage
        small = network.num_edges < FEW_EDGES or network.given_tables is not None
        if small or not isinstance(edges, Edges) or network.stack is not None or network.conditionals is not None:
            return None
        counts = np.bincount(np.asarray(edges.child.unit), minlength=network.size)
        return cls(network, edges, np.cumsum(counts) - counts, counts)

    def part(self, wanted: Bool[np.ndarray, " unit"]) -> tuple[BeliefNetwork, Int[np.ndarray, " unit"]]:
        """The network of these units and all above them, and the units of it."""
        units = np.flatnonzero(self.with_ancestors(wanted))
        if len(units) == self.network.size:
            return self.network, units
        some = self._edges_to(units)
        place = np.full(self.network.size, -1, np.int32)
        place[units] = np.arange(len(units))
        child, parent = (place[np.asarray(end.unit)[some]] for end in (self.edges.child, self.edges.parent))
        part = Edges.from_lists(np.asarray(self.edges.values)[some], child, parent, len(units))
        known = self.network.given_names
        names = None if known is None else [known[unit] for unit in units.tolist()]
        return BeliefNetwork(part, np.asarray(self.network.bias)[units], self.network.activation, names), units

    def with_ancestors(self, wanted: Bool[np.ndarray, " unit"]) -> Bool[np.ndarray, " unit"]:
        """These units and all above them."""
        parent = np.asarray(self.edges.parent.unit)
        there, newest = wanted.copy(), np.flatnonzero(wanted)
        while newest.size:
            new = np.zeros_like(there)
            new[parent[self._edges_to(newest)]] = True
            newest = np.flatnonzero(new & ~there)
            there |= new
        return there

    def _edges_to(self, units: Int[np.ndarray, " some"]) -> Int[np.ndarray, " edge"]:
        """The edges that lead to units, in order."""
        counts = self.counts[units]
        first = np.repeat(self.starts[units] - (np.cumsum(counts) - counts), counts)
        return first + np.arange(counts.sum())
