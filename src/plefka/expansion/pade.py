"""Padé approximants: a power series as a quotient of two polynomials, by the robust algorithm of Gonnet and others.

P. Gonnet, S. Güttel and L. N. Trefethen, "Robust Padé approximation via SVD", SIAM Review 55 (2013).
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

RELATIVE = 1e-13  # singular values below this come from rounding


class Pade(NamedTuple):
    """p(z / scale) / q(z / scale), with the coefficient of z^0 first."""

    p: np.ndarray
    q: np.ndarray
    scale: float

    def at(self, z: complex) -> complex:
        top, bottom = (np.polyval(each[::-1], z / self.scale) for each in (self.p, self.q))
        return complex(top / bottom)

    def poles(self) -> tuple[np.ndarray, np.ndarray]:
        """The poles and the sizes of their residues, the nearest to 0 first."""
        z = np.roots(self.q[::-1])
        slope = np.polyval(np.polyder(self.q[::-1]), z)
        with np.errstate(divide="ignore", invalid="ignore"):
            sizes = np.abs(np.polyval(self.p[::-1], z) / slope)
        order = np.argsort(np.abs(z))
        return self.scale * z[order], sizes[order]


def approximant(c: np.ndarray, m: int, n: int) -> Pade:
    """The quotient of polynomials of degrees m and n whose power series begins with c; of less where that is enough."""
    scale = natural_scale(c)
    c = c[: m + n + 1] * scale ** np.arange(m + n + 1)
    size = float(np.linalg.norm(c))
    while n:
        rank = int(np.sum(np.linalg.svd(_shifted(c, m, n)[m + 1 :], compute_uv=False) > RELATIVE * size))
        if rank == n:
            break
        m, n = max(m - (n - rank), 0), rank
        c = c[: m + n + 1]
    q = _denominator(_shifted(c, m, n)[m + 1 :])
    p = _shifted(c, m, n)[: m + 1] @ q
    return Pade(_trimmed(p / q[0], size), _trimmed(q / q[0], 1.0), scale)


def natural_scale(c: np.ndarray) -> float:
    """About the radius of convergence, by which z is scaled so that coefficients are of similar size."""
    there = np.flatnonzero(c)
    there = there[there >= len(c) // 2]
    return float(np.exp(-np.mean(np.log(np.abs(c[there])) / there))) if len(there) and there[0] else 1.0


def _shifted(c: np.ndarray, m: int, n: int) -> np.ndarray:
    """Column j has c shifted down by j: its product with q has the coefficients of the product of both series."""
    return scipy.linalg.toeplitz(c[: m + n + 1], np.append(c[:1], np.zeros(n)))


def _denominator(rows: np.ndarray) -> np.ndarray:
    """The vector q that these n rows of n + 1 numbers map to 0; in two steps, so that its zeros are zero."""
    n = len(rows)
    if not n:
        return np.ones(1)
    sizes = np.abs(np.linalg.svd(rows)[2][n]) + np.sqrt(np.finfo(float).eps)
    q = sizes * np.linalg.qr((rows * sizes).T, mode="complete")[0][:, n]
    return q / np.linalg.norm(q)


def _trimmed(coefficients: np.ndarray, size: float) -> np.ndarray:
    """Without the highest powers where rounding is all there is of them."""
    there = np.flatnonzero(np.abs(coefficients) > RELATIVE * size)
    return coefficients[: there[-1] + 1] if len(there) else coefficients[:1]
