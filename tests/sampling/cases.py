"""Networks with impossible states, and soft evidence written as an extra unit."""

import numpy as np

import plefka as pf

NEVER, ALWAYS = 0.0, np.inf


def without_leak() -> tuple[pf.BeliefNetwork, np.ndarray]:
    """Rare causes of findings that nothing else explains: most draws from the prior are impossible."""
    rng = np.random.default_rng(3)
    W = np.zeros((8, 8))
    W[4:, :4] = rng.uniform(0.5, 2, (4, 4)) * (rng.random((4, 4)) < 0.7)
    W[4:, 0] = 1.0
    bias = np.r_[np.full(4, 0.05), np.full(4, NEVER)]
    return pf.BeliefNetwork(W, bias, "noisy_or"), np.array([np.nan] * 4 + [1, 1, 0, 1])


def with_certain_edges() -> tuple[pf.BeliefNetwork, np.ndarray]:
    """Three layers, some edges of which switch a unit on for certain."""
    W = np.zeros((8, 8))
    W[3, 0] = W[4, 1] = W[6, 3] = ALWAYS
    W[4, 2] = W[5, 2] = W[5, 4] = W[6, 5] = W[7, 4] = 0.7
    bias = np.array([0.3, 0.2, 0.4, 0.1, 0.2, 0.3, NEVER, 0.1])
    return pf.BeliefNetwork(W, bias, "noisy_or"), np.array([np.nan] * 6 + [1, 0])


def with_virtual_children(network: pf.BeliefNetwork, tilt: np.ndarray) -> tuple[pf.BeliefNetwork, float]:
    """A child for every unit, on with probability e^tilt / 4 if the unit is on and 1/4 if not; and ln of the 1/4s."""
    n = network.size
    off = np.full(n, 0.25)
    on = off * np.exp(tilt)
    W = np.zeros((2 * n, 2 * n))
    W[:n, :n] = network.weights
    W[np.arange(n, 2 * n), np.arange(n)] = np.log(on / (1 - on)) - np.log(off / (1 - off))
    bias = np.r_[network.bias, np.log(off / (1 - off))]
    return pf.BeliefNetwork(W, bias, network.activation), float(np.log(off).sum())
