"""The random networks of a study, and what is observed of them: section 4.1 of the paper."""

import zlib
from itertools import product

import numpy as np

import plefka as pf
from plefka.learning import likelihood
from plefka.learning.patterns import as_patterns
from plefka.paper.experiment_settings import LAYERS, Ensemble
from plefka.runtime.precision import precision

PER_SEED = 100  # networks that are drawn from one seed
VISIBLE = LAYERS[-1]
STATES = np.array(list(product((0, 1), repeat=VISIBLE)), float)  # the last unit changes first


def draw(ensemble: Ensemble, seed: int, first: int, count: int) -> pf.BeliefNetwork:
    """Networks `first`, `first + 1`, ... of an ensemble: the same ones, however they are put into blocks."""
    groups = range(first // PER_SEED, -(-(first + count) // PER_SEED))
    drawn = [_group(ensemble, seed, group) for group in groups]
    skipped = first - groups.start * PER_SEED
    keep = slice(skipped, skipped + count)
    weights = [np.concatenate(blocks)[keep] for blocks in zip(*(net.weights for net in drawn), strict=True)]
    bias = np.concatenate([net.bias for net in drawn])[keep]
    by_layer = np.split(bias, np.cumsum(LAYERS)[:-1], axis=1)
    return pf.BeliefNetwork.layered(weights, by_layer, ensemble.activation)


def _group(ensemble: Ensemble, seed: int, group: int) -> pf.BeliefNetwork:
    key = np.random.SeedSequence([seed, zlib.crc32(ensemble.name.encode()), group])
    state = int(key.generate_state(1, np.uint64)[0])
    return pf.ensembles.layered(
        LAYERS, ensemble.low, ensemble.high, PER_SEED, state, ensemble.activation, biases=ensemble.biases
    )


def observe(networks: pf.BeliefNetwork, observed: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of evidence (networks, units), which of the 64 visible states they are, and the exact ln Z."""
    log_z = log_likelihoods(networks)
    state = PICK[observed](log_z)
    rows = np.full((len(log_z), networks.size), np.nan)
    rows[:, -VISIBLE:] = STATES[state]
    return rows, state, np.take_along_axis(log_z, state[:, None], axis=1)[:, 0]


PICK = {
    "off": lambda log_z: np.zeros(len(log_z), int),
    "likeliest": lambda log_z: log_z.argmax(axis=1),
    "unlikeliest": lambda log_z: log_z.argmin(axis=1),
}


def log_likelihoods(networks: pf.BeliefNetwork) -> np.ndarray:
    """ln P of all 64 visible states of every network, each the sum over all hidden states."""
    patterns = as_patterns(networks, STATES)
    with precision("float64"):
        return np.asarray(likelihood.exact(networks, patterns))[:, patterns.which]
