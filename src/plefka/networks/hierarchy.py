"""What follows from what by definition: a finding that is on implies all that is more general, one that is off all
that is more specific. Only what does not follow enters the likelihood, or the same observation would count twice.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from plefka.errors import InvalidNetwork, PlefkaWarning, listed
from plefka.networks.graph import EdgesByUnit, Graph, cycle_text


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Pairs (unit, more general unit), and all that they imply in any number of steps."""

    pairs: np.ndarray  # (pairs, 2)
    size: int  # units of the network

    @classmethod
    def of(cls, pairs: Any, names: Sequence[str]) -> "Hierarchy | None":
        """From indices of units, each pair once; None where there are no pairs."""
        pairs = np.unique(np.asarray(pairs, int).reshape(-1, 2), axis=0)
        cycle = Graph(pairs[:, 1], pairs[:, 0], len(names)).cycle()
        if cycle is not None:
            raise InvalidNetwork(
                f"implies must have no circle; got {cycle_text(names, cycle)}. Remove one of these pairs."
            )
        return cls(pairs, len(names)) if len(pairs) else None

    @cached_property
    def _closure(self) -> sp.csr_array:
        """1 at [unit, more general unit]: the pairs squared until nothing is new."""
        ends = (np.ones(len(self.pairs)), self.pairs.T)
        reached = sp.csr_array(sp.csr_array(ends, shape=(self.size, self.size)) + sp.eye_array(self.size))
        while (further := sp.csr_array(reached @ reached)).nnz > reached.nnz:
            further.data[:] = 1.0
            reached = further
        reached.setdiag(0)
        reached.eliminate_zeros()
        return reached

    @cached_property
    def above_and_below(self) -> tuple[EdgesByUnit, EdgesByUnit]:
        """All units that are more general than a unit, and all that are more specific."""
        up, down = self._closure, self._closure.T.tocsr()
        return EdgesByUnit(up.indices, up.indptr), EdgesByUnit(down.indices, down.indptr)

    def part(self, units: np.ndarray) -> list[Any]:
        """The pairs among some units, as these are numbered, whatever lies between them."""
        inside = sp.coo_array(self._closure[units][:, units])
        return np.stack(inside.coords, axis=1).tolist()

    def closed(self, unit: np.ndarray, cause: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Edges with those to all that is more general, each with the largest probability of what lies below it."""
        above, _ = self.above_and_below
        line = np.concatenate([np.arange(len(unit)), np.repeat(np.arange(len(unit)), above.counts[unit])])
        width = int(cause.max(initial=0)) + 1
        key = np.concatenate([unit, above.of(unit)]).astype(np.int64) * width + cause[line]
        order = np.lexsort((p[line], key))
        last = order[np.diff(key[order], append=-1) != 0]
        return key[last] // width, key[last] % width, p[line[last]]

    def reached(self, seen: np.ndarray, further: EdgesByUnit) -> np.ndarray:
        """(B, n): what follows from what is seen, which is on for what lies above, and off for what lies below."""
        found = np.zeros(seen.shape, bool)
        row, unit = np.nonzero(seen)
        found[np.repeat(row, further.counts[unit]), further.of(unit)] = True
        return found

    def most_telling(self, rows: np.ndarray, names: Sequence[str]) -> np.ndarray:
        """Rows (B, n) without what follows; what is off although it follows from what is on is left out too."""
        above, below = self.above_and_below
        implied = self.reached(rows == 1, above)
        against = implied & (rows == 0)
        if against.any():
            units = [repr(names[unit]) for unit in np.flatnonzero(against.any(axis=0)).tolist()]
            are, them = ("is", "it") if len(units) == 1 else ("are", "them")
            where = f" in {against.any(axis=1).sum():,} rows" if len(rows) > 1 else ""
            message = f"{listed(units)} {are} off, but something that implies {them} is on{where}. What is on counts"
            warnings.warn(f"{message}, and the contradicting observations are left out.", PlefkaWarning, stacklevel=5)
        rows = np.where(implied, np.nan, rows)
        rows[self.reached(rows == 0, below)] = np.nan
        return rows


def with_implied(network: Any, rows: np.ndarray) -> np.ndarray:
    """Rows (B, n) of evidence with all that follows from them in the hierarchy of the network."""
    if network.hierarchy is None:
        return rows
    above, below = network.hierarchy.above_and_below
    on, off = network.hierarchy.reached(rows == 1, above), network.hierarchy.reached(rows == 0, below)
    known = np.where(np.isnan(rows) & off, 0.0, rows)
    known[np.isnan(rows) & on] = 1.0
    return known


def without_implied(network: Any, evidence: Any) -> Any:
    """The evidence that enters the likelihood; a Likelihood of what follows from it is a constant."""
    if network.hierarchy is None:
        return evidence
    rows = network.hierarchy.most_telling(evidence.rows, network.names)
    if evidence.tilt is None:
        return evidence._replace(rows=rows)
    known = with_implied(network, rows)
    offset = evidence.offset + np.where(np.isnan(rows) & (known == 1), evidence.tilt, 0.0).sum(axis=1)
    return evidence._replace(rows=rows, offset=offset, tilt=np.where(np.isnan(known), evidence.tilt, 0.0))
