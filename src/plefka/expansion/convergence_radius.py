"""The radius of convergence from the coefficients, in two ways that have nothing in common but these.

Ratios: for a pair of singularities R exp(+-i phi) of exponent a, c_n goes like n^-(1 + a) R^-n cos(n phi + const), and

    B_n^2 = (c_(n+1) c_(n-1) - c_n^2) / (c_n c_(n-2) - c_(n-1)^2)    goes like    ((n - 1) / n)^(2 + 2a) / R^2

(G. N. Mercer and A. J. Roberts, SIAM Journal on Applied Mathematics 50, 1990, appendix). Poles: those of a Padé
approximant of the second derivative gather at its singularities.
"""

from typing import NamedTuple

import numpy as np

from plefka.expansion.pade import approximant, natural_scale

FEWEST = 12  # orders from which an estimate is made
LATE = 1 / 3  # of the coefficients tell ratios
EXPONENTS = (1.5, 0.0)  # of a branch point, and of a logarithm
GUESSES, FARTHEST = 4, 1.25  # poles that may be the nearest singularity, and how far they are at most, over the first
SPURIOUS = 1e-4  # of the median residue: a pole that rounding makes, with a zero beside it


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
