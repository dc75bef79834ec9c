"""Who is connected to whom, by name, and the part of a network around some of its units."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plefka.errors import InvalidInput, InvalidNetwork
from plefka.networks.activations import Table
from plefka.networks.edge_list import EdgeList
from plefka.networks.index_arrays import mask_of
from plefka.networks.units import Unit, units_of

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork


class Edge(NamedTuple):
    """An edge from a parent to a child, by name; the weight is None where the child is a table."""

    parent: str
    child: str
    weight: float | None


def _edge_list(network: "BeliefNetwork", what: str) -> EdgeList:
    """Sorted by child, and then by parent."""
    if network.stack is not None:
        raise InvalidNetwork(f"{what} are those of one network; got a stack. Take one of its networks first.")
    return EdgeList.of(network.storage)


def neighbours(network: "BeliefNetwork", unit: str | int, which: str) -> list[str]:
    """See `BeliefNetwork.parents` and `BeliefNetwork.children`."""
    at, edges = network.index(unit), _edge_list(network, which)
    ends, own = (edges.parent, edges.child) if which == "parents" else (edges.child, edges.parent)
    return [network.names[end] for end in ends[own == at]]


def edges_of(network: "BeliefNetwork") -> list[Edge]:
    """See `BeliefNetwork.edges`."""
    names, edges = network.names, _edge_list(network, "edges")
    if network.conditionals is not None:
        found = []
        for name, unit in zip(names, units_of(network), strict=True):
            weights = [None] * len(unit.parents) if isinstance(unit.kind, Table) else unit.weights
            found += [Edge(str(parent), name, weight) for parent, weight in zip(unit.parents, weights, strict=True)]
        return found
    ends = zip(edges.child, edges.parent, edges.weight[:, 0].tolist(), strict=True)
    return [Edge(names[parent], names[child], weight) for child, parent, weight in ends]


# ---- a part of a network ---------------------------------------------------------------------------------------------


def units_around(network: "BeliefNetwork", around: str | int | Sequence[str | int], hops: int) -> np.ndarray:
    """The indices of the units within so many edges, in either direction."""
    if not isinstance(hops, int | np.integer) or isinstance(hops, bool) or hops < 0:
        raise InvalidInput(f"hops must be a whole number of edges from 0 on; got {hops!r}.")
    edges = _edge_list(network, "neighbours")
    centres = [around] if isinstance(around, str | int | np.integer) else list(around)
    if not centres:
        raise InvalidInput("around must be a unit or a list of units; got an empty list.")
    reached = mask_of([network.index(unit) for unit in centres], network.size)
    for _ in range(min(hops, network.size)):
        beyond = np.concatenate([edges.child[reached[edges.parent]], edges.parent[reached[edges.child]]])
        if reached[beyond].all():
            break
        reached[beyond] = True
    return np.flatnonzero(reached)


def subnetwork(network: "BeliefNetwork", around: str | int | Sequence[str | int], hops: int) -> "BeliefNetwork":
    """See `BeliefNetwork.subnetwork`."""
    units = units_around(network, around, hops)
    names = [network.names[unit] for unit in units]
    states = None if network.given_states is None else [network.given_states[unit] for unit in units]
    if network.conditionals is None:
        weights = network.storage.to_sparse()[units][:, units]
        part = type(network)(weights, np.asarray(network.bias)[units], network.activation, names, states=states)
    else:
        chosen, kept = set(units.tolist()), set(names)
        of_all = enumerate(units_of(network))
        part = type(network).of_units(
            [_without(unit, kept)._replace(name=network.names[at]) for at, unit in of_all if at in chosen],
            states=states,
        )
    return part if network.hierarchy is None else part.with_implies(network.hierarchy.part(units))


def _without(unit: Unit, kept: set[str]) -> Unit:
    """The unit with those of its parents that are kept; all others are off."""
    there = [str(parent) in kept for parent in unit.parents]
    parents = tuple(str(parent) for parent, stays in zip(unit.parents, there, strict=True) if stays)
    if isinstance(unit.kind, Table):
        table = unit.kind.probabilities[tuple(slice(None) if stays else 0 for stays in there)]
        return unit._replace(parents=parents, kind=Table(table))
    weights = tuple(weight for weight, stays in zip(unit.weights, there, strict=True) if stays)
    return unit._replace(parents=parents, weights=weights)
