"""Networks with impossible states, and soft evidence as a tilt."""

import numpy as np

import plefka as pf
from plefka.networks.evidence import Evidence, as_evidence
from plefka.reduction.question import Part
from plefka.reduction.reduce import reduce

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


def tilted() -> tuple[pf.BeliefNetwork, dict]:
    """Soft evidence on hidden units, and one that was observed."""
    from tests import zoo

    likelihoods = {unit: pf.Likelihood(on, 0.25) for unit, on in enumerate((0.4, 0.1, 0.25, 0.7))}
    return zoo.dense(5, -1, 1, "sigmoid", 3), {**likelihoods, 4: 1}


def part_of(network: pf.BeliefNetwork, evidence) -> Part:
    """The only part of what evidence leaves."""
    given: Evidence = as_evidence(network, evidence)
    (part,) = reduce(network, given).parts
    return part
