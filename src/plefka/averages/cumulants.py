"""The characteristic function of a field of many small weights, by the cumulants of its parents.

    ln Psi(t) = i t h + sum_n (i t)^n / n! sum_j w_j^n kappa_n(u_j)

A term costs one multiplication for every edge, and no factor is formed for every edge and node.
"""

from functools import cache
from math import factorial

import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial import Polynomial

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

    Half the work of K(z) in small_weights.py: every power of i t is real or imaginary.
    """
    parts = [jnp.zeros((1, 1, 1), X.dtype), t[:, None, None] * h]
    for n, sums in enumerate(X, 1):
        sign = (-1) ** (n // 2)  # i^n is real for even n
        parts[n % 2] += (sign * t**n)[:, None, None] * sums
    return parts


def by_cumulants(D, w, u):
    """sum_n D_n w^n kappa_n'(u) / n!, for every edge."""
    s, total = 2 * u - 1, 0.0
    for factor, coefficients in zip(D[::-1], slope_polynomials(len(D))[::-1], strict=True):
        total = total * w + factor * polynomial(coefficients, s)
    return total * w


def polynomial(coefficients: tuple[float, ...], x):
    """Of any form, and with half the work where it is even or odd."""
    if not any(coefficients[1::2]):
        return horner(coefficients[::2], x * x)
    if not any(coefficients[::2]):
        return x * horner(coefficients[1::2], x * x)
    return horner(coefficients, x)
