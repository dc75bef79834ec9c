"""Slow twins of the expansion: the closed forms of orders 1 to 4, and the whole series with 50 digits at least."""

from typing import Any

import mpmath as mp
import numpy as np
import scipy.optimize

import plefka as pf
from tests import slow


def first_orders(network: pf.BeliefNetwork, row: np.ndarray, u: np.ndarray) -> list[float]:
    """G_0 to G_4 by averages of powers of U over independent units."""
    states, hidden = slow.all_states(row), np.isnan(row)
    E, means = -slow.log_probabilities(network, states), u[hidden]
    q = np.where(states == 1, u, 1 - u)[:, hidden].prod(1)
    away, v = states[:, hidden] - means, means * (1 - means)
    U = E - q @ E - away @ ((q * (E - q @ E)) @ away / v)
    alone = ((q * U**2) @ away) ** 2 / v
    terms = [
        (means * np.log(means) + (1 - means) * np.log1p(-means)).sum(),
        q @ E,
        -(q @ U**2) / 2,
        q @ U**3 / 6,
        -(q @ U**4 - 3 * (q @ U**2) ** 2 - 3 * alone.sum()) / 24,
    ]
    return list(np.cumsum(terms))


def legendre(network: pf.BeliefNetwork, row: np.ndarray, u: np.ndarray) -> float:
    """max over theta of theta u - ln sum_S exp(theta S - E), by a general optimiser."""
    states, hidden = slow.all_states(row), np.isnan(row)
    E, away = -slow.log_probabilities(network, states), (states - u)[:, hidden]

    def lowered(theta: np.ndarray) -> tuple[float, np.ndarray]:
        log_w = away @ theta - E
        log_z = np.logaddexp.reduce(log_w)
        return float(log_z), np.exp(log_w - log_z) @ away

    found = scipy.optimize.minimize(lowered, np.zeros(hidden.sum()), jac=True, method="BFGS", options={"gtol": 1e-9})
    return -float(found.fun)


def with_many_digits(energies: np.ndarray, theta: np.ndarray, order: int, digits: int = 150) -> list[Any]:
    """The coefficients from powers of the unnormalised weights, and of the logarithm of their sum.

    Up to 90 digits cancel on the way, for weak weights and means close to 0: fifty remain.
    """
    with mp.workdps(digits):
        n, count = len(theta), len(energies)
        states = [[(s >> i) & 1 for i in range(n)] for s in range(count)]
        u = [1 / (1 + mp.exp(-mp.mpf(float(t)))) for t in theta]
        E = [mp.mpf(float(e)) for e in energies]
        p = [mp.fprod(u[i] if S[i] else 1 - u[i] for i in range(n)) for S in states]
        D = [[S[i] - u[i] for i in range(n)] for S in states]
        v = [each * (1 - each) for each in u]
        w, exponents = [[mp.mpf(1)] * count], [[mp.mpf(0)] * count]
        Z: list[Any] = [mp.mpf(1)]
        log_Z = [mp.mpf(0)]
        for k in range(1, order + 1):
            products = [mp.fsum(j * exponents[j][s] * w[k - j][s] for j in range(1, k)) / k for s in range(count)]
            known = [b - (E[s] if k == 1 else 0) for s, b in enumerate(products)]
            phi = [-mp.fsum(p[s] * D[s][i] * known[s] for s in range(count)) / v[i] for i in range(n)]
            exponents.append([mp.fdot(phi, D[s]) - (E[s] if k == 1 else 0) for s in range(count)])
            w.append([b + a for b, a in zip(products, exponents[-1], strict=True)])
            Z.append(mp.fdot(p, w[-1]))
            log_Z.append(Z[k] - mp.fsum(j * log_Z[j] * Z[k - j] for j in range(1, k)) / k)
        entropy = -mp.fsum(each * mp.log(each) + (1 - each) * mp.log(1 - each) for each in u)
        return [-entropy, *(-each for each in log_Z[1:])]
