"""How weights are kept, and the small interface through which everything else reads them.

A `Storage` is data: what a network holds, what files contain, what learning changes. `open` turns it, inside a
computation, into `OpenStorage`, the form that is fast to multiply with. There, axis 0 runs over units and axis 1 over
rows of evidence (or over the networks of a stack), so that one row and ten thousand share all formulas.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from jaxtyping import Array, Float

from plefka.runtime.plain_module import PlainModule
from plefka.runtime.precision import is_traced
from plefka.runtime.value_cache import cached_for

Units = Float[Array, "units rows"]
Columns = Float[Array, "columns rows"]
Table = Float[Array, "positions columns rows"]


class Products(PlainModule):
    """Sums over the parents of every unit."""

    @abstractmethod
    def map_edges(self, function: Callable, children: tuple, parents: tuple) -> list[Units]:
        """sum_j of each of function(w_ij, terms of the child..., terms of the parent...)."""

    def linked(self, z: Units) -> Units:
        """sum_j z_j over the parents of every unit, whatever their weights."""
        return self.map_edges(lambda w, z: ((w != 0) * z,), (), (z,))[0]


class OpenStorage(Products):
    """Weights made ready for products; work and memory are proportional to the edges.

    What is not a sum over edges takes all parents of a unit at once, in tables: a column is a child, a position one of
    its parents. A layer is one table, all columns of which share their parents; the children of a sparse network are
    grouped by how many parents they have. An edge of weight 0 is none, so that tables can be filled up.
    """

    size: eqx.AbstractVar[int]
    parents_are_shared: ClassVar[bool] = False  # whether all children of a table have their parents in common

    @property
    @abstractmethod
    def tables(self) -> tuple[Float[Array, "positions columns #rows"], ...]:
        """The weights, with all parents of a child in one column."""

    @abstractmethod
    def parents(self, z: Units) -> list[Float[Array, "positions #columns rows"]]:
        """z of the parents, table by table; with a single column where all children of a table share them."""

    @abstractmethod
    def children(self, z: Float[Array, "units #rows"]) -> list[Float[Array, "columns #rows"]]:
        """z of the children, table by table."""

    @abstractmethod
    def to_children(self, columns: Sequence[Columns], otherwise: Units) -> Units:
        """From tables to units; `otherwise` for units that have no parents."""

    @abstractmethod
    def to_parents(self, tables: Sequence[Table]) -> Units:
        """The sum over the edges that lead from a unit."""

    def map(self, function: Callable, *terms: Sequence[Any]) -> list[Any]:
        """function(weights, terms...) of every table."""
        return [function(*table) for table in zip(self.tables, *terms, strict=True)]

    def power_sums(self, *terms: Units | None) -> list[Any]:
        """[sum_j w_ij z1_j, sum_j w_ij^2 z2_j, ...]: term k is weighted with the k-th power of the weights.

        A term that is None is left out. Linear in the terms; the transposed sums come from reverse differentiation.
        """
        found: list[Any] = []
        for power, z in enumerate(terms, start=1):
            found.append(None if z is None else self.map_edges(lambda w, z, k=power: (w**k * z,), (), (z,))[0])
        return found

    def field_of(self, z: Units) -> Units:
        """sum_j w_ij z_j."""
        return self.power_sums(z)[0]

    @abstractmethod
    def pair_sum(self, v: Units, along: Sequence[Table], common: Sequence[Array]) -> Float[Array, " rows"]:
        """sum over pairs i, j of v_i v_j P_ij^2, where P_ij is made of edges and of what common children add.

        `common` is (positions, positions, columns, rows), with a single column, their sum, where they share parents.
        """

    @abstractmethod
    def taylor_pair_sum(self, v: Units, a: Units, d: Units, tilt: Units, g: Units) -> Float[Array, " rows"]:
        """sum over pairs i, j of v_i v_j P_ij^2 with P_ij = a_i w_ij + d_i w_ij^2 tilt_j / 2 + sum_m g_m w_mi w_mj."""

    def pair_product(self, z: Units, along: Sequence[Table], common: Sequence[Array]) -> Units:
        """sum_j P_ij z_j for every unit i, with P of `pair_sum`."""
        up, down = [], []
        for edge, pairs, above, below in zip(along, common, self.parents(z), self.children(z), strict=True):
            from_child = edge * below
            from_child = from_child.sum(1, keepdims=True) if self.parents_are_shared else from_child
            up.append(from_child + jnp.einsum("jlcr,lcr->jcr", pairs, above))
            down.append((edge * above).sum(0))
        return self.to_parents(up) + self.to_children(down, jnp.zeros_like(z))

    def product(self, z: Units) -> Units:
        """sum of w z over all neighbours of a unit, parents and children: the derivative of z' L z."""
        return jax.grad(lambda z: (z * self.field_of(z)).sum())(z)

    def _zeros(self, like: Columns) -> Units:
        return jnp.zeros((self.size, like.shape[1]), like.dtype)


