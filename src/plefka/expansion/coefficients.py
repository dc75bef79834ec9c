"""The Taylor coefficients of G(u, gamma) at gamma = 0, order by order.                                        (17)

Let q(S, gamma) be the probability of a state with the means held at u, over that of independent units. Then

    d ln q / d gamma = -U + sum_i phi_i' D_i + <q U>,    dG / d gamma = <E> + <q U>,    <q D_i> = 0.

The first gives each power of q from the lower ones, and the third gives phi, because <D_i D_j> = 1 if i = j, else 0.
q stays normalised: its powers are no larger than those of G, and few digits cancel.
"""

import numpy as np

from plefka.expansion.pinned import Pinned

MOST_DIGITS = 15.0


def coefficients(pinned: Pinned, order: int) -> np.ndarray:
    """Those of gamma^0 to gamma^order, in the precision of the arrays."""
    p, D, U = pinned.p, pinned.D, pinned.U
    c = np.zeros(order + 1, p.dtype)
    q, slope = np.zeros((2, order + 1, len(p)), p.dtype)  # slope[k]: k times the power k of ln q
    q[0] = 1
    for n in range(1, order + 1 if pinned.interacts else 1):
        c[n] = (p * q[n - 1] * U).sum() / n
        products = np.einsum("ks,ks->s", slope[1:n], q[n - 1 : 0 : -1]) / n
        slope[n] = n * (c[n] - (U if n == 1 else D.linear(D.first(p * products))))
        q[n] = products + slope[n] / n
    c[:2] = (pinned.negative_entropy, pinned.mean_energy)[: order + 1]
    return c


def with_digits(energies: np.ndarray, theta: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients by long floats, and how many of their digits do not change with the last one of the energies."""
    long = coefficients(Pinned.at(energies, theta, np.longdouble), order)
    sign = np.random.default_rng(0).choice([-1.0, 1.0], len(energies))
    rounded = energies * (1 + sign * np.finfo(float).eps)
    other = coefficients(Pinned.at(rounded, theta, np.longdouble), order)
    size = np.abs(long)
    size[1:-1] = np.maximum(size[1:-1], np.sqrt(size[:-2] * size[2:]))  # a coefficient may be 0 by symmetry
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = -np.log10((np.abs(other - long) / size).astype(float))
    return long.astype(float), np.where(long == other, MOST_DIGITS, np.clip(digits, 0, MOST_DIGITS))
