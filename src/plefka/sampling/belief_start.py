"""Where populations of a belief network start: from the best mixture that a part of the budget finds, or the prior."""

import numpy as np

from plefka.exact.cost import FITTED_NUMBER
from plefka.reduction.question import Question
from plefka.reduction.summing import LEAST
from plefka.sampling.annealing import annealed
from plefka.sampling.belief_factors import BeliefFactors
from plefka.sampling.belief_target import BeliefTarget
from plefka.sampling.importance import Proposals, prior_and_around
from plefka.sampling.proposals import PILOT, ROUNDS, adapted, refitted
from plefka.sampling.state_weights import Target

NEAR = 0.05  # the effective fraction of draws from the start from which on weighting them is quicker than annealing
PART_FOR_DRAWS, PART_FOR_PILOT = 0.1, 0.3  # of the budget: for a few rounds of draws, and for a run from the prior
PILOT_PARTICLES = 1024  # of that run, at most
FEWEST_DRAWS = 128  # that a start is fitted to, and particles of all populations
FEWEST_EFFECTIVE, SLOWER = 4, 2  # draws from a mixture that is worth sweeps that take so many times as long


def belief_target(question: Question, rng: np.random.Generator, budget: float, *, slopes: bool) -> BeliefTarget:
    """From the best start that rounds of draws, or else a short run from the prior, find in a part of the budget.

    From the prior alone if a mixture has little weight, or takes too long as units are visited one by one.
    """
    prior = from_prior(question, slopes=slopes)
    factors, target, first = prior.factors, prior.target, prior_and_around(prior.target)
    if not target.free.any():
        return BeliefTarget(factors, first, is_near=True, slopes=slopes)
    each = ROUNDS * (prior.draw_seconds + FITTED_NUMBER * prior.size)
    draws = int(np.clip(PART_FOR_DRAWS * budget / each, FEWEST_DRAWS, PILOT))
    best, (calls, each) = adapted(target, first, rng, draws), prior.seconds()
    count = int(min(PILOT_PARTICLES, (PART_FOR_PILOT * budget - calls) / each))
    if best.effective < NEAR and count >= FEWEST_DRAWS:
        pilot = annealed(prior, 1, count, rng)
        best = max(best, refitted(target, first, pilot, rng, draws), key=lambda trial: trial.effective)
    start = BeliefTarget(factors, best.proposals, is_near=best.effective >= NEAR, slopes=slopes)
    start.is_near = start.is_near and start.covers_its_surroundings(rng)
    calls, each = start.seconds()
    is_poor = best.effective * draws < FEWEST_EFFECTIVE or calls + FEWEST_DRAWS * each > budget
    return prior if is_poor and not start.is_near and start.call_seconds > SLOWER * prior.call_seconds else start


def from_prior(question: Question, *, slopes: bool = False) -> BeliefTarget:
    """Populations of states that are drawn along the arrows."""
    target = Target(question)
    nothing = Proposals.of(np.full((1, 1), LEAST), np.full((1, target.size, 1), 0.5), 0.0)
    return BeliefTarget(BeliefFactors(target), nothing, slopes=slopes)
