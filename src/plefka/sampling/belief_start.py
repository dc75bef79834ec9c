"""Where populations of a belief network start: from the best mixture that a part of the budget finds, or the prior."""

import numpy as np

from plefka.reduction.question import Question
from plefka.reduction.summing import LEAST
from plefka.sampling.annealing import annealed
from plefka.sampling.belief_factors import BeliefFactors
from plefka.sampling.belief_target import BeliefTarget
from plefka.sampling.importance import prior_and_around
from plefka.sampling.proposals import PILOT, ROUNDS, adapted, refitted
from plefka.sampling.state_weights import Target

NEAR = 0.05  # the effective fraction of draws from the start from which on weighting them is quicker than annealing
PART_FOR_START = 0.1  # of the budget for a few rounds of draws, and as much for a run from the prior
PILOT_PARTICLES, USUAL_TEMPERATURES = 1024, 40  # of that run, at most and about
FEWEST_DRAWS = 128  # that a start is fitted to


def belief_target(question: Question, rng: np.random.Generator, budget: float, *, slopes: bool) -> BeliefTarget:
    """From the best start that rounds of draws, or else a short run from the prior, find in a part of the budget."""
    target = Target(question)
    factors = BeliefFactors(target)
    first = prior_and_around(target)
    prior = BeliefTarget(factors, first._replace(log_alpha=np.full((1, 1), LEAST), log_prior=np.zeros(1)))
    if not target.free.any():
        return BeliefTarget(factors, first, is_near=True, slopes=slopes)
    draws = int(np.clip(PART_FOR_START * budget / (ROUNDS * prior.draw_seconds), FEWEST_DRAWS, PILOT))
    best = adapted(target, first, rng, draws)
    count = int(min(PILOT_PARTICLES, PART_FOR_START * budget / prior.seconds(USUAL_TEMPERATURES)))
    if best.effective < NEAR and count >= FEWEST_DRAWS:
        pilot = annealed(prior, 1, count, rng)
        best = max(best, refitted(target, first, pilot, rng, draws), key=lambda trial: trial.effective)
    start = BeliefTarget(factors, best.proposals, is_near=best.effective >= NEAR, slopes=slopes)
    start.is_near = start.is_near and start.covers_its_surroundings(rng)
    return start
