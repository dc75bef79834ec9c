"""Slow twins: the definitions themselves, as sums over all states in NumPy. They are the tests' oracle."""

from functools import cache
from itertools import product
from math import factorial

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp

import plefka as pf


def all_states(row: np.ndarray) -> np.ndarray:
    """Every state (states, n) that agrees with the evidence."""
    hidden = np.flatnonzero(np.isnan(row))
    states = np.tile(row, (2 ** len(hidden), 1))
    states[:, hidden] = list(product((0, 1), repeat=len(hidden)))
    return states


def weights_of(network: pf.BeliefNetwork) -> np.ndarray:
    return sp.csr_array(network.storage.to_sparse()).toarray()


def log_probabilities(network: pf.BeliefNetwork, states: np.ndarray) -> np.ndarray:
    """ln P(S), from (4)."""
    with jax.enable_x64(True):
        x = states @ weights_of(network).T + network.bias
        terms = jnp.where(states == 1, network.activation.log_on(x), network.activation.log_off(x))
        return np.asarray(terms).sum(1)


def exact(network: pf.BeliefNetwork, row: np.ndarray) -> tuple[float, np.ndarray]:
    """ln P(evidence) and the posterior means."""
    states = all_states(row)
    log_p = log_probabilities(network, states)
    log_z = np.logaddexp.reduce(log_p)
    return log_z, np.exp(log_p - log_z) @ states


def expanded_energy(network: pf.BeliefNetwork, states: np.ndarray, u: np.ndarray, degree: int) -> np.ndarray:
    """E-hat_C of every state: ln f and ln(1 - f) by their Taylor polynomials about the mean field.   (42)-(44)"""
    W = weights_of(network)
    x, X = W @ u + network.bias, (states - u) @ W.T
    with jax.enable_x64(True):
        on, off = (tower(f, x, degree) for f in (network.activation.log_on, network.activation.log_off))
    polynomial = [sum(d[k] * X**k / factorial(k) for k in range(degree + 1)) for d in (on, off)]
    return -(states * polynomial[0] + (1 - states) * polynomial[1]).sum(1)


def tower(function, x: np.ndarray, degree: int) -> list[np.ndarray]:
    """Derivatives by nested jax.grad, one number at a time."""
    return [np.asarray(values) for values in derivatives(function, degree)(jnp.asarray(x))]


@cache
def derivatives(function, degree: int):
    """A function and its derivatives, compiled once."""
    found = [function]
    for _ in range(degree):
        found.append(jax.grad(found[-1]))
    return jax.jit(lambda x: [jax.vmap(f)(x) for f in found])


def free_energy(
    network: pf.BeliefNetwork, row: np.ndarray, u: np.ndarray, order: int, degree: int, second: int
) -> float:
    """G_MC from the averages over the factorial distribution.                                  (36), (20), (51)"""
    states = all_states(row)
    hidden = np.isnan(row)
    q = np.where(states == 1, u, 1 - u)[:, hidden].prod(1)
    means = u[hidden]
    entropy = -(means * np.log(means) + (1 - means) * np.log1p(-means)).sum()
    G = q @ expanded_energy(network, states, u, degree) - entropy
    if order == 1:
        return G
    E = expanded_energy(network, states, u, second)
    E = E - q @ E
    away = states[:, hidden] - means
    U = E - away @ ((q * E) @ away / (means * (1 - means)))
    return G - q @ U**2 / 2
