"""What there is to know of a network without computing: its units, their names, and who is connected to whom.

Everything is listed once, when the service starts, so that no request goes through all edges.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

import plefka as pf
from plefka.networks.units import kinds_of

Served = pf.BeliefNetwork | pf.BoltzmannMachine
CAUSE, FINDING, UNIT = "cause", "finding", "unit"
MOST_NAMES = 200  # of parents or of children that are listed with a unit


@dataclass(frozen=True)
class Catalogue:
    """The units of one network, with the edges by child and by parent.

    Couplings of a machine have no direction: both units are the other one's parent and child.
    """

    names: tuple[str, ...]
    kinds: Sequence[str]
    states: Sequence[tuple[str, str]]
    by_child: sp.csr_array  # weights[child, parent]; nan where the child is a table
    by_parent: sp.csr_array  # the same, transposed
    is_directed: bool = True

    @classmethod
    def of(cls, network: Served) -> "Catalogue":
        weights = _weights(network)
        transposed = sp.csr_array(weights.T.tocsr())
        return cls(network.names, kinds_of(network), network.states, weights, transposed, network.is_normalised)

    def __post_init__(self):
        """Nobody should wait for what is the same for all."""
        _ = self.places, self._folded, self.facts, self.units_by_role

    @property
    def size(self) -> int:
        return len(self.names)

    @cached_property
    def num_parents(self) -> np.ndarray:
        return np.diff(self.by_child.indptr)

    @cached_property
    def num_children(self) -> np.ndarray:
        return np.diff(self.by_parent.indptr)

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: unit for unit, name in enumerate(self.names)}

    @cached_property
    def _folded(self) -> list[str]:
        return [name.casefold() for name in self.names]

    def role(self, unit: int) -> str:
        return UNIT if not self.is_directed else FINDING if self.num_parents[unit] else CAUSE

    @cached_property
    def units_by_role(self) -> dict[str, list[int]]:
        by_role = {CAUSE: self.num_parents == 0, FINDING: self.num_parents > 0}
        return {"all": list(range(self.size))} | {
            role: np.flatnonzero(is_so & self.is_directed).tolist() for role, is_so in by_role.items()
        }

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Sizes of the network."""
        return {
            "units": self.size,
            "edges": int(self.by_child.nnz) // (1 if self.is_directed else 2),
            "causes": len(self.units_by_role[CAUSE]),
            "findings": len(self.units_by_role[FINDING]),
            "kinds": dict(Counter(self.kinds)),
            "largest_in_degree": int(self.num_parents.max(initial=0)),
        }

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
        parents, children = (_row(edges, unit)[0][:MOST_NAMES] for edges in (self.by_child, self.by_parent))
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
        counts = {"left_out": self._num_within(centres, hops) - len(kept)}
        for which, ends in (("parents", self.by_child), ("children", self.by_parent)):
            counts[which] = len(np.setdiff1d(ends[centres].indices, centres))
        return {"nodes": nodes, "edges": edges, **counts}

    def _num_within(self, centres: Sequence[int], hops: int) -> int:
        """How many units are within so many edges, also by way of units that are left out."""
        reached, frontier = np.zeros(self.size, bool), np.unique(centres)
        reached[frontier] = True
        for _ in range(hops):
            beside = np.unique(np.concatenate([ends[frontier].indices for ends in (self.by_child, self.by_parent)]))
            frontier = beside[~reached[beside]]
            reached[frontier] = True
        return int(np.count_nonzero(reached))

    def _strongest_beside(self, units: np.ndarray, reached: np.ndarray) -> np.ndarray:
        """Their neighbours that were not reached before, by the largest weight of an edge to them."""
        ends = [edges[units] for edges in (self.by_child, self.by_parent)]
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
