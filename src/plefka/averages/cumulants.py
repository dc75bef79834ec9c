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

MOST_TERMS = 24
TARGET = 1e-10  # of the quadrature
CACHE = 2**13  # weights whose powers stay near the processor
WIDEST_ERROR = 0.5  # of ln Psi at any node, beyond which it may grow


def num_terms(t: np.ndarray, q: np.ndarray, reach: float, largest: float) -> int | None:
    """How many cumulants give all of Psi at the nodes t, or None where the series is too long.

    ln(1 - u + u exp(is)) has its nearest singularity at |s| = pi, where u = 1/2: its terms fall like 2 (s / pi)^n / n,
    and sum_j |w_j|^n is at most sum_j |w_j| largest^(n - 1). Positive and negative weights may each add up to `reach`.
    """
    s = t * largest / np.pi
    if s.max() >= 1:
        return None
    for n in range(2, MOST_TERMS + 1):
        error = max(2 * reach / largest, 1.0) * 2 / (n + 1) * s ** (n + 1) / (1 - s)
        if error.max() < WIDEST_ERROR and (q * error).sum() < TARGET:
            return n
    return None


@cache
def cumulant_polynomials(count: int) -> tuple[tuple[float, ...], ...]:
    """kappa_n / n! of a binary unit as polynomials in s = 2u - 1, by kappa_(n+1) = u (1 - u) dkappa_n / du."""
    kappa, found = Polynomial([0.5, 0.5]), []
    for n in range(1, count + 1):
        found.append(tuple((kappa / factorial(n)).coef.tolist()))
        kappa = Polynomial([0.5, 0, -0.5]) * kappa.deriv()
    return tuple(found)


def power_sums(count: int, w, u):
    """sum_j w_j^n kappa_n(u_j) / n!, (terms, columns, rows)."""
    kappas = [polynomial(coefficients, 2 * u - 1) for coefficients in cumulant_polynomials(count)]
    if w.shape[2] == 1 and u.shape[1] == 1:
        return dense_power_sums(w[:, :, 0].T, [kappa[:, 0] for kappa in kappas])
    return jnp.stack([jnp.sum(power * kappa, axis=0) for power, kappa in zip(powers_of(w, count), kappas, strict=True)])


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
    """Real and imaginary part of ln Psi(t), (nodes, columns, rows), from the power sums X."""
    parts = [jnp.zeros((1, 1, 1), X.dtype), t[:, None, None] * h]
    for n, sums in enumerate(X, 1):
        sign = (-1) ** (n // 2)  # i^n is real for even n
        parts[n % 2] += (sign * t**n)[:, None, None] * sums
    return parts


def polynomial(coefficients: tuple[float, ...], x):
    total = jnp.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total
