"""Annealed importance sampling of ln P(evidence) (Neal, 2001).

Every run starts with a draw from the network in which the observed units have their values but tell nothing about their
parents, where ln Z = 0. Their factors are then switched on by degrees, with a sweep of Gibbs sampling after each. The
product of the ratios of weights is an unbiased estimate of P(evidence), whether or not the sweeps mix.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import numpy as np

from plefka.errors import InvalidInput
from plefka.posterior import chunks
from plefka.precision import precision
from plefka.progress import interruptible, progress
from plefka.sampling.sweeps import SWEEPS_AT_ONCE, Sampler, State
from plefka.sampling.target import LEAST, target
from plefka.seeds import as_seed

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

MOST_NUMBERS = 2**20  # in one array of a chunk of rows
TOGETHER = 8  # runs at once: as many as Gibbs sampling has chains, so that both share a compiled sweep


@dataclass(frozen=True, eq=False)
class Annealed:
    """ln P(evidence) of every row by annealing; all fields are (rows,).

    - `log_likelihood`: the logarithm of the mean weight of the runs; -inf where no run found a possible state.
    - `standard_error`: of log_likelihood, from the spread of the runs.
    - `effective_runs`: how many runs of equal weight would tell as much.
    """

    log_likelihood: np.ndarray
    standard_error: np.ndarray
    effective_runs: np.ndarray
    num_runs: int


def anneal(
    network: "BeliefNetwork",
    rows: np.ndarray,
    tilt: np.ndarray | None = None,
    *,
    seed: int,
    runs: int = 64,
    temperatures: int = 200,
) -> Annealed:
    """ln P(evidence) for rows (B, n), nan where hidden, every state's weight multiplied by exp(sum_i tilt_i S_i)."""
    if runs < 2 or temperatures < 1:
        raise InvalidInput(f"runs >= 2 and temperatures >= 1 must hold; got {runs} and {temperatures}.")
    seed = as_seed(seed)
    weights = []
    with precision("float64"):
        for number, (part, count) in enumerate(targets(network, rows, tilt, TOGETHER)):
            key = jax.random.fold_in(jax.random.key(seed), number)
            found = runs_of(Sampler(part), runs, TOGETHER, ladder(temperatures), key)[0]
            weights.append(found[:count])
    return summary(np.concatenate(weights))


def targets(network: "BeliefNetwork", rows: np.ndarray, tilt: np.ndarray | None, columns: int):
    """The rows in chunks, each as a target, and how many rows of it are not padding."""
    most = max(1, MOST_NUMBERS // (columns * network.size))
    left = len(rows)
    for index in chunks(len(rows), most):
        piece = taken(network, index) if network.stack is not None else network
        part = target(piece, rows[index], None if tilt is None else np.asarray(tilt)[index])
        yield part, min(left, part.num_rows)
        left -= part.num_rows


def taken(network: "BeliefNetwork", index: Any) -> "BeliefNetwork":
    """Some networks of a stack, or one of them."""
    parts = network.storage.take(index), network.bias[index]
    return eqx.tree_at(lambda net: (net.storage, net.bias), network, parts)


def ladder(temperatures: int) -> np.ndarray:
    """Inverse temperatures from 0 to 1, closer to each other at the beginning, where weights change the most."""
    return np.linspace(0, 1, temperatures + 1) ** 2


def runs_of(sampler: Sampler, runs: int, together: int, betas: np.ndarray, key) -> tuple[np.ndarray, np.ndarray]:
    """ln weight of all runs (rows, runs), and the states (m, rows, together) in which the first of them end."""
    batches = -(-runs // together)
    blocks = [(batch, first) for batch in range(batches) for first in range(0, len(betas) - 1, SWEEPS_AT_ONCE)]
    gains, ends, state, upwards = [], None, None, key
    with interruptible() as check:
        for batch, first in progress(blocks, "annealing"):
            if state is None:
                forwards, upwards = jax.random.split(jax.random.fold_in(key, batch))
                state = from_prior(sampler, together, forwards)
            state, _ = sampler.advance(state, betas[first : first + SWEEPS_AT_ONCE + 1], upwards, first)
            if first + SWEEPS_AT_ONCE >= len(betas) - 1:
                gains.append(np.asarray(state.gain))
                ends = sampler.states(state) if ends is None else ends
                state = None
            check()
    gain, constant = np.concatenate(gains, axis=1)[:, :runs], sampler.target.constant[:, None]
    impossible = (gain < LEAST / 2) | (constant < LEAST / 2)
    assert ends is not None
    return np.where(impossible, -np.inf, gain + constant), ends


def from_prior(sampler: Sampler, columns: int, key) -> State:
    """Every unit drawn given its parents, observed ones in place: the same draws again until nothing changes."""
    state, before = sampler.clamped(columns), None
    while before is None or (before != np.asarray(state.S)).any():
        before = np.asarray(state.S)
        state, _ = sampler.advance(state, np.zeros(2), key, 0, forwards=True)
    return sampler.state(sampler.states(state))


def summary(log_weights: np.ndarray) -> Annealed:
    """The mean of the weights (rows, runs) and its error, in logarithms."""
    runs = log_weights.shape[1]
    top = log_weights.max(axis=1)
    w = np.exp(log_weights - np.where(np.isfinite(top), top, 0.0)[:, None])
    mean = w.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_mean = top + np.log(mean)
        error = w.std(axis=1, ddof=1) / (mean * np.sqrt(runs))
        effective = runs * mean**2 / (w**2).mean(axis=1)
    dead = ~np.isfinite(top)
    return Annealed(
        np.where(dead, -np.inf, log_mean), np.where(dead, np.inf, error), np.where(dead, 0.0, effective), runs
    )
