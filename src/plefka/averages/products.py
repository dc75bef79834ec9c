"""Products over the positions of a table, which are its first axis, and those of all factors but one."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

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
