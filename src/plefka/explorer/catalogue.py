"""What there is to know of a network without computing: its units, their names, and who is connected to whom.

Everything is listed once, when the service starts, so that no request goes through all edges.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

import plefka as pf
from plefka.networks.units import kinds_of

Served = pf.BeliefNetwork | pf.BoltzmannMachine
CAUSE, FINDING, UNIT = "cause", "finding", "unit"
MOST_NAMES = 200  # of parents or of children that are listed with a unit


class Catalogue:
    """The units of one network, with the edges by child and by parent.

    Couplings of a machine have no direction: both units are the other one's parent and child.
    """

    def __init__(self, network: Served):
        self.names, self.states, self.size = network.names, network.states, len(network.names)
        self.kinds, self.is_directed = kinds_of(network), network.is_normalised
        self.by_child = _weights(network)  # weights[child, parent]; nan where the child is a table
        self.by_parent = sp.csr_array(self.by_child.T.tocsr())
        self.ends = {"parents": self.by_child, "children": self.by_parent}
        self.num_parents, self.num_children = (np.diff(edges.indptr) for edges in self.ends.values())
        self.places = {name: unit for unit, name in enumerate(self.names)}
        self._folded = [name.casefold() for name in self.names]
        is_cause, is_finding = self.num_parents == 0, self.num_parents > 0
        by_role = {
            CAUSE: is_cause & self.is_directed,
            FINDING: is_finding & self.is_directed,
            "all": is_cause | is_finding,
        }
        self.units_by_role = {role: np.flatnonzero(is_so).tolist() for role, is_so in by_role.items()}
        self.facts = {  # sizes of the network
            "units": self.size,
            "edges": int(self.by_child.nnz) // (1 if self.is_directed else 2),
            "causes": len(self.units_by_role[CAUSE]),
            "findings": len(self.units_by_role[FINDING]),
            "kinds": dict(Counter(self.kinds)),
            "largest_in_degree": int(self.num_parents.max(initial=0)),
        }

    def role(self, unit: int) -> str:
        return UNIT if not self.is_directed else FINDING if self.num_parents[unit] else CAUSE

    def unit(self, unit: int) -> dict[str, Any]:
        """One unit, as in a list of them."""
        return {
            "index": unit,
            "name": self.names[unit],
            "role": self.role(unit),
            "kind": self.kinds[unit],
            "states": list(self.states[unit]),
            "parents": int(self.num_parents[unit]),
            "children": int(self.num_children[unit]),
        }

    def unit_with_neighbours(self, unit: int) -> dict[str, Any]:
        """One unit with the names of its first parents and children."""
        parents, children = (_row(edges, unit)[0][:MOST_NAMES] for edges in self.ends.values())
        return {
            **self.unit(unit),
            "parent_names": [self.names[parent] for parent in parents],
            "child_names": [self.names[child] for child in children],
        }

    def found(self, words: str, role: str) -> list[int]:
        """The units in whose names all words occur; those that begin with the whole query come first."""
        query, units = words.casefold().strip(), self.units_by_role[role]
        for part in query.split():
            units = [unit for unit in units if part in self._folded[unit]]
        return sorted(units, key=lambda unit: not self._folded[unit].startswith(query)) if query else units

    def all_names(self) -> dict[str, Any]:
        """All names, roles and words for states, as short as they can be said."""
        commonest = Counter(self.states).most_common(1)[0][0]
        others = {str(unit): list(pair) for unit, pair in enumerate(self.states) if pair != commonest}
        return {
            "names": self.names,
            "roles": "".join(self.role(unit)[0] for unit in range(self.size)),
            "states": {"default": list(commonest), "others": others},
        }

    # ---- around a unit -----------------------------------------------------------------------------------------------

    def around(self, centres: Sequence[int], hops: int, limit: int, each_hop: int) -> dict[str, Any]:
        """What `/neighbourhood` answers."""
        kept = list(dict.fromkeys(centres))
        reached, at, frontier = np.zeros(self.size, bool), dict.fromkeys(kept, 0), np.array(kept)
        reached[frontier] = True
        for hop in range(1, hops + 1):
            found = self._strongest_beside(frontier, reached)
            frontier = found[: max(0, min(each_hop, limit - len(kept)))]
            reached[found] = True
            at.update(dict.fromkeys(frontier.tolist(), hop))
            kept.extend(frontier.tolist())
        nodes = [{"name": self.names[unit], "role": self.role(unit), "hops": at[unit]} for unit in kept]
        inside = self.by_child[kept][:, kept]
        inside = (inside if self.is_directed else sp.tril(inside)).tocoo()
        edges = [
            {"parent": self.names[kept[parent]], "child": self.names[kept[child]], "weight": weight}
            for child, parent, weight in zip(*(z.tolist() for z in (*inside.coords, inside.data)), strict=True)
        ]
        counts = {which: len(np.setdiff1d(ends[centres].indices, centres)) for which, ends in self.ends.items()}
        return {"nodes": nodes, "edges": edges, "left_out": self._num_within(centres, hops) - len(kept), **counts}

    def _num_within(self, centres: Sequence[int], hops: int) -> int:
        """How many units are within so many edges, also by way of units that are left out."""
        reached, frontier = np.zeros(self.size, bool), np.unique(centres)
        reached[frontier] = True
        for _ in range(hops):
            beside = np.unique(np.concatenate([ends[frontier].indices for ends in self.ends.values()]))
            frontier = beside[~reached[beside]]
            reached[frontier] = True
        return int(np.count_nonzero(reached))

    def _strongest_beside(self, units: np.ndarray, reached: np.ndarray) -> np.ndarray:
        """Their neighbours that were not reached before, by the largest weight of an edge to them."""
        ends = [edges[units] for edges in self.ends.values()]
        neighbours = np.concatenate([end.indices for end in ends])
        strength = np.nan_to_num(np.abs(np.concatenate([end.data for end in ends])))
        new = ~reached[neighbours]
        best = np.zeros(self.size)
        np.maximum.at(best, neighbours[new], strength[new])
        found = np.unique(neighbours[new])
        return found[np.argsort(-best[found], kind="stable")]

    def strongest_children(self, cause: int, count: int) -> list[int]:
        """The children that a unit switches on most; of a table, whose weight is unknown, the first ones."""
        children, weights = _row(self.by_parent, cause)
        strength = np.nan_to_num(weights, nan=np.finfo(float).tiny)
        order = np.argsort(-strength, kind="stable")
        return [int(children[k]) for k in order[:count] if strength[k] > 0]


def _row(matrix: sp.csr_array, row: int) -> tuple[np.ndarray, np.ndarray]:
    here = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return matrix.indices[here], matrix.data[here]


def _weights(network: Served) -> sp.csr_array:
    """weights[child, parent] of all edges, nan where the child is a table; all couplings of a machine, symmetric."""
    if isinstance(network, pf.BoltzmannMachine):
        couplings = network.storage.to_sparse()
        return sp.csr_array(couplings + couplings.T)
    if network.conditionals is None:
        return network.storage.to_sparse()
    places = {name: unit for unit, name in enumerate(network.names)}
    edges = network.edges()
    ends = [places[edge.child] for edge in edges], [places[edge.parent] for edge in edges]
    weights = [np.nan if edge.weight is None else edge.weight for edge in edges]
    found = sp.csr_array((np.array(weights, float), ends), shape=(network.size, network.size))
    found.sort_indices()
    return found
