"""Annealed importance sampling of ln P(evidence) (Neal, 2001).

Every run starts with a draw from the network in which the observed units have their values but say nothing about their
parents, where ln Z = 0. Their factors are then switched on by degrees, with a sweep of Gibbs sampling after each. The
product of the ratios of weights is an unbiased estimate of P(evidence), whether or not the sweeps mix.
"""

import numpy as np

from plefka.progress import interruptible, progress
from plefka.reduction.cutting import LEAST
from plefka.sampling.gibbs_sweeps import SWEEPS_AT_ONCE, Sampler


def anneal(
    sampler: Sampler, *, runs: int, together: int, temperatures: int, seed: np.random.SeedSequence
) -> tuple[np.ndarray, np.ndarray]:
    """ln weight of all runs (rows, runs), and the states (units, rows, together) in which the first of them end.

    Inverse temperatures are closer to each other at the beginning, where weights change the most.
    """
    betas = np.linspace(0, 1, temperatures + 1) ** 2
    gains, ends = [], None
    seeds = seed.spawn(-(-runs // together))
    with interruptible() as check:
        for batch in progress(seeds, "annealing"):
            key = batch.generate_state(2)
            known = sampler.target.known(together)
            chains = sampler.chains(sampler.target.drawn(known, np.random.default_rng(batch)))
            for first in range(0, temperatures, SWEEPS_AT_ONCE):
                chains, _ = sampler.advance(chains, betas[first : first + SWEEPS_AT_ONCE + 1], key, first)
                check()
            gains.append(chains.gain)
            ends = sampler.states(chains) if ends is None else ends
    gain = np.concatenate(gains, axis=1)[:, :runs]
    assert ends is not None
    return np.where(gain < LEAST / 2, -np.inf, gain), ends
