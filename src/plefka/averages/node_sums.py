"""Products over the positions of a table, and sums of them over the nodes of a quadrature, with their derivatives.

Positions are the first axis. First derivatives come in the same pass over the nodes as the values. Second derivatives
by the means of two parents are tables (positions, positions, columns, rows). Where all columns share their parents,
only the sum over the columns matters, and the table has a single column.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

from plefka.averages.average import map_columns, sum_columns
from plefka.networks.storage import off_diagonal

Curvatures = Float[Array, "positions positions _ rows"]
Parts = tuple  # a number by its real part, or by its real and imaginary part


class Numbers(NamedTuple):
    """The arithmetic of real or of complex numbers, each given by its parts."""

    multiply: Callable[[Parts, Parts], Parts]
    inverse: Callable[[Parts], Parts]
    one: tuple[float, ...]


def rotate(z: Parts, by: Parts) -> Parts:
    """The product of two complex numbers."""
    (a, b), (c, d) = z, by
    return a * c - b * d, a * d + b * c


def inverse(f: Parts) -> Parts:
    """1 / f: what takes a factor out again, from the very numbers that went in, as f may be mere rounding."""
    scale = 1 / (f[0] ** 2 + f[1] ** 2)
    return f[0] * scale, -f[1] * scale


def _multiply(x: Parts, y: Parts) -> Parts:
    return (x[0] * y[0],)


REAL = Numbers(_multiply, lambda f: (1 / f[0],), (1.0,))
COMPLEX = Numbers(rotate, inverse, (1.0, 0.0))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def products(numbers: Numbers, f: Parts) -> tuple[Parts, Parts]:
    """The product over the positions, and the product of all but one of the factors for each of them."""
    start = tuple(jnp.asarray(part, x.dtype) for part, x in zip(numbers.one, f, strict=True))
    product = tuple(jax.lax.reduce(f, start, numbers.multiply, (0,)))
    return product, numbers.multiply(product, numbers.inverse(f))


@products.defjvp
def _(numbers, primals, tangents):
    """No factor is in its own leave-one-out product: the derivative by it is left out, not subtracted."""
    (f,), (df,) = primals, tangents
    product, without = products(numbers, f)
    others = tuple(map(all_but_one, numbers.multiply(df, numbers.inverse(f))))
    return (product, without), (
        tuple(x.sum(0) for x in numbers.multiply(without, df)),
        numbers.multiply(without, others),
    )


def all_but_one(terms):
    """The sum over all other positions, for each position, which are the first axis; no term is taken away again."""

    def add(total, term):
        return total + term, total

    nothing = jnp.zeros_like(terms[0])
    before, after = (jax.lax.scan(add, nothing, terms, reverse=backwards)[1] for backwards in (False, True))
    return before + after


# ---- sums over nodes -------------------------------------------------------------------------------------------------


def sums_over_nodes(number: int, w, u, h) -> tuple:
    """Zeros to start from: as many of the value, its derivatives by h, and those by u and by w for every edge."""
    column = jnp.zeros((h.shape[0], u.shape[2]), u.dtype)
    edge = jnp.zeros((*w.shape[:2], u.shape[2]), u.dtype)
    return (column, column, edge, edge)[:number]


def with_slopes(sums: Callable) -> Callable:
    """The value that sums(rule, number, w, u, h) begins with, as value(rule, w, u, h) with its derivatives.

    `sums` are the first `number` of the value and its derivatives by h, by u for every edge, and by w for every edge.
    """

    def value(rule: Any, w, u, h):
        return sums(rule, 1, w, u, h)[0]

    def forward(rule: Any, w, u, h):
        one_pass = jax.checkpoint(partial(sums, rule, 4 if w.perturbed else 3))
        found, by_h, by_u, *by_w = one_pass(w.value, u.value, h.value)
        return found, (by_w[0] if by_w else None, by_u, by_h, w.value, u.value, h.value)

    def backward(_: Any, residuals, slope):
        by_w, by_u, by_h, w, u, h = residuals
        if isinstance(slope, SymbolicZero):
            return jnp.zeros_like(w), jnp.zeros_like(u), jnp.zeros_like(h)
        return (
            jnp.zeros_like(w) if by_w is None else _sum_to(w.shape, by_w * slope),
            _sum_to(u.shape, by_u * slope),
            _sum_to(h.shape, by_h * slope),
        )

    function = jax.custom_vjp(value, nondiff_argnums=(0,))
    function.defvjp(forward, backward, symbolic_zeros=True)
    return function


def _sum_to(shape: tuple[int, ...], x):
    """The sums over the axes along which an array of this shape was repeated."""
    repeated = tuple(axis for axis, size in enumerate(shape) if size != x.shape[axis])
    return x.sum(repeated, keepdims=True)


def curvatures_by_columns(function: Callable, shared: bool, w, u, *terms) -> Curvatures:
    """function(w, u, *terms) by blocks of columns, without derivatives by one and the same parent."""
    work = len(w) * u.shape[2]
    if shared:
        return off_diagonal(sum_columns(function, work, w, u, *terms))
    return off_diagonal(map_columns(function, len(w) * work, w, u, *terms))


def no_curvatures(shared: bool, w, u) -> Curvatures:
    return jnp.zeros((len(w), len(w), 1 if shared else w.shape[1], u.shape[2]), u.dtype)


def products_of_pairs(shared: bool, x: Float[Array, "positions columns rows"], y) -> Curvatures:
    """x_j y_l for every two positions."""
    return jnp.einsum("jcr,lcr->jlr", x, y)[:, :, None] if shared else jnp.einsum("jcr,lcr->jlcr", x, y)
