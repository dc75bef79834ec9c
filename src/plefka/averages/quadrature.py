"""The characteristic function of the field at the nodes of a midpoint rule, node by node."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plefka.averages.products import COMPLEX, products, rotate


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


class FourierNode(NamedTuple):
    """cos and sin of s = t w, the factors f = 1 + u (exp(i s) - 1), their product Psi, and all but one of them."""

    cos: jax.Array
    sin: jax.Array
    f: tuple[jax.Array, jax.Array]
    Psi: tuple[jax.Array, jax.Array]
    without: tuple[jax.Array, jax.Array]


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
        Psi, without = products(COMPLEX, f)
        total = visit(total, FourierNode(cos, sin, f, rotate(alone, Psi), rotate(alone, without)), *weights)
        return ([rotate(z, jump) for z, jump in zip(state[0], jumps, strict=True)], total), None

    in_turn = tuple(jnp.asarray(x, u.dtype) for x in weights)
    # By twos: a rotation cannot be done in place, and after two of them the results are in the buffers they began in.
    return jax.lax.scan(step, (first, total), in_turn, unroll=2)[0][1]
