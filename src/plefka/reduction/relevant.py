"""The part of a large network that rows are about: what is observed, what is wanted, and all above them.

All other units are barren in every row, so that leaving them out changes nothing, and a block of rows with a few
findings each costs no more than these findings do.
"""

from typing import cast

import numpy as np
from jaxtyping import Bool, Int

from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList
from plefka.networks.edges import Edges
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.reduction.by_row import FEW_EDGES


def has_parts(network: Network) -> bool:
    """Not where the network is too small for it to be worth while, in blocks, in tables, or of different kinds."""
    if not isinstance(network, BeliefNetwork) or network.given_tables is not None:
        return False
    has_edges = isinstance(network.storage, Edges) and network.stack is None and network.conditionals is None
    return has_edges and network.num_edges >= FEW_EDGES


def part_of(network: Network, wanted: Bool[np.ndarray, " unit"]) -> tuple[BeliefNetwork, Int[np.ndarray, " unit"]]:
    """Of a network that has parts: that of these units and all above them, and the units of it."""
    network, edges = cast(BeliefNetwork, network), EdgeList.of(network.storage)
    units = np.flatnonzero(edges.graph.with_ancestors(wanted))
    if len(units) == network.size:
        return network, units
    some = edges.graph.by_child.of(units)
    place = np.full(network.size, -1, np.int32)
    place[units] = np.arange(len(units))
    part = Edges.from_lists(edges.weight[some, 0], place[edges.child[some]], place[edges.parent[some]], len(units))
    names = network.names
    names = [names[unit] for unit in units.tolist()]
    found = BeliefNetwork(part, np.asarray(network.bias)[units], network.activation, names)
    hierarchy = network.hierarchy
    return found if hierarchy is None else found.with_implies(hierarchy.part(units)), units


def narrowed(evidence: Evidence, units: np.ndarray) -> Evidence:
    """What is known of some units."""
    tilt = None if evidence.tilt is None else evidence.tilt[:, units]
    intervened = None if evidence.intervened is None else evidence.intervened[units]
    group = None if evidence.exclusive is None else evidence.exclusive._replace(units=evidence.exclusive.units[units])
    return evidence._replace(rows=evidence.rows[:, units], tilt=tilt, intervened=intervened, exclusive=group)
