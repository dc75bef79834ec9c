"""Proposals that learn from their own draws: mixtures of factorial distributions fitted to weighted states.

O. Cappé, R. Douc, A. Guillin, J.-M. Marin and C. Robert, "Adaptive importance sampling in general mixture classes",
Statistics and Computing 18 (2008). A part of every mixture stays what it was, so that nothing that was within reach is
given up; what is fitted never decides alone.
"""

from typing import NamedTuple

import numpy as np

from plefka.sampling.importance import Proposals, averaged, weighted_draws
from plefka.sampling.state_weights import Target

PILOT = 4096  # draws of a round
ROUNDS = 6
ENOUGH_WEIGHT = 0.5  # the fraction of draws that are effective from which on nothing is fitted
FITTED = 8  # components
ITERATIONS = 8  # of the fit
KEPT_SHARE = 0.3  # the weight of what was there before
FEWEST = 32  # effective draws that a fit is made of; weights are flattened until there are so many
COUNTED = 2.0  # draws for and against every unit that each component has beforehand


class TrialProposals(NamedTuple):
    """Proposals, and the fraction of draws from them that are effective."""

    proposals: Proposals
    effective: float


def adapted(target: Target, first: Proposals, rng: np.random.Generator) -> Proposals:
    """The proposals of a single row, or better ones that a few rounds of draws and fits have found."""
    best, log_w, S = _trial(target, first, rng)
    here = best
    for _ in range(ROUNDS):
        if best.effective >= ENOUGH_WEIGHT or not np.isfinite(log_w).any():
            break
        fitted = _fitted(S[target.free[:, 0], 0], _flattened(log_w), rng)
        here, log_w, S = _trial(target, _joined(target, first, fitted), rng)
        best = here if here.effective > best.effective else best
    return best.proposals


def _trial(
    target: Target, proposals: Proposals, rng: np.random.Generator
) -> tuple[TrialProposals, np.ndarray, np.ndarray]:
    S, log_w = weighted_draws(target, proposals, rng, PILOT)
    return TrialProposals(proposals, float(averaged(log_w[0]).effective) / PILOT), log_w[0], S


def _flattened(log_w: np.ndarray) -> np.ndarray:
    """Normalised weights to a power so low that enough of them count."""
    log_w = log_w - log_w.max()
    for power in (1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05):
        w = np.exp(power * log_w)
        if w.sum() ** 2 / (w**2).sum() >= FEWEST:
            break
    return w / w.sum()


def _fitted(S: np.ndarray, w: np.ndarray, rng: np.random.Generator) -> Proposals:
    """A mixture for states (free units, draws) with normalised weights, by expectation maximisation."""
    at = _spread(S, w, rng)
    u, log_alpha = 0.8 * S[:, at].T + 0.1, np.full(len(at), -np.log(len(at)))
    effective = 1 / (w**2).sum()
    for _ in range(ITERATIONS):
        log_p = log_alpha[:, None] + np.log(u / (1 - u)) @ S + np.log1p(-u).sum(axis=1)[:, None]
        share = w * np.exp(log_p - np.logaddexp.reduce(log_p, axis=0))
        total = share.sum(axis=1)
        u = (effective * share @ S.T + COUNTED / 2) / (effective * total[:, None] + COUNTED)
        log_alpha = np.log((total + 0.1 / len(at)) / 1.1)
    return Proposals.of(log_alpha[:, None], u[:, :, None])


def _spread(S: np.ndarray, w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draws to begin with: by their weight, and far from those that were chosen before."""
    chosen = [int(rng.choice(len(w), p=w))]
    distance = np.full(len(w), np.inf)
    while len(chosen) < FITTED:
        distance = np.minimum(distance, (S[:, chosen[-1], None] != S).sum(axis=0))
        score = w * distance
        if not score.sum() > 0:
            break
        chosen.append(int(rng.choice(len(w), p=score / score.sum())))
    return np.array(chosen)


def _joined(target: Target, first: Proposals, fitted: Proposals) -> Proposals:
    """What was fitted beside what was there before."""
    u = np.repeat(target.values[None], len(fitted.u), axis=0)
    u[:, target.free[:, 0]] = fitted.u
    weights = [first.log_alpha + np.log(KEPT_SHARE), fitted.log_alpha + np.log1p(-KEPT_SHARE)]
    return Proposals.of(np.concatenate(weights), np.concatenate([first.u, u]), first.log_prior + np.log(KEPT_SHARE))
