"""The characteristic function of the field at the nodes of a midpoint rule, chunk by chunk, in cache."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plefka.averages.blocks import all_but_one, chunks, in_chunks, tree


class Nodes(NamedTuple):
    """Equally spaced t = (k + 1/2) step, and the weights of the three integrals there."""

    step: float
    t: np.ndarray
    log_cosh: np.ndarray
    odd: np.ndarray
    even: np.ndarray


class Rule(NamedTuple):
    """A midpoint rule up to t = `last`; aliases of a field x are damped by exp(|x| - reach - margin)."""

    reach: float
    margin: float
    last: float

    @property
    def nodes(self) -> Nodes:
        return midpoints(self)


@cache
def midpoints(rule: Rule) -> Nodes:
    step = 2 * np.pi / (rule.reach + rule.margin)
    t = step * (np.arange(int(np.ceil(rule.last / step))) + 0.5)
    return Nodes(step, t, step / (t * np.sinh(np.pi * t)), step / np.sinh(np.pi * t), step / np.cosh(np.pi * t))


def rotate(z: tuple, by: tuple) -> tuple:
    """The product of two complex numbers, each by its real and imaginary part."""
    (a, b), (c, d) = z, by
    return a * c - b * d, a * d + b * c


def powers(z: tuple, count: int) -> tuple:
    """1, z, z^2, ... along a new first axis, by doubling."""
    table = (jnp.ones_like(z[0])[None], jnp.zeros_like(z[0])[None])
    while len(table[0]) < count:
        more = rotate(table, z)
        table = tuple(jnp.concatenate([x, y]) for x, y in zip(table, more, strict=True))
        z = rotate(z, z)
    return tuple(x[:count] for x in table)


class Chunk(NamedTuple):
    """Some nodes: cos and sin of s = t w, the factors f = 1 + u (exp(i s) - 1), their product Psi, and all but one."""

    cos: jax.Array
    sin: jax.Array
    f: tuple[jax.Array, jax.Array]
    Psi: tuple[jax.Array, jax.Array]
    without: tuple[jax.Array, jax.Array]


def inverse(f: tuple) -> tuple:
    """1 / f: what takes a factor out again, from the very numbers that went in, as f may be mere rounding."""
    scale = 1 / (f[0] ** 2 + f[1] ** 2)
    return f[0] * scale, -f[1] * scale


def by_position(z: tuple) -> tuple:
    """(nodes, columns, rows) with an axis for the positions."""
    return tuple(part[:, None] for part in z)


@jax.custom_jvp
def products(f: tuple) -> tuple[tuple, tuple]:
    """The product over the positions, and the product of all but one of the factors for each of them."""
    Psi = tree(rotate, f)
    return Psi, rotate(by_position(Psi), inverse(f))


@products.defjvp
def _(primals, tangents):
    """No factor is in its own leave-one-out product: the derivative by it is left out, not subtracted."""
    (f,), (df,) = primals, tangents
    Psi, L = products(f)
    others = tuple(jnp.moveaxis(all_but_one(jnp.moveaxis(x, 1, 0)), 0, 1) for x in rotate(df, inverse(f)))
    return (Psi, L), (tuple(x.sum(1) for x in rotate(L, df)), rotate(L, others))


def walk(rule: Rule, visit: Callable, weights: tuple[np.ndarray, ...], total, w, u, h):
    """total = visit(total, chunk, *weights of its nodes), over all nodes; exp(i t w) is rotated from node to node."""
    count, size = chunks(len(rule.nodes.t), len(w) * h.shape[0] * u.shape[2])
    half = rule.nodes.step / 2
    smallest = jnp.finfo(u.dtype).tiny ** 0.25  # f may be 0 at u = 1/2 and s = pi, and could not be taken out again

    def phases(x):
        first = jnp.cos(half * x), jnp.sin(half * x)
        table = powers(rotate(first, first), size + 1)
        return first, tuple(part[:-1] for part in table), tuple(part[-1] for part in table)

    (zw, w_table, w_jump), (zh, h_table, h_jump) = phases(w), phases(h)

    def step(state, weights):
        zw, zh, total = state
        cos, sin = rotate(zw, w_table)
        real = 1 + u * (cos - 1)
        f = (real + jax.lax.stop_gradient(jnp.where(real == 0, smallest, 0.0)), u * sin)
        alone = rotate(zh, h_table)
        Psi, without = products(f)
        chunk = Chunk(cos, sin, f, rotate(alone, Psi), rotate(by_position(alone), without))
        total = visit(total, chunk, *(x[:, None, None] for x in weights))
        return (rotate(zw, w_jump), rotate(zh, h_jump), total), None

    in_turn = tuple(jnp.asarray(in_chunks(x, count, size), u.dtype) for x in weights)
    if count == 1:
        return step((zw, zh, total), tuple(x[0] for x in in_turn))[0][2]
    return jax.lax.scan(step, (zw, zh, total), in_turn)[0][2]
