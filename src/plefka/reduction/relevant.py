"""The part of a large network that rows of evidence are about, as a network of its own."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList
from plefka.networks.edges import Edges
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.reduction.by_row import FEW_EDGES


@dataclass(frozen=True, eq=False)
class Relevant:
    """The part of a large network that rows are about: what is observed, what is wanted, and all above them.

    All other units are barren in every row, so that leaving them out changes nothing, and a block of rows with a few
    findings each costs no more than these findings do.
    """

    network: BeliefNetwork
    edges: EdgeList

    @classmethod
    def of(cls, network: Network) -> "Relevant | None":
        """None where the network is too small for it to be worth while, in blocks, in tables, or of different kinds."""
        if not isinstance(network, BeliefNetwork) or network.given_tables is not None:
            return None
        small = network.num_edges < FEW_EDGES
        has_edges = isinstance(network.storage, Edges) and network.stack is None and network.conditionals is None
        return None if small or not has_edges else cls(network, EdgeList.of(network.storage))

    def part(self, wanted: Bool[np.ndarray, " unit"]) -> tuple[BeliefNetwork, Int[np.ndarray, " unit"]]:
        """The network of these units and all above them, and the units of it."""
        units = np.flatnonzero(self.edges.graph.with_ancestors(wanted))
        if len(units) == self.network.size:
            return self.network, units
        some = self.edges.graph.by_child.of(units)
        place = np.full(self.network.size, -1, np.int32)
        place[units] = np.arange(len(units))
        child, parent = place[self.edges.child[some]], place[self.edges.parent[some]]
        part = Edges.from_lists(self.edges.weight[some, 0], child, parent, len(units))
        names = self.network.names
        names = [names[unit] for unit in units.tolist()]
        return BeliefNetwork(part, np.asarray(self.network.bias)[units], self.network.activation, names), units


def narrowed(evidence: Evidence, units: np.ndarray) -> Evidence:
    """What is known of some units."""
    tilt = None if evidence.tilt is None else evidence.tilt[:, units]
    intervened = None if evidence.intervened is None else evidence.intervened[units]
    group = None if evidence.exclusive is None else evidence.exclusive._replace(units=evidence.exclusive.units[units])
    return evidence._replace(rows=evidence.rows[:, units], tilt=tilt, intervened=intervened, exclusive=group)
