"""The radius of convergence from the coefficients, in two ways that have nothing in common but these.

Ratios: for a pair of singularities R exp(+-i phi) of exponent a, c_n goes like n^-(1 + a) R^-n cos(n phi + const), and

    B_n^2 = (c_(n+1) c_(n-1) - c_n^2) / (c_n c_(n-2) - c_(n-1)^2)    goes like    ((n - 1) / n)^(2 + 2a) / R^2

(G. N. Mercer and A. J. Roberts, SIAM Journal on Applied Mathematics 50, 1990, appendix). Poles: those of a Padé
approximant of the second derivative gather at its singularities. An approximant is a quotient of two polynomials with
the same power series (P. Gonnet, S. Güttel and L. N. Trefethen, "Robust Padé approximation via SVD", SIAM Review 55,
2013).
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

RELATIVE = 1e-13  # singular values below this come from rounding
FEWEST = 12  # orders from which an estimate is made
LATE = 1 / 3  # of the coefficients tell ratios
EXPONENTS = (1.5, 0.0)  # of a branch point, and of a logarithm
GUESSES, FARTHEST = 4, 1.25  # poles that may be the nearest singularity, and how far they are at most, over the first
SPURIOUS = 1e-4  # of the median residue: a pole that rounding makes, with a zero beside it


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


class RatioEstimates(NamedTuple):
    """The median of the estimates of the last orders, and the ends of their middle four fifths."""

    radius: float
    low: float
    high: float


def by_ratios(c: np.ndarray) -> RatioEstimates:
    """With the exponent for which the estimates differ least."""
    if len(c) <= FEWEST:
        return RatioEstimates(np.nan, np.nan, np.nan)
    found = [_ratios(c, exponent) for exponent in EXPONENTS]
    return min(found, key=lambda each: each.high / each.low)


def _ratios(c: np.ndarray, exponent: float) -> RatioEstimates:
    scale = natural_scale(c)
    c = c * scale ** np.arange(len(c))
    n = np.arange(len(c) - 1 - round(LATE * (len(c) - 1)), len(c) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        B = np.sqrt(np.abs((c[n + 1] * c[n - 1] - c[n] ** 2) / (c[n] * c[n - 2] - c[n - 1] ** 2)))
        radius = scale * ((n - 1) / n) ** (1 + exponent) / B
    low, middle, high = np.quantile(np.nan_to_num(radius, nan=np.inf), [0.1, 0.5, 0.9])
    return RatioEstimates(float(middle), float(low), float(high))


def poles(c: np.ndarray) -> np.ndarray:
    """The poles in the upper half plane, the nearest to 0 first."""
    if len(c) <= FEWEST:
        return np.array([], complex)
    n = np.arange(2, len(c))
    second = n * (n - 1) * c[2:]
    m = (len(second) - 1) // 2
    found, sizes = approximant(second, len(second) - 1 - m, m).poles()
    usual = np.median(sizes) if len(sizes) else 0.0
    return found[(sizes > SPURIOUS * usual) & (np.imag(found) >= 0)]


def guesses(found: np.ndarray) -> np.ndarray:
    """The poles from which the nearest singularity is searched."""
    return found[:GUESSES][np.abs(found[:GUESSES]) < FARTHEST * np.abs(found[:1])]
