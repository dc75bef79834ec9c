"""What every way of averaging offers: the averages of log forms and of probabilities, and their leave-one-out forms.

They are taken over a table of parents: column c is a child, position j one of its parents. `w` is (positions, columns,
1 or rows) with zeros where there is no edge, `u` is (positions, columns, rows) or (positions, 1, rows) where
all columns share their parents, and `h` is (columns, 1 or rows). The field of a child is x = h + sum_j w_j S_j, and its
parents S_j are independent with means u_j. Large tables are averaged by blocks of columns, which keep the work near
the processor.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from plefka.averages.parents import Parents
from plefka.networks.storage import off_diagonal

NUMBERS_PER_BLOCK = 2**17  # numbers that are worked on at once
Weights = Float[Array, "positions columns _"]
Means = Float[Array, "positions _ rows"]
Bias = Float[Array, "columns _"]
Columns = Float[Array, "columns rows"]
EdgeValues = Float[Array, "positions columns rows"]
Pair = tuple[EdgeValues, EdgeValues]


class Average(eqx.Module):
    """Averages over independent parents, for the columns of a table of parents."""

    is_exact: ClassVar[bool] = True  # the averages are those of the model, up to a rounding of 1e-9

    @abstractmethod
    def logs(self, w: Weights, u: Means, h: Bias) -> tuple[Columns, Columns]:
        """<log_on(x)> and <log_off(x)>."""

    def covers(self, w: Weights, h: Bias) -> Bool[Array, "_ _"]:
        """Where the averages are right: for which of the columns."""
        return jnp.ones((1, 1), bool)

    @abstractmethod
    def chances(self, w: Weights, parents: Parents, h: Bias) -> tuple[Columns, Columns]:
        """ln <f(x)> and ln <1 - f(x)>, to all their digits."""

    @abstractmethod
    def messages(
        self, w: Weights, parents: Parents, h: Bias, log_ratio: Columns
    ) -> tuple[EdgeValues, Columns, Columns]:
        """The message of each child to each of its parents, and the two `chances` of the child.

        log_ratio is ln n(1) - ln n(0) of the child, infinite where it is observed. With F_k^s the average of f over the
        other parents where parent k is s, the message is
        ln[n(1) F_k^1 + n(0) (1 - F_k^1)] - ln[n(1) F_k^0 + n(0) (1 - F_k^0)].
        """

    def curvatures(self, w: Weights, u: Means, h: Bias, a: Columns, b: Columns, shared: bool) -> Float[Array, "..."]:
        """d^2 / du_j du_l of a <log_on> + b <log_off>, zero for j = l.

        (positions, positions, columns, rows); with a single column, the sum of all, where they share their parents.
        """
        own = of_edges(u, w)

        def slope(u):
            _, back = jax.vjp(lambda u: self.logs(w, u, h), u)
            return back((a, b))[0]

        def row(direction):
            return jax.jvp(slope, (own,), (jnp.broadcast_to(direction[:, None, None], own.shape),))[1]

        H = off_diagonal(jax.lax.map(row, jnp.eye(len(w), dtype=own.dtype)))
        return H.sum(2, keepdims=True) if shared else H

    def slopes(self, w: Weights, u: Means, h: Bias) -> EdgeValues:
        """d<log_on>/du_j - d<log_off>/du_j, for every edge."""
        (on, _), back = jax.vjp(lambda u: self.logs(w, u, h), of_edges(u, w))
        return back((jnp.ones_like(on), -jnp.ones_like(on)))[0]


def of_edges(means: Any, w: Weights) -> Any:
    """The parents' means, or all of Parents, once for every edge."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (*w.shape[:2], x.shape[2])), means)


def message(off: Pair, on: Pair, log_ratio: Columns) -> EdgeValues:
    """ln[n(1) F^1 + n(0) (1 - F^1)] - ln[n(1) F^0 + n(0) (1 - F^0)]; 0 where both are impossible.

    `off` and `on` are ln F and ln(1 - F) where the parent is off and where it is on.
    """
    for_on = jnp.minimum(log_ratio, 0.0)  # divided by the larger of n(1) and n(0)
    for_off = jnp.minimum(-log_ratio, 0.0)

    def log_sum(log_f, log_rest):
        return jnp.logaddexp(log_f + for_on, log_rest + for_off)

    one, zero = log_sum(*on), log_sum(*off)
    no_message = jnp.isneginf(one) & jnp.isneginf(zero)
    return jnp.where(no_message, 0.0, one - jnp.where(no_message, 0.0, zero))


def mean_field(w: Weights, u: Means, h: Bias) -> Columns:
    """h + sum_j w_j u_j; a product of matrices where all rows and columns share what they can."""
    is_product = w.shape[2] == 1 and u.shape[1] == 1
    return h + (w[:, :, 0].T @ u[:, 0] if is_product else jnp.sum(w * u, axis=0))


# ---- blocks of columns ----------------------------------------------------------------------------------------------


def map_columns(function: Callable, work: int, *arrays) -> Any:
    """function(*arrays) by blocks of columns, which are the last axis but one of all arrays and results.

    The arrays may come in trees. `work` numbers are held for one column. An array with a single column belongs to
    all of them. Columns that are added to fill the last block are zero: no edges.
    """
    columns, parts, rejoined = blocks_of(work, arrays)
    if parts is None:
        return function(*arrays)
    results = jax.lax.map(lambda part: function(*rejoined(part)), parts)
    return jax.tree.map(lambda x: join(x, columns), results)


def sum_columns(function: Callable, work: int, *arrays) -> Any:
    """The sum of function(*arrays) over blocks of columns."""
    _, parts, rejoined = blocks_of(work, arrays)
    if parts is None:
        return function(*arrays)
    like = jax.eval_shape(lambda: function(*rejoined(tuple(x[0] for x in parts))))
    start = jnp.zeros(like.shape, like.dtype)
    return jax.lax.scan(lambda total, part: (total + function(*rejoined(part)), None), start, parts)[0]


def blocks_of(work: int, arrays: tuple) -> tuple:
    """How many columns there are, the blocks of the arrays that have them, and how to put in those that do not."""
    leaves, form = jax.tree.flatten(arrays)
    columns = max(x.shape[-2] for x in leaves)
    blocks = min(columns, -(-columns * work // NUMBERS_PER_BLOCK))
    if blocks <= 1:
        return columns, None, None
    width = -(-columns // blocks)
    blocks = -(-columns // width)
    own = [x.shape[-2] == columns for x in leaves]

    def rejoined(part):
        mine = iter(part)
        return jax.tree.unflatten(form, [next(mine) if is_own else x for x, is_own in zip(leaves, own, strict=True)])

    return columns, tuple(split(x, blocks, width) for x, is_own in zip(leaves, own, strict=True) if is_own), rejoined


def split(x, blocks: int, width: int):
    """(..., columns, rows) as (blocks, ..., width, rows), with zeros behind."""
    padding = [(0, 0)] * (x.ndim - 2) + [(0, blocks * width - x.shape[-2]), (0, 0)]
    x = jnp.pad(x, padding).reshape(*x.shape[:-2], blocks, width, x.shape[-1])
    return jnp.moveaxis(x, -3, 0)


def join(x, columns: int):
    """(blocks, ..., width, rows) as (..., columns, rows)."""
    x = jnp.moveaxis(x, 0, -3)
    return x.reshape(*x.shape[:-3], -1, x.shape[-1])[..., :columns, :]
