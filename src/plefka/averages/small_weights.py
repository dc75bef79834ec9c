"""Probabilities and messages of sigmoid units with many small weights, by the cumulants of their parents.

With K(z) = ln <exp(z x)> = sum_n z^n X_n and the power sums X_n = sum_j w_j^n kappa_n(u_j) / n!, the first of which has
h in it, an average of exp(a x) g(x) is an integral of exp K(a + i t) over t: the tilt of tilting.py, though no parent
is tilted. Where parent k is on rather than off, the average is larger by

    Delta_k = sum_n D_n w_k^n kappa_n'(u_k) / n!

with D_n the integral of z^n exp K(z): exp K is a product over the parents, and the factor of parent k becomes its
derivative by u_k. So a child needs one polynomial for each of its parents, and nothing for each parent and node.
"""

from functools import cache, partial
from math import comb
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plefka.averages.cumulants import by_cumulants
from plefka.averages.products import rotate
from plefka.averages.quadrature import Rule
from plefka.averages.tilting import both_accurate, both_logs, message_side, smaller_side


def small_chances(rule: Rule, X):
    """ln <f> and ln <1 - f>, from the smaller of them."""
    side = smaller_side(X[0])
    found = integral(rule, reflected(X, side))
    return both_logs(found.cost, found.value(), side)


def small_messages(rule: Rule, X, log_ratio):
    """D_n [n(1) - n(0)] / [n(1) <f> + n(0) <1 - f>] for n from 1, and the chances."""
    side = message_side(X[0], log_ratio)
    found = integral(rule, reflected(X, side))
    chances = both_logs(found.cost, found.value(), side)
    log_f, log_rest = both_accurate(chances, partial(small_chances, rule, X), side, X[0], log_ratio)
    log_sum = jnp.logaddexp(log_f + jnp.minimum(log_ratio, 0.0), log_rest + jnp.minimum(-log_ratio, 0.0))
    gain = -jnp.sign(log_ratio) * jnp.expm1(-jnp.abs(log_ratio))  # n(1) - n(0), the larger of them one
    return side * gain * jnp.exp(found.cost - log_sum) * reflected(found.moments(len(X)), side), log_f, log_rest


def messages_of_sums(D, w, u):
    """The messages ln[1 + (1 - u_k) r] - ln(1 - u_k r); r, the fraction of Delta_k in the sum, follows from D."""
    r = by_cumulants(D, w, u)
    return jnp.log1p(r / (1 - u * r))


def reflected(X, side):
    """The sums of the field side * x: as 1 - sigma(x) = sigma(-x)."""
    odd = (np.arange(len(X)) % 2 == 0)[:, None, None]
    return jnp.where(odd, side * X, X)


class Integral(NamedTuple):
    """<sigma(x)> / exp(cost), by the best of three tilts, which are 0, 1/2 and 1: see tilting.py."""

    rule: Rule
    best: jax.Array  # (columns, rows)
    cost: jax.Array
    C: tuple[jax.Array, jax.Array]  # (nodes, columns, rows): what is summed over the nodes, complex

    def value(self):
        return self.C[0].sum(0)

    def moments(self, count: int):
        """D_n = Re sum_k C_k z_k^n = sum_j binom(n, j) a^(n - j) Re sum_k C_k (i t_k)^j, for n = 1, ..., count."""
        t = np.r_[0.0, self.rule.nodes.t].astype(self.cost.dtype)
        by_t = np.array([t**j for j in range(count + 1)])
        sign = np.array([1, -1, -1, 1])[np.arange(count + 1) % 4][:, None]  # Re i^j (C_r + i C_i)
        parity = np.arange(count + 1)[:, None] % 2 == 0
        real, imaginary = (
            _product(by_t * mask * sign, part) for mask, part in zip((parity, ~parity), self.C, strict=True)
        )
        V = real + imaginary
        return _of_best_tilt(self.best, [_product(shift, V) for shift in _shifts(count)])


def integral(rule: Rule, X) -> Integral:
    """sigma(x) is 1/2 + odd(x), exp(x / 2) even(x) and exp(x) [1/2 - odd(x)]; the constant is a node at t = 0."""
    costs = [cumulant_function(X, (a, 0.0))[0] for a in (0.0, 0.5, 1.0)]
    cost = jnp.minimum(jnp.minimum(*costs[:2]), costs[2])
    best = jnp.argmin(jnp.stack(costs), axis=0)
    nodes = rule.nodes
    t, odd, even = (np.r_[0.0, x].astype(X.dtype)[:, None, None] for x in (nodes.t, nodes.odd, nodes.even))
    half = np.where(t == 0, 0.5, 0.0).astype(X.dtype)
    weight = jnp.where(best == 1, even, half), (best - 1) * odd
    real, imaginary = cumulant_function(X, (best.astype(X.dtype) / 2, t))
    size = jnp.exp(real - cost)
    return Integral(rule, best, cost, rotate(weight, (size * jnp.cos(imaginary), size * jnp.sin(imaginary))))


def cumulant_function(X, z: tuple) -> tuple:
    """K(z), by its real and imaginary part."""
    total = X[-1], jnp.zeros_like(X[-1])
    for sums in X[-2::-1]:
        real, imaginary = rotate(total, z)
        total = real + sums, imaginary
    return rotate(total, z)


@cache
def _shifts(count: int) -> tuple[np.ndarray, ...]:
    """From powers of it to those of a + it, from the first on, for the three tilts."""
    return tuple(
        np.array(
            [[comb(n, j) * a ** (n - j) if j <= n else 0.0 for j in range(count + 1)] for n in range(1, count + 1)]
        )
        for a in (0.0, 0.5, 1.0)
    )


def _of_best_tilt(best, of_tilts: list):
    return jnp.where(best == 0, of_tilts[0], jnp.where(best == 1, of_tilts[1], of_tilts[2]))


def _product(A: np.ndarray, x):
    """A x over the first axis."""
    return jnp.tensordot(A.astype(x.dtype), x, 1)
