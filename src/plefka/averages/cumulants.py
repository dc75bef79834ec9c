"""Averages of sigmoid units with many small weights, by the cumulants of their parents.

    ln Psi(t) = i t h + sum_n (i t)^n / n! sum_j w_j^n kappa_n(u_j)

is the characteristic function of the field. A term costs one multiplication for every edge, and no factor is formed for
every edge and node.

Probabilities and messages: with K(z) = ln <exp(z x)> = sum_n z^n X_n and the power sums
X_n = sum_j w_j^n kappa_n(u_j) / n!, the first of which has h in it, an average of exp(a x) g(x) is an integral of
exp K(a + i t) over t: the tilt of characteristic_function.py, though no parent is tilted. Where parent k is on rather
than off, the average is larger by

    Delta_k = sum_n D_n w_k^n kappa_n'(u_k) / n!

with D_n the integral of z^n exp K(z): exp K is a product over the parents, and the factor of parent k becomes its
derivative by u_k. So a child needs one polynomial for each of its parents, and nothing for each parent and node.
"""

from functools import cache, partial
from math import comb, factorial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial import Polynomial

from plefka.averages.characteristic_function import Rule, both_accurate, both_logs, message_side, smaller_side
from plefka.averages.node_sums import rotate
from plefka.networks.activations import horner

MOST_TERMS = 24
TARGET = 1e-10  # of the quadrature
COLUMNS_AT_ONCE = 2**11  # edges that are added at once
CACHE = 2**18  # weights whose powers stay near the processor
WIDEST_ERROR = 0.5  # of ln Psi at any node, beyond which it may grow


def num_terms(t: np.ndarray, q: np.ndarray, reach: float, largest: float, target: float = TARGET) -> int | None:
    """How many cumulants give all of Psi at the nodes t, of weights q, or None where the series is too long.

    ln(1 - u + u exp(is)) has its nearest singularity at |s| = pi, where u = 1/2: its terms fall like 2 (s / pi)^n / n,
    and sum_j |w_j|^n is at most sum_j |w_j| largest^(n - 1). Positive and negative weights may each add up to `reach`.
    """
    s = t * largest / np.pi
    if s.max() >= 1:
        return None
    for n in range(2, MOST_TERMS + 1):
        error = max(2 * reach / largest, 1.0) * 2 / (n + 1) * s ** (n + 1) / (1 - s)
        if error.max() < WIDEST_ERROR and (q * error).sum() < target:
            return n
    return None


@cache
def cumulant_polynomials(count: int) -> tuple[tuple[float, ...], ...]:
    """kappa_n / n! of a binary unit as polynomials in s = 2u - 1, by kappa_(n+1) = u (1 - u) dkappa_n / du."""
    return tuple(tuple((kappa / factorial(n)).coef.tolist()) for n, kappa in enumerate(_kappas(count), 1))


@cache
def slope_polynomials(count: int) -> tuple[tuple[float, ...], ...]:
    """Their derivatives by u."""
    return tuple(tuple((2 * kappa.deriv() / factorial(n)).coef.tolist()) for n, kappa in enumerate(_kappas(count), 1))


def _kappas(count: int) -> list[Polynomial]:
    found = [Polynomial([0.5, 0.5])]
    while len(found) < count:
        found.append(Polynomial([0.5, 0, -0.5]) * found[-1].deriv())
    return found


def power_sums(count: int, w, u):
    """sum_j w_j^n kappa_n(u_j) / n!, (terms, columns, rows)."""
    if w.shape[2] == 1 and u.shape[1] == 1:
        kappas = kappas_of(count, u)
        return dense_power_sums(w[:, :, 0].T, [kappa[:, 0] for kappa in kappas])
    return edge_power_sums(count, w, u)


def kappas_of(count: int, u) -> list:
    """kappa_n(u) / n!"""
    return [polynomial(coefficients, 2 * u - 1) for coefficients in cumulant_polynomials(count)]


