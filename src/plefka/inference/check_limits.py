"""What a check calls small, reliable and sure."""

IMPORTANCE, POPULATION = "importance sampling", "population annealing"
GOOD, USABLE = 0.5, 0.7  # shapes of the tail of the weights
FEWEST_EFFECTIVE = 100  # draws, or a quarter of those that were made
MOSTLY_EFFECTIVE = 0.5  # the fraction of draws from which on no shape of a tail speaks against them
INTERVAL = 1.96  # standard errors
CHANCE = 4.0  # standard errors that chance explains: beyond them one of two numbers is wrong
SMALL_DIFFERENCE = 0.1  # nats: a tenth of a probability, which is no reason to distrust an estimate
SMALL_MEAN = 0.05  # the same for the probability of a unit
DRAWN_ROUNDING = 1e-6  # by which means may differ for no other reason
SURE, SURE_NOT = 2.0, 3.0  # standard errors by which a difference is seen to be small, or not to be


def rounding(estimate: float | None) -> float:
    """By how much a log-likelihood may differ for no other reason."""
    return DRAWN_ROUNDING * max(1.0, abs(estimate or 0.0))
