"""Averages over parents as sums over all of their states, with NumPy and as slow as that is."""

from itertools import product

import numpy as np
from scipy.special import expit, log_expit


def log_sigmoid(x):
    return log_expit(x), log_expit(-x)


def log_noisy_or(x):
    return np.log(-np.expm1(-x)), -x


def sigmoid_slopes(x):
    return expit(-x), -expit(x)


def noisy_or_slopes(x):
    return 1 / np.expm1(x), -np.ones_like(x)


def average(function, w, u, h) -> np.ndarray:
    """The two averages of function(x), (2, columns, rows)."""
    S = np.array(list(product((0, 1), repeat=len(w))))[:, :, None, None]
    chance = np.where(S == 1, u, 1 - u).prod(1)
    x = h + np.where(S == 1, w, 0.0).sum(1)
    return np.stack([(chance * g).sum(0) for g in function(x)])


def chances(logs, w, u, h):
    """<f> and <1 - f>."""
    return average(lambda x: np.exp(logs(x)), w, u, h)


def at(u, *values):
    """The means with some of them replaced: at(u, (j, s), ...)."""
    u = u.copy()
    for j, s in values:
        u[j] = s
    return u


def slopes(function, w, u, h):
    """Derivatives of the two averages by the mean of each parent: both are linear in each of them."""
    found = [average(function, w, at(u, (j, 1)), h) - average(function, w, at(u, (j, 0)), h) for j in range(len(w))]
    return np.stack(found, axis=1)


def curvatures(function, w, u, h):
    """Second derivatives of the two averages by the means of two parents, (2, positions, positions, columns, rows)."""
    rows = [slopes(function, w, at(u, (j, 1)), h) - slopes(function, w, at(u, (j, 0)), h) for j in range(len(w))]
    return np.stack(rows, axis=1)


def messages(logs, w, u, h, log_ratio):
    n1, n0 = np.exp(np.minimum(log_ratio, 0)), np.exp(np.minimum(-log_ratio, 0))

    def log_sum(j, s):
        on, off = chances(logs, w, at(u, (j, s)), h)
        return np.log(n1 * on + n0 * off)

    return np.stack([log_sum(j, 1) - log_sum(j, 0) for j in range(len(w))])