def edge_power_sums(count: int, w, u):
    """sum_j w_j^n kappa_n(u_j) / n! where every edge has its own mean: some positions and all columns at a time."""
    positions, shape = len(w), jnp.broadcast_shapes(w.shape[1:], u.shape[1:])
    size = max(1, min(positions, COLUMNS_AT_ONCE // max(shape[0] * shape[1], 1)))
    steps = -(-positions // size)

    def in_steps(x):
        x = jnp.broadcast_to(x, (positions, *shape)).reshape(positions, -1)
        return jnp.pad(x, ((0, steps * size - positions), (0, 0))).reshape(steps, size, -1)

    @jax.checkpoint
    def step(totals, part):
        w, u = part
        terms = zip(totals, powers_of(w, count), kappas_of(count, u), strict=True)
        return [total + (power * kappa).sum(0) for total, power, kappa in terms], None

    start = [jnp.zeros(shape[0] * shape[1], u.dtype)] * count
    totals, _ = jax.lax.scan(step, start, (in_steps(w), in_steps(u)))
    return jnp.stack(totals).reshape(count, *shape)


def dense_power_sums(W, kappas: list):
    """The products of all powers of W with the cumulants, by blocks of children whose powers stay in cache."""
    children, parents = W.shape
    width = max(1, min(children, CACHE // max(parents, 1)))
    blocks = -(-children // width)
    W = jnp.pad(W, ((0, blocks * width - children), (0, 0))).reshape(blocks, width, parents)

    @jax.checkpoint
    def one(W):
        return jnp.stack([multiply(power, z) for power, z in zip(powers_of(W, len(kappas)), kappas, strict=True)])

    sums = jax.lax.map(one, W)  # (blocks, terms, width, rows)
    return jnp.moveaxis(sums, 0, 1).reshape(len(kappas), blocks * width, -1)[:, :children]


def powers_of(w, count: int):
    """w, w^2, ..., w^count."""
    power = w
    for n in range(count):
        yield power
        power = power * w if n + 1 < count else power


def multiply(W, z):
    """W z; one row goes through the vector product."""
    return (W @ z[:, 0])[:, None] if z.shape[1] == 1 else W @ z


def log_psi(t: np.ndarray, X, h):
    """Real and imaginary part of ln Psi(t), (nodes, columns, rows), from the power sums X.

    Half the work of K(z) below: every power of i t is real or imaginary.
    """
    parts = [jnp.zeros((1, 1, 1), X.dtype), t[:, None, None] * h]
    for n, sums in enumerate(X, 1):
        sign = (-1) ** (n // 2)  # i^n is real for even n
        parts[n % 2] += (sign * t**n)[:, None, None] * sums
    return parts


def polynomial(coefficients: tuple[float, ...], x):
    """Of any form, and with half the work where it is even or odd."""
    if not any(coefficients[1::2]):
        return horner(coefficients[::2], x * x)
    if not any(coefficients[::2]):
        return x * horner(coefficients[1::2], x * x)
    return horner(coefficients, x)


# ---- probabilities and messages --------------------------------------------------------------------------------------


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
    s, r = 2 * u - 1, 0.0
    for factor, coefficients in zip(D[::-1], slope_polynomials(len(D))[::-1], strict=True):
        r = (r + factor * polynomial(coefficients, s)) * w  # sum_n D_n w^n kappa_n'(u) / n!
    return jnp.log1p(r / (1 - u * r))


def reflected(X, side):
    """The sums of the field side * x: as 1 - sigma(x) = sigma(-x)."""
    odd = (np.arange(len(X)) % 2 == 0)[:, None, None]
    return jnp.where(odd, side * X, X)


class Integral(NamedTuple):
    """<sigma(x)> / exp(cost), by the best of three tilts, which are 0, 1/2 and 1: see characteristic_function.py."""

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
        of_tilts = [_product(shift, V) for shift in _shifts(count)]
        return jnp.where(self.best == 0, of_tilts[0], jnp.where(self.best == 1, of_tilts[1], of_tilts[2]))


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


def _product(A: np.ndarray, x):
    """A x over the first axis."""
    return jnp.tensordot(A.astype(x.dtype), x, 1)
