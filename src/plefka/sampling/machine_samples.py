"""States of a Boltzmann machine: their weight, and draws."""

from typing import Any

import numpy as np

from plefka.errors import InvalidInput
from plefka.methods.posterior import normalised
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.evidence import as_evidence
from plefka.networks.fields import bits
from plefka.reduction.machine_reduction import ReducedPairs, reduce_pairs
from plefka.runtime.seeds import as_seed
from plefka.sampling.coupling_chains import PairSampler, PairTarget

MOST_EXACT = 16  # units whose states are all written down


def sample(machine: BoltzmannMachine, seed: int, count: int, evidence: Any, sweeps: int) -> np.ndarray:
    """`count` states given the evidence: exact for few units, else the ends of annealed chains."""
    for number, name in ((count, "count"), (sweeps, "sweeps")):
        if number < 1:
            raise InvalidInput(f"{name} must be at least 1; got {number}.")
    if machine.stack is not None:
        raise InvalidInput(f"sample draws from one machine; got a stack of {machine.stack}.")
    given, rng = as_evidence(machine, evidence), np.random.default_rng(as_seed(seed))
    if len(given.rows) > 1:
        raise InvalidInput(f"sample takes one row of evidence; got {len(given.rows)}.")
    reduction = reduce_pairs(machine, given._replace(batched=True), prune=True, keep_barren=False, kept=False)
    S = _all_units(reduction, _drawn(reduction, rng, count, sweeps), rng)
    off, on = machine.values
    return np.where(S == 1, on, off).T.astype(np.int8)


def _drawn(reduction: ReducedPairs, rng: np.random.Generator, count: int, sweeps: int) -> np.ndarray:
    """States (units of the question, count)."""
    (part,) = reduction.parts
    target = PairTarget(part.question)
    if target.size <= MOST_EXACT:
        S = bits(np.arange(2**target.size), np.arange(target.size)).astype(float)
        p = normalised(target.log_weight(S[:, None]), axis=1)[0]
        S = S[:, rng.choice(len(p), size=count, p=p)]
    else:
        sampler, key = PairSampler(part.question), rng.integers(2**32, size=2)
        chains = sampler.chains(target.drawn(target.known(count), rng))
        betas = np.minimum(np.linspace(0, 2, sweeps + 1), 1.0)
        S = sampler.advance(chains, betas, key, 0)[0].S[:, 0]
    out = np.zeros((part.question.size, count))
    out[target.units] = S
    return out


def _all_units(reduction: ReducedPairs, S: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The states (units of the machine, count), with those of units that were solved drawn."""
    (part,) = reduction.parts
    chances = reduction.restored(part, part.question.values, None)[0]
    out = (rng.random((len(chances), S.shape[1])) < chances) * 1.0
    here = part.units >= 0
    free = reduction.free[part.units[here], 0]
    out[part.units[here][free]] = S[here][free]
    return out
