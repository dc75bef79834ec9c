"""How weights are kept, and the small interface through which everything else reads them.

A `Storage` is data: what a network holds, what files contain, what learning changes. `open` turns it, inside a
computation, into `OpenStorage`, the form that is fast to multiply with. There, axis 0 runs over units and axis 1 over
rows of evidence (or over the networks of a stack), so that one row and ten thousand share all formulas.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from jaxtyping import Array, Float

from plefka.networks.fans import Fans


class Products(eqx.Module):
    """Sums over the parents of every unit."""

    @abstractmethod
    def field_of(self, z: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
        """sum_j w_ij z_j."""

    @abstractmethod
    def map_edges(self, function: Callable, children: tuple, parents: tuple) -> list[Float[Array, "units rows"]]:
        """sum_j of each of function(w_ij, terms of the child..., terms of the parent...)."""


class OpenStorage(Products):
    """Weights made ready for products; work and memory are proportional to the edges."""

    @abstractmethod
    def power_sums(self, *terms: Float[Array, "units rows"] | None) -> list[Any]:
        """[sum_j w_ij z1_j, sum_j w_ij^2 z2_j, ...]: term k is weighted with the k-th power of the weights.

        A term that is None is left out. Linear in the terms; the transposed sums come from reverse differentiation.
        """

    @abstractmethod
    def pair_sum(
        self,
        v: Float[Array, "units rows"],
        a: Float[Array, "units rows"],
        d: Float[Array, "units rows"],
        tilt: Float[Array, "units rows"],
        g: Float[Array, "units rows"],
    ) -> Float[Array, " rows"]:
        """sum over pairs i, j of v_i v_j P_ij^2, P_ij = a_i w_ij + d_i w_ij^2 tilt_j / 2 + sum_m g_m w_mi w_mj."""

    @abstractmethod
    def fans(self) -> Fans:
        """The same weights, with all parents of a child together."""

    def field_of(self, z):
        return self.power_sums(z)[0]


class Storage(eqx.Module):
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

    def plain(self, certain: float, rows: int) -> Products:
        """Ready for a few products with so many rows: quick to compile, where it need not be quick to run."""
        return self.open(1, certain)

    @abstractmethod
    def prepared(self, *, pairs: bool = False, fans: bool = False) -> "Storage":
        """The same weights with whatever `pair_sum` and `fans` need to have been looked up beforehand."""

    @property
    @abstractmethod
    def fan_shapes(self) -> list[tuple[int, int]]:
        """Positions and columns of the tables of parents (see fans.py)."""

    @abstractmethod
    def num_pairs(self) -> int:
        """How many terms one `pair_sum` adds up: its cost in time and memory."""

    @abstractmethod
    def map_weights(self, function: Callable) -> "Storage":
        """The same edges with function(weight) for weight, array by array."""

    def indicator(self) -> "Storage":
        """The same edges, each with weight one; zero weights are no edges."""
        return self.map_weights(lambda w: jnp.where(jnp.asarray(w) != 0, 1.0, 0.0))

    @abstractmethod
    def take(self, networks: slice | int | np.ndarray) -> "Storage":
        """Some networks of a stack."""

    @abstractmethod
    def extreme_sums(self) -> tuple[np.ndarray, np.ndarray]:
        """The sums of the negative and of the positive weights of every unit: how far its field can go."""

    @abstractmethod
    def to_sparse(self) -> Any:
        """weights[i, j] as scipy's CSR; one for each network of a stack."""

    @abstractmethod
    def edge_list(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Child, parent and weights (edges, 1 or networks) of all edges that have a weight in some network."""

    @abstractmethod
    def union(self) -> sp.csr_array:
        """Where any network of a stack has an edge."""

    def most_parents(self) -> int:
        """Of any unit."""
        return int(np.diff(self.union().indptr).max(initial=0))

    def narrowed(self, most: int) -> "Storage":
        """The same weights by edges, where only that shows that no unit has more than `most` parents."""
        return self

    def has_parents(self) -> np.ndarray:
        """Which units have any; in a stack, in some network."""
        return np.diff(self.union().indptr) > 0

    def has_average(self) -> np.ndarray:
        """Which units are averaged over parents: those that have any, and others that are laid out beside them."""
        return self.has_parents()

    def num_children(self) -> np.ndarray:
        """Of every unit; in a stack, all that it has in some network."""
        return np.asarray(self.union().sum(axis=0)).ravel()

    @property
    @abstractmethod
    def parameters(self) -> Any:
        """The arrays of weights, as `with_parameters` takes them."""

    @abstractmethod
    def with_parameters(self, weights: Any) -> "Storage":
        """The same edges with other weights."""

    @abstractmethod
    def original(self) -> object:
        """The weights in the form in which a user gives them."""

    @abstractmethod
    def leaves(self) -> Sequence[np.ndarray]:
        """All weights, as flat arrays in some order."""
