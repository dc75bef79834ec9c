"""Plefka's expansion for Boltzmann machines, orders 1 to 4 in closed form.

Once the linear part is taken out, U = -sum_{i<j} W_ij D_i D_j with D = S - u, so that every order is a sum over small
graphs. With v = u (1 - u) and d = 1 - 2u, G = G_0 plus

    order 1   -sum_{i<j} W_ij u_i u_j - sum_i h_i u_i                                               naive mean field
    order 2   -1/2 sum_{i<j} W_ij^2 v_i v_j                                                         TAP
    order 3   -1/6 sum_{i<j} W_ij^3 v_i d_i v_j d_j  -  sum over triangles of W_ij W_jk W_ki v_i v_j v_k
    order 4   -1/24 sum_{i<j} W_ij^4 v_i v_j (1 - 6 v_i - 6 v_j + 30 v_i v_j)
              -1/2 sum_{i<j} W_ij^2 v_i d_i v_j d_j sum_k W_ik W_kj v_k
              -    sum over 4-cycles of W_ij W_jk W_kl W_li v_i v_j v_k v_l

Every coupling is stored once, so that L is half of W and a form z' L z is a sum over pairs. In a restricted machine
there are no triangles, and paths of two couplings lead from a layer to itself: all products are of one rectangular
block.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plefka.methods.method import does_not_apply
from plefka.methods.registry import METHODS
from plefka.networks.activations import namespace
from plefka.networks.blocks import Blocks
from plefka.networks.storage import Storage
from plefka.reduction.dependence import uncoupled
from plefka.reduction.question import Question
from plefka.solvers.functional import Functional

REACH = 2.5  # of the expansion, in what units contribute to the second order
LARGEST_MATRIX = 2048  # units of a machine that is not restricted, for the products of matrices of orders 3 and 4
MANY_NUMBERS = 2**20  # in the products of all rows, above which they are computed row after row
ITERATIONS, FIRST_STEP, EVEN = 16, 0.5, 1.0  # of the direction to start in, and how far
Means = Float[Array, "units rows"]
Rows = Float[Array, " rows"]


def beyond_reach(question: Question, means: Any) -> Any:
    """The rows (rows,) in which a scheme that solved for itself is better evaluated at the solution of G1.

    What its units contribute to the second order, v_i sum_j W_ij^2 v_j, is what the expansion is one in. On spin
    glasses a solution of its own is better up to a weighted mean of 2.5, and worse above it.
    """
    xp = namespace(means)
    v = xp.where(question.free, means * (1 - means), 0.0)
    shares = v * question.storage.map_weights(lambda w: w**2).neighbour_sums(xp)(v)
    total = shares.sum(axis=0)
    return (shares**2).sum(axis=0) > REACH * xp.where(total > 0, total, 1.0)


def start(question: Question) -> Any:
    """Natural parameters (units, rows) near 0, in the direction in which the first order falls fastest.

    Without fields u = 1/2 is stationary whatever the couplings, and a saddle where they are strong. The direction is
    the leading eigenvector of the couplings between free units, by power iteration.
    """
    free, storage, xp = question.free, question.storage, namespace(question.free)
    z = free * storage.map_weights(lambda w: w * abs(w)).neighbour_sums(xp)(free * 1.0)
    z = z + EVEN * free * (abs(z).max(axis=0) == 0)
    shift = (free * storage.map_weights(abs).neighbour_sums(xp)(free * 1.0)).max(axis=0, initial=0.0)
    product = storage.neighbour_sums(xp)

    def power_step(_, z):
        z = free * (product(z) + shift * z)
        return z / xp.maximum(abs(z).max(axis=0), xp.finfo(z.dtype).tiny)

    return FIRST_STEP * iterated(ITERATIONS, power_step, z)


def iterated(count: int, step: Callable, z: Any) -> Any:
    """step(number, z) so many times, of NumPy or of JAX."""
    if namespace(z) is jnp:
        return jax.lax.fori_loop(0, count, step, z)
    for number in range(count):
        z = step(number, z)
    return z


class PairOrders(Functional):
    """All orders up to this one."""

    order: int = eqx.field(static=True)

    @property
    def is_bound(self) -> bool:
        return self.order == 1

    def fitted(self, question: Question) -> "PairOrders":
        storage = question.storage
        if self.order > 2 and not _has_matrix(storage) and storage.size > LARGEST_MATRIX:
            why = f"a matrix of {storage.size:,} units would be multiplied, and {LARGEST_MATRIX:,} is the most"
            raise does_not_apply(METHODS[f"G{self.order}"], why, "G2 or bethe")
        return self

    def suited(self, storage: Storage) -> Storage:
        """From the third order on a matrix, or the block of a restricted machine."""
        return storage if self.order < 3 or _has_matrix(storage) else _as_matrix(storage)

    def exact_rows(self, question: Question) -> Any:
        return uncoupled(question)

    def powers(self, activation: Any) -> int:
        return self.order

    def row_work(self, size: int, num_edges: int, num_pairs: int) -> int:
        return 2 * size + (num_edges if self.order > 2 else 0)

    def network_energy(self, question: Question, u: Means) -> Rows:
        L, h = question.model.weights, question.model.h
        v = jnp.where(question.free, u * (1 - u), 0.0)
        skew = v * (1 - 2 * u)
        first, *others = L.power_sums(u, *(v, skew, v)[: self.order - 1])
        G = -(u * (first + h)).sum(0)
        if self.order >= 2:
            G -= 0.5 * (v * others[0]).sum(0)
        if self.order >= 3:
            G -= (skew * others[1]).sum(0) / 6 + _by_row(L, triangles, v)
        if self.order >= 4:
            z, squared = others[2], L.power_sums(None, None, None, v**2)[3]
            pairs = (v * z - 6 * (v**2 * z + v * squared) + 30 * v**2 * squared).sum(0)
            G -= pairs / 24 + _by_row(L, paths_and_cycles, v, skew)
        return G

    def pair_contributions(self, question: Question, u: Means) -> Means:
        """What each unit contributes to the second order, all of its pairs counted: v_i sum_j W_ij^2 v_j."""
        v = jnp.where(question.free, u * (1 - u), 0.0)
        L = question.model.weights
        return v * jax.grad(lambda v: (v * L.power_sums(None, v)[1]).sum())(v)


def _has_matrix(storage: Storage) -> bool:
    """Whether the weights are one block."""
    return isinstance(storage, Blocks) and len(storage.weights) <= 1


def _as_matrix(storage: Storage) -> Blocks:
    child, parent, weight = storage.edge_list()
    shape = weight.shape[1], storage.size, storage.size
    if isinstance(weight, np.ndarray):
        W = np.zeros(shape)
        W[:, child, parent] = weight.T
    else:
        W = jnp.zeros(shape, weight.dtype).at[:, child, parent].set(weight.T)
    return Blocks.dense(W if storage.stack is not None else W[0])


class Graphs(eqx.Module):
    """The one block of a machine and its square, of a single row: a symmetric matrix, or between two layers."""

    W: Any  # (units, units), or (lower layer, upper layer)
    lower: Any = eqx.field(static=True)  # spans of units
    upper: Any = eqx.field(static=True)

    @property
    def is_square(self) -> bool:
        return self.lower == self.upper


def triangles(of: Graphs, v) -> Any:
    """sum over triangles = tr A^3 / 6 with A = V^1/2 W V^1/2."""
    if not of.is_square:
        return jnp.zeros((), v.dtype)
    return ((of.W * _walks(of.W, v)) * v[:, None] * v).sum() / 6


def paths_and_cycles(of: Graphs, v, skew) -> Any:
    """The second and the third line of order 4, without their sign.

    4-cycles are (tr A^4 - 2 sum_i (A^2)_ii^2 + sum_ij A_ij^4) / 8.
    """
    if of.is_square:
        walks = _walks(of.W, v)
        paths = (of.W**2 * walks * skew[:, None] * skew).sum() / 4
        returns = (v * (of.W**2 @ v)) ** 2
        fourth = (of.W**4 * v[:, None] ** 2 * v**2).sum()
        return paths + ((walks**2 * v[:, None] * v).sum() - 2 * returns.sum() + fourth) / 8
    below, above = v[slice(*of.lower)], v[slice(*of.upper)]
    W = of.W if of.W.shape[0] <= of.W.shape[1] else of.W.T
    near, far = (below, above) if of.W.shape[0] <= of.W.shape[1] else (above, below)
    walks = _walks(W, far)
    returns = ((near * (W**2 @ far)) ** 2).sum() + ((far * (W.T**2 @ near)) ** 2).sum()
    fourth = (W**4 * near[:, None] ** 2 * far**2).sum()
    return ((walks**2 * near[:, None] * near).sum() - returns + fourth) / 4


def _walks(W, v):
    """sum_k W_ik W_jk v_k."""
    return (W * v) @ W.T


def _by_row(L: Any, function, *terms: Means) -> Rows:
    """function(graphs, terms) of every row: all at once where little is held, else row after row."""
    (W,), (lower,), (upper,) = L.powers[0], L.child_spans, L.parent_spans
    is_square, stacked = lower == upper, W.ndim == 3

    def one(row):
        block, *values = row
        block = block if stacked else W
        return function(Graphs(block + block.T if is_square else block, lower, upper), *values)

    rows = terms[0].shape[1]
    blocks = jnp.moveaxis(W, -1, 0) if stacked else jnp.zeros((rows, 0), W.dtype)
    given = (blocks, *(z.T for z in terms))
    small = min(W.shape[:2]) ** 2 * rows <= MANY_NUMBERS
    return jax.vmap(lambda *row: one(row))(*given) if small else jax.lax.map(jax.checkpoint(one), given)
