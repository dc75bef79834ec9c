"""What weighted states say of all units of the network, with standard errors."""

from typing import NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from plefka.networks.belief import BeliefNetwork
from plefka.networks.fields import StateFields
from plefka.networks.network import Network
from plefka.sampling.importance import averaged, resampled, smoothed
from plefka.sampling.proposals import Drawn, Proposal

FEWEST_PREDICTED, MOST_PREDICTED = 512, 4096  # states that units below the evidence are predicted from
MOST_NUMBERS, AT_ONCE = 2**25, 2**22  # of all units in them, and of those that are held at once


class WeightedAnswer(NamedTuple):
    """The first fields of a `Check`."""

    log_likelihood: float
    standard_error: float
    means: np.ndarray
    means_error: np.ndarray
    pareto_k: float
    effective_samples: float


def weighted_answer(
    network: Network, row: np.ndarray, source: Proposal, drawn: Drawn, rng: np.random.Generator
) -> WeightedAnswer | None:
    """None where no draw is possible. Weights that are bounded have no tail to be smoothed."""
    if not np.isfinite(drawn.log_weights).any():
        return None
    log_w, k = (drawn.log_weights, -np.inf) if source.is_bounded else smoothed(drawn.log_weights)
    weights = np.exp(log_w - log_w.max())
    with np.errstate(divide="ignore"):  # draws without weight, and families without a descendant
        found = averaged(np.log(_by_family(drawn, weights)) + log_w.max())
    weights /= weights.sum()
    means, errors = row.copy(), np.zeros(len(row))
    means[source.units], errors[source.units] = _averages(drawn, weights)
    below = np.isnan(means)
    if below.any():
        means[below], errors[below] = _predicted(network, row, source, drawn, weights, rng)
    return WeightedAnswer(float(found.log_mean), float(found.standard_error), means, errors, k, float(found.effective))


def _by_family(drawn: Drawn, values: np.ndarray) -> np.ndarray:
    """Sums over the draws of each family, (..., draws) to (..., families): there are as many families as draws."""
    if drawn.family is None:
        return values
    count = len(drawn.family)
    return values @ sp.csr_array((np.ones(count), (np.arange(count), drawn.family)), shape=(count, count))


def _averages(drawn: Drawn, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Self-normalised averages, with errors from how families differ."""
    means = np.clip(drawn.chances @ weights, 0.0, 1.0)
    apart = _by_family(drawn, (drawn.chances - means[:, None]) * weights)
    return means, np.sqrt((apart**2).sum(axis=1))


def _predicted(
    network: Network, row: np.ndarray, source: Proposal, drawn: Drawn, weights: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The means of units that nothing observed depends on: averages of P(on | parents) over states drawn downwards."""
    fields, below = StateFields.of_network(cast(BeliefNetwork, network)), np.isnan(row)
    below[source.units] = False
    count = int(np.clip(MOST_NUMBERS // len(row), FEWEST_PREDICTED, MOST_PREDICTED))
    chosen, step = resampled(weights, count, rng), max(1, AT_ONCE // len(row))
    total, squares = np.zeros(below.sum()), np.zeros(below.sum())
    for first in range(0, count, step):
        some = chosen[first : first + step]
        known = np.repeat(row[:, None, None], len(some), axis=2)
        known[source.units, 0] = drawn.states[:, some]
        p = np.asarray(fields.activation.probability(fields.of(fields.drawn(known, rng))))[below, 0]
        total, squares = total + p.sum(axis=1), squares + (p**2).sum(axis=1)
    means = total / count
    fewer = max(1.0, count * float(np.sum(_by_family(drawn, weights) ** 2)))  # no more draws than are effective
    return means, np.sqrt(np.maximum(squares / count - means**2, 0.0) / count * fewer)
