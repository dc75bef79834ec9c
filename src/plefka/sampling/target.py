"""What is sampled: the posterior of the units that matter, as weights over their states.

Barren units (neither observed, nor tilted, nor ancestors of such) are left out. A noisy-or unit that was observed off
is linear in its parents, ln P(off) = -x, and becomes a tilt of theirs. Both are exact.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from plefka.activations import Activation, NoisyOr
from plefka.errors import InvalidInput
from plefka.networks.graph import with_ancestors

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

LEAST = -1e10  # stands for ln 0: exp of it is 0, and differences of two of them are numbers
DENSE = 0.05  # the share of edges from which a product with the full matrix is faster


@dataclass(frozen=True, eq=False)
class Target:
    """ln weight(S) = constant + sum_i tilt_i S_i + sum over counted i of S_i log_on(x_i) + (1 - S_i) log_off(x_i).

    Arrays have an axis of m units, those that matter in some row, and then one of rows; what all rows share has one.
    """

    activation: Activation
    units: np.ndarray  # (m,), their places in the network
    h: np.ndarray  # (m, rows or 1)
    values: np.ndarray  # (m, rows): what was observed, nan where hidden
    free: np.ndarray  # (m, rows): hidden, and to be sampled
    counted: np.ndarray  # (m, rows): the factor of the unit counts
    tilt: np.ndarray  # (m, rows), zero where not free
    constant: np.ndarray  # (rows,)
    child: np.ndarray  # (edges,)
    parent: np.ndarray  # (edges,)
    weight: np.ndarray  # (edges, rows or 1)

    @property
    def size(self) -> int:
        """How many units matter in some row."""
        return len(self.units)

    @property
    def num_rows(self) -> int:
        """How many rows of evidence there are."""
        return self.values.shape[1]

    @property
    def observed(self) -> np.ndarray:
        """Whose factor is part of the likelihood, and not of the prior."""
        return self.counted & ~self.free

    @property
    def is_certain(self) -> np.ndarray:
        """The edges of probability one."""
        return np.isinf(self.weight)

    @cached_property
    def finite(self) -> list:
        """The finite weights as a matrix (child, parent): one for all rows, or one for each."""
        return self._matrices(np.where(self.is_certain, 0.0, self.weight))

    @cached_property
    def certain(self) -> list:
        """1 for every edge of probability one."""
        return self._matrices(self.is_certain * 1.0)

    def _matrices(self, values: np.ndarray) -> list:
        where, shape = (self.child, self.parent), (self.size, self.size)
        matrices = [sp.csr_array((column, where), shape=shape) for column in values.T]
        full = len(self.child) > DENSE * self.size**2 and len(matrices) == 1
        return [matrix.toarray() for matrix in matrices] if full else matrices

    def fields(self, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of states (m, rows, columns): the fields without edges of probability one, and how many of these are on."""
        x = _times(self.finite, S) + self.h[:, :, None]
        on = _times(self.certain, S) if self.is_certain.any() else np.zeros(S.shape)
        return x, on


def _times(matrices: list, S: np.ndarray) -> np.ndarray:
    units, rows, columns = S.shape
    if len(matrices) == 1:
        return np.asarray(matrices[0] @ S.reshape(units, rows * columns)).reshape(S.shape)
    return np.stack([matrix @ S[:, row] for row, matrix in enumerate(matrices)], axis=1)


def target(network: "BeliefNetwork", rows: np.ndarray, tilt: np.ndarray | None = None) -> Target:
    """The posterior given rows (B, n) of evidence, nan where hidden, with every weight times exp(sum_i tilt_i S_i)."""
    known, lean = np.asarray(rows, float).T, _tilt_of(rows, tilt).T
    h = np.atleast_2d(np.asarray(network.bias, float)).T
    child, parent, weight = _edges_of(network)
    hidden = np.isnan(known)
    constant = np.where(hidden, 0.0, lean * np.nan_to_num(known)).sum(0)
    lean = np.where(hidden, lean, 0.0)
    counted = ~hidden
    if isinstance(network.activation, NoisyOr):
        off = known == 0
        counted = counted & ~off
        lean, constant = _folded(lean, constant, off, known, h, (child, parent, weight))
    matters = _that_matter(counted | (lean != 0), hidden, child, parent, weight)
    free, counted = matters & hidden, matters & (hidden | counted)
    return _restricted(network.activation, h, known, free, counted, lean, constant, child, parent, weight)


def _tilt_of(rows: np.ndarray, tilt: np.ndarray | None) -> np.ndarray:
    if tilt is None:
        return np.zeros(rows.shape)
    tilt = np.asarray(tilt, float)
    if tilt.shape != rows.shape or np.isnan(tilt).any():
        raise InvalidInput(f"tilt must be numbers of the shape of the evidence, {rows.shape}; got shape {tilt.shape}.")
    return np.clip(tilt, LEAST, -LEAST)


def _edges_of(network: "BeliefNetwork") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Children, parents and weights; a stack has a column of weights for each network."""
    sparse = network.storage.to_sparse()
    if network.stack is None:
        edges = sp.coo_array(sparse)
        return edges.row, edges.col, edges.data[:, None]
    union = sp.coo_array(network.storage.union())
    weight = np.stack([np.asarray(W[union.row, union.col]).ravel() for W in sparse], axis=1)
    return union.row, union.col, weight


def _folded(lean, constant, off, known, h, edges) -> tuple[np.ndarray, np.ndarray]:
    """ln P(off) = -h_i - sum_j w_ij S_j: a tilt of hidden parents, and a constant for observed ones."""
    child, parent, weight = edges
    shape = (len(known), len(known))
    matrices = [sp.csr_array((w, (parent, child)), shape=shape) for w in np.minimum(weight, -LEAST).T]
    share = -_times(matrices, (off * 1.0)[:, :, None])[:, :, 0]
    hidden = np.isnan(known)
    constant = constant + np.where(hidden, 0.0, share * np.nan_to_num(known)).sum(0) - (off * h).sum(0)
    return np.where(hidden, np.maximum(lean + share, LEAST), lean), constant


def _that_matter(units, hidden, child, parent, weight) -> np.ndarray:
    """The units and the hidden ones that lead to them; what was observed stands between its parents and the rest.

    Parents that were observed are needed for the fields of their children, and are there as well.
    """
    live = np.any(weight != 0, axis=1)
    towards = sp.csr_array((np.ones(live.sum()), (parent[live], child[live])), shape=(len(units), len(units)))
    return with_ancestors(towards, units, hidden)


def _restricted(activation, h, known, free, counted, lean, constant, child, parent, weight) -> Target:
    """Only units that are free or counted in some row, or parents of those that are counted, and the edges between."""
    needed = counted.any(1)
    here = needed[child] & np.any(weight != 0, axis=1)
    member = (free | counted).any(1)
    member[parent[here]] = True
    units = np.flatnonzero(member)
    place = np.full(len(known), -1)
    place[units] = np.arange(len(units))
    shape = (len(units), known.shape[1])
    return Target(
        activation, units, h[units], known[units], free[units], counted[units],
        np.where(free[units], lean[units], 0.0), np.broadcast_to(constant, shape[1:]),
        place[child[here]], place[parent[here]], weight[here],
    )  # fmt: skip
