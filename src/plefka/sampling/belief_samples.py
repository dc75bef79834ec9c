"""Samples of a belief network, given evidence: along the arrows, from the parents to the children."""

from typing import Any

import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput
from plefka.exact.states import MOST_LISTED, listed_weights
from plefka.methods.posterior import normalised
from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import Evidence, as_rows
from plefka.networks.fields import StateFields, bits
from plefka.reduction.reduce import reduce
from plefka.runtime.late_binding import CONTRADICTION, supplied
from plefka.runtime.seeds import as_seed
from plefka.sampling.state_weights import Target

DRAWN_AT_ONCE = 2**24  # units times states


def sample(network: BeliefNetwork, seed: int, count: int, evidence: Any = None) -> np.ndarray:
    """`count` states from P(S | evidence).

    Without hidden ancestors of observed units, states are drawn along the arrows with the evidence in place. Otherwise
    those ancestors are drawn first, from their exact posterior, which must be small enough to be written down.
    """
    if count < 1:
        raise InvalidInput(f"count must be at least 1; got {count}.")
    if network.stack is not None:
        raise InvalidInput(f"sample draws from one network; got a stack of {network.stack}.")
    rows, batched = as_rows(network, evidence)
    if batched:
        raise InvalidInput(f"sample takes one row of evidence; got {len(rows)}.")
    rng, hidden = np.random.default_rng(as_seed(seed)), np.isnan(rows[0])
    known = np.repeat(rows.T, count, axis=1)
    causes = EdgeList.of(network.storage).graph.with_ancestors(~hidden) & hidden
    if causes.any():
        known[causes] = _causes(network, rows, causes, rng, count)
    units, step = StateFields.of_network(network), max(1, DRAWN_AT_ONCE // network.size)
    parts = [units.drawn(known[:, None, k : k + step], rng)[:, 0].T for k in range(0, count, step)]
    return np.concatenate(parts).astype(np.int8)


def _causes(network: BeliefNetwork, rows: np.ndarray, causes: np.ndarray, rng, count: int) -> np.ndarray:
    """States (causes, count) of the hidden ancestors of observed units."""
    if causes.sum() > MOST_LISTED:
        raise InvalidEvidence(
            f"the evidence has {causes.sum()} hidden ancestors, and samples given evidence are exact for up to "
            f"{MOST_LISTED}. Sample without evidence, observe more of them, or use infer for their means."
        )
    reduction = reduce(network, Evidence(rows, batched=True), kept=causes)
    (part,) = reduction.parts
    target = Target(part.question)
    free = target.free[:, 0]

    def log_weight(states: np.ndarray) -> np.ndarray:
        S = target.known(states.shape[1])
        S[free, 0] = states
        return target.log_weight(S)[0]

    log_p = listed_weights(int(free.sum()), log_weight, target.size)
    if reduction.impossible[0] or not np.isfinite(log_p.max()):
        raise InvalidEvidence(
            "the evidence has probability zero, so that nothing can be sampled given it: "
            f"{supplied(CONTRADICTION)(network, rows[0])}. Correct it."
        )
    p = normalised(log_p, axis=0)
    number = rng.choice(len(p), size=count, p=p)
    fixed = reduction.restored(part, part.question.values, None)[0]  # some ancestors may follow from the evidence
    states = np.repeat(fixed, count, axis=1)
    states[part.units.reshape(part.question.size, -1)[target.units[free], 0]] = bits(number, np.arange(free.sum()))
    return states[causes]
