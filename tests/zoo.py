"""Networks of every kind, small enough to be summed over: what the laws are tried on."""

import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from jax.scipy.special import log_ndtr

import plefka as pf

PROBIT = pf.Custom(log_on=log_ndtr, log_off=lambda x: log_ndtr(-x), name="probit")
CLOGLOG = pf.Custom(
    log_on=lambda x: jnp.log(-jnp.expm1(-jnp.exp(x))), log_off=lambda x: -jnp.exp(x), name="complementary log-log"
)


def dense(n: int, low: float, high: float, activation, seed: int, share: float = 0.7) -> pf.BeliefNetwork:
    """Edges from earlier to later units, each there with probability `share`."""
    rng = np.random.default_rng(seed)
    W = np.tril(rng.uniform(low, high, (n, n)) * (rng.random((n, n)) < share), -1)
    return pf.BeliefNetwork(W, rng.uniform(low, high, n), activation)


def sparse(*arguments, **options) -> pf.BeliefNetwork:
    """The same, stored as edges."""
    return as_edges(dense(*arguments, **options))


def layered(layers, low: float, high: float, activation, seed: int) -> pf.BeliefNetwork:
    return network_of(pf.ensembles.layered(layers, low, high, 1, seed, activation), 0)


def network_of(stack: pf.BeliefNetwork, k: int) -> pf.BeliefNetwork:
    """One network of a stack."""
    return pf.BeliefNetwork(stack.storage.take(k), stack.bias[k], stack.activation, layers=stack.layers)


def as_edges(network: pf.BeliefNetwork) -> pf.BeliefNetwork:
    return pf.BeliefNetwork(network.storage.to_sparse(), network.bias, network.activation)


def as_dense(network: pf.BeliefNetwork) -> pf.BeliefNetwork:
    return pf.BeliefNetwork(sp.csr_array(network.storage.to_sparse()).toarray(), network.bias, network.activation)


def relabelled(network: pf.BeliefNetwork, order: np.ndarray) -> pf.BeliefNetwork:
    """The same network with unit order[k] at place k."""
    W = as_dense(network).weights
    return pf.BeliefNetwork(W[np.ix_(order, order)], network.bias[order], network.activation)


def some_evidence(network: pf.BeliefNetwork) -> np.ndarray:
    """The last units observed, on and off by turns; the one before the last stays hidden, and so may be barren."""
    row = np.full(network.size, np.nan)
    row[-1], row[-3], row[-4] = 1, 0, 1
    return row


ZOO = {
    "sigmoid, layered": layered((2, 3, 3), -1, 1, "sigmoid", 1),
    "sigmoid, sparse, large weights": sparse(8, -4, 4, "sigmoid", 3),
    "noisy-or, layered": layered((3, 5), 0.2, 0.8, "noisy_or", 4),
    "noisy-or, sparse": sparse(8, 0.2, 0.8, "noisy_or", 5),
    "probit, dense": dense(8, -1, 1, PROBIT, 6),
    "complementary log-log, dense": dense(8, -1, 1, CLOGLOG, 7),
}
