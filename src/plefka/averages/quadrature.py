"""The characteristic function of the field at the nodes of a midpoint rule, node by node."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plefka.averages.blocks import all_but_one, product


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


class AtNode(NamedTuple):
    """cos and sin of s = t w, the factors f = 1 + u (exp(i s) - 1), their product Psi, and all but one of them."""

    cos: jax.Array
    sin: jax.Array
    f: tuple[jax.Array, jax.Array]
    Psi: tuple[jax.Array, jax.Array]
    without: tuple[jax.Array, jax.Array]


def inverse(f: tuple) -> tuple:
    """1 / f: what takes a factor out again, from the very numbers that went in, as f may be mere rounding."""
    scale = 1 / (f[0] ** 2 + f[1] ** 2)
    return f[0] * scale, -f[1] * scale


@jax.custom_jvp
def products(f: tuple) -> tuple[tuple, tuple]:
    """The product over the positions, and the product of all but one of the factors for each of them."""
    Psi = product(rotate, f, (1.0, 0.0))
    return Psi, rotate(Psi, inverse(f))


@products.defjvp
def _(primals, tangents):
    """No factor is in its own leave-one-out product: the derivative by it is left out, not subtracted."""
    (f,), (df,) = primals, tangents
    Psi, L = products(f)
    others = tuple(map(all_but_one, rotate(df, inverse(f))))
    return (Psi, L), (tuple(x.sum(0) for x in rotate(L, df)), rotate(L, others))


def walk(rule: Rule, visit: Callable, weights: tuple[np.ndarray, ...], total, w, u, h):
    """total = visit(total, node, *weights of the node), over all nodes; exp(i t w) is rotated from node to node.

    One node at a time is quickest, however few numbers there are: sums over nodes would not be vectorised.
    """
    half = rule.nodes.step / 2
    smallest = jnp.finfo(u.dtype).tiny ** 0.25  # f may be 0 at u = 1/2 and s = pi, and could not be taken out again
    first = [(jnp.cos(half * x), jnp.sin(half * x)) for x in (w, h)]
    jumps = [rotate(z, z) for z in first]

    def step(state, weights):
        ((cos, sin), alone), total = state
        real = 1 + u * (cos - 1)
        f = (real + jax.lax.stop_gradient(jnp.where(real == 0, smallest, 0.0)), u * sin)
        Psi, without = products(f)
        total = visit(total, AtNode(cos, sin, f, rotate(alone, Psi), rotate(alone, without)), *weights)
        return ([rotate(z, jump) for z, jump in zip(state[0], jumps, strict=True)], total), None

    in_turn = tuple(jnp.asarray(x, u.dtype) for x in weights)
    return jax.lax.scan(step, (first, total), in_turn, unroll=2)[0][1]  # from one pair of buffers into another