class Storage(PlainModule):
    """Weights as they are kept: blocks or edges, of one network or of a stack of them."""

    size: eqx.AbstractVar[int]

    @property
    @abstractmethod
    def stack(self) -> int | None:
        """How many networks there are, or None for a single one."""

    @property
    @abstractmethod
    def num_edges(self) -> int:
        """How many weights one network has."""

    @abstractmethod
    def open(self, degree: int, certain: float, *, pairs: bool = False) -> OpenStorage:
        """Ready for powers up to `degree`; infinite weights count as `certain`."""

    def open_for_reduction(self, certain: float, rows: int) -> Products:
        """Ready for a few products with so many rows: quick to compile, where it need not be quick to run."""
        return self.open(1, certain)

    def prepared(self, *, pairs: bool = False, tables: bool = False) -> "Storage":
        """A copy of the weights that has already looked up what pairs and tables of parents need."""
        return self

    @property
    @abstractmethod
    def table_shapes(self) -> list[tuple[int, int]]:
        """Positions and columns of the tables of parents."""

    @abstractmethod
    def num_pairs(self) -> int:
        """How many terms one `pair_sum` adds up: its cost in time and memory."""

    @property
    @abstractmethod
    def parameters(self) -> Any:
        """The arrays of weights, as `with_parameters` takes them."""

    @abstractmethod
    def with_parameters(self, weights: Any) -> "Storage":
        """A copy of the edges with these weights."""

    def map_weights(self, function: Callable) -> "Storage":
        """A copy of the edges with function(weight) for weight, array by array."""
        return self.with_parameters(jax.tree.map(function, self.parameters))

    def take(self, networks: slice | int | np.ndarray) -> "Storage":
        """Some networks of a stack."""
        return self.map_weights(lambda weights: weights[networks])

    def leaves(self) -> Sequence[np.ndarray]:
        """All weights, as flat arrays in some order."""
        return [np.asarray(weights).ravel() for weights in jax.tree.leaves(self.parameters)]

    @abstractmethod
    def extreme_sums(self) -> tuple[np.ndarray, np.ndarray]:
        """The sums of the negative and of the positive weights of every unit: how far its field can go."""

    def product(self, z: np.ndarray) -> np.ndarray:
        """sum of w z over all neighbours of a unit, parents and children, for z (units, rows); in NumPy.

        Row k is that of network k in a stack.
        """
        child, parent, weight = self.edge_list()
        if weight.shape[1] == 1:
            L = self._sparse(weight[:, 0], child, parent)
            return L @ z + L.T @ z
        out = np.zeros((self.size, weight.shape[1]))
        np.add.at(out, child, weight * z[parent])
        np.add.at(out, parent, weight * z[child])
        return out

    def neighbour_sums(self, xp: Any) -> Callable:
        """z -> `product(z)`, of NumPy or of JAX."""
        return self.product if xp is np else self.open(1, np.inf).product

    def edge_list(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Child, parent and weights (edges, 1 or networks) of all edges that have a weight in some network."""
        if is_traced(self.parameters):
            return self._listed_edges()
        return cached_for(self, Storage.edge_list, self._listed_edges)

    @abstractmethod
    def _listed_edges(self) -> tuple[Any, Any, Any]:
        """The edge list, which is made once for every network."""

    @abstractmethod
    def along(self, function: Callable) -> Any:
        """function(children, parents) for every weight, as `parameters` has them; the ends are arrays of units.

        A block has them as a column and a row, so that what the function makes of both is broadcast. In NumPy.
        """

    def to_sparse(self) -> Any:
        """weights[i, j] as scipy's CSR, without zeros and in order; one for each network of a stack."""
        child, parent, weight = self.edge_list()
        matrices = [self._sparse(w, child, parent) for w in weight.T]
        return matrices[0] if self.stack is None else matrices

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Child and parent of all edges that any network of a stack has."""
        return self.edge_list()[:2]

    def union(self) -> sp.csr_array:
        """Where any network of a stack has an edge."""
        child, parent = self.ends()
        return self._sparse(np.ones(len(child)), child, parent)

    def _sparse(self, values: np.ndarray, child: np.ndarray, parent: np.ndarray) -> sp.csr_array:
        there = values != 0
        return sp.csr_array((values[there], (child[there], parent[there])), shape=(self.size, self.size))

    def original(self) -> Any:
        """The weights in the form in which a user gives them."""
        return self.to_sparse()

    def most_parents(self) -> int:
        """Of any unit."""
        return int(np.bincount(self.ends()[0]).max(initial=0))

    def has_average(self) -> np.ndarray:
        """Which units are averaged over parents: those that have any, and others that are laid out beside them."""
        return np.bincount(self.ends()[0], minlength=self.size) > 0

    def num_children(self) -> np.ndarray:
        """Of every unit; in a stack, all that it has in some network."""
        return np.bincount(self.ends()[1], minlength=self.size)


def off_diagonal(H: Float[Array, "n n ..."]) -> Float[Array, "n n ..."]:
    """H with zeros on the diagonal: no unit is a pair with itself."""
    others = 1 - jnp.eye(len(H), dtype=H.dtype)
    return H * others.reshape(others.shape + (1,) * (H.ndim - 2))
