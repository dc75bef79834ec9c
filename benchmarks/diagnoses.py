"""Random networks of diagnosis, causes above findings, and patients with different findings."""

import numpy as np
import scipy.sparse as sp

import plefka as pf

CAUSES, FINDINGS, EDGES = 570, 4075, 45_470  # of the large network
SEEN = {1: 12, 0: 30}  # of a patient's findings, how many that are on and that are off


def small_network(seed: int) -> tuple[pf.BeliefNetwork, np.ndarray]:
    """20 to 600 causes, and 4 to 25 findings of 2 to 120 causes each, all on; every second network is in layers."""
    rng = np.random.default_rng(seed)
    causes, findings = int(rng.integers(20, 601)), int(rng.integers(4, 26))
    in_degrees = np.exp(rng.uniform(np.log(2), np.log(min(causes, 120)), findings)).astype(int)
    weights, bias = drawn(rng, causes, in_degrees)
    row = np.r_[np.full(causes, np.nan), np.ones(findings)]
    if seed % 2 == 0:
        return pf.BeliefNetwork(weights, bias, "noisy_or"), row
    block = weights[causes:, :causes].toarray()
    return pf.BeliefNetwork.layered([block], [bias[:causes], bias[causes:]], "noisy_or"), row


def large_network() -> pf.BeliefNetwork:
    rng = np.random.default_rng(0)
    in_degrees = rng.multinomial(EDGES, np.full(FINDINGS, 1 / FINDINGS))
    return pf.BeliefNetwork(*drawn(rng, CAUSES, in_degrees), "noisy_or")


def drawn(rng: np.random.Generator, causes: int, in_degrees: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
    """Weights and biases of rare causes and of findings that hardly occur without one."""
    size = causes + len(in_degrees)
    parents = np.concatenate([rng.choice(causes, count, replace=False) for count in in_degrees])
    children = np.repeat(np.arange(causes, size), in_degrees)
    strength = field(rng.uniform(0.1, 0.9, len(parents)))
    weights = sp.csr_array((strength, (children, parents)), shape=(size, size))
    return weights, field(np.r_[rng.uniform(0.01, 0.05, causes), rng.uniform(0.005, 0.015, len(in_degrees))])


def field(probability: np.ndarray) -> np.ndarray:
    """-ln(1 - p): what switches a noisy-or unit on with probability p."""
    return -np.log1p(-probability)


def patients(network: pf.BeliefNetwork, count: int, seed: int) -> np.ndarray:
    """Rows of evidence: of states drawn from the large network, some findings that are on and some that are off."""
    rng = np.random.default_rng(seed)
    W, h = network.weights[CAUSES:, :CAUSES], network.bias
    causes = rng.random((count, CAUSES)) < -np.expm1(-h[:CAUSES])
    findings = rng.random((count, FINDINGS)) < -np.expm1(-(causes @ W.T + h[CAUSES:]))
    rows = np.full((count, network.size), np.nan)
    for row, states in zip(rows, findings, strict=True):
        for state, number in SEEN.items():
            row[CAUSES + rng.choice(np.flatnonzero(states == state), number, replace=False)] = state
    return rows
