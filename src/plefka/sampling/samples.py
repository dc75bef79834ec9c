"""Samples of a network, given evidence.

A belief network is sampled along the arrows, from the parents to the children; a machine by its states where they are
few, and otherwise by annealed chains.
"""

from typing import Any

import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput
from plefka.exact.states import MOST_FOLLOWED, MOST_LISTED, listed_weights
from plefka.methods.posterior import normalised
from plefka.networks.belief import BeliefNetwork
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import Evidence, as_evidence, as_rows
from plefka.networks.fields import StateFields, bits
from plefka.networks.hierarchy import with_implied
from plefka.networks.network import Network
from plefka.reduction.machine_reduction import ReducedPairs, reduce_pairs
from plefka.reduction.reduce import reduce
from plefka.runtime.late_binding import CONTRADICTION, supplied
from plefka.runtime.seeds import as_seed
from plefka.sampling.coupling_chains import PairSampler, PairTarget
from plefka.sampling.state_weights import Target

DRAWN_AT_ONCE = 2**24  # units times states


def sample_beliefs(network: BeliefNetwork, seed: int, count: int, evidence: Any = None) -> np.ndarray:
    """`count` states from P(S | evidence).

    Without hidden ancestors of observed units, states are drawn along the arrows with the evidence in place. Otherwise
    those ancestors are drawn first, from their exact posterior, which must be small enough to be written down.
    """
    _check(network, "network", count=count)
    rows, batched = as_rows(network, evidence)
    if batched:
        raise InvalidInput(f"sample takes one row of evidence; got {len(rows)}.")
    row = rows[0]
    rng, hidden = np.random.default_rng(as_seed(seed)), np.isnan(row)
    known = np.repeat(with_implied(network, rows).T, count, axis=1)
    causes = EdgeList.of(network.storage).graph.with_ancestors(~hidden) & hidden
    if causes.any():
        known[causes] = _causes(network, row, causes, rng, count)
    units, step = StateFields.of_network(network), max(1, DRAWN_AT_ONCE // network.size)
    parts = [units.drawn(known[:, None, k : k + step], rng)[:, 0].T for k in range(0, count, step)]
    return np.concatenate(parts).astype(np.int8)


def sample_machine(machine: BoltzmannMachine, seed: int, count: int, evidence: Any, sweeps: int) -> np.ndarray:
    """`count` states given the evidence: exact for few units, else the ends of annealed chains."""
    _check(machine, "machine", count=count, sweeps=sweeps)
    given, rng = as_evidence(machine, evidence), np.random.default_rng(as_seed(seed))
    if len(given.rows) > 1:
        raise InvalidInput(f"sample takes one row of evidence; got {len(given.rows)}.")
    reduction = reduce_pairs(machine, given._replace(batched=True), prune=True, keep_barren=False, kept=False)
    S = _all_units(reduction, _drawn(reduction, rng, count, sweeps), rng)
    off, on = machine.values
    return np.where(S == 1, on, off).T.astype(np.int8)


def _check(network: Network, kind: str, **counts: int) -> None:
    for name, number in counts.items():
        if number < 1:
            raise InvalidInput(f"{name} must be at least 1; got {number}.")
    if network.stack is not None:
        raise InvalidInput(f"sample draws from one {kind}; got a stack of {network.stack}.")


def _log_weights(target: Target | PairTarget) -> np.ndarray:
    """ln weight (states,) of all states of the free units of a single row."""
    free = target.free[:, 0]

    def of_block(states: np.ndarray) -> np.ndarray:
        S = target.known(states.shape[1])
        S[free, 0] = states
        return target.log_weight(S)[0]

    return listed_weights(int(free.sum()), of_block, target.size)


def _chosen(log_weights: np.ndarray, units: int, rng: np.random.Generator, count: int) -> np.ndarray:
    """States (units, count) of so many units, from those of all states by their weights."""
    p = normalised(log_weights, axis=0)
    return bits(rng.choice(len(p), size=count, p=p), np.arange(units))


def _causes(network: BeliefNetwork, row: np.ndarray, causes: np.ndarray, rng, count: int) -> np.ndarray:
    """States (causes, count) of the hidden ancestors of observed units."""
    if causes.sum() > MOST_LISTED:
        raise InvalidEvidence(
            f"the evidence has {causes.sum()} hidden ancestors, and samples given evidence are exact for up to "
            f"{MOST_LISTED}. Sample without evidence, observe more of them, or use infer for their means."
        )
    reduction = reduce(network, Evidence(row[None], batched=True), kept=causes)
    (part,) = reduction.parts
    target = Target(part.question)
    log_p, free = _log_weights(target), target.free[:, 0]
    if reduction.impossible[0] or not np.isfinite(log_p.max()):
        raise InvalidEvidence(
            "the evidence has probability zero, so that nothing can be sampled given it: "
            f"{supplied(CONTRADICTION)(network, row)}. Correct it."
        )
    fixed = reduction.restored(part, part.question.values, None)[0]  # some ancestors may follow from the evidence
    states = np.repeat(fixed, count, axis=1)
    places = part.units.reshape(part.question.size, -1)[target.units[free], 0]
    states[places] = _chosen(log_p, int(free.sum()), rng, count)
    return states[causes]


def _drawn(reduction: ReducedPairs, rng: np.random.Generator, count: int, sweeps: int) -> np.ndarray:
    """States (units of the question, count)."""
    (part,) = reduction.parts
    target = PairTarget(part.question)
    if target.size <= MOST_FOLLOWED:
        S = _chosen(_log_weights(target), target.size, rng, count)
    else:
        sampler, key = PairSampler(part.question), rng.integers(2**32, size=2)
        S, _ = sampler.annealed(count, np.minimum(np.linspace(0, 2, sweeps + 1), 1.0), key, rng)
        S = S[:, 0]
    return target.widened(S, axis=0)


def _all_units(reduction: ReducedPairs, S: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The states (units of the machine, count), with those of units that were solved drawn."""
    (part,) = reduction.parts
    chances = reduction.restored(part, part.question.values, None)[0]
    out = (rng.random((len(chances), S.shape[1])) < chances) * 1.0
    here = part.units >= 0
    free = reduction.free[part.units[here], 0]
    out[part.units[here][free]] = S[here][free]
    return out
